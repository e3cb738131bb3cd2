// ShownRemovals: what a dry run has shown to its end. The node is still there and still not needed,
// so that every pass would choose it again: it is told once, until another node or other pods stand
// in its place.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "autoscale/scale_down.h"
#include "cluster/world.h"

namespace coppice::autoscale {

class ShownRemovals {
 public:
  explicit ShownRemovals(const cluster::World& world) : world_(world) {}

  void Add(const std::string& node);
  // Takes out of `nodes` what looks as it did when it was shown, and gives it back.
  std::vector<RemovableNode> LeaveOut(NodesToDelete& nodes) const;

 private:
  // The node and the pods bound to it, as a number.
  size_t LookOf(const std::string& node) const;

  const cluster::World& world_;
  std::map<std::string, size_t> looks_;
};

}  // namespace coppice::autoscale
