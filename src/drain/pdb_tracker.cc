#include "drain/pdb_tracker.h"

#include <utility>

namespace coppice::drain {

Result<PdbTracker> PdbTracker::Create(
    const std::vector<std::shared_ptr<const model::PodDisruptionBudget>>& budgets) {
  PdbTracker tracker;
  for (const auto& pdb : budgets) {
    const model::ObjectMeta& meta = pdb->metadata;
    auto selector = TRY(model::Selector::From(pdb->spec.selector)
                            .Context("pod disruption budget " + meta.namespace_ + "/" + meta.name));
    tracker.by_namespace_[meta.namespace_].push_back(tracker.budgets_.size());
    tracker.budgets_.push_back({.namespace_ = meta.namespace_,
                                .name = meta.name,
                                .selector = std::move(selector),
                                .allowed = pdb->status.disruptions_allowed});
  }
  return tracker;
}

template <class Wanted>
const PdbTracker::Budget* PdbTracker::FindBudget(const model::Pod& pod, Wanted wanted) const {
  const auto it = by_namespace_.find(pod.metadata.namespace_);
  if (it == by_namespace_.end()) return nullptr;
  for (const size_t index : it->second) {
    const Budget& budget = budgets_[index];
    if (wanted(budget) && budget.selector.Matches(pod.metadata.labels)) return &budget;
  }
  return nullptr;
}

bool PdbTracker::HasBudget(const model::Pod& pod) const {
  return FindBudget(pod, [](const Budget&) { return true; }) != nullptr;
}

const std::string* PdbTracker::ExhaustedBudget(const model::Pod& pod) const {
  const Budget* budget = FindBudget(pod, [](const Budget& b) { return b.allowed < 1; });
  return budget == nullptr ? nullptr : &budget->name;
}

PdbTracker::Answer PdbTracker::CanRemove(const std::vector<const model::Pod*>& pods) const {
  Answer answer;
  for (const Budget& budget : budgets_) {
    int32_t count = 0;
    for (const model::Pod* pod : pods) {
      if (pod->metadata.namespace_ != budget.namespace_ ||
          !budget.selector.Matches(pod->metadata.labels))
        continue;
      ++count;
      if (budget.allowed < 1) return {.can_remove = false, .in_parallel = false, .blocking = pod};
      if (budget.allowed < count) {
        answer.in_parallel = false;
        answer.blocking = pod;
      }
    }
  }
  return answer;
}

void PdbTracker::Remove(const std::vector<const model::Pod*>& pods) {
  if (budgets_.empty()) return;
  for (const model::Pod* pod : pods) {
    const auto it = by_namespace_.find(pod->metadata.namespace_);
    if (it == by_namespace_.end()) continue;
    for (const size_t index : it->second) {
      if (!budgets_[index].selector.Matches(pod->metadata.labels)) continue;
      --budgets_[index].allowed;
      ++version_;
    }
  }
}

}  // namespace coppice::drain
