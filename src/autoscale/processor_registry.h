// ProcessorRegistry: which processors a program has, by slot and name; and the choice among them.
//
// A plug-in folder plugins/processors/NAME, or a program out of tree, adds its own:
//
//   registry.pod_list.Add("skip-namespaces", [](const ProcessorContext& context) { ... });
//
// and `--processor=pod-list=skip-namespaces:dev,test` puts it into the slot, with what follows the
// colon as its argument. A program that is made for its processors chooses them in `defaults`.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autoscale/options.h"
#include "autoscale/processors.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/registry.h"
#include "base/rng.h"

namespace coppice::autoscale {

// What a processor is made from. All references outlive it.
struct ProcessorContext {
  const Options& options;  // all: what somebody else's code reads is not for us to say
  cloud::NodeGroups& groups;
  cluster::World& world;
  Clock& clock;
  Rng& rng;
  const Log& log;
  Metrics& metrics;
  std::string argument = {};  // what follows NAME: in --processor
};

template <class Slot>
using ProcessorFactory = std::function<Result<std::unique_ptr<Slot>>(const ProcessorContext&)>;

struct ProcessorRegistry {
  template <class Slot>
  using Of = Registry<ProcessorFactory<Slot>>;

  Of<CustomResourcesProcessor> custom_resources{"custom-resources processor"};
  Of<ActionableClusterProcessor> actionable_cluster{"actionable-cluster processor"};
  Of<LoopStartObserver> loop_start{"loop-start observer"};
  Of<TemplateProcessor> node_info{"node-info processor"};
  Of<NodeGroupConfigProcessor> node_group_config{"node-group-config processor"};
  Of<PodListProcessor> pod_list{"pod-list processor"};
  Of<ScaleUpEnforcer> scale_up_enforcer{"scale-up-enforcer"};
  Of<NodeGroupListProcessor> node_group_list{"node-group-list processor"};
  Of<BinpackingLimiter> binpacking_limiter{"binpacking-limiter"};
  Of<NodeGroupSetProcessor> node_group_set{"node-group-set processor"};
  Of<NodeGroupManager> node_group_manager{"node-group-manager"};
  Of<AsyncNodeGroupStateChecker> async_node_groups{"async-node-groups checker"};
  Of<ScaleUpStatusProcessor> scale_up_status{"scale-up-status processor"};
  Of<ScaleDownNodeProcessor> scale_down_node{"scale-down-node processor"};
  Of<CandidatesComparer> scale_down_order{"scale-down-order comparer"};
  Of<ScaleDownSetProcessor> scale_down_set{"scale-down-set processor"};
  Of<ScaleDownStatusProcessor> scale_down_status{"scale-down-status processor"};
  Of<AutoscalingStatusProcessor> autoscaling_status{"autoscaling-status processor"};
  Of<ScaleDownCandidatesObserver> scale_down_candidates{"scale-down-candidates observer"};
  Of<ScaleStateObserver> scale_state{"scale-state observer"};

  // SLOT=NAME[:ARGUMENT] in force unless a flag says something else about that slot.
  std::vector<std::string> defaults;

  // OK, or everything that was registered twice.
  Status Check() const;
  // SLOT=NAME of all, in the order of a pass.
  std::vector<std::string> names() const;
};

// The names of the slots as --processor takes them, in the order of a pass.
std::vector<std::string> ProcessorSlots();

// NotFound if one of `choices` names a slot or a processor that is not there.
Status CheckProcessorNames(const ProcessorRegistry& registry,
                           const std::vector<std::string>& choices);

// Fills the slots that `choices` (SLOT=NAME[:ARGUMENT], as --processor gives them) names. An
// unknown slot or name is refused with what there is; a slot that takes one processor, with both. A
// factory's error is passed on. Nothing is locked meanwhile.
Result<Processors> MakeProcessors(const ProcessorRegistry& registry,
                                  const std::vector<std::string>& choices,
                                  const ProcessorContext& context);

}  // namespace coppice::autoscale
