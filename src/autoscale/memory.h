// Memory: what one process leaves to the next, so that a restart neither asks a group again that
// has just failed nor removes nodes in the middle of a cool-down. Since when nodes have been
// unneeded is not in it: their soft taints say so, and Memory says that these are fresh.
//
// Where it is kept is the caller's business: on a real cluster in an annotation of the status
// ConfigMap, the one object that upstream's rights allow us to write.

#pragma once

#include "autoscale/group_backoff.h"

namespace coppice::autoscale {

struct Memory {
  TimePoint written;
  TimePoint last_scale_up;
  TimePoint last_delete;
  TimePoint last_failure;  // of a deletion
  GroupBackoff::Entries backoffs;
  friend bool operator==(const Memory&, const Memory&) = default;
};

}  // namespace coppice::autoscale
