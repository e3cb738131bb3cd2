// NodeSet: a set of nodes, by index, a bit each.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/shapes.h"

namespace coppice::fit {

class NodeSet {
 public:
  NodeSet() = default;
  explicit NodeSet(cluster::NodeIndex bound) : words_((bound + 63) / 64) {}

  bool Has(cluster::NodeIndex node) const {
    return node / 64 < words_.size() && (words_[node / 64] >> (node % 64) & 1) != 0;
  }
  void Add(cluster::NodeIndex node) {
    if (node / 64 >= words_.size()) words_.resize(node / 64 + 1);
    words_[node / 64] |= uint64_t{1} << (node % 64);
  }
  void Remove(cluster::NodeIndex node) {
    if (node / 64 < words_.size()) words_[node / 64] &= ~(uint64_t{1} << (node % 64));
  }
  size_t size() const {
    size_t count = 0;
    for (const uint64_t word : words_) count += static_cast<size_t>(std::popcount(word));
    return count;
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace coppice::fit
