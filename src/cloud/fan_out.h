// FanOut: many small pieces of work with a bound on how many run at once, over all callers.
//
// The bound is one for the whole process and not one per request: a cloud's rate limit does not
// care which request a call belongs to. Pieces start in the order in which they were given.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/pool.h"

namespace coppice::cloud {

class FanOut {
 public:
  // `workers` must outlive the work.
  FanOut(Workers& workers, size_t bound);

  // `work` must not own, even indirectly, whoever owns this object: what waits when the threads end
  // would keep both alive for ever.
  // Runs `work` as soon as fewer than the bound are running. Any thread; not with a lock held that
  // `work` takes, for with InlineWorkers it runs here and now.
  void Run(std::function<void()> work);

  // Waits until nothing runs or waits to; false if the deadline came first.
  bool WaitIdle(Clock& clock, Deadline deadline);

  size_t running() const;
  size_t waiting() const;

 private:
  struct State {
    Mutex mutex;
    std::condition_variable idle;
    std::deque<std::function<void()>> waiting COPPICE_GUARDED_BY(mutex);
    size_t running COPPICE_GUARDED_BY(mutex) = 0;
    size_t bound COPPICE_GUARDED_BY(mutex) = 1;
  };
  // Shared with the runners: they may outlive this object.
  static void Work(const std::shared_ptr<State>& state);

  Workers& workers_;
  std::shared_ptr<State> state_;
};

}  // namespace coppice::cloud
