// Which nodes are looked at, in which order, and why the others are not.

#include <gmock/gmock.h>

#include "autoscale/scale_down_rig.h"
#include "autoscale/taints.h"

namespace coppice::autoscale {
namespace {

using report::StayReason;
using testing::ElementsAre;
using testing::HasSubstr;

using ScaleDownCandidatesTest = ScaleDownRig;

TEST_F(ScaleDownCandidatesTest, ANodeOfNoGroupIsNobodysToRemove) {
  AddGroup("web", 5, 0);
  world_.UpsertNode(std::make_shared<const model::Node>(
      ANode("stranger", "z", clock_.Now() - std::chrono::hours(1))));
  EXPECT_EQ(WhyStays(*Start(), "stranger").reason, StayReason::kNotAutoscaled);
}

TEST_F(ScaleDownCandidatesTest, AGroupAtItsMinimumKeepsItsNodesAndSaysTheNumbers) {
  AddGroup("web", 5, 1);
  groups_.Change("web", [](auto& group) { group.info.min_size = 1; });
  AddNode("web-1", "web");
  const auto stays = WhyStays(*Start(), "web-1");
  EXPECT_EQ(stays.reason, StayReason::kNodeGroupMinSizeReached);
  EXPECT_EQ(stays.group_size, 1);
  EXPECT_EQ(stays.group_min, 1);
}

TEST_F(ScaleDownCandidatesTest, AnAnnotationKeepsANode) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  Change("web-1", [](model::Node& node) {
    node.metadata.annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] = "true";
  });
  EXPECT_EQ(WhyStays(*Start(), "web-1").reason, StayReason::kScaleDownDisabledAnnotation);
}

TEST_F(ScaleDownCandidatesTest, ANodeThatAnotherEngineTakesDownIsLeftToIt) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  ASSERT_OK(world_.held_nodes().Hold("web-1", world_.FindNode("web-1")->metadata.uid, "gardener"));
  const auto stays = WhyStays(*Start(), "web-1");
  EXPECT_EQ(stays.reason, StayReason::kCurrentlyBeingDeleted);
  EXPECT_THAT(stays.detail, HasSubstr("gardener"));
}

TEST_F(ScaleDownCandidatesTest, ANodeThatIsUsedEnoughStaysAndSaysHowMuchIsEnough) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  AddPod("busy", "cpu", 3, "web-1");
  const auto stays = WhyStays(*Start({"--scale-down-utilization-threshold=0.5"}), "web-1");
  EXPECT_EQ(stays.reason, StayReason::kNotUnderutilized);
  EXPECT_EQ(stays.threshold, 0.5);
  EXPECT_EQ(stays.group, "web");
}

TEST_F(ScaleDownCandidatesTest, AsMuchAsTheThresholdIsNotUsedEnough) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("half", "cpu", 2, "web-1");
  AddPod("more", "cpu", 1, "web-2");
  AddPod("than-half", "cpu", 1, "web-2");
  EXPECT_THAT(Start({"--scale-down-utilization-threshold=0.5"})->scale_down.unneeded,
              testing::SizeIs(1))
      << "either may go to the other";
}

TEST_F(ScaleDownCandidatesTest, AnUnreadyNodeStaysIfTheOperatorSaysSo) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  Change("web-1", [](model::Node& node) { node.status.conditions[0].status = "False"; });
  EXPECT_EQ(WhyStays(*Start({"--scale-down-unready-enabled=false"}), "web-1").reason,
            StayReason::kScaleDownUnreadyDisabled);
}

TEST_F(ScaleDownCandidatesTest, EmptyNodesComeBeforeThoseThatHaveToBeDrained) {
  AddGroup("web", 5, 3);
  for (const char* name : {"web-1", "web-2", "web-3"}) AddNode(name, "web");
  AddPod("moves", "cpu", 1, "web-1");
  AddPod("busy", "cpu", 3, "web-3");
  EXPECT_THAT(Start()->scale_down.unneeded, ElementsAre("web-2", "web-1"));
}

TEST_F(ScaleDownCandidatesTest, WhatWasNotNeededBeforeComesBeforeWhatIsNewlyNotNeeded) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("busy", "cpu", 3, "web-1");
  EXPECT_THAT(Start()->scale_down.unneeded, ElementsAre("web-2"));
  world_.DeletePod("default", "busy");
  EXPECT_THAT(PassAfter(std::chrono::seconds(10))->scale_down.unneeded,
              ElementsAre("web-2", "web-1"));
}

}  // namespace
}  // namespace coppice::autoscale
