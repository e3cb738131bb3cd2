// Workers that take their time on a fake clock: each piece of work is done after a while that is
// drawn from a seed. So what is under way together interleaves, otherwise with every seed and with
// the same seed always alike; with InlineWorkers nothing ever does. A piece whose process ends before
// its time is never done.

#pragma once

#include <cmath>
#include <functional>
#include <utility>

#include "base/executor.h"
#include "base/pool.h"
#include "base/rng.h"

namespace coppice::test {

class DelayedWorkers final : public Workers {
 public:
  // `executor`: of the process that runs now; its time is the workers'. Most pieces take a moment,
  // few take nearly as long as `longest`.
  DelayedWorkers(std::function<Executor&()> executor, uint64_t seed, Duration longest)
      : executor_(std::move(executor)), rng_(seed), longest_(longest) {}

  Status Submit(std::function<void()> work) override {
    Executor& executor = executor_();
    executor.Spawn(After(executor, Draw(), std::move(work)));
    return Status::Ok();
  }

 private:
  static Task<void> After(Executor& executor, Duration delay, std::function<void()> work) {
    co_await executor.Sleep(delay);
    work();
  }
  Duration Draw() {
    const double of_longest = std::pow(rng_.Unit(), 4);
    return std::chrono::milliseconds(1) +
           std::chrono::duration_cast<Duration>(longest_ * of_longest);
  }

  const std::function<Executor&()> executor_;
  SeededRng rng_;
  const Duration longest_;
};

}  // namespace coppice::test
