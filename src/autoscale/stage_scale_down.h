// The fourth stage: what nobody needs any more, and of that what may go now.

#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autoscale/actuator.h"
#include "autoscale/cooldowns.h"
#include "autoscale/described_removals.h"
#include "autoscale/removal_fuse.h"
#include "autoscale/scale_down.h"
#include "autoscale/stage.h"
#include "autoscale/stage_observe.h"
#include "autoscale/stage_scale_up.h"

namespace coppice::autoscale {

class ScaleDownStage {
 public:
  struct Parts {
    const StageParts& shared;
    ObserveStage& observe;
    const NodeList& nodes;
    GroupStates& state;
    ScaleDownPlanner& planner;
    RemovalFuse& fuse;
    Actuator& actuator;
    Cooldowns& cooldowns;
    StandStill& still;
    const ViewAge& view;
  };
  explicit ScaleDownStage(Parts parts) : parts_(parts), shared_(parts.shared) {}

  // On top of what scale-up has imagined. Returns when deletions have begun; they end by
  // themselves.
  Task<void> Run(Pass& pass, Observation& seen, ScaleUpStage::Outcome& above);

 private:
  struct Plan {
    bool cooldown = false;
    bool candidates = false;  // there are any
    CroppedDeletions deletions;
    std::unordered_map<std::string, DescribedRemoval> described;  // by node
    Stopwatch removal;                                            // since the nodes were evaluated
    bool acts() const { return !cooldown && candidates; }
  };
  Result<Plan> MakePlan(Pass& pass, Observation& seen, ScaleUpStage::Outcome& above);
  Result<std::vector<uint32_t>> Candidates(Pass& pass, ScaleDownPlanner::View& view,
                                           const std::set<std::string>& delayed_groups);
  void Choose(const ScaleDownPlanner::View& view, Plan& plan);
  void HoldInCooldown(Pass& pass);
  using NodeAndGroup = std::pair<std::string, std::string>;
  void HoldCropped(const std::vector<NodeAndGroup>& wanted, const CroppedDeletions& cropped);
  void RemoveUnneededGroups(Pass& pass);
  Task<void> Act(Pass& pass, Plan& plan, size_t nodes);
  Task<void> AskFuse(Pass& pass, Plan& plan, size_t nodes);
  report::RemovedNode Announce(const RemovableNode& node, bool drain, Plan& plan);
  Task<void> MarkUnneeded(Pass& pass, const std::vector<ListedNode>& nodes);

  Parts parts_;
  const StageParts& shared_;
};

}  // namespace coppice::autoscale
