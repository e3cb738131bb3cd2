#include "autoscale/taints.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "market/intent.h"

namespace coppice::autoscale {

namespace {

constexpr std::string_view kStartupPrefix = "startup-taint.cluster-autoscaler.kubernetes.io/";
constexpr std::string_view kIgnorePrefix = "ignore-taint.cluster-autoscaler.kubernetes.io/";
constexpr std::string_view kStatusPrefix = "status-taint.cluster-autoscaler.kubernetes.io/";

// What the node controller, the kubelet and clouds set on a node in trouble: a fresh one has none
// of them.
constexpr std::array<std::string_view, 11> kConditionTaints = {
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/pid-pressure",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.cloudprovider.kubernetes.io/shutdown",
    "cloud.google.com/impending-node-termination",
    "NodeWithImpairedVolumes",
};

bool Contains(const std::vector<std::string>& list, std::string_view key) {
  return std::ranges::find(list, key) != list.end();
}

}  // namespace

bool HasTaint(const model::Node& node, std::string_view key) {
  return std::ranges::any_of(node.spec.taints, [key](const auto& t) { return t.key == key; });
}

std::optional<TimePoint> TaintTime(const model::Node& node, std::string_view key) {
  for (const auto& taint : node.spec.taints) {
    if (taint.key != key) continue;
    int64_t seconds = 0;
    const char* end = taint.value.data() + taint.value.size();
    const auto [rest, error] = std::from_chars(taint.value.data(), end, seconds);
    if (error != std::errc() || rest != end) return std::nullopt;
    return TimePoint(std::chrono::seconds(seconds));
  }
  return std::nullopt;
}

TaintConfig::TaintConfig(const StartupTaintOptions& options)
    : startup_keys_(options.startup_taint),
      startup_prefixes_(options.startup_taint_prefix),
      status_keys_(options.status_taint) {
  startup_prefixes_.emplace_back(kStartupPrefix);
  startup_prefixes_.emplace_back(kIgnorePrefix);
}

bool TaintConfig::IsStartupTaint(std::string_view key) const {
  return Contains(startup_keys_, key) ||
         std::ranges::any_of(startup_prefixes_,
                             [key](const std::string& prefix) { return key.starts_with(prefix); });
}

bool TaintConfig::IsStatusTaint(std::string_view key) const {
  return Contains(status_keys_, key) || key.starts_with(kStatusPrefix);
}

bool TaintConfig::HasStartupTaint(const model::Node& node) const {
  return std::ranges::any_of(node.spec.taints,
                             [this](const auto& taint) { return IsStartupTaint(taint.key); });
}

std::vector<model::Taint> TaintConfig::Sanitize(const std::vector<model::Taint>& taints) const {
  std::vector<model::Taint> kept;
  for (const auto& taint : taints) {
    const bool ours = taint.key == kToBeDeletedTaint || taint.key == kDeletionCandidateTaint ||
                      taint.key == market::kHeldForTaint;
    const bool of_a_condition =
        std::ranges::find(kConditionTaints, taint.key) != kConditionTaints.end();
    if (ours || of_a_condition || IsStartupTaint(taint.key) || IsStatusTaint(taint.key)) continue;
    kept.push_back(taint);
  }
  return kept;
}

}  // namespace coppice::autoscale
