#include "plugins/clouds/cloudscale/limiter.h"

#include <algorithm>

namespace coppice::clouds::cloudscale {

Status Limiter::Enter(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto free = [this] { return in_flight_ < options_.max_in_flight; };
  if (!clock_.WaitUntil(lock, left_, deadline.at, free)) {
    return DeadlineExceeded("too many requests of ours are under way");
  }
  TimePoint turn = std::max(clock_.Now(), pause_);
  TimePoint next = next_;
  if (options_.per_second > 0) {
    // A virtual schedule: each request moves it on by one interval, and it may lag behind the
    // present by a burst.
    const auto interval = Duration(static_cast<int64_t>(1e9 / options_.per_second));
    next = std::max(next_, turn - interval * std::max(0, options_.burst - 1));
    turn = std::max(turn, next);
    next += interval;
  }
  if (turn >= deadline.at)
    return DeadlineExceeded("our own rate limit leaves no turn before the deadline");
  next_ = next;
  ++in_flight_;
  lock.unlock();
  clock_.SleepUntil(turn);
  return Status::Ok();
}

void Limiter::Leave() {
  {
    const std::lock_guard lock(mutex_);
    --in_flight_;
  }
  left_.notify_one();
}

void Limiter::PauseUntil(TimePoint until) {
  const std::lock_guard lock(mutex_);
  pause_ = std::max(pause_, until);
}

}  // namespace coppice::clouds::cloudscale
