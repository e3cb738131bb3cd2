#include "autoscale/buyer.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace coppice::autoscale {

void Buyer::Failed(std::string_view group, int nodes, const cloud::MachineError& why,
                   TimePoint now) {
  failures_.push_back({std::string(group), why.code, nodes});
  for (const auto& observer : parts_.slots.scale_state) observer->ScaleUpFailed(group, why, now);
  state_.RegisterFailure(group, why, now);
}

// A group that only a processor knows is made first.
Result<std::string> Buyer::ExistingGroup(const std::string& group) {
  if (!parts_.slots.node_group_manager) return group;
  const auto groups = parts_.groups.Groups();
  if (std::ranges::find(groups, group, &cloud::GroupInfo::id) != groups.end()) return group;
  auto made = parts_.slots.node_group_manager->Create(group).Context("making node group " + group);
  if (made.ok()) ++groups_created_;
  return made;
}

void Buyer::Ordered(const std::string& group, int delta, TimePoint at) {
  state_.RegisterScaleUp(group, delta, at);
  for (const auto& observer : parts_.slots.scale_state) observer->ScaledUp(group, delta, at);
  cooldowns_.GroupScaledUp(group, at);
}

void Buyer::OrderFailed(const report::GroupResize& resize, const Status& why, TimePoint now) {
  parts_.tell.Status("Warning", "FailedToScaleUpGroup",
                     "Scale-up failed for group " + resize.group + ": " + why.message());
  const cloud::ErrorClass error_class = why.code() == Code::kResourceExhausted
                                            ? cloud::ErrorClass::kOutOfResources
                                            : cloud::ErrorClass::kOther;
  Failed(
      resize.group, resize.to - resize.from,
      {error_class, "cloudProviderError", "failed to increase node group size: " + why.message()},
      now);
}

// One group, with its events and books. An order that is not answered in time counts as good; if
// it turns out otherwise, the books are put right then, and the next pass looks elsewhere.
Task<Status> Buyer::Resize(report::GroupResize resize, bool all_or_nothing, TimePoint now,
                           TimePoint patience_ends) {
  const int delta = resize.to - resize.from;
  const std::string sizes = std::to_string(resize.to) + " instead of " +
                            std::to_string(resize.from) + " (max: " + std::to_string(resize.max) +
                            ")";
  parts_.tell.Status("Normal", "ScaledUpGroup",
                     "Scale-up: setting group " + resize.group + " size to " + sizes);
  const std::string done_text = "Scale-up: group " + resize.group + " size set to " + sizes;
  const Result<std::string> existing = ExistingGroup(resize.group);
  if (!existing.ok()) {
    OrderFailed(resize, existing.status(), now);
    co_return existing.status();
  }
  const Orders::Heard late = [this, resize, group = *existing, delta,
                              done_text](const Status& answer) {
    const TimePoint at = parts_.executor.clock().Now();
    if (answer.ok()) {
      parts_.tell.Status("Normal", "ScaledUpGroup", done_text);
    } else {
      state_.RegisterScaleUp(group, -delta, at);
      OrderFailed(resize, answer, at);
    }
    parts_.log.Info("an order was answered late",
                    {{"group", group}, {"nodes", delta}, {"answer", answer}});
    if (wake_) wake_();
  };
  const std::optional<Status> answer =
      co_await orders_.Place(*existing, delta, all_or_nothing, patience_ends, late);
  if (answer && !answer->ok()) {
    OrderFailed(resize, *answer, now);
    co_return *answer;
  }
  Ordered(*existing, delta, parts_.executor.clock().Now());
  if (answer) parts_.tell.Status("Normal", "ScaledUpGroup", done_text);
  co_return Status::Ok();
}

Task<report::ScaleUp> Buyer::Buy(ScaleUpPlan plan, TimePoint now) {
  const Duration patience = parts_.options.deviations.order_patience;
  const TimePoint patience_ends = patience > Duration::zero()
                                      ? Later(parts_.executor.clock().Now(), patience)
                                      : TimePoint::max();
  std::vector<Status> results;
  if (parts_.options.buying.parallel_scale_up) {
    std::vector<Task<Status>> tasks;
    for (const report::GroupResize& resize : plan.resizes)
      tasks.push_back(Resize(resize, plan.all_or_nothing, now, patience_ends));
    results = co_await WhenAll(std::move(tasks));
  } else {
    for (const report::GroupResize& resize : plan.resizes) {
      results.push_back(co_await Resize(resize, plan.all_or_nothing, now, patience_ends));
      if (!results.back().ok()) break;
    }
  }
  std::vector<std::string> failed;
  std::string error;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok()) continue;
    failed.push_back(plan.resizes[i].group);
    error = "failed to increase node group size: " + results[i].message();
  }
  if (!failed.empty()) {
    co_return ScaleUpPlanner::Failed(std::move(plan), failed, std::move(error),
                                     parts_.options.buying.parallel_scale_up);
  }
  state_.RecalculateRanges();
  co_return ScaleUpPlanner::Succeeded(std::move(plan));
}

}  // namespace coppice::autoscale
