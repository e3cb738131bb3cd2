// What would become of a node's pods if it were gone.

#include <gmock/gmock.h>

#include "autoscale/scale_down_rig.h"

namespace coppice::autoscale {
namespace {

using report::StayReason;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using ScaleDownSimulationTest = ScaleDownRig;

TEST_F(ScaleDownSimulationTest, APodThatNobodyMakesAnewBlocksItsNodeAndIsNamed) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddBarePod("alone", "web-1");
  const auto stays = WhyStays(*Start(), "web-1");
  EXPECT_EQ(stays.reason, StayReason::kBlockedByPod);
  ASSERT_NE(stays.blocking_pod, nullptr);
  EXPECT_EQ(stays.blocking_pod->metadata.name, "alone");
  EXPECT_EQ(stays.blocking_reason, "NotReplicated");
}

TEST_F(ScaleDownSimulationTest, PodsThatFitNowhereElseKeepTheirNode) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("small", "cpu", 1, "web-1");
  AddPod("large", "cpu", 4, "web-2");
  const auto stays = WhyStays(*Start(), "web-1");
  EXPECT_EQ(stays.reason, StayReason::kNoPlaceToMovePods);
  ASSERT_NE(stays.stuck_pod, nullptr);
  EXPECT_EQ(stays.stuck_pod->metadata.name, "small");
}

TEST_F(ScaleDownSimulationTest, RoomIsPromisedOnceWhoeverAsksForIt) {
  AddGroup("web", 5, 3);
  for (const char* name : {"web-1", "web-2", "web-3"}) AddNode(name, "web");
  AddPod("a", "cpu", 1, "web-1");
  AddPod("b", "cpu", 1, "web-2");
  AddPod("busy", "cpu", 3, "web-3");
  const auto report = Start();
  EXPECT_THAT(report->scale_down.unneeded, SizeIs(1)) << "web-3 has room for one of them";
}

TEST_F(ScaleDownSimulationTest, WhereThePodsWouldGoIsToldWithTheRemoval) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("moves", "cpu", 1, "web-1");
  AddPod("busy", "cpu", 3, "web-2");
  Start({"--scale-down-unneeded-time=1m", "--fuses=false"});
  const auto report = PassAfter(minutes(2));
  ASSERT_THAT(Removed(*report), ElementsAre("web-1"));
  const report::RemovedNode& removed = report->scale_down.removed[0];
  ASSERT_THAT(removed.evicted, SizeIs(1));
  EXPECT_EQ(removed.evicted[0]->metadata.name, "moves");
  ASSERT_THAT(removed.moves, SizeIs(1));
  EXPECT_EQ(removed.moves[0].node, "web-2");
}

TEST_F(ScaleDownSimulationTest, APlanLeavesTheWorldAsItWas) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("moves", "cpu", 1, "web-1");
  AddPod("busy", "cpu", 3, "web-2");
  Start();
  const cluster::Snapshot& snapshot = world_.snapshot();
  EXPECT_EQ(snapshot.forks(), 0U);
  EXPECT_THAT(snapshot.pods_on(snapshot.FindNode("web-1")), SizeIs(1));
  EXPECT_THAT(snapshot.pods_on(snapshot.FindNode("web-2")), SizeIs(1));
}

TEST_F(ScaleDownSimulationTest, ABudgetThatIsSpentKeepsTheNode) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("kept", "cpu", 1, "web-1");
  model::Pod pod = *world_.FindPod("default", "kept");
  pod.metadata.labels["app"] = "kept";
  world_.UpsertPod(std::make_shared<const model::Pod>(pod));
  model::PodDisruptionBudget budget;
  budget.metadata.namespace_ = "default";
  budget.metadata.name = "none-to-spare";
  budget.spec.selector.emplace().match_labels["app"] = "kept";
  budget.status.disruptions_allowed = 0;
  world_.Upsert(std::make_shared<const model::PodDisruptionBudget>(budget));
  const auto report = Start();
  EXPECT_EQ(WhyStays(*report, "web-1").reason, StayReason::kBlockedByPod);
  EXPECT_EQ(WhyStays(*report, "web-1").blocking_reason, "NotEnoughPdb");
  EXPECT_THAT(report->scale_down.unneeded, ElementsAre("web-2"));
}

}  // namespace
}  // namespace coppice::autoscale
