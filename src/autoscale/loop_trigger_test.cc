#include "autoscale/loop_trigger.h"

#include <gmock/gmock.h>

#include "autoscale/flags.h"
#include "base/fake_clock.h"
#include "test/support/must.h"

namespace coppice::autoscale {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

model::Pod Unschedulable(const std::string& uid, TimePoint since) {
  model::Pod pod;
  pod.metadata.uid = uid;
  pod.status.conditions.push_back({.type = "PodScheduled",
                                   .status = "False",
                                   .last_transition_time = model::Time{since},
                                   .reason = "Unschedulable"});
  return pod;
}

struct TriggerRig {
  FakeClock clock;
  TimePoint start = clock.Now();
  FlagValues flags;
  LoopTrigger Make() { return LoopTrigger(flags.ForTrigger()); }
  LoopTrigger::LastPass Idle(TimePoint began) {
    return {.began = began,
            .ended = began + milliseconds(10),
            .last_scale_up = start - std::chrono::hours(1),
            .last_scale_down = start - std::chrono::hours(1)};
  }
};

TEST(LoopTriggerTest, AnIdlePassIsFollowedAfterTheScanInterval) {
  TriggerRig rig;
  LoopTrigger trigger = rig.Make();
  EXPECT_LE(trigger.Due(), rig.start);
  trigger.PassEnded(rig.Idle(rig.start));
  EXPECT_EQ(trigger.Due(), rig.start + milliseconds(10) + seconds(10));
}

TEST(LoopTriggerTest, PendingPodsAreWaitedForUntilNoMoreCome) {
  TriggerRig rig;
  rig.flags.options.deviations.new_pod_wait = seconds(2);
  LoopTrigger trigger = rig.Make();
  trigger.PassEnded(rig.Idle(rig.start));
  const TimePoint t = rig.start + seconds(1);
  EXPECT_TRUE(trigger.PodSeen(Unschedulable("a", t), t));
  EXPECT_EQ(trigger.Due(), t + milliseconds(100));
  EXPECT_TRUE(trigger.PodSeen(Unschedulable("b", t), t + milliseconds(60)));
  EXPECT_EQ(trigger.Due(), t + milliseconds(160));
  EXPECT_FALSE(trigger.PodSeen(Unschedulable("b", t), t + milliseconds(90)));  // told already
  for (int i = 0; i < 100; ++i)
    trigger.PodSeen(Unschedulable(std::to_string(i), t), t + milliseconds(50 * i));
  EXPECT_EQ(trigger.Due(), t + seconds(2));  // the longest that the first one waits
  trigger.PassEnded(rig.Idle(t + seconds(6)));
  EXPECT_EQ(trigger.Due(), t + seconds(16) + milliseconds(10));
}

TEST(LoopTriggerTest, NobodyWaitsLongForAStreamOfPodsToEnd) {
  TriggerRig rig;
  LoopTrigger trigger = rig.Make();
  trigger.PassEnded(rig.Idle(rig.start));
  const TimePoint t = rig.start + seconds(1);
  for (int i = 0; i < 100; ++i)
    trigger.PodSeen(Unschedulable(std::to_string(i), t), t + milliseconds(50 * i));
  EXPECT_EQ(trigger.Due(), t + milliseconds(150));
}

TEST(LoopTriggerTest, OldNewsAndUpstreamExactness) {
  TriggerRig rig;
  LoopTrigger trigger = rig.Make();
  EXPECT_FALSE(trigger.PodSeen(Unschedulable("a", rig.start - seconds(11)), rig.start));
  model::Pod silent;
  EXPECT_FALSE(trigger.PodSeen(silent, rig.start));
  rig.flags.options.deviations = Deviations::None();
  LoopTrigger exact = rig.Make();
  exact.PassEnded(rig.Idle(rig.start));
  const TimePoint t = rig.start + seconds(1);
  EXPECT_TRUE(exact.PodSeen(Unschedulable("a", t), t));
  EXPECT_EQ(exact.Due(), t);
}

TEST(LoopTriggerTest, AProductivePassIsFollowedByTwoAtOnce) {
  TriggerRig rig;
  LoopTrigger trigger = rig.Make();
  trigger.PassEnded(rig.Idle(rig.start));
  auto pass = rig.Idle(rig.start + seconds(10));
  pass.last_scale_up = pass.began;
  trigger.PassEnded(pass);
  EXPECT_EQ(trigger.Due(), pass.ended);
  auto second = pass;
  second.began = pass.ended;
  second.ended = second.began + milliseconds(5);
  trigger.PassEnded(second);
  EXPECT_EQ(trigger.Due(), second.ended);
  auto third = second;
  third.began = second.ended;
  third.ended = third.began + milliseconds(5);
  trigger.PassEnded(third);
  EXPECT_EQ(trigger.Due(), third.ended + seconds(10));
}

TEST(LoopTriggerTest, APassIsFollowedWhenItWantsToBe) {
  TriggerRig rig;
  LoopTrigger trigger = rig.Make();
  auto pass = rig.Idle(rig.start);
  pass.call_again = {rig.start + seconds(3), "a timer"};
  trigger.PassEnded(pass);
  EXPECT_EQ(trigger.Due(), rig.start + seconds(3));
  EXPECT_EQ(trigger.Next().why, "a timer");
  pass.call_again = {rig.start + milliseconds(5), "it is over already"};
  trigger.PassEnded(pass);
  EXPECT_EQ(trigger.Due(), pass.ended);
  rig.flags.options.deviations.wake_when_due = false;
  LoopTrigger without = rig.Make();
  without.PassEnded(pass);
  EXPECT_EQ(without.Due(), pass.ended + seconds(10));
}

TEST(LoopTriggerTest, WhatWasUnderWayAndHasEndedIsFollowedAtOnce) {
  TriggerRig rig;
  LoopTrigger trigger = rig.Make();
  trigger.PassEnded(rig.Idle(rig.start));
  EXPECT_TRUE(trigger.Ended(rig.start + seconds(4)));
  EXPECT_EQ(trigger.Due(), rig.start + seconds(4));
  // One that ended while the pass ran may not have been seen by it.
  auto pass = rig.Idle(rig.start + seconds(4));
  trigger.Ended(pass.began + milliseconds(3));
  trigger.PassEnded(pass);
  EXPECT_EQ(trigger.Due(), pass.ended);
  trigger.PassEnded(rig.Idle(pass.ended));
  EXPECT_EQ(trigger.Due(), pass.ended + milliseconds(10) + seconds(10));
}

TEST(LoopTriggerTest, ChangesHastenAFewPassesInARow) {
  TriggerRig rig;
  LoopTrigger trigger = rig.Make();
  trigger.PassEnded(rig.Idle(rig.start));
  const TimePoint t = rig.start + seconds(4);
  EXPECT_TRUE(trigger.PodGone(t));
  EXPECT_FALSE(trigger.PodGone(t + milliseconds(20)));  // the pass is on its way
  EXPECT_EQ(trigger.Due(), t + milliseconds(100));
  // Pods that go all the time: eight passes half a second apart, then it is the scan interval's
  // turn.
  TimePoint now = trigger.Due();
  std::vector<Duration> apart;
  for (int i = 0; i < 12; ++i) {
    trigger.PassEnded(rig.Idle(now));
    trigger.PodGone(now + milliseconds(11));
    apart.push_back(trigger.Due() - now);
    now = trigger.Due();
  }
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(apart[i], milliseconds(510)) << i;
  EXPECT_EQ(apart[8], milliseconds(10) + seconds(10));
}

// The scan interval is the fallback for what nobody tells: changes are told.
TEST(LoopTriggerTest, ChangesThatNeverEndAreSeenWhateverTheScanInterval) {
  TriggerRig rig;
  rig.flags.options.scan_interval = std::chrono::hours(1);
  LoopTrigger trigger = rig.Make();
  trigger.PassEnded(rig.Idle(rig.start));
  TimePoint now = rig.start;
  int passes = 0;
  for (; now < rig.start + minutes(10); ++passes) {
    trigger.PodGone(now + milliseconds(11));
    const TimePoint next = trigger.Due();
    EXPECT_LE(next - now, seconds(10) + milliseconds(10));
    now = next;
    trigger.PassEnded(rig.Idle(now));
  }
  EXPECT_LE(passes, 3 * 60 + 8);
  EXPECT_EQ(trigger.Due(), now + milliseconds(10) + std::chrono::hours(1)) << "it has ended";
}

// A Deployment of a hundred comes and soon after goes: its nodes have hastened many passes, and
// its pods hasten theirs all the same.
TEST(LoopTriggerTest, NodesDoNotUseUpThePassesOfPods) {
  TriggerRig rig;
  LoopTrigger trigger = rig.Make();
  TimePoint now = rig.start;
  for (int i = 0; i < 9; ++i) {
    trigger.PassEnded(rig.Idle(now));
    trigger.NodesChanged(now + milliseconds(11));
    now = trigger.Due();
  }
  EXPECT_EQ(now, rig.start + 8 * milliseconds(510) + milliseconds(10) + seconds(10));
  const TimePoint gone = rig.start + 8 * milliseconds(510) + seconds(1);
  EXPECT_TRUE(trigger.PodGone(gone));
  EXPECT_EQ(trigger.Due(), gone + milliseconds(100));
}

TEST(LoopTriggerTest, APassThatWaitedForTheCloudHasTakenNothingFromOthers) {
  TriggerRig rig;
  LoopTrigger trigger = rig.Make();
  auto pass = rig.Idle(rig.start);
  pass.ended = pass.began + seconds(3);
  pass.worked = milliseconds(20);
  trigger.PassEnded(pass);
  trigger.PodGone(pass.ended);
  EXPECT_EQ(trigger.Due(), pass.ended + milliseconds(500));
}

TEST(LoopTriggerTest, ASlowPassLeavesRoomForOthers) {
  TriggerRig rig;
  LoopTrigger trigger = rig.Make();
  auto pass = rig.Idle(rig.start);
  pass.ended = pass.began + milliseconds(200);
  trigger.PassEnded(pass);
  trigger.PodGone(pass.ended);
  EXPECT_EQ(trigger.Due(), pass.ended + milliseconds(800));
}

}  // namespace
}  // namespace coppice::autoscale
