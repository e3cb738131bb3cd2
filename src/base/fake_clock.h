// A clock that moves only when a test says so, or when somebody waits: WaitUntil does not block but
// jumps to the deadline, for in a single-threaded test nobody else could make done() true
// meanwhile.

#pragma once

#include <algorithm>
#include <atomic>

#include "base/clock.h"

namespace coppice {

class FakeClock final : public Clock {
 public:
  // 2026-01-01T00:00:00Z: a date that looks like one in a failure message.
  explicit FakeClock(TimePoint start = TimePoint(std::chrono::seconds(1'767'225'600)))
      : now_(start.time_since_epoch().count()) {}

  TimePoint Now() const override { return TimePoint(Duration(now_.load())); }
  void Advance(Duration by) { now_ += by.count(); }
  void Set(TimePoint now) { now_ = std::max(now_.load(), now.time_since_epoch().count()); }

  bool WaitUntil(std::unique_lock<std::mutex>&, std::condition_variable&, TimePoint deadline,
                 const std::function<bool()>& done) override {
    if (!done() && deadline > Now() && deadline != TimePoint::max()) Set(deadline);
    return done();
  }

 private:
  std::atomic<int64_t> now_;
};

}  // namespace coppice
