// NearestPool: what a pool lacks to take a pod that nothing could be bought for.
//
// Found by trying: with everything in the way out of the way the pod is placed; then one thing after
// the other is put back, and what cannot be put back is what it needs. So a miss that is told has
// been tried, all of its parts together.
//
// Pure; any thread. Each pool costs some solves of one pod.

#pragma once

#include <vector>

#include "provision/disruption/world.h"
#include "report/provision_report.h"

namespace coppice::provision {

// The nearest first.
std::vector<report::PoolMiss> NearMisses(const DisruptionWorld& world, const PodPtr& pod,
                                         const SolverOptions& options);

}  // namespace coppice::provision
