// Would this node drain, where would each of its pods go, and what stands in the way? Asks the
// engine's own drain rules and filters; leaves the world as it was.

#pragma once

#include "cluster/world.h"
#include "fit/chain.h"
#include "whatif/whatif.h"

namespace coppice::whatif {

Result<RemovalAnswer> TryRemoval(const std::string& node, cluster::World& world,
                                 const fit::Chain& filters, const autoscale::DrainOptions& options,
                                 const autoscale::Deviations& deviations, TimePoint now);

}  // namespace coppice::whatif
