#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"
#include "test/support/processor_world.h"

namespace coppice::processors::quiet_hours {

void Register(autoscale::ProcessorRegistry& registry);

namespace {

class QuietHoursTest : public testing::Test {
 protected:
  QuietHoursTest() { Register(registry_); }

  bool Quiet(const std::string& hours, int hour, int minute) {
    const auto processor =
        MUST(registry_.scale_down_node.Make("quiet-hours", world_.Context(hours)));
    // The clock only goes forward: another day for each question.
    world_.clock.Set(TimePoint(std::chrono::hours(24 * ++day_ + hour)) +
                     std::chrono::minutes(minute));
    world_.scale_down_disabled = false;
    const auto names = MUST(processor->Candidates({"a", "b"}, {}, world_.View()));
    EXPECT_EQ(names.size(), 2U) << "candidates go on being looked at";
    return world_.scale_down_disabled;
  }

  int day_ = 21'000;
  test::ProcessorWorld world_;
  autoscale::ProcessorRegistry registry_;
};

TEST_F(QuietHoursTest, NothingIsRemovedWithinASpan) {
  EXPECT_FALSE(Quiet("07:00-19:30", 6, 59));
  EXPECT_TRUE(Quiet("07:00-19:30", 7, 0));
  EXPECT_TRUE(Quiet("07:00-19:30", 19, 29));
  EXPECT_FALSE(Quiet("07:00-19:30", 19, 30));
}

TEST_F(QuietHoursTest, ASpanMayGoOverMidnightAndThereMayBeSeveral) {
  EXPECT_TRUE(Quiet("12:00-13:00,22:00-02:00", 23, 0));
  EXPECT_TRUE(Quiet("12:00-13:00,22:00-02:00", 1, 59));
  EXPECT_TRUE(Quiet("12:00-13:00,22:00-02:00", 12, 30));
  EXPECT_FALSE(Quiet("12:00-13:00,22:00-02:00", 2, 0));
  EXPECT_TRUE(Quiet("22:00-24:00", 23, 59));
}

TEST_F(QuietHoursTest, WhatIsNoSpanIsRefused) {
  for (const char* hours : {"", "7-19", "07:00", "25:00-26:00", "07:00-07:00", "07:60-08:00"}) {
    const auto made = registry_.scale_down_node.Make("quiet-hours", world_.Context(hours));
    ASSERT_FALSE(made.ok()) << hours;
    EXPECT_THAT(made.status().message(), testing::HasSubstr("07:00-19:30"));
  }
}

}  // namespace
}  // namespace coppice::processors::quiet_hours
