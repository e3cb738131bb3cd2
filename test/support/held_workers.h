// Workers whose work waits until the test lets it go: a cloud that takes its time, on a clock that
// stands still.

#pragma once

#include <utility>
#include <vector>

#include "base/pool.h"

namespace coppice::test {

class HeldWorkers final : public Workers {
 public:
  // So many of the next pieces are done at once.
  int let_through = 0;

  Status Submit(std::function<void()> work) override {
    if (let_through > 0) {
      --let_through;
      work();
      return Status::Ok();
    }
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
