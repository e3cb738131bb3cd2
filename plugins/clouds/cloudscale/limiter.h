// Our side of the API's rate limit: so many requests per second, so many at a time, and a pause for
// everybody when the API asks one of us to slow down.

#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::clouds::cloudscale {

struct LimiterOptions {
  double per_second = 50;  // 0: no limit. The API's own numbers are not published
  int burst = 100;         // requests that may go out at once after a quiet time
  int max_in_flight = 10;
};

class Limiter {
 public:
  Limiter(LimiterOptions options, Clock& clock) : options_(options), clock_(clock) {}

  // Waits for a turn. DeadlineExceeded at once when the turn would come after the deadline: the
  // caller then still has the time to say so.
  Status Enter(Deadline deadline);
  void Leave();
  // Nobody enters before `until`.
  void PauseUntil(TimePoint until);

 private:
  LimiterOptions options_;
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable left_;
  int in_flight_ = 0;
  TimePoint next_;  // when the bucket has its next free turn, counting backwards over the burst
  TimePoint pause_;
};

// One turn, from construction to the end of the scope.
class Turn {
 public:
  static Result<Turn> Take(Limiter& limiter, Deadline deadline) {
    TRY(limiter.Enter(deadline));
    return Turn(limiter);
  }
  Turn(Turn&& other) noexcept : limiter_(std::exchange(other.limiter_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (limiter_ != nullptr) limiter_->Leave();
  }

 private:
  explicit Turn(Limiter& limiter) : limiter_(&limiter) {}
  Limiter* limiter_;
};

}  // namespace coppice::clouds::cloudscale
