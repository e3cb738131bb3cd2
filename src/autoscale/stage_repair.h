// The second stage: what the cloud, or a process before us, left wrong: marks on nodes, orders that
// never came, machines that never became nodes, creations that failed, sizes that do not add up.

#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "autoscale/actuator.h"
#include "autoscale/buyer.h"
#include "autoscale/stage.h"
#include "autoscale/stage_observe.h"

namespace coppice::autoscale {

class RepairStage {
 public:
  struct Parts {
    const StageParts& shared;
    const NodeList& nodes;
    const Owners& owners;
    GroupStates& state;
    ScaleDownPlanner& down;  // whose timers go on, or start anew
    Actuator& actuator;
    Buyer& buyer;
    const ViewAge& view;
  };
  explicit RepairStage(Parts parts) : parts_(parts), shared_(parts.shared) {}

  // True: the numbers can be trusted, and the pass goes on. What can be done without knowing all
  // is done in any case.
  Task<bool> Run(Pass& pass, const Observation& seen);

  // The process that set the soft taints was alive a moment ago. Before the first pass.
  void TaintsAreFresh() { taints_are_fresh_ = true; }

 private:
  Task<void> CleanUp(Pass& pass);
  Task<void> TakeBackTimedOut(Pass& pass, std::vector<TimedOutRequest> timed_out);
  void TellFailedCreations(Pass& pass, const std::vector<FailedCreations>& failed);
  Task<void> RemoveLongUnregistered(Pass& pass);
  Task<void> DeleteFailedCreations();
  Task<bool> FixSizes(Pass& pass);
  std::vector<cloud::NodeRef> WholeOrNothing(const std::string& group,
                                             std::vector<cloud::NodeRef> machines);

  Parts parts_;
  const StageParts& shared_;
  bool initialized_ = false;
  bool taints_are_fresh_ = false;
  // Of the nodes that the first pass found: those whose group was not known then, so that nobody
  // could say whether marks of a process before us are ours to remove.
  std::set<std::string> not_cleaned_;
};

}  // namespace coppice::autoscale
