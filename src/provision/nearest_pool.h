// NearestPool: what a pool lacks to take a pod that nothing could be bought for.
//
// Found by trying: with everything in the way out of the way the pod is placed; then one thing after
// the other is put back, and what cannot be put back is what it needs. So a miss that is told has
// been tried, all of its parts together.
//
// Pure; any thread. Each pool costs some solves of one pod beside all that run: how many there may
// be is the caller's to say.

#pragma once

#include <vector>

#include "provision/disruption/world.h"
#include "report/provision_report.h"

namespace coppice::provision {

// The nearest first. Each solve takes one off `solves_left`; pools for which none are left are told
// to have been passed over.
std::vector<report::PoolMiss> NearMisses(const DisruptionWorld& world, const PodPtr& pod,
                                         const SolverOptions& options, size_t& solves_left);

}  // namespace coppice::provision
