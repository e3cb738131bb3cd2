// Heap: a priority queue that sifts exactly as Go's container/heap does.
//
// The order is asked for live, and may change while elements are inside: shares of queues move with
// every placement. Then which element comes out next depends on how it was sifted, so that is part
// of the answer.

#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace coppice::batch {

template <class T>
class Heap {
 public:
  using Less = std::function<bool(const T&, const T&)>;
  explicit Heap(Less less) : less_(std::move(less)) {}

  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }

  void Push(T item) {
    items_.push_back(std::move(item));
    Up(items_.size() - 1);
  }

  T Pop() {
    const size_t last = items_.size() - 1;
    std::swap(items_[0], items_[last]);
    Down(0, last);
    T item = std::move(items_.back());
    items_.pop_back();
    return item;
  }

 private:
  void Up(size_t at) {
    while (at > 0) {
      const size_t parent = (at - 1) / 2;
      if (!less_(items_[at], items_[parent])) break;
      std::swap(items_[at], items_[parent]);
      at = parent;
    }
  }

  void Down(size_t at, size_t end) {
    for (;;) {
      const size_t left = 2 * at + 1;
      if (left >= end) return;
      size_t first = left;
      if (left + 1 < end && less_(items_[left + 1], items_[left])) first = left + 1;
      if (!less_(items_[first], items_[at])) return;
      std::swap(items_[at], items_[first]);
      at = first;
    }
  }

  std::vector<T> items_;
  Less less_;
};

}  // namespace coppice::batch
