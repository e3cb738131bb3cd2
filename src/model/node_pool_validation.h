// Is this NodePool one that can be worked with?
//
// What the API server's schema already refuses, for objects that come from files or from a cluster
// with another schema, and what only a provider's labels can tell. A pool with anything wrong gets
// the condition ValidationSucceeded=False and is left out; the others go on.

#pragma once

#include <string>
#include <vector>

#include "model/node_pool.h"

namespace coppice::model {

// One sentence per mistake, with the field in front; none if all is well.
std::vector<std::string> WrongWith(const NodePool& pool, const LabelRules& rules);

}  // namespace coppice::model
