// Workloads of a manifest as the pods that they would make, waiting for a node: what `coppice
// simulate --add` puts into the cluster.

#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "whatif/dump_reader.h"

namespace coppice::whatif {

// `added` without Deployments, Jobs and the like, but with their pods, and with what a drain asks
// about (ReplicaSets, claims). `cluster` is asked for priority classes and storage classes. What
// the user should know goes to `notes`.
ClusterObjects ExpandWorkloads(const ClusterObjects& added, const ClusterObjects& cluster,
                               TimePoint now, std::vector<std::string>& notes);

}  // namespace coppice::whatif
