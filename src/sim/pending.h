// Pending: who waits for a node, in which order, and how that looks. For whoever plays
// kube-scheduler: the model cluster's scheduler, a what-if's.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/world.h"

namespace coppice::sim {

// On no node, held back by no gate, and not going.
bool WaitsForANode(const model::Pod& pod);

struct Waiting {
  cluster::PodPtr pod;
  cluster::PodIndex index;
};
// Of those that `ours` says yes to and that the snapshot knows: the most important first, then in
// list order. Good until the next change.
std::vector<Waiting> WaitingPods(const cluster::World& world,
                                 const std::function<bool(const model::Pod&)>& ours);

// The word of a scheduler that found no place.
model::PodCondition Unschedulable(TimePoint now, std::string message = "");
bool IsRefused(const model::Pod& pod);
// As it waits when it has lost its node, or never had one, and was refused.
model::Pod AsRefused(model::Pod pod, TimePoint now);

}  // namespace coppice::sim
