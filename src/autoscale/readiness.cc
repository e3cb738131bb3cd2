#include "autoscale/readiness.h"

#include <algorithm>

namespace coppice::autoscale {

namespace {

void KeepLatest(TimePoint& latest, const std::optional<model::Time>& candidate) {
  if (candidate) latest = std::max(latest, candidate->at);
}

bool IsNotReadyTaint(std::string_view key) {
  return key == "node.kubernetes.io/not-ready" || key == "node.kubernetes.io/disk-pressure" ||
         key == "node.kubernetes.io/network-unavailable";
}

}  // namespace

Readiness ReadinessOf(const model::Node& node) {
  Readiness result;
  bool ready_condition_found = false;
  bool nothing_against = true;
  for (const auto& condition : node.status.conditions) {
    if (condition.type == "Ready") {
      ready_condition_found = true;
      if (condition.status == "False" || condition.status == "Unknown") {
        nothing_against = false;
        result.reason = condition.reason;
      }
    } else if (condition.type == "DiskPressure" || condition.type == "NetworkUnavailable") {
      if (condition.status == "True") nothing_against = false;
    } else {
      continue;
    }
    KeepLatest(result.last_transition, condition.last_transition_time);
  }
  for (const auto& taint : node.spec.taints) {
    if (!IsNotReadyTaint(taint.key)) continue;
    nothing_against = false;
    KeepLatest(result.last_transition, taint.time_added);
  }
  // Without a Ready condition nothing is known, not even since when.
  if (!ready_condition_found) return {};
  result.ready = nothing_against;
  return result;
}

model::Node UnreadyCopy(const model::Node& node, std::string_view reason) {
  model::Node copy = node;
  std::erase_if(copy.status.conditions, [](const auto& c) { return c.type == "Ready"; });
  copy.status.conditions.insert(
      copy.status.conditions.begin(),
      model::NodeCondition{.type = "Ready",
                           .status = "False",
                           .last_transition_time = node.metadata.creation_timestamp,
                           .reason = std::string(reason)});
  return copy;
}

}  // namespace coppice::autoscale
