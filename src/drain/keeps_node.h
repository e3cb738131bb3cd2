// The last question before a machine goes, asked of the pods that the API server itself lists.

#pragma once

#include <cstdint>
#include <vector>

#include "cluster/writer.h"

namespace coppice::drain {

// The first of the pods that keeps a node from being deleted: not of a DaemonSet, not a mirror pod,
// of at least this priority, and neither over nor about to end. Null: nothing is left.
cluster::LivePod KeepsNode(const std::vector<cluster::LivePod>& pods, int32_t priority_cutoff);

}  // namespace coppice::drain
