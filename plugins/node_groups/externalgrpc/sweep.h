// Many calls at once, bounded: the pieces run on the workers and on the caller's own thread, in
// their order, and all have ended on return. So a call is never worse off than one by one, even
// when the workers are busy with somebody else's. Each piece has its own deadline.

#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/pool.h"

namespace coppice::node_groups::externalgrpc {

void Sweep(Workers& workers, size_t bound, std::vector<std::function<void()>> pieces);

}  // namespace coppice::node_groups::externalgrpc
