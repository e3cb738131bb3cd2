// StableVector<T>: grows at its end and never moves what it holds, so that pointers into it stay
// good; an element is found by its number with a shift and a mask.

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace coppice::cluster {

template <class T>
class StableVector {
 public:
  T& operator[](size_t i) { return chunks_[i / kChunk][i % kChunk]; }
  const T& operator[](size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  size_t size() const { return size_; }
  // Adds one that is as T{}.
  T& Grow() {
    if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<T[]>(kChunk));
    return (*this)[size_++];
  }

 private:
  static constexpr size_t kChunk = 256;
  std::vector<std::unique_ptr<T[]>> chunks_;
  size_t size_ = 0;
};

}  // namespace coppice::cluster
