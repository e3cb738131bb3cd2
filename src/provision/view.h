// How provision looks at the pods of a World.

#pragma once

#include "cluster/interner.h"

namespace coppice::provision {

// Which annotations tell pods apart when a node is to go. It counts every pod that has not ended;
// where another engine on the same World does not, what the snapshot lacks is added to the plans
// that are checked (scheduler_check.h).
cluster::Marks MarksOnPods();

}  // namespace coppice::provision
