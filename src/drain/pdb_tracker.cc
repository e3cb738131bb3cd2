#include "drain/pdb_tracker.h"

#include <utility>

namespace coppice::drain {

Result<PdbTracker> PdbTracker::Create(
    const std::vector<std::shared_ptr<const model::PodDisruptionBudget>>& budgets,
    Malformed malformed) {
  PdbTracker tracker;
  for (const auto& pdb : budgets) {
    const model::ObjectMeta& meta = pdb->metadata;
    auto selector = model::Selector::From(pdb->spec.selector);
    if (!selector.ok() && malformed == Malformed::kGuardsItsNamespace) {
      tracker.index_.Add(meta.namespace_, model::Selector::Everything());
      tracker.budgets_.push_back({.name = meta.name, .allowed = 0});
      continue;
    }
    tracker.index_.Add(meta.namespace_,
                       TRY(std::move(selector).Context("pod disruption budget " + meta.namespace_ +
                                                       "/" + meta.name)));
    tracker.budgets_.push_back({.name = meta.name, .allowed = pdb->status.disruptions_allowed});
  }
  return tracker;
}

bool PdbTracker::HasBudget(const model::Pod& pod) const {
  return index_.First(pod.metadata, [](size_t) { return true; }) != BudgetIndex::kNone;
}

const std::string* PdbTracker::ExhaustedBudget(const model::Pod& pod) const {
  const size_t budget =
      index_.First(pod.metadata, [this](size_t b) { return budgets_[b].allowed < 1; });
  return budget == BudgetIndex::kNone ? nullptr : &budgets_[budget].name;
}

PdbTracker::Answer PdbTracker::CanRemove(const std::vector<const model::Pod*>& pods) const {
  Answer answer;
  for (size_t number = 0; number < budgets_.size(); ++number) {
    const Budget& budget = budgets_[number];
    int32_t count = 0;
    for (const model::Pod* pod : pods) {
      if (!index_.Means(number, pod->metadata)) continue;
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
    index_.ForEach(pod->metadata, [this](size_t budget) {
      --budgets_[budget].allowed;
      ++version_;
    });
  }
}

}  // namespace coppice::drain
