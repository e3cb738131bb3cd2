// How many of the nodes that could go may go at once: parallelism, drains, and groups that go whole
// or not at all.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/options.h"
#include "autoscale/scale_down.h"

namespace coppice::autoscale {

// Nodes of one group that are deleted together.
struct DeletionBatch {
  std::string group;
  std::vector<RemovableNode> nodes;
  int whole_group =
      0;  // of an all-or-nothing group: how many must be ready before any goes; 0: each by itself
};

struct CroppedDeletions {
  std::vector<DeletionBatch> empty;
  std::vector<DeletionBatch> drain;
};

struct GroupFacts {
  bool all_or_nothing = false;
  int target = 0;
  int registered = 0;  // nodes of the group in the cluster, stand-ins aside
};

CroppedDeletions CropToLimits(NodesToDelete nodes, const DeletionsInProgress& deleting,
                              const DeletionLimitOptions& options,
                              const std::function<GroupFacts(std::string_view group)>& facts_of);

}  // namespace coppice::autoscale
