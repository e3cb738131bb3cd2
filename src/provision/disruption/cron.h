// CronSchedule: five fields, or a word like @daily, in UTC: when budgets begin to hold.
//
// The dialect is that of the peer's budgets: minute, hour, day of month, month, day of week (0-6,
// Sunday first; 7 is refused); lists, ranges, steps, names of months and days; @yearly, @annually,
// @monthly, @weekly, @daily, @midnight, @hourly and "@every 1h30m". If both kinds of day are
// restricted, either will do.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace coppice::provision {

class CronSchedule {
 public:
  // InvalidArgument says which field and why.
  static Result<CronSchedule> Parse(std::string_view text);

  // The first hit strictly after `after`; none if there is none within five years ("0 0 31 2 *").
  std::optional<TimePoint> Next(TimePoint after) const;

 private:
  bool DayMatches(std::chrono::year_month_day day) const;

  uint64_t minutes_ = 0;  // one bit per value; the highest: it was a star
  uint64_t hours_ = 0;
  uint64_t days_ = 0;
  uint64_t months_ = 0;
  uint64_t weekdays_ = 0;
  std::optional<Duration> every_;  // then nothing else counts
};

}  // namespace coppice::provision
