// Engine: the autoscaler. One pass looks at the world, repairs what the cloud got wrong, buys what
// pending pods need, and removes what nobody needs: one stage each, which plans first and acts
// then.
//
// Lives on the decision thread. A pass is a coroutine: it suspends while the cloud and the API
// server answer, with no fork open (stage.h), and only one runs at a time. Deletions go on between
// passes (actuator.h).

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "autoscale/actuator.h"
#include "autoscale/buyer.h"
#include "autoscale/cloud_calls.h"
#include "autoscale/cooldowns.h"
#include "autoscale/group_seller.h"
#include "autoscale/group_states.h"
#include "autoscale/memory.h"
#include "autoscale/nearest_miss.h"
#include "autoscale/options.h"
#include "autoscale/orders.h"
#include "autoscale/pods_to_help.h"
#include "autoscale/processors.h"
#include "autoscale/removal_fuse.h"
#include "autoscale/scale_down.h"
#include "autoscale/scale_up.h"
#include "autoscale/stage_observe.h"
#include "autoscale/stage_repair.h"
#include "autoscale/stage_scale_down.h"
#include "autoscale/stage_scale_up.h"
#include "autoscale/templates.h"
#include "base/executor.h"
#include "base/log.h"
#include "expand/chain.h"
#include "fit/chain.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

class Engine {
 public:
  struct Parts {
    Options options;
    cluster::World& world;
    cloud::NodeGroups& groups;
    CloudCalls& cloud;
    cluster::Writer& writer;
    Executor& executor;
    Rng& rng;
    const fit::Chain& filters;
    expand::Chain& expanders;
    const Log& log;
    // How old the view of the cluster is; null: always fresh.
    std::function<Duration()> view_age = nullptr;
    std::function<std::string()> oldest_kind = nullptr;  // that it is so old of: "Pod"
    bool first_of_tie = false;  // replays: no lot among equally good options
    // Somebody else's code in our place; null: nobody's. Outlives the engine.
    Processors* processors = nullptr;
    // Something that went on after its pass has ended (a late answer to an order, a deletion), and
    // another pass may find more to do. Null: nobody waits for that.
    std::function<void()> wake = nullptr;
  };
  explicit Engine(Parts parts);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // One pass at `now`. The report is complete when it is over.
  Task<std::shared_ptr<const report::PassReport>> Pass(TimePoint now);

  // What the next process is to know, and what the last one left. To be recalled before the first
  // pass; too old, or with --survive-restarts=false, it counts for nothing.
  Memory Remember(TimePoint now);
  void Recall(const Memory& memory, TimePoint now);

  // For World: which pods are part of the cluster at all.
  static bool Counts(const PodOptions& options, const model::Pod& pod);

  TimePoint last_scale_up() const { return cooldowns_.last_scale_up(); }
  TimePoint last_scale_down() const { return cooldowns_.last_delete(); }
  GroupStates& state() { return state_; }
  // Who sells the node groups' machines to gangs. As good as the last pass's look at them.
  market::Seller& seller() { return seller_; }
  const ScaleDownPlanner& planner() const { return down_; }
  const Actuator& actuator() const { return actuator_; }
  const Templates& templates() const { return templates_; }

 private:
  Actuator::Parts ActuatorParts();
  void NoteDue(autoscale::Pass& pass, const Observation& seen, const ScaleUpStage::Outcome& bought);
  void Finish(autoscale::Pass& pass, const Observation& seen, ScaleUpStage::Outcome& bought);
  void Wake() const;

  Parts parts_;
  Processors standard_;  // every slot empty
  Processors& slots_;
  Orders orders_;
  cloud::NodeGroups& groups_;  // with what was ordered; for all reads
  const GroupOptions options_of_;
  Tell tell_;
  const ViewAge view_;
  const StageParts shared_;
  Owners owners_;
  NodeList nodes_;
  Templates templates_;
  GroupStates state_;
  Cooldowns cooldowns_;
  StandStill still_;
  fit::Search search_;
  TpuRequests tpus_;
  OneAtATime choosing_;
  Reservations reserved_;
  ScaleUpPlanner up_;
  NearestMiss nearest_;
  ScaleDownPlanner down_;
  RemovalFuse fuse_;
  Actuator actuator_;
  Buyer buyer_;
  PodsToHelp help_;
  ObserveStage observe_;
  RepairStage repair_;
  ScaleUpStage scale_up_;
  ScaleDownStage scale_down_;
  GroupSeller seller_;
  // For as long as the engine lives.
  const std::shared_ptr<GroupStates> watched_{&state_, [](GroupStates*) {}};
};

}  // namespace coppice::autoscale
