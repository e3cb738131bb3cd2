// The third stage: stand-ins for nodes on their way, pods that fit after all, and buying for the
// rest.

#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autoscale/buyer.h"
#include "autoscale/imagined.h"
#include "autoscale/nearest_miss.h"
#include "autoscale/pods_to_help.h"
#include "autoscale/reservations.h"
#include "autoscale/roster.h"
#include "autoscale/scale_up.h"
#include "autoscale/stage.h"
#include "autoscale/stage_observe.h"

namespace coppice::autoscale {

class ScaleUpStage {
 public:
  struct Parts {
    const StageParts& shared;
    ObserveStage& observe;
    const NodeList& nodes;
    const GroupStates& state;
    const Templates& templates;
    fit::Search& search;
    ScaleUpPlanner& planner;
    PodsToHelp& help;
    NearestMiss& nearest;
    Buyer& buyer;
    Cooldowns& cooldowns;
    StandStill& still;
    const Reservations& reserved;
  };
  explicit ScaleUpStage(Parts parts) : parts_(parts), shared_(parts.shared) {}

  // What scale-down is to know.
  struct Outcome {
    Outcome(cluster::World& world, TpuRequests& tpus) : imagined(world, tpus) {}

    bool planned = false;  // the following is known
    Imagined imagined;
    Roster roster;
    struct Unhelped {
      cluster::PodPtr pod;
      Imagined::Source source;
    };
    std::vector<Unhelped> unhelped;           // that no node there is has room for
    std::vector<report::FittingPod> fitting;  // the others, if everything is to be told
    bool tried = false;                       // and told
  };
  // False: the pass has failed. `drained`: nodes that are being emptied right now.
  Task<bool> Run(Pass& pass, Observation& seen, std::vector<std::string> drained, Outcome& outcome);
  // --enforce-node-group-min-size: a second decision, at the end of a pass.
  Task<void> RaiseToMinima(Pass& pass, Outcome& outcome);

 private:
  struct Plan {
    ScaleUpPlanner::DraftPtr draft;      // null: nothing is to be bought
    std::optional<Stopwatch> stopwatch;  // since it was begun
  };
  Result<Plan> MakePlan(Pass& pass, Observation& seen, const std::vector<std::string>& drained,
                        Outcome& outcome);
  // Another round on top of what was just bought (--salvo-scale-up). Null: no more.
  ScaleUpPlanner::DraftPtr PlanSalvo(Pass& pass, const report::ScaleUp& done, int round,
                                     Outcome& outcome);
  void AddUpcoming(Pass& pass, Outcome& outcome);
  bool ShouldBuy(Pass& pass, const PodsToHelp::List& list);
  bool WantsToBuy(Pass& pass, const PodsToHelp::List& list);
  Task<void> Buy(Pass& pass, ScaleUpPlanner::DraftPtr draft, Outcome& outcome);
  Task<report::ScaleUp> CarryOut(ScaleUpPlan plan, TimePoint now);
  bool PlaceOnBought(const report::ScaleUp& done, int round, const Pods& helped, Outcome& outcome);
  void Explain(Pass& pass, Outcome& outcome);

  Parts parts_;
  const StageParts& shared_;
};

}  // namespace coppice::autoscale
