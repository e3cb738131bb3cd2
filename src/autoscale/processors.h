// Processors: the places in a pass where somebody else's code may decide instead of ours. They are
// upstream's extension points, one typed slot each; an empty slot does what the engine does by
// itself, and that is the default everywhere.
//
// A processor that replaces a step is handed the standard step as a function, so that it can do
// something before or after it, or not call it at all. All of it runs on the decision thread,
// inside a pass, in the order of upstream's loop: nothing here may wait for the network. What a
// processor keeps, it keeps for itself; it is destroyed when the engine is.

#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autoscale/listed_node.h"
#include "autoscale/quotas.h"
#include "autoscale/similar.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"
#include "expand/option.h"
#include "fit/equivalence.h"
#include "pack/node_template.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

using Pods = std::vector<fit::PendingPod>;
using TemplatesByGroup = std::map<std::string, pack::TemplatePtr, std::less<>>;

// What a processor sees of the pass, and what it may ask of it.
struct PassView {
  TimePoint now;
  cluster::World& world;
  cloud::NodeGroups& groups;
  std::function<void()> disable_scale_down;  // for this pass
  std::function<void()> forget_unneeded;     // all unneeded timers start anew
  std::map<std::string, std::any>& extra;    // from processor to processor; empty at each start
};

// ---- Beginning of the pass, in this order.

// Nodes whose devices are not there yet, and what a node counts for in limits on devices.
class CustomResourcesProcessor {
 public:
  virtual ~CustomResourcesProcessor() = default;
  // A ready node that is to be treated as not ready. `standard` asks for the GPU of its label.
  virtual bool DevicesMissing(const model::Node& node,
                              const std::function<bool(const model::Node&)>& standard) = 0;
  // Devices by the name that limits (--gpu-total) use, beside cpu and memory.
  using Targets = Quotas::Amounts;
  virtual Targets DevicesOf(const model::Node& node, std::string_view group,
                            const std::function<Targets(const model::Node&)>& standard) {
    (void)group;
    return standard(node);
  }
};

// Whether there is a cluster to act on at all.
class ActionableClusterProcessor {
 public:
  virtual ~ActionableClusterProcessor() = default;
  // A sentence: the pass ends here. Empty: it goes on.
  virtual Result<std::string> ShouldAbort(const std::vector<ListedNode>& nodes,
                                          const PassView& view) = 0;
};

// Told at each start, after the provider has been refreshed.
class LoopStartObserver {
 public:
  virtual ~LoopStartObserver() = default;
  virtual void Refresh(const PassView& view) = 0;
};

// What a fresh node of each group looks like.
class TemplateProcessor {
 public:
  virtual ~TemplateProcessor() = default;
  // `standard`: from real nodes, remembered ones and the provider. A group left out cannot grow.
  virtual Result<TemplatesByGroup> Process(TemplatesByGroup standard,
                                           const std::vector<ListedNode>& nodes,
                                           const PassView& view) = 0;
};

// The options of a group; asked often, so be quick.
class NodeGroupConfigProcessor {
 public:
  virtual ~NodeGroupConfigProcessor() = default;
  virtual cloud::ScalingOptions OptionsOf(std::string_view group,
                                          const cloud::ScalingOptions& standard) = 0;
};

// ---- Scale-up.

// Which pods are bought for. An error counts as an empty list.
class PodListProcessor {
 public:
  virtual ~PodListProcessor() = default;
  // `standard` adds what is being evicted, places what fits on nodes that exist or are coming,
  // drops DaemonSet pods and those that are too young. Pods may be left out; one that is added must
  // be in the snapshot (view.world.snapshot().AddPod), which forgets it at the end of the plan; one
  // that `standard` has found a place for is put there again in later plans of the pass.
  virtual Result<Pods> Process(Pods pods, const std::function<Pods(Pods)>& standard,
                               const PassView& view) = 0;
};

// Says yes where the pass would wait: every pod is new, the cluster is full, and so on.
class ScaleUpEnforcer {
 public:
  virtual ~ScaleUpEnforcer() = default;
  virtual bool ForceScaleUp(const Pods& pods, const PassView& view) = 0;
};

// Groups that do not exist yet are those that the provider does not list: the node group manager
// makes them when they are chosen.
class NodeGroupListProcessor {
 public:
  virtual ~NodeGroupListProcessor() = default;
  struct List {
    std::vector<cloud::GroupInfo> groups;
    TemplatesByGroup templates;
  };
  virtual Result<List> Process(List list, const Pods& pods) = 0;
};

// When to stop looking for options.
class BinpackingLimiter {
 public:
  virtual ~BinpackingLimiter() = default;
  virtual void Begin(const std::vector<std::string>& groups) = 0;
  // After each group: true stops.
  virtual bool Stop(std::string_view processed, const std::vector<expand::Option>& options) = 0;
  virtual void End(std::vector<expand::Option>& options) { (void)options; }
};

// Which groups are alike, and how new nodes are spread over them.
class NodeGroupSetProcessor {
 public:
  virtual ~NodeGroupSetProcessor() = default;
  virtual Result<std::vector<std::string>> FindSimilar(const std::string& group,
                                                       const TemplatesByGroup& templates) = 0;
  virtual Result<std::vector<GroupSize>> Balance(std::vector<GroupSize> groups, int new_nodes) {
    return autoscale::Balance(std::move(groups), new_nodes);
  }
};

