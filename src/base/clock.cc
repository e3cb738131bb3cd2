#include "base/clock.h"

#include <algorithm>

namespace coppice {

namespace {
// Waiting further ahead than this overflows the library's conversion between clocks.
constexpr Duration kLongestWait = std::chrono::hours(24 * 365);
}  // namespace

void Clock::SleepUntil(TimePoint when) {
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  WaitUntil(lock, never, when, [] { return false; });
}

SystemClock::SystemClock()
    : wall_start_(std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now())),
      steady_start_(std::chrono::steady_clock::now()) {}

TimePoint SystemClock::Now() const {
  return wall_start_ + (std::chrono::steady_clock::now() - steady_start_);
}

bool SystemClock::WaitUntil(std::unique_lock<std::mutex>& lock, std::condition_variable& wake,
                            TimePoint deadline, const std::function<bool()>& done) {
  const TimePoint now = Now();
  const Duration left = deadline <= now                 ? Duration::zero()
                        : deadline - kLongestWait > now ? kLongestWait
                                                        : deadline - now;
  return wake.wait_until(lock, std::chrono::steady_clock::now() + left, done);
}

Duration Deadline::Left(const Clock& clock) const {
  const TimePoint now = clock.Now();
  return at <= now ? Duration::zero() : at - now;
}

}  // namespace coppice
