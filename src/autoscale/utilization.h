// How much of a node its pods ask for: the share that decides whether it is worth keeping.

#pragma once

#include <optional>
#include <string_view>

#include "cluster/world.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

struct UtilizationRules {
  bool ignore_daemon_sets = false;
  bool ignore_mirror_pods = false;
  std::string_view gpu_label;  // a node with this label is judged by its GPUs alone
  TimePoint now;
};

// Requests of the node's pods against allocatable: of cpu and memory the larger share. Pods that
// are ignored are taken off both sides. Pods that have been terminating for too long do not count.
// Absent: the node does not say what it offers.
std::optional<report::Utilization> UtilizationOf(const cluster::World& world,
                                                 cluster::NodeIndex index, const model::Node& node,
                                                 const UtilizationRules& rules);

}  // namespace coppice::autoscale
