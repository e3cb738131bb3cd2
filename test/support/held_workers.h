// Workers whose work waits until the test lets it go: a cloud that takes its time, on a clock that
// stands still.

#pragma once

#include <utility>
#include <vector>

#include "base/pool.h"

namespace coppice::test {

class HeldWorkers final : public Workers {
 public:
  Status Submit(std::function<void()> work) override {
    held_.push_back(std::move(work));
    return Status::Ok();
  }
  // What waits now; what it hands in itself waits on.
  void RunAll() {
    for (auto& work : std::exchange(held_, {})) work();
  }
  size_t waiting() const { return held_.size(); }

 private:
  std::vector<std::function<void()>> held_;
};

}  // namespace coppice::test
