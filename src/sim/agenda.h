// Agenda: what is going to happen in a model, and when. One list for all of it, so that two runs of
// the same seed do the same things in the same order: earlier first, and what is due together in
// the order in which it was written down.
//
// Knows nothing of threads and never waits: whoever owns the clock moves it and calls RunDue().

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "base/clock.h"

namespace coppice::sim {

class Agenda {
 public:
  explicit Agenda(const Clock& clock) : clock_(clock) {}

  TimePoint Now() const { return clock_.Now(); }
  const Clock& clock() const { return clock_; }
  void At(TimePoint when, std::function<void()> what);
  void In(Duration wait, std::function<void()> what) { At(Later(Now(), wait), std::move(what)); }

  std::optional<TimePoint> next() const;
  // Everything that is due, and what that makes due at once.
  void RunDue();

 private:
  struct Entry {
    TimePoint when;
    uint64_t number;
    std::function<void()> what;
  };
  struct After {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.when != b.when ? a.when > b.when : a.number > b.number;
    }
  };

  const Clock& clock_;
  std::priority_queue<Entry, std::vector<Entry>, After> entries_;
  uint64_t next_number_ = 0;
};

}  // namespace coppice::sim
