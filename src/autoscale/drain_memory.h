// DrainMemory: what the drain rules say about a pod, asked once per evaluation.
//
// A scan of all nodes judges a pod whenever the node that it is on is tried, and pods that moved
// are tried again with their new node. Of the rules only the last looks at something that changes
// meanwhile (what is left of disruption budgets), so the others' word is kept, and the pod's object
// is not even looked at again.

#pragma once

#include <cstdint>
#include <vector>

#include "autoscale/drain_rules.h"
#include "cluster/world.h"

namespace coppice::autoscale {

// PodsToMove, by index.
struct IndexesToMove {
  std::vector<cluster::PodIndex> movable;
  std::vector<cluster::PodIndex> daemon_set;
  std::vector<cluster::PodIndex> on_completion;
  cluster::PodIndex blocking = cluster::kNone;
  DrainVerdict blocked_by;  // if there is a blocking pod
};

class DrainMemory {
 public:
  explicit DrainMemory(const std::vector<DrainRule>& rules) : rules_(rules) {}

  // Before the first question of an evaluation: pods, controllers or the time may be others now.
  void Forget() { said_.clear(); }

  // What becomes of these pods, in their order, up to the first that blocks. Pods that a plan made
  // up are left out.
  IndexesToMove Sort(const cluster::World& world, const std::vector<cluster::PodIndex>& pods,
                     const DrainContext& context);

 private:
  struct Said {
    uint8_t from = 0;  // the rule to go on with; those before it have nothing to say
    bool known = false;
    bool final = false;  // the outcome stands
    bool daemon = false;
    DrainOutcome outcome = DrainOutcome::kUndefined;
  };

  DrainVerdict Judge(Said& said, const model::Pod& pod, const DrainContext& context) const;

  const std::vector<DrainRule>& rules_;
  std::vector<Said> said_;  // by pod index
};

}  // namespace coppice::autoscale
