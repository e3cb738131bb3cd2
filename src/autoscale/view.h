// How autoscale looks at the pods of a World.

#pragma once

#include "autoscale/options.h"
#include "cluster/world.h"

namespace coppice::autoscale {

// Which pods count, which annotations tell pods apart when a node is to go, and which taint carries
// a time.
cluster::WorldOptions ViewOf(const PodOptions& options);

}  // namespace coppice::autoscale
