// A registered node as one pass sees it, and a memory of what was worked out about each.

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cluster/world.h"

namespace coppice::autoscale {

struct ListedNode {
  cluster::NodePtr node;                      // after readiness overrides
  std::string group;                          // "" if none, and as long as it is not known
  bool group_known = true;                    // false: the provider has not said yet whose it is
  bool ready = false;                         // and schedulable
  bool candidate = false;                     // carries the soft taint of deletion candidates
  cluster::NodeIndex index = cluster::kNone;  // in the snapshot
};

// One T for each node of a list, kept for the nodes that the next list still has: the same object,
// so everything that was read off it. Lists change little, so both are walked side by side.
template <class T>
class PerNode {
 public:
  // A new list begins, of about `size` nodes.
  void Begin(size_t size) {
    before_ = std::move(now_);
    now_.clear();
    now_.reserve(size);
    at_ = 0;
  }
  // The value of the next node of the list; `make` gives it for one that is new or has changed.
  template <class Make>
  T& Next(const cluster::NodePtr& node, Make make) {
    constexpr size_t kGap = 64;  // after more deletions in a row than this, the rest is made anew
    for (size_t i = at_; i < before_.size() && i < at_ + kGap; ++i) {
      if (before_[i].first != node) continue;
      at_ = i + 1;
      return now_.emplace_back(std::move(before_[i])).second;
    }
    return now_.emplace_back(node, make()).second;
  }

 private:
  std::vector<std::pair<cluster::NodePtr, T>> before_;
  std::vector<std::pair<cluster::NodePtr, T>> now_;
  size_t at_ = 0;
};

}  // namespace coppice::autoscale
