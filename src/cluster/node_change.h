// A NodeChange carried out on an object: what the API server makes of it, for every writer that
// stands for one.

#pragma once

#include "cluster/writer.h"
#include "model/node.h"

namespace coppice::cluster {

// A taint that is added takes the place of those with its key; what is removed is gone whatever was
// added.
model::Node Changed(model::Node node, const NodeChange& change);

}  // namespace coppice::cluster
