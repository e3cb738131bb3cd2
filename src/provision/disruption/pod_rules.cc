#include "provision/disruption/pod_rules.h"

#include <algorithm>

#include "model/node_claim.h"
#include "provision/pod_selection.h"

namespace coppice::provision {

namespace {

// As Go's ParseInt(text, 10, 32) reads it; none if it does not.
std::optional<int32_t> CostNumber(const std::string& text) {
  const auto wide = model::GoInteger(text);
  if (!wide || *wide < INT32_MIN || *wide > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*wide);
}

constexpr char kPodDeletionCost[] = "controller.kubernetes.io/pod-deletion-cost";

bool IsPodUnready(const model::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions, [](const model::PodCondition& c) {
    return c.type == "Ready" && c.status == "False";
  });
}

}  // namespace

double EvictionCost(const model::Pod& pod, bool deletion_cost_is_managed) {
  double cost = 1;
  const auto& annotations = pod.metadata.annotations;
  const std::string* said = annotations.Find(model::karpenter::kDisruptionCostAnnotation);
  if (said == nullptr && !deletion_cost_is_managed) said = annotations.Find(kPodDeletionCost);
  constexpr double kCostOfOnePod = 134217728;     // 2^27
  constexpr double kPriorityOfOnePod = 33554432;  // 2^25
  if (said != nullptr) {
    if (const auto number = CostNumber(*said)) cost += *number / kCostOfOnePod;
  }
  if (pod.spec.priority) cost += *pod.spec.priority / kPriorityOfOnePod;
  return std::clamp(cost, -10.0, 10.0);
}

bool IsDisruptable(const model::Pod& pod, TimePoint now) {
  return !IsActive(pod) || !IsDoNotDisruptActive(pod, now);
}

PodBudgets::PodBudgets(const std::vector<BudgetPtr>& budgets) {
  const auto key_of = [](const BudgetPtr& budget) {
    return budget->metadata.namespace_ + "/" + budget->metadata.name;
  };
  std::vector<BudgetPtr> by_key = budgets;
  std::ranges::sort(by_key, {}, key_of);
  for (const BudgetPtr& budget : by_key) {
    auto selector = model::Selector::From(budget->spec.selector);
    if (!selector.ok()) {
      index_.Add(budget->metadata.namespace_, model::Selector::Everything());
      entries_.push_back({.key = key_of(budget), .allows_none_now = true, .malformed = true});
      continue;
    }
    const auto& spec = budget->spec;
    const auto is_text = [](const auto& value, const char* text) {
      return value && value->is_string && value->text == text;
    };
    index_.Add(budget->metadata.namespace_, *std::move(selector));
    entries_.push_back(
        {.key = key_of(budget),
         .allows_none_now = budget->status.disruptions_allowed == 0,
         .allows_none_ever = (spec.max_unavailable && !spec.max_unavailable->is_string &&
                              spec.max_unavailable->number == 0) ||
                             is_text(spec.max_unavailable, "0%") ||
                             is_text(spec.min_available, "100%"),
         .lets_unhealthy_go = spec.unhealthy_pod_eviction_policy == "AlwaysAllow"});
  }
}

std::vector<std::string> PodBudgets::Blocking(const model::Pod& pod, TimePoint now,
                                              bool ever) const {
  std::vector<std::string> keys;
  if (!IsEvictable(pod, now)) return keys;  // nobody will ask them
  const Entry* last = nullptr;
  index_.ForEach(pod.metadata, [&](size_t budget) {
    if (ever && entries_[budget].malformed) return;
    last = &entries_[budget];
    keys.push_back(last->key);
  });
  if (keys.size() != 1) return keys;
  const bool unhealthy_may_go = last->lets_unhealthy_go && IsPodUnready(pod);
  const bool blocks = ever ? last->allows_none_ever : last->allows_none_now;
  if (unhealthy_may_go || !blocks) keys.clear();
  return keys;
}

std::vector<std::string> PodBudgets::BlockingNow(const model::Pod& pod, TimePoint now) const {
  return Blocking(pod, now, false);
}

bool PodBudgets::IsCurrentlyReschedulable(const model::Pod& pod, TimePoint now) const {
  return IsReschedulable(pod) && IsDisruptable(pod, now) && Blocking(pod, now, true).empty();
}

}  // namespace coppice::provision
