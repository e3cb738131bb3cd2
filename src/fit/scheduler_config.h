// KubeSchedulerConfiguration: which filters are asked, in which order, and with which arguments.
//
// The file is kube-scheduler's own (kubescheduler.config.k8s.io/v1), so that the autoscaler judges
// pods as the scheduler of the cluster does. Exactly one profile is read. What only concerns
// scoring, binding, queueing or the scheduler's own process is known and passed over; extenders are
// not called and are said so with a warning. Every complaint names file, line and column.
//
// Plain values; reading has no side effect.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/yaml.h"
#include "model/pod.h"

namespace coppice::fit {

// One plug-in of the chain. Disabling a plug-in at one extension point only leaves it half:
// kube-scheduler then still lets its PreFilter reject the pod, or still asks its Filter about
// nodes.
struct ChainStep {
  std::string name;
  bool pre_filter = true;  // may reject the pod everywhere or narrow the nodes
  bool filter = true;      // is asked about nodes
  friend bool operator==(const ChainStep&, const ChainStep&) = default;
};

// The Filter plug-ins of kube-scheduler v1.36's default profile, in its order: the first refusal is
// the one it would name.
const std::vector<std::string>& DefaultFilterOrder();

struct SchedulerConfig {
  std::string scheduler_name = "default-scheduler";
  std::vector<ChainStep> chain = DefaultChain();

  // NodeResourcesFit: extended resources that somebody else looks after. A group is the part before
  // the '/'.
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_resource_groups;

  // NodeAffinity: demanded of every pod of this profile, beside its own. Only `required` filters.
  std::optional<model::NodeAffinity> added_affinity;

  // PodTopologySpread: for pods that have no constraints of their own (defaultingType: List). The
  // system's own defaults are ScheduleAnyway, which filters nothing, and are therefore not listed
  // here.
  std::vector<model::TopologySpreadConstraint> default_spread_constraints;

  static std::vector<ChainStep> DefaultChain();
  friend bool operator==(const SchedulerConfig&, const SchedulerConfig&) = default;
};

// Reads one document. Mistakes go to `problems`; what is returned is then good for further
// validation only. `extra_filters` are names registered beside kube-scheduler's own, which
// `enabled` may use.
SchedulerConfig ReadSchedulerConfig(const yaml::Node& root, yaml::Problems& problems,
                                    const std::vector<std::string>& extra_filters = {});

// The same from text or from a file; any error in it fails the whole.
Result<SchedulerConfig> ParseSchedulerConfig(std::string_view text, std::string file_name,
                                             const std::vector<std::string>& extra_filters = {});
Result<SchedulerConfig> LoadSchedulerConfig(const std::string& path,
                                            const std::vector<std::string>& extra_filters = {});

}  // namespace coppice::fit
