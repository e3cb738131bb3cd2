// ClaimOrder: planned claims in the order in which they are tried, fewest pods first.
//
// The peer sorts them before every placement with Go's unstable sort, so who comes first among
// equals is decided by that algorithm and by history. Between two sorts at most one claim has
// changed: it got a pod, or is new. For that the sort comes down to moving one element past its
// equals, unless the claims are few, or the element stands where the algorithm looks for its pivot;
// then it is run in full.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/go_sort.h"

namespace coppice::provision {

class ClaimOrder {
 public:
  const std::vector<uint32_t>& order() const { return order_; }
  uint32_t pods(uint32_t claim) const { return pods_[claim]; }

  void Append() {  // a new claim with its first pod; its number is the next one
    order_.push_back(static_cast<uint32_t>(pods_.size()));
    pods_.push_back(1);
    changed_ = order_.size() - 1;
  }
  void GotPod(size_t position) {
    ++pods_[order_[position]];
    changed_ = position;
  }

  void Sort() {
    if (changed_ == kNone) return;
    const size_t at = changed_;
    changed_ = kNone;
    constexpr size_t kStable = 12;  // up to here Go inserts, and from kLong on it mends
    constexpr size_t kLong = 50;
    const size_t size = order_.size();
    if (size <= kStable || (size >= kLong && LooksSorted())) return Move(at);
    GoSort(order_, [this](uint32_t a, uint32_t b) { return pods_[a] < pods_[b]; });
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  uint32_t At(size_t position) const { return pods_[order_[position]]; }

  // Go's choice of a pivot meets nothing out of order, so it takes the list for sorted.
  bool LooksSorted() const {
    const size_t quarter = order_.size() / 4;
    for (const size_t middle : {quarter, quarter * 2, quarter * 3}) {
      if (At(middle) < At(middle - 1) || At(middle + 1) < At(middle)) return false;
    }
    return At(quarter) <= At(quarter * 2) && At(quarter * 2) <= At(quarter * 3);
  }

  void Move(size_t from) {
    const auto begin = order_.begin();
    const auto place = begin + static_cast<std::ptrdiff_t>(from);
    const uint32_t own = At(from);
    if (from > 0 && At(from - 1) > own) {
      const auto to = std::upper_bound(begin, place, own,
                                       [this](uint32_t n, uint32_t b) { return n < pods_[b]; });
      std::rotate(to, place, place + 1);
      return;
    }
    const auto to = std::lower_bound(place + 1, order_.end(), own,
                                     [this](uint32_t b, uint32_t n) { return pods_[b] < n; });
    std::rotate(place, place + 1, to);
  }

  std::vector<uint32_t> order_;
  std::vector<uint32_t> pods_;  // by claim
  size_t changed_ = kNone;      // position of the one that changed since the last sort
};

}  // namespace coppice::provision
