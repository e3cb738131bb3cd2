// Time as a dependency: whoever needs to know the time or to wait for it is handed a Clock, so that
// a day is a test of milliseconds.

#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace coppice {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::sys_time<std::chrono::nanoseconds>;  // UTC

// `from` + `by`, stopping at the last point in time instead of overflowing.
constexpr TimePoint Later(TimePoint from, Duration by) {
  return by > Duration::zero() && from > TimePoint::max() - by ? TimePoint::max() : from + by;
}

class Clock {
 public:
  virtual ~Clock() = default;

  // Wall-clock time. Never earlier than an earlier answer of the same clock.
  virtual TimePoint Now() const = 0;

  // Waits until `done()` or `deadline`, whichever is first; returns done(). `lock` is held on entry
  // and on return, and whoever changes what done() reads holds it too and notifies `wake`.
  virtual bool WaitUntil(std::unique_lock<std::mutex>& lock, std::condition_variable& wake,
                         TimePoint deadline, const std::function<bool()>& done) = 0;

  // Blocks the calling thread. Not for the decision thread.
  void SleepUntil(TimePoint when);
  void SleepFor(Duration duration) { SleepUntil(Later(Now(), duration)); }
};

// The machine's clock, made monotonic: a step backwards of the system time is not passed on.
class SystemClock final : public Clock {
 public:
  SystemClock();
  TimePoint Now() const override;
  bool WaitUntil(std::unique_lock<std::mutex>& lock, std::condition_variable& wake,
                 TimePoint deadline, const std::function<bool()>& done) override;

 private:
  const TimePoint wall_start_;
  const std::chrono::steady_clock::time_point steady_start_;
};

// When to stop waiting for an answer. Passed down by value; each layer may shorten it, none
// lengthens it.
struct Deadline {
  TimePoint at = TimePoint::max();

  static Deadline Never() { return {}; }
  static Deadline In(const Clock& clock, Duration duration) {
    return {Later(clock.Now(), duration)};
  }
  bool Passed(const Clock& clock) const { return clock.Now() >= at; }
  // Zero when it has passed.
  Duration Left(const Clock& clock) const;
  Deadline Earlier(Deadline other) const { return {at < other.at ? at : other.at}; }
};

}  // namespace coppice