class NodeGroupManager {
 public:
  virtual ~NodeGroupManager() = default;
  // Makes a group that the provider does not list. The id under which it does from now on.
  virtual Result<std::string> Create(const std::string& group) = 0;
  // Once per pass that may remove nodes. The ids of groups that are gone.
  virtual Result<std::vector<std::string>> RemoveUnneeded() = 0;
};

// Groups that are being made: they are not in the status.
class AsyncNodeGroupStateChecker {
 public:
  virtual ~AsyncNodeGroupStateChecker() = default;
  virtual bool IsUpcoming(std::string_view group) = 0;
};

// After each attempt, or at the end of a pass without one.
class ScaleUpStatusProcessor {
 public:
  virtual ~ScaleUpStatusProcessor() = default;
  // `standard` writes the events on pods.
  virtual void Process(const report::ScaleUp& status,
                       const std::function<void(const report::ScaleUp&)>& standard,
                       const PassView& view) = 0;
};

// ---- Scale-down.

class ScaleDownNodeProcessor {
 public:
  virtual ~ScaleDownNodeProcessor() = default;
  using Names = std::vector<std::string>;
  // `standard`: nodes of groups above their minimum, empty ones first.
  virtual Result<Names> Candidates(Names standard, const std::vector<ListedNode>& nodes,
                                   const PassView& view) = 0;
  // Nodes that may take the pods of those that go. `standard`: all but those being deleted.
  virtual Result<Names> Destinations(Names standard, const std::vector<ListedNode>& nodes,
                                     const PassView& view) {
    (void)nodes, (void)view;
    return standard;
  }
};

// Which of two candidates is looked at first; asked before the standard order decides.
class CandidatesComparer {
 public:
  virtual ~CandidatesComparer() = default;
  virtual bool EarlierThan(const std::string& a, const std::string& b) = 0;
  virtual void ResetState() {}
};

// The last word on a set of nodes whose time has come.
class ScaleDownSetProcessor {
 public:
  virtual ~ScaleDownSetProcessor() = default;
  struct Due {
    std::string node;
    std::string group;
    bool empty = false;  // nothing has to be evicted
  };
  struct Staying {
    std::string node;
    report::StayReason reason = report::StayReason::kNoReason;
    std::string detail = {};  // for people
  };
  struct Split {
    std::vector<std::string> remove;
    std::vector<Staying> keep;
  };
  // Every node in exactly one of the two. `standard` keeps all-or-nothing groups whole. An error
  // keeps all.
  virtual Result<Split> Filter(const std::vector<Due>& nodes,
                               const std::function<Split(const std::vector<Due>&)>& standard,
                               const PassView& view) = 0;
};

class ScaleDownStatusProcessor {
 public:
  virtual ~ScaleDownStatusProcessor() = default;
  virtual void Process(const report::ScaleDown& status, const PassView& view) = 0;
};

// ---- End of the pass, and observers.

class AutoscalingStatusProcessor {
 public:
  virtual ~AutoscalingStatusProcessor() = default;
  virtual void Process(const report::ClusterStatus& status, const PassView& view) = 0;
};

class ScaleDownCandidatesObserver {
 public:
  virtual ~ScaleDownCandidatesObserver() = default;
  virtual void UpdateCandidates(const std::vector<std::string>& unneeded, TimePoint now) = 0;
};

class ScaleStateObserver {
 public:
  virtual ~ScaleStateObserver() = default;
  virtual void ScaledUp(std::string_view group, int delta, TimePoint now) = 0;
  virtual void ScaledDown(std::string_view group, TimePoint now) = 0;
  virtual void ScaleUpFailed(std::string_view group, const cloud::MachineError& why,
                             TimePoint now) = 0;
  virtual void ScaleDownFailed(std::string_view group, TimePoint now) = 0;
};

// The slots of one engine. Null: the standard. Lists are asked in their order.
struct Processors {
  std::unique_ptr<CustomResourcesProcessor> custom_resources;
  std::unique_ptr<ActionableClusterProcessor> actionable_cluster;
  std::vector<std::unique_ptr<LoopStartObserver>> loop_start;
  std::unique_ptr<TemplateProcessor> node_info;
  std::unique_ptr<NodeGroupConfigProcessor> node_group_config;
  std::unique_ptr<PodListProcessor> pod_list;
  std::unique_ptr<ScaleUpEnforcer> scale_up_enforcer;
  std::unique_ptr<NodeGroupListProcessor> node_group_list;
  std::unique_ptr<BinpackingLimiter> binpacking_limiter;
  std::unique_ptr<NodeGroupSetProcessor> node_group_set;
  std::unique_ptr<NodeGroupManager> node_group_manager;
  std::unique_ptr<AsyncNodeGroupStateChecker> async_node_groups;
  std::unique_ptr<ScaleUpStatusProcessor> scale_up_status;
  std::unique_ptr<ScaleDownNodeProcessor> scale_down_node;
  std::vector<std::unique_ptr<CandidatesComparer>> scale_down_order;
  std::unique_ptr<ScaleDownSetProcessor> scale_down_set;
  std::unique_ptr<ScaleDownStatusProcessor> scale_down_status;
  std::unique_ptr<AutoscalingStatusProcessor> autoscaling_status;
  std::vector<std::unique_ptr<ScaleDownCandidatesObserver>> scale_down_candidates;
  std::vector<std::unique_ptr<ScaleStateObserver>> scale_state;
};

// What limits count nodes by; null while the slot is empty.
Quotas::DevicesOf DevicesFrom(Processors& slots, std::string gpu_label);

}  // namespace coppice::autoscale
