// What pod disruption budgets still allow while one plan takes pod after pod away.
//
// A budget is used up by what the plan removes, not by what the API server has seen; it may go
// below zero. Order of the budgets is that of the list, and shows in which pod is named as
// blocking.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "drain/budget_index.h"
#include "model/pod.h"
#include "model/policy.h"

namespace coppice::drain {

class PdbTracker {
 public:
  PdbTracker() = default;  // no budgets
  // Nobody knows whom a budget with a malformed selector protects: either nothing may be removed
  // at all, or it counts as one that means its whole namespace and lets nobody go.
  enum class Malformed : uint8_t { kFails, kGuardsItsNamespace };
  static Result<PdbTracker> Create(
      const std::vector<std::shared_ptr<const model::PodDisruptionBudget>>& budgets,
      Malformed malformed = Malformed::kFails);

  bool empty() const { return budgets_.empty(); }
  // Another one after a Remove that used something up: answers hold as long as it stays.
  uint64_t version() const { return version_; }
  bool HasBudget(const model::Pod& pod) const;
  // A budget of the pod that allows no disruption at all: its name, or null.
  const std::string* ExhaustedBudget(const model::Pod& pod) const;

  struct Answer {
    bool can_remove = true;
    bool in_parallel = true;  // all at once; else the drain depends on others coming up in time
    const model::Pod* blocking = nullptr;  // the last that one of the two fails for
  };
  Answer CanRemove(const std::vector<const model::Pod*>& pods) const;
  void Remove(const std::vector<const model::Pod*>& pods);

 private:
  struct Budget {
    std::string name;
    int32_t allowed = 0;
  };

  BudgetIndex index_;
  std::vector<Budget> budgets_;  // in list order, as their numbers in the index
  uint64_t version_ = 1;
};

}  // namespace coppice::drain
