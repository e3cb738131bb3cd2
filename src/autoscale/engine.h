// Engine: the autoscaler. One pass looks at the world, repairs what the cloud got wrong, buys what
// pending pods need, and removes what nobody needs; each stage plans first and acts then.
//
// Lives on the decision thread. A pass is a coroutine: it suspends while the cloud and the API
// server answer, and only one runs at a time. Deletions go on between passes (actuator.h).

#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autoscale/actuator.h"
#include "autoscale/cloud_calls.h"
#include "autoscale/cluster_state.h"
#include "autoscale/memory.h"
#include "autoscale/nearest_miss.h"
#include "autoscale/options.h"
#include "autoscale/orders.h"
#include "autoscale/processors.h"
#include "autoscale/removal_fuse.h"
#include "autoscale/scale_down.h"
#include "autoscale/scale_up.h"
#include "autoscale/templates.h"
#include "autoscale/tpu.h"
#include "base/executor.h"
#include "base/log.h"
#include "drain/world_controllers.h"
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

  // One pass at `now`. The report is complete when it is over.
  Task<std::shared_ptr<const report::PassReport>> Pass(TimePoint now);

  // What the next process is to know, and what the last one left. To be recalled before the first
  // pass; too old, or with --survive-restarts=false, it counts for nothing.
  Memory Remember(TimePoint now);
  void Recall(const Memory& memory, TimePoint now);

  // For World: which pods are part of the cluster at all.
  static bool Counts(const Options& options, const model::Pod& pod);

  TimePoint last_scale_up() const { return last_scale_up_; }
  TimePoint last_scale_down() const { return last_delete_; }
  ClusterState& state() { return state_; }
  const ScaleDownPlanner& planner() const { return down_; }
  const Actuator& actuator() const { return actuator_; }
  const Templates& templates() const { return templates_; }

 private:
  struct PassState;

  static Task<void> RefreshInstances(Executor& executor, std::weak_ptr<ClusterState> of);
  PassView ViewOf(PassState& pass);
  void RegisterFailure(std::string_view group, int nodes, const cloud::MachineError& why,
                       TimePoint now);
  cloud::ScalingOptions OptionsOf(std::string_view group);
  std::string StaleView() const;
  std::optional<std::string> GroupOf(const model::Node& node);  // "" none; nullopt: not known yet
  void TellNodes();
  Task<void> CleanUp(PassState& pass);
  std::string NotOurs(const cloud::NodeRef& node, std::string_view group);
  void ListNodes(PassState& pass);
  void ListPods(PassState& pass);
  Task<bool> Observe(PassState& pass);  // false: the pass is over
  Task<bool> Repair(PassState& pass);
  Task<void> RemoveLongUnregistered(PassState& pass);
  Task<void> DeleteFailedCreations(PassState& pass);
  Task<bool> FixSizes(PassState& pass);
  std::vector<cloud::NodeRef> WholeOrNothing(const std::string& group,
                                             std::vector<cloud::NodeRef> nodes, bool& skip);
  void AddUpcoming(PassState& pass);
  void ListAllNodes(PassState& pass);
  void ListPodsToHelp(PassState& pass);
  void PlaceOnOrdered(PassState& pass, Pods& pods);
  void RememberBought(const report::ScaleUp& done);
  Pods HelpByExistingNodes(PassState& pass, Pods pods);
  bool ShouldScaleUp(PassState& pass);
  bool WantsScaleUp(PassState& pass);
  bool AllNew(const PassState& pass) const;
  Task<void> ScaleUp(PassState& pass);
  Task<report::ScaleUp> Execute(ScaleUpPlan plan, TimePoint now);
  Task<coppice::Status> Resize(report::GroupResize resize, bool all_or_nothing, TimePoint now,
                               TimePoint patience_ends);
  void Ordered(const std::string& group, int delta, TimePoint at);
  void OrderFailed(const report::GroupResize& resize, const coppice::Status& why, TimePoint now);
  Result<std::string> ExistingGroup(const std::string& group);
  bool PlaceOnSalvoNodes(PassState& pass, const report::ScaleUp& done, int round,
                         const std::set<const model::Pod*>& helped);
  Task<void> ScaleDown(PassState& pass);
  bool InCooldown(const PassState& pass) const;
  void HoldInCooldown(PassState& pass);
  void NoteGroupDelays(PassState& pass) const;
  using NodeAndGroup = std::pair<std::string, std::string>;
  void HoldCropped(const std::vector<NodeAndGroup>& wanted, const CroppedDeletions& cropped);
  void Wake();
  void NoteDue(PassState& pass);
  void Finish(PassState& pass);
  void TellScaleUp(PassState& pass);
  void EmitScaleUpEvents(const report::ScaleUp& scale_up);
  void StatusEvent(std::string_view type, std::string_view reason, std::string text);
  expand::Surroundings Around();
  struct Described {
    report::RemovedNode removed;
    std::string pods;  // the evicted ones' names, for an event
  };
  Described Describe(const RemovableNode& node, bool drain);
  report::ClusterStatus Status(const PassState& pass);

  Parts parts_;
  Processors standard_;  // every slot empty
  Processors& slots_;
  Orders orders_;
  cloud::NodeGroups& groups_;  // with what was ordered; for all reads
  Templates templates_;
  ClusterState state_;
  fit::Search search_;
  fit::Placer pending_placer_;
  ScaleUpPlanner up_;
  NearestMiss nearest_;
  ScaleDownPlanner down_;
  RemovalFuse fuse_;
  Actuator actuator_;
  // As of the last listing: the nodes, what was read off each object, for which answers of the
  // provider its group stands, and for which set of nodes its index.
  std::vector<ListedNode> listed_;
  PerNode<ListedNode> read_;
  uint64_t listed_version_ = 0;
  uint64_t listed_set_ = 0;
  std::string listed_gpu_label_;
  uint64_t told_set_ = 0;  // which set of nodes the provider knows of
  bool initialized_ = false;
  // Of the nodes that the first pass found: those whose group was not known then, so that nobody
  // could say whether marks of a process before us are ours to remove.
  std::set<std::string> not_cleaned_;
  int degraded_passes_ = 0;
  TimePoint last_scale_up_;
  TimePoint last_delete_;
  TimePoint last_fail_;
  std::vector<report::FailedAddition> failed_additions_;  // since the last report
  int groups_created_ = 0;                                // likewise
  // With --larger-pods-first: which order each pending pod was bought for with, by uid.
  struct Order {
    uint64_t number = 0;
    std::set<std::string> groups = {};
  };
  std::map<std::string, std::shared_ptr<const Order>> bought_for_;
  uint64_t order_number_ = 0;
  bool taints_are_fresh_ = false;  // the process that set them was alive a moment ago
  // For as long as the engine lives.
  const std::shared_ptr<ClusterState> watched_{&state_, [](ClusterState*) {}};
  // --scale-down-delay-type-local.
  std::map<std::string, TimePoint> group_scaled_up_;
  std::map<std::string, TimePoint> group_scaled_down_;
  std::map<std::string, TimePoint> group_failed_;
  TpuRequests tpus_;
};

}  // namespace coppice::autoscale
