#include "provision/disruption/cron.h"

#include <gmock/gmock.h>

#include <string>

namespace coppice::provision {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;  // NOLINT

// 2026-01-15 12:00:00 UTC, a Thursday.
constexpr TimePoint kNoon{std::chrono::seconds(1'768'478'400)};

std::optional<Duration> UntilNext(const std::string& text, TimePoint after = kNoon) {
  const auto schedule = CronSchedule::Parse(text);
  EXPECT_TRUE(schedule.ok()) << text << ": " << schedule.status();
  if (!schedule.ok()) return std::nullopt;
  const auto next = schedule->Next(after);
  if (!next) return std::nullopt;
  return *next - after;
}

struct CronRow {
  const char* name;
  const char* text;
  Duration until;
};
class CronTest : public testing::TestWithParam<CronRow> {};

TEST_P(CronTest, NextHit) { EXPECT_EQ(UntilNext(GetParam().text), GetParam().until); }

INSTANTIATE_TEST_SUITE_P(Rows, CronTest,
                         testing::ValuesIn(std::vector<CronRow>{
                             {"EveryMinuteIsStrictlyLater", "* * * * *", 1min},
                             {"ThisVeryMinuteIsTomorrow", "0 12 * * *", 24h},
                             {"LaterToday", "30 13 * * *", 90min},
                             {"Steps", "*/15 * * * *", 15min},
                             {"FromAMinuteOnInSteps", "50/5 * * * *", 50min},
                             {"Lists", "5,3,8 * * * *", 3min},
                             {"NamesInAnyCase", "0 9 * * Mon-FRI", 21h},
                             {"SundayIsZero", "0 0 * * 0", 60h},
                             {"MonthsByName", "0 0 1 feb *", (16 * 24 + 12) * 1h},
                             {"EitherDayWill", "0 0 17 * 5", 12h},
                             {"WithAStarBothMust", "0 0 17 * *", 36h},
                             {"SteppedStarIsNoStar", "0 0 17 * */5", 12h},
                             {"QuestionMarkIsAStar", "0 0 ? * 6", 36h},
                             {"Daily", "@daily", 12h},
                             {"Hourly", "@hourly", 1h},
                             {"Weekly", "@weekly", 60h},
                             {"Monthly", "@monthly", (16 * 24 + 12) * 1h},
                             {"EverySoOften", "@every 1h30m10.5s", 90min + 10s},
                             {"EveryIsAtLeastASecond", "@every 1ms", 1s},
                             {"LeapDays", "0 0 29 2 *", (774 * 24 + 12) * 1h},
                         }),
                         [](const auto& row) { return row.param.name; });

TEST(CronScheduleTest, ADayThatNeverComesHasNoNextHit) {
  EXPECT_EQ(UntilNext("0 0 31 2 *"), std::nullopt);
  EXPECT_EQ(UntilNext(", * * * *"), std::nullopt);
}

TEST(CronScheduleTest, SecondsAreRoundedUpToTheNextMinute) {
  EXPECT_EQ(UntilNext("* * * * *", kNoon + 1ms), 1min - 1ms);
  EXPECT_EQ(UntilNext("* * * * *", kNoon - 1s), 1s);
}

TEST(CronScheduleTest, WhatItDoesNotUnderstandItRefusesByField) {
  for (const char* text :
       {"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *",
        "* * * * 7", "5-3 * * * *", "1-2-3 * * * *", "1/2/3 * * * *", "*/0 * * * *", "-1 * * * *",
        "x * * * *", "@often", "@every soon", "* * * foo *", "99999999999999999999 * * * *"}) {
    EXPECT_FALSE(CronSchedule::Parse(text).ok()) << text;
  }
  EXPECT_THAT(CronSchedule::Parse("* * * * 7").status().message(), HasSubstr("day of week"));
}

}  // namespace
}  // namespace coppice::provision
