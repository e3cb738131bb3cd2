#include "autoscale/group_states.h"

#include <gmock/gmock.h>

#include "autoscale/group_states_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using GroupStatesTest = GroupStatesRig;

TEST_F(GroupStatesTest, AnOrderIsUpcomingUntilItsNodesAreReady) {
  SetTarget(2);
  state.RegisterScaleUp("g", 2, now);
  Update();
  EXPECT_EQ(Upcoming(), 2);
  AddMachine("m1");
  Update(seconds(10));
  EXPECT_EQ(Upcoming(), 2);
  AddNode("m1", true);
  Update(seconds(10));
  EXPECT_EQ(Upcoming(), 1);
  AddBoth("m2", true);
  Update(seconds(10));
  EXPECT_EQ(Upcoming(), 0);
  EXPECT_THAT(state.requests(), IsEmpty());
}

TEST_F(GroupStatesTest, AYoungNodeThatIsNotReadyIsReplacedByAStandIn) {
  SetTarget(1);
  state.RegisterScaleUp("g", 1, now);
  AddBoth("m1", false, minutes(2));
  Update();
  const auto upcoming = state.UpcomingNodes(now);
  ASSERT_THAT(upcoming, SizeIs(1));
  EXPECT_THAT(upcoming[0].replaced, ElementsAre("m1"));
  EXPECT_THAT(state.of("g").not_started, ElementsAre("m1"));
}

TEST_F(GroupStatesTest, AnOrderThatTakesTooLongIsFoundOnce) {
  SetTarget(3);
  state.RegisterScaleUp("g", 3, now);
  Update();
  EXPECT_THAT(Update(minutes(14)).timed_out, IsEmpty());
  const auto late = Update(minutes(2)).timed_out;
  ASSERT_THAT(late, SizeIs(1));
  EXPECT_EQ(late[0].increase, 3);
  EXPECT_EQ(late[0].waited, minutes(16));
  EXPECT_THAT(Update(minutes(1)).timed_out, IsEmpty());
}

TEST_F(GroupStatesTest, FailedCreationsShrinkTheOrderAndAreToldOnce) {
  SetTarget(3);
  state.RegisterScaleUp("g", 3, now);
  const cloud::MachineError quota{cloud::ErrorClass::kOutOfResources, "QUOTA", "no more"};
  AddMachine("m1", cloud::InstanceState::kCreating, quota);
  AddMachine("m2", cloud::InstanceState::kCreating);
  AddMachine("m3", cloud::InstanceState::kCreating);
  const auto failed = Update().failed_creations;
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].count, 1);
  EXPECT_EQ(failed[0].error.code, "QUOTA");
  EXPECT_EQ(state.requests().find("g")->second.increase, 2);
  EXPECT_THAT(Update(seconds(10)).failed_creations, IsEmpty());
  EXPECT_THAT(state.FailedInstances("g"), SizeIs(1));
}

TEST_F(GroupStatesTest, BackOffDoublesWhenItHasEndedAndIsForgottenAfterThreeHours) {
  const cloud::MachineError error{cloud::ErrorClass::kOther, "x", "y"};
  state.RegisterFailure("g", error, now);
  EXPECT_TRUE(state.BackedOff("g", now + minutes(4)));
  EXPECT_FALSE(state.BackedOff("g", now + minutes(6)));
  state.RegisterFailure("g", error, now + minutes(6));
  EXPECT_TRUE(state.BackedOff("g", now + minutes(15)));
  EXPECT_FALSE(state.BackedOff("g", now + minutes(17)));
  Update(hours(4));
  state.RegisterFailure("g", error, now);
  EXPECT_FALSE(state.BackedOff("g", now + minutes(6)));
}

TEST_F(GroupStatesTest, AWrongSizeKeepsItsTimeWhileTheNumbersStay) {
  SetTarget(3);
  AddBoth("m1", true);
  Update();
  const TimePoint first = now;
  Update(minutes(5));
  ASSERT_TRUE(state.WrongSizeOf("g"));
  EXPECT_EQ(state.WrongSizeOf("g")->first_observed, first);
  AddBoth("m2", true);
  Update(minutes(1));
  EXPECT_EQ(state.WrongSizeOf("g")->first_observed, now);
  AddBoth("m3", true);
  Update(minutes(1));
  EXPECT_FALSE(state.WrongSizeOf("g"));
}

TEST_F(GroupStatesTest, ANodeWhoseMachineIsGoneIsDeleted) {
  SetTarget(1);
  AddBoth("m1", true);
  AddNode("m2", true);
  groups.Change("g", [](auto&) {});
  Update();
  EXPECT_THAT(state.total().deleted, ElementsAre("m2"));
  EXPECT_THAT(state.total().ready, ElementsAre("m1"));
}

}  // namespace
}  // namespace coppice::autoscale
