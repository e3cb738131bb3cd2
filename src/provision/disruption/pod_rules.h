// What disruption asks about pods: may this one be moved, would it come back, what does moving it
// cost?
//
// Pure functions and a small index of PodDisruptionBudgets. Budgets are read as the peer reads
// them: by what their status allows now for taking a node away, and by what their spec can ever
// allow for planning where pods would go.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "drain/budget_index.h"
#include "model/pod.h"
#include "model/policy.h"
#include "provision/solver.h"

namespace coppice::provision {

// What it costs to move a pod, from -10 to 10; 1 if nobody says otherwise. An annotation (ours, or
// else the one for ReplicaSets unless `deletion_cost_is_managed`) and the priority shift it.
double EvictionCost(const model::Pod& pod, bool deletion_cost_is_managed = false);

// False for a running pod that says it may not be disrupted.
bool IsDisruptable(const model::Pod& pod, TimePoint now);

class PodBudgets {
 public:
  using BudgetPtr = std::shared_ptr<const model::PodDisruptionBudget>;

  explicit PodBudgets(const std::vector<BudgetPtr>& budgets);

  // The budgets ("namespace/name") that keep this pod where it is; none if nothing does. More than
  // one: the API evicts no pod that several of them select.
  std::vector<std::string> BlockingNow(const model::Pod& pod, TimePoint now) const;

  // Would this pod come up elsewhere soon if its node went away? Not if it may not be moved, or a
  // budget can never let it go.
  bool IsCurrentlyReschedulable(const model::Pod& pod, TimePoint now) const;

 private:
  struct Entry {
    std::string key;
    bool allows_none_now = false;
    bool allows_none_ever = false;
    bool lets_unhealthy_go = false;
    bool malformed = false;  // whom it protects nobody knows: everybody of its namespace, for now
  };
  std::vector<std::string> Blocking(const model::Pod& pod, TimePoint now, bool ever) const;

  drain::BudgetIndex index_;
  std::vector<Entry> entries_;  // by key, as their numbers in the index
};

}  // namespace coppice::provision
