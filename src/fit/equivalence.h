// Pods that are the same for scheduling: one answer serves them all.

#pragma once

#include <vector>

#include "cluster/world.h"
#include "model/pod.h"

namespace coppice::fit {

// A pending pod: the object, and its index in the snapshot.
struct PendingPod {
  cluster::PodPtr pod;
  cluster::PodIndex index = cluster::kNone;
};

// Of a controller's pods so many kinds are told apart, as upstream does it.
inline constexpr size_t kKindsPerController = 10;

// Same labels, and specs equal but for what does not matter to scheduling (projected volumes,
// environment, hostname).
bool SameForScheduling(const model::Pod& a, const model::Pod& b);

// Groups of equivalent pods, in the order of their first pods; pods inside in list order. Only pods
// of one controller are compared, and only with its first ten kinds: what differs from all of them
// stays alone. Pods without a controller and DaemonSet pods are groups of one. With the snapshot,
// objects without a controller are not even looked at.
std::vector<std::vector<PendingPod>> GroupEquivalent(const std::vector<PendingPod>& pods,
                                                     const cluster::Snapshot* snapshot = nullptr);

}  // namespace coppice::fit
