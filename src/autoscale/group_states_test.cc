#include "autoscale/group_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "test/support/must.h"

namespace coppice::autoscale {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class GroupStatesTest : public testing::Test {
 protected:
  GroupStatesTest() { groups.Add({.info = {.id = "g", .min_size = 0, .max_size = 10}}); }

  void SetTarget(int target) {
    groups.Change("g", [&](auto& group) { group.target = target; });
  }
  void AddMachine(const std::string& id, cloud::InstanceState is = cloud::InstanceState::kRunning,
                  std::optional<cloud::MachineError> error = {}) {
    groups.Change("g", [&](auto& group) { group.instances.push_back({id, is, error}); });
  }
  void AddNode(const std::string& id, bool ready, Duration age = hours(1)) {
    model::Node node;
    node.metadata.name = id;
    node.metadata.creation_timestamp = model::Time{now - age};
    node.spec.provider_id = id;
    node.status.conditions = {{.type = "Ready",
                               .status = ready ? "True" : "False",
                               .last_transition_time = model::Time{now - age}}};
    nodes.push_back({std::make_shared<const model::Node>(std::move(node)), "g"});
  }
  // A machine and its node.
  void AddBoth(const std::string& id, bool ready, Duration age = hours(1)) {
    AddMachine(id);
    AddNode(id, ready, age);
  }
  StateFindings Update(Duration later = {}) {
    now += later;
    return MUST(state.Update(nodes, now));
  }
  int Upcoming() const {
    int count = 0;
    for (const auto& upcoming : state.UpcomingNodes(now)) count += upcoming.count;
    return count;
  }

  TimePoint now = FakeClock().Now();
  Options options;
  cloud::FakeNodeGroups groups;
  std::vector<ListedNode> nodes;
  GroupStates state{options, groups, [this](std::string_view) { return options.group_defaults; },
                    [](std::string_view) { return true; }};
};

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

TEST_F(GroupStatesTest, MachinesWithoutANodeAreLongUnregisteredAfterTheProvisionTime) {
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

TEST_F(GroupStatesTest, MachinesOnTheirWayCountWhileTheirGroupIsBackedOff) {
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

TEST_F(GroupStatesTest, MachinesOfAProcessBeforeUsCount) {
  SetTarget(2);
  AddMachine("m1");
  Update();
  EXPECT_EQ(Upcoming(), 1);  // the other half of the target nobody has seen
  options.deviations.count_machines_on_their_way = false;
  EXPECT_EQ(Upcoming(), 0);
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

TEST_F(GroupStatesTest, AGroupThatLostMoreThanIsAllowedIsUnhealthy) {
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
TEST_F(GroupStatesTest, AsManyUnreadyNodesAsThePercentageAreAllowedAndNotOneMore) {
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

TEST_F(GroupStatesTest, ThreeUnreadyNodesAreAlwaysAllowed) {
  SetTarget(3);
  for (int i = 0; i < 3; ++i) AddBoth("m" + std::to_string(i), false);
  Update();
  EXPECT_TRUE(state.GroupHealthy("g"));
  EXPECT_TRUE(state.ClusterHealthy());
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

TEST_F(GroupStatesTest, AYoungNodeThatIsNotReadyHasUntilItsStartUpTimeIsOver) {
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

}  // namespace
}  // namespace coppice::autoscale
