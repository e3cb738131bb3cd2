// Whether anything is removed at all, and what is told of what is not.

#include "autoscale/stage_scale_down.h"

#include <gmock/gmock.h>

#include "autoscale/scale_down_rig.h"

namespace coppice::autoscale {
namespace {

using report::ScaleDownResult;
using report::StayReason;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class StageScaleDownTest : public ScaleDownRig {
 protected:
  void AddAnEmptyNode() {
    AddGroup("web", 5, 1);
    AddNode("web-1", "web");
  }
};

TEST_F(StageScaleDownTest, AnEmptyNodeGoesWhenItsTimeHasCome) {
  AddAnEmptyNode();
  Start({"--scale-down-unneeded-time=1m", "--fuses=false"});
  const auto report = PassAfter(minutes(2));
  EXPECT_EQ(report->scale_down.result, ScaleDownResult::kNodeDeleteStarted);
  executor_.RunFor(seconds(30));
  EXPECT_EQ(CallsOf("Delete"), 1U);
}

TEST_F(StageScaleDownTest, WhereItIsSwitchedOffNothingIsLookedAt) {
  AddAnEmptyNode();
  const auto report = Start({"--scale-down-enabled=false"});
  EXPECT_EQ(report->scale_down.result, ScaleDownResult::kNotTried);
  EXPECT_THAT(report->scale_down.unneeded, IsEmpty());
}

TEST_F(StageScaleDownTest, WhilePendingPodsAreNewNodesStayAndSayWhy) {
  AddAnEmptyNode();
  Start({"--scale-down-unneeded-time=1m", "--fuses=false"});
  clock_.Set(clock_.Now() + minutes(2));
  AddPod("new", "cpu", 64);  // nothing has room for it
  model::Pod pod = *world_.FindPod("default", "new");
  pod.metadata.creation_timestamp = model::Time{clock_.Now() - std::chrono::milliseconds(10)};
  world_.UpsertPod(std::make_shared<const model::Pod>(pod));
  const auto report = Pass();
  EXPECT_EQ(report->scale_down.result, ScaleDownResult::kInCooldown);
  EXPECT_THAT(report->scale_down.removed, IsEmpty());
  EXPECT_EQ(WhyStays(*report, "web-1").reason, StayReason::kCooldown);
}

TEST_F(StageScaleDownTest, WithoutCandidatesItSaysSo) {
  AddGroup("web", 5, 1);
  groups_.Change("web", [](auto& group) { group.info.min_size = 1; });
  AddNode("web-1", "web");
  Start({"--fuses=false"});
  EXPECT_EQ(PassAfter(minutes(2))->scale_down.result, ScaleDownResult::kNoCandidates);
}

TEST_F(StageScaleDownTest, AnUnneededNodeIsMarkedSoThatANewProcessKnows) {
  AddAnEmptyNode();
  const auto report = Start({"--scale-down-unneeded-time=10m"});
  EXPECT_THAT(report->scale_down.unneeded, ElementsAre("web-1"));
  EXPECT_EQ(WhyStays(*PassAfter(minutes(1)), "web-1").reason, StayReason::kNotUnneededLongEnough);
}

}  // namespace
}  // namespace coppice::autoscale
