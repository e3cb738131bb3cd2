// Which pods concern the autoscaler at all, and which of them nobody has found a node for.

#pragma once

#include "autoscale/options.h"
#include "autoscale/processors.h"
#include "cluster/world.h"

namespace coppice::autoscale {

// For World: which pods are part of the cluster.
bool CountsAsPod(const PodOptions& options, const model::Pod& pod);

// Those that a scheduler could not place; those that it has not got to, but whose kin (same
// controller, same shape) it could not place (Deviations::unmarked_kin); then those that a bypassed
// one has not looked at.
Pods ListPending(const PodOptions& options, const Deviations& deviations,
                 const cluster::World& world);

}  // namespace coppice::autoscale
