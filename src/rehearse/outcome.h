// Outcome: what came of a rehearsal, as values.

#pragma once

#include <string>
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
  size_t passes = 0;
  double real_seconds = 0;

  Duration longest_wait() const {
    return longest_waits.empty() ? Duration::zero() : longest_waits.front().time;
  }
};

}  // namespace coppice::rehearse
