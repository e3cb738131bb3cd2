// Workers of a test: each piece of work runs at once on the calling thread or waits until the test
// steps, as `now` decides. With a fake clock that is all the concurrency a test needs: a call that
// has not been stepped is one that the cloud has not answered.

#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "base/pool.h"

namespace coppice::test {

class StepWorkers final : public Workers {
 public:
  std::function<bool()> now;  // unset: nothing runs before it is stepped

  Status Submit(std::function<void()> work) override {
    if (now && now()) {
      work();
    } else {
      waiting_.push_back(std::move(work));
    }
    return Status::Ok();
  }

  bool Step() {  // false: nothing waits
    if (waiting_.empty()) return false;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    work();
    return true;
  }
  void StepAll() {
    while (Step()) {
    }
  }
  void Forget() { waiting_.clear(); }  // the process was killed
  size_t waiting() const { return waiting_.size(); }

 private:
  std::deque<std::function<void()>> waiting_;
};

}  // namespace coppice::test
