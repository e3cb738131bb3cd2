#include "autoscale/cluster_status.h"

#include <gmock/gmock.h>

#include "autoscale/group_states_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::minutes;
using testing::SizeIs;

class ClusterStatusTest : public GroupStatesRig {
 protected:
  report::ClusterStatus Status(const std::map<std::string, int>& candidates = {}) {
    return StatusOf(state, groups, slots_, candidates, now);
  }
  Processors slots_;
};

TEST_F(ClusterStatusTest, SaysOfEachGroupWhatItHasAndWhatItShouldHave) {
  SetTarget(3);
  AddBoth("m1", true);
  AddBoth("m2", false);
  Update();
  const report::ClusterStatus status = Status({{"g", 1}, {"", 5}});
  EXPECT_TRUE(status.running);
  EXPECT_TRUE(status.healthy);
  EXPECT_EQ(status.probed, now);
  EXPECT_EQ(status.candidates, 1) << "nodes of no group are nobody's candidates";
  ASSERT_THAT(status.groups, SizeIs(1));
  const report::GroupStatus& group = status.groups[0];
  EXPECT_EQ(group.group, "g");
  EXPECT_EQ(group.target, 3);
  EXPECT_EQ(group.max, 10);
  EXPECT_EQ(group.candidates, 1);
  EXPECT_EQ(group.counts.registered, 2);
  EXPECT_EQ(group.counts.ready, 1);
  EXPECT_EQ(group.counts.unready, 1);
  EXPECT_EQ(group.counts, status.counts);
}

TEST_F(ClusterStatusTest, AGroupGrowsIsBackedOffIsUnhealthyOrIsAtRest) {
  Update();
  EXPECT_EQ(Status().groups[0].scale_up, "NoActivity");
  EXPECT_FALSE(Status().scale_up_in_progress);

  SetTarget(1);
  state.RegisterScaleUp("g", 1, now);
  Update();
  EXPECT_EQ(Status().groups[0].scale_up, "InProgress");
  EXPECT_TRUE(Status().scale_up_in_progress);

  AddBoth("m1", true);
  Update();
  state.RegisterFailure("g", {cloud::ErrorClass::kOutOfResources, "stock", "none left"}, now);
  EXPECT_EQ(Status().groups[0].scale_up, "Backoff");
  EXPECT_EQ(Status().groups[0].backoff_code, "stock");
  EXPECT_EQ(Status().groups[0].backoff_message, "none left");

  SetTarget(10);
  Update(minutes(20));
  EXPECT_FALSE(Status().groups[0].healthy);
  EXPECT_EQ(Status().groups[0].scale_up, "Unhealthy");
}

}  // namespace
}  // namespace coppice::autoscale
