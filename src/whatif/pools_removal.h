// Would this node go where node pools decide, where would each of its pods go, and what keeps it? The
// rules are those of disruption: a pod or a machine that may not be disturbed, a budget that lets
// nobody go. Nodes of no pool are asked about their pods alone.

#pragma once

#include <string>
#include <vector>

#include "whatif/pools.h"
#include "whatif/pools_scene.h"

namespace coppice::whatif {

// Judged as they are before any of them has gone; those that nothing keeps are taken off the scene, and
// their pods wait.
Result<std::vector<RemovalAnswer>> RemoveNodes(PoolsScene& scene,
                                               const std::vector<std::string>& names);

// Once places have been found: where to, or why nowhere.
void SayWhereTheyWent(PoolsPlan& plan);

}  // namespace coppice::whatif
