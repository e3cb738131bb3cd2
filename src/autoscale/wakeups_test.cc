// When a pass wants to be called again.

#include "autoscale/wakeups.h"

#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using std::chrono::seconds;

const TimePoint kNow{seconds(1'000)};

TEST(WakeupsTest, NobodyIsWokenForNothing) { EXPECT_FALSE(Wakeups(kNow).earliest().has_value()); }

TEST(WakeupsTest, TheEarliestMomentCountsWithItsReason) {
  Wakeups wake(kNow);
  wake.At(kNow + seconds(20), "a pod is new");
  wake.In(seconds(10), "a back-off ends");
  wake.At(kNow + seconds(30), "a timer ends");
  ASSERT_TRUE(wake.earliest().has_value());
  EXPECT_EQ(wake.earliest()->at, kNow + seconds(10));
  EXPECT_EQ(wake.earliest()->why, "a back-off ends");
}

TEST(WakeupsTest, OfTwoAtTheSameMomentTheFirstIsTheReason) {
  Wakeups wake(kNow);
  wake.In(seconds(10), "first");
  wake.In(seconds(10), "second");
  EXPECT_EQ(wake.earliest()->why, "first");
}

TEST(WakeupsTest, WhatIsNotInTheFutureThePassHasSeen) {
  Wakeups wake(kNow);
  wake.At(kNow, "now");
  wake.At(kNow - seconds(1), "over");
  wake.In(seconds(0), "at once");
  EXPECT_FALSE(wake.earliest().has_value());
}

TEST(WakeupsTest, AComparisonThatStillSaysNoAtTheMomentItselfIsMadeRightAfterIt) {
  Wakeups wake(kNow);
  wake.After(kNow, "of now");
  ASSERT_TRUE(wake.earliest().has_value());
  EXPECT_EQ(wake.earliest()->at, kNow + Duration(1));
  Wakeups later(kNow);
  later.After(kNow + seconds(5), "later");
  EXPECT_EQ(later.earliest()->at, kNow + seconds(5) + Duration(1));
}

TEST(WakeupsTest, NeverIsNoMoment) {
  Wakeups wake(kNow);
  wake.At(TimePoint::max(), "never");
  wake.After(TimePoint::max(), "never");
  wake.In(Duration::max(), "as good as never");
  EXPECT_FALSE(wake.earliest().has_value());
}

}  // namespace
}  // namespace coppice::autoscale
