// Repair as it was before Karpenter 1.15 (--legacy-node-repair): a node that has been in a bad
// condition for longer than its provider tolerates is deleted, by force and beside all budgets; but
// never when many are bad at once, for then it is not the node. What there is now is a method of
// disruption (disruption/repair_method.cc).
//
// Decision thread.

#pragma once

#include <set>
#include <string>
#include <vector>

#include "provision/lifecycle/claim_life.h"

namespace coppice::provision {

class Repair {
 public:
  struct Parts {
    Context& context;
    ClaimStore& store;
    ClaimLife& life;
  };
  explicit Repair(Parts parts) : parts_(parts) {}

  void Look(const std::vector<ClaimPtr>& claims, const Context::NodeIndexById& nodes,
            TimePoint now);

 private:
  Task<void> Replace(ClaimPtr claim, NodePtr node, std::string condition);

  const Parts parts_;
  std::set<std::string> busy_;  // claims, by uid
};

}  // namespace coppice::provision
