// What is bought of the options: the choice, within limits, spread over similar groups.

#include "autoscale/scale_up.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using Resize = report::GroupResize;

class ScaleUpTest : public PlainEngineRig {
 protected:
  std::shared_ptr<const report::PassReport> Start(std::vector<std::string> args = {}) {
    Assemble(std::move(args), inline_, writer_);
    return Pass();
  }
  void AddPods(int count, int64_t cores) {
    for (int i = 0; i < count; ++i) AddPod("p" + std::to_string(i), "cpu", cores);
  }
};

TEST_F(ScaleUpTest, WhatIsChosenIsBoughtForThePodsThatItHelps) {
  AddGroup("web", 5);
  AddPods(3, 3);
  const auto report = Start();
  EXPECT_EQ(report->scale_up.result, report::ScaleUpResult::kSuccessful);
  EXPECT_EQ(report->scale_up.chosen, "web");
  EXPECT_THAT(report->scale_up.resizes, ElementsAre(Resize{"web", 0, 3, 5}));
  EXPECT_THAT(report->scale_up.triggered, SizeIs(3));
}

TEST_F(ScaleUpTest, PodsThatAnotherGroupCouldHelpAreAwaitingTheirTurn) {
  AddGroup("first", 5);
  AddGroup("second", 5);
  AddPods(1, 3);
  const auto report = Start();
  EXPECT_EQ(report->scale_up.chosen, "first") << "of equally good ones";
  EXPECT_THAT(report->scale_up.unhelped, IsEmpty());
}

TEST_F(ScaleUpTest, TheLimitOfTheClusterCutsThePlanAndIsTold) {
  AddGroup("web", 10, 1);
  AddNode("web-1", "web");
  AddPod("busy", "cpu", 4, "web-1");
  AddPods(5, 3);
  const auto report = Start({"--max-nodes-total=3"});
  EXPECT_THAT(report->scale_up.resizes, ElementsAre(Resize{"web", 1, 3, 10}));
}

TEST_F(ScaleUpTest, ALimitOfCoresCutsThePlan) {
  AddGroup("web", 10);
  AddPods(5, 3);
  EXPECT_THAT(Start({"--cores-total=0:8"})->scale_up.resizes, ElementsAre(Resize{"web", 0, 2, 10}));
}

TEST_F(ScaleUpTest, SimilarGroupsAreLevelled) {
  AddGroup("a", 5);
  AddGroup("b", 5);
  AddPods(4, 3);
  EXPECT_THAT(Start({"--balance-similar-node-groups"})->scale_up.resizes,
              UnorderedElementsAre(Resize{"a", 0, 2, 5}, Resize{"b", 0, 2, 5}));
}

TEST_F(ScaleUpTest, AnOrderThatFailsIsAnErrorWithItsGroup) {
  AddGroup("web", 5);
  AddPods(1, 3);
  groups_.Fail("Increase", Unavailable("sold out"));
  const auto report = Start();
  EXPECT_EQ(report->scale_up.result, report::ScaleUpResult::kError);
  EXPECT_THAT(report->scale_up.failed_groups, ElementsAre("web"));
  EXPECT_EQ(report->scale_up.error_type, "cloudProviderError");
  EXPECT_THAT(report->scale_up.unhelped, SizeIs(1));
}

// ---- Minimal sizes.

TEST_F(ScaleUpTest, AGroupBelowItsMinimumIsRaisedIfThatIsEnforced) {
  for (const bool enforced : {false, true}) {
    const std::string id = enforced ? "enforced" : "free";
    AddGroup(id, 5);
    groups_.Change(id, [](auto& group) { group.info.min_size = 2; });
    const auto report = enforced ? Start({"--enforce-node-group-min-size"}) : Start();
    if (!enforced) {
      EXPECT_THAT(report->scale_up.resizes, IsEmpty());
      continue;
    }
    EXPECT_THAT(report->scale_up.resizes,
                UnorderedElementsAre(Resize{"free", 0, 2, 5}, Resize{"enforced", 0, 2, 5}));
  }
}

TEST_F(ScaleUpTest, TheLimitOfTheClusterIsHeldAgainstAGroupsOwnSize) {
  AddGroup("web", 5);
  groups_.Change("web", [](auto& group) { group.info.min_size = 4; });
  const auto report = Start({"--enforce-node-group-min-size", "--max-nodes-total=3"});
  EXPECT_THAT(report->scale_up.resizes, ElementsAre(Resize{"web", 0, 3, 5}));
}

}  // namespace
}  // namespace coppice::autoscale
