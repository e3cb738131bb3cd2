// The hard spread constraints of a pod, ready to be counted.

#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/snapshot.h"
#include "model/pod.h"
#include "model/selector.h"

namespace coppice::filters::pod_topology_spread {

struct Constraint {
  int32_t max_skew = 0;
  std::string topology_key;
  model::Selector selector = model::Selector::Nothing();
  int32_t min_domains = 1;
  bool honor_affinity = true;
  bool honor_taints = false;
};

// Those of `constraints` that say DoNotSchedule, with matchLabelKeys merged into their selectors.
// An error if one of these has a malformed selector.
Result<std::vector<Constraint>> HardConstraints(
    const std::vector<model::TopologySpreadConstraint>& constraints,
    const model::Labels& pod_labels);

// Which pods are the pod's siblings, for default constraints: those of its services and of its
// controller.
model::Selector SiblingSelector(const cluster::PodView& pod, const cluster::Facts& facts);

}  // namespace coppice::filters::pod_topology_spread
