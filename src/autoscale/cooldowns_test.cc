#include "autoscale/cooldowns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class CooldownsTest : public testing::Test {
 protected:
  CooldownsTest() {
    options.scale_down_delay_after_add = minutes(10);
    options.scale_down_delay_after_failure = minutes(3);
    options.scale_down_delay_after_delete = minutes(1);
  }
  const TimePoint now{hours(500'000)};
  Options options;
  Cooldowns cooldowns{options, now};
};

TEST_F(CooldownsTest, AFreshProcessHasNone) { EXPECT_FALSE(cooldowns.Active(now)); }

TEST_F(CooldownsTest, EachLastsAsLongAsItsFlagSays) {
  cooldowns.ScaledUp(now);
  EXPECT_TRUE(cooldowns.Active(now + minutes(10) - seconds(1)));
  EXPECT_FALSE(cooldowns.Active(now + minutes(10)));
  cooldowns.DeletionNotStarted(now + minutes(20));
  EXPECT_TRUE(cooldowns.Active(now + minutes(23) - seconds(1)));
  EXPECT_FALSE(cooldowns.Active(now + minutes(23)));
  cooldowns.DeletionStarted(now + minutes(30));
  EXPECT_TRUE(cooldowns.Active(now + minutes(31) - seconds(1)));
  EXPECT_FALSE(cooldowns.Active(now + minutes(31)));
}

TEST_F(CooldownsTest, TheOneThatEndsLastIsNamed) {
  EXPECT_EQ(cooldowns.Longest({now, "else"}).why, "else");
  cooldowns.DeletionStarted(now);
  EXPECT_EQ(cooldowns.Longest({now, "else"}).why, "after a deletion");
  cooldowns.DeletionNotStarted(now);
  EXPECT_EQ(cooldowns.Longest({now, "else"}).why, "after a failure");
  cooldowns.ScaledUp(now);
  EXPECT_EQ(cooldowns.Longest({now, "else"}).why, "after a scale-up");
  EXPECT_EQ(cooldowns.Longest({now, "else"}).until, now + minutes(10));
}

TEST_F(CooldownsTest, GroupByGroupTheClusterHasNoneAndEachGroupItsOwn) {
  options.scale_down_delay_type_local = true;
  cooldowns.ScaledUp(now);
  EXPECT_FALSE(cooldowns.Active(now));
  cooldowns.GroupScaledUp("bought", now);
  cooldowns.GroupFailed("failed", now);
  cooldowns.GroupScaledDown("removed", now);
  EXPECT_THAT(cooldowns.DelayedGroups(now), ElementsAre("bought", "failed", "removed"));
  EXPECT_THAT(cooldowns.DelayedGroups(now + minutes(1)), ElementsAre("bought", "failed"));
  EXPECT_THAT(cooldowns.DelayedGroups(now + minutes(3)), ElementsAre("bought"));
  Wakeups wake(now + minutes(3));
  cooldowns.NoteGroupDelays(wake);
  ASSERT_TRUE(wake.earliest().has_value());
  EXPECT_EQ(wake.earliest()->at, now + minutes(10));
  EXPECT_THAT(cooldowns.DelayedGroups(now + minutes(10)), IsEmpty());
}

TEST_F(CooldownsTest, WithoutThatFlagNoGroupIsDelayed) {
  cooldowns.GroupScaledUp("bought", now);
  EXPECT_THAT(cooldowns.DelayedGroups(now), IsEmpty());
}

TEST_F(CooldownsTest, ThoseOfAProcessBeforeGoOnButNotFromTheFuture) {
  cooldowns.Recall({.last_scale_up = now - minutes(4), .last_failure = now + hours(1)}, now);
  EXPECT_EQ(cooldowns.last_scale_up(), now - minutes(4));
  EXPECT_EQ(cooldowns.last_failure(), now);
  cooldowns.Recall({.last_scale_up = now - minutes(8)}, now);
  EXPECT_EQ(cooldowns.last_scale_up(), now - minutes(4)) << "what is known is younger";
}

TEST_F(CooldownsTest, OnesThatAreLongerThanAnHourHoldAFreshProcessForTheRest) {
  options.scale_down_delay_after_add = minutes(90);
  EXPECT_TRUE(cooldowns.Active(now + minutes(30) - seconds(1)));
  EXPECT_FALSE(cooldowns.Active(now + minutes(30)));
}

TEST_F(CooldownsTest, WhatEndsAtTheSameTimeLeavesTheFirstReason) {
  cooldowns.ScaledUp(now);
  EXPECT_EQ(cooldowns.Longest({now + minutes(10), "else"}).why, "else");
}

TEST_F(CooldownsTest, ADeletionOfAProcessBeforeCountsLikewise) {
  cooldowns.Recall({.last_delete = now - seconds(30)}, now);
  EXPECT_TRUE(cooldowns.Active(now + seconds(29)));
  EXPECT_FALSE(cooldowns.Active(now + seconds(30)));
  cooldowns.Recall({.last_delete = now + hours(1)}, now);
  EXPECT_TRUE(cooldowns.Active(now + seconds(59)));
  EXPECT_FALSE(cooldowns.Active(now + minutes(1)));
}

}  // namespace
}  // namespace coppice::autoscale
