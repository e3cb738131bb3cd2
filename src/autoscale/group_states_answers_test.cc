// What the books of the orders say.

#include "autoscale/group_states.h"

#include <gmock/gmock.h>

#include "autoscale/group_states_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using GroupStatesAnswersTest = GroupStatesRig;

TEST_F(GroupStatesAnswersTest, MachinesWithoutANodeAreLongUnregisteredAfterTheProvisionTime) {
  SetTarget(1);
  AddMachine("m1");
  Update();
  EXPECT_THAT(state.LongUnregistered("g", now), IsEmpty());
  Update(minutes(15));
  EXPECT_THAT(state.LongUnregistered("g", now), IsEmpty());  // not longer than it
  Update(seconds(1));
  EXPECT_THAT(state.LongUnregistered("g", now), SizeIs(1));
  EXPECT_THAT(state.of("g").long_unregistered, ElementsAre("m1"));
}

TEST_F(GroupStatesAnswersTest, MachinesOnTheirWayCountWhileTheirGroupIsBackedOff) {
  SetTarget(3);
  state.RegisterScaleUp("g", 3, now);
  const cloud::MachineError bad{cloud::ErrorClass::kOther, "BOOT", "did not start"};
  AddMachine("m1", cloud::InstanceState::kCreating, bad);
  AddMachine("m2", cloud::InstanceState::kCreating);
  AddMachine("m3", cloud::InstanceState::kCreating);
  Update();
  state.RegisterFailure("g", bad, now);
  EXPECT_TRUE(state.BackedOff("g", now));
  EXPECT_EQ(Upcoming(), 2);  // not the one that failed
  options.deviations.count_machines_on_their_way = false;
  EXPECT_EQ(Upcoming(), 0);
}

TEST_F(GroupStatesAnswersTest, MachinesOfAProcessBeforeUsCount) {
  SetTarget(2);
  AddMachine("m1");
  Update();
  EXPECT_EQ(Upcoming(), 1);  // the other half of the target nobody has seen
  options.deviations.count_machines_on_their_way = false;
  EXPECT_EQ(Upcoming(), 0);
}

TEST_F(GroupStatesAnswersTest, AGroupThatLostMoreThanIsAllowedIsUnhealthy) {
  SetTarget(8);
  for (int i = 0; i < 4; ++i) AddBoth("m" + std::to_string(i), true);
  for (int i = 4; i < 8; ++i) AddBoth("m" + std::to_string(i), false);
  Update();
  EXPECT_FALSE(state.GroupHealthy("g"));  // four, more than three and than 45%
  EXPECT_FALSE(state.ClusterHealthy());
  EXPECT_FALSE(state.SafeToScaleUp("g", now));
  EXPECT_FALSE(state.GroupHealthy("another"));
}

// 45% of twenty nodes are nine.
TEST_F(GroupStatesAnswersTest, AsManyUnreadyNodesAsThePercentageAreAllowedAndNotOneMore) {
  SetTarget(20);
  for (int i = 0; i < 11; ++i) AddBoth("m" + std::to_string(i), true);
  for (int i = 11; i < 20; ++i) AddBoth("m" + std::to_string(i), false);
  Update();
  EXPECT_TRUE(state.GroupHealthy("g"));
  EXPECT_TRUE(state.ClusterHealthy());
  nodes.erase(nodes.begin());  // its machine has to be somewhere: one more is missing
  AddNode("m0", false);
  Update();
  EXPECT_FALSE(state.GroupHealthy("g"));
  EXPECT_FALSE(state.ClusterHealthy());
}

TEST_F(GroupStatesAnswersTest, ThreeUnreadyNodesAreAlwaysAllowed) {
  SetTarget(3);
  for (int i = 0; i < 3; ++i) AddBoth("m" + std::to_string(i), false);
  Update();
  EXPECT_TRUE(state.GroupHealthy("g"));
  EXPECT_TRUE(state.ClusterHealthy());
}

TEST_F(GroupStatesAnswersTest, AYoungNodeThatIsNotReadyHasUntilItsStartUpTimeIsOver) {
  options.group_defaults.max_node_startup_time = minutes(7);
  SetTarget(1);
  AddBoth("m1", false, minutes(7) - seconds(1));
  Update();
  EXPECT_THAT(state.of("g").not_started, ElementsAre("m1"));
  EXPECT_THAT(state.of("g").unready, IsEmpty());
  Wakeups wake(now);
  state.NoteDue(wake);
  ASSERT_TRUE(wake.earliest().has_value());
  EXPECT_EQ(wake.earliest()->at, now + seconds(1));
  Update(seconds(1));
  EXPECT_THAT(state.of("g").not_started, IsEmpty());
  EXPECT_THAT(state.of("g").unready, ElementsAre("m1"));
}

TEST_F(GroupStatesAnswersTest, AGroupGrowsWhileSomethingIsToComeAndSomebodyWaitsForIt) {
  SetTarget(2);
  state.RegisterScaleUp("g", 2, now);
  Update();
  EXPECT_TRUE(state.GroupScalingUp("g"));
  AddBoth("m1", true);
  AddBoth("m2", true);
  Update();
  EXPECT_FALSE(state.GroupScalingUp("g"));
  EXPECT_FALSE(state.GroupScalingUp("another"));
}

TEST_F(GroupStatesAnswersTest, NoMoreStandInsThanCanBeCarriedForATargetThatIsAMistake) {
  SetTarget(1'000'000);
  AddMachine("m1");
  state.RegisterScaleUp("g", 3, now);
  Update();
  EXPECT_EQ(Upcoming(), 10'000);
}

TEST_F(GroupStatesAnswersTest, OfAGroupThatNobodyKnowsNothingIsSaid) {
  Update();
  EXPECT_TRUE(state.of("another").registered.empty());
  EXPECT_EQ(state.range("another").target, 0);
  EXPECT_TRUE(state.LongUnregistered("another", now).empty());
  EXPECT_TRUE(state.FailedInstances("another").empty());
  EXPECT_FALSE(state.WrongSizeOf("another"));
}

TEST_F(GroupStatesAnswersTest, WhileMachinesAreOnTheirWayTheCloudIsAskedEveryTenSeconds) {
  SetTarget(1);
  Update();
  Wakeups quiet(now);
  state.NoteDue(quiet);
  const auto without = quiet.earliest();
  state.RegisterScaleUp("g", 1, now);
  Update();
  Wakeups wake(now);
  state.NoteDue(wake);
  ASSERT_TRUE(wake.earliest().has_value());
  EXPECT_EQ(wake.earliest()->at, now + seconds(10));
  EXPECT_TRUE(!without || without->at > now + seconds(10));
}

TEST_F(GroupStatesAnswersTest, TheEndOfABackOffIsWaitedFor) {
  state.RegisterFailure("g", {cloud::ErrorClass::kOther, "x", "y"}, now);
  Wakeups wake(now);
  state.NoteBackoffs(wake);
  ASSERT_TRUE(wake.earliest().has_value());
  EXPECT_GE(wake.earliest()->at, now + minutes(5));
}

}  // namespace
}  // namespace coppice::autoscale
