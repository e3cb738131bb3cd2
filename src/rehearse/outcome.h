// Outcome: what came of a rehearsal, as values.

#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace coppice::rehearse {

struct Sample {
  TimePoint at;
  int machines = 0;
  int pending = 0;
  int pods = 0;     // wanted
  double rate = 0;  // of all machines, per hour
};

struct Decision {
  TimePoint at;
  std::string what;  // "+3 workers", "-1 workers"
  std::string why;
  friend bool operator==(const Decision& a, const Decision& b) {
    return a.at == b.at && a.what == b.what;
  }
};

struct Wait {
  Duration time{};
  std::string pod;
};
inline constexpr size_t kWaitsTold = 5;

// Puts it where it belongs: the longest first, of equal ones the first, and no more than kWaitsTold.
inline void KeepLongest(Wait wait, std::vector<Wait>& longest) {
  if (longest.size() == kWaitsTold) {
    if (wait.time <= longest.back().time) return;
    longest.pop_back();
  }
  const auto place = std::ranges::upper_bound(longest, wait.time, std::greater<>(), &Wait::time);
  longest.insert(place, std::move(wait));
}

struct Outcome {
  std::string name;
  TimePoint start;
  TimePoint end;
  std::vector<Sample> samples;
  std::vector<Decision> decisions;
  double cost = 0;
  double machine_hours = 0;
  int peak_machines = 0;
  int bought = 0;
  int removed = 0;
  size_t evictions = 0;  // pods that had to move, whoever ended them
  size_t started = 0;
  size_t waiting = 0;  // at the end
  Duration median_wait{};
  Duration long_wait{};             // 99 of 100 waited less
  std::vector<Wait> longest_waits;  // at most kWaitsTold, the longest first
  size_t gangs = 0;                 // that came
  size_t gangs_started = 0;
  Duration median_gang_wait{};      // of those
  std::vector<Wait> longest_gangs;  // likewise
  size_t passes = 0;
  double real_seconds = 0;

  Duration longest_wait() const {
    return longest_waits.empty() ? Duration::zero() : longest_waits.front().time;
  }
};

}  // namespace coppice::rehearse
