// Whether anything is bought at all, and what is known of what is on its way.

#include "autoscale/stage_scale_up.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using report::ScaleUpResult;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class StageScaleUpTest : public PlainEngineRig {
 protected:
  std::shared_ptr<const report::PassReport> Start(std::vector<std::string> args = {}) {
    Assemble(std::move(args), inline_, writer_);
    return Pass();
  }
};

TEST_F(StageScaleUpTest, WhatIsOnItsWayIsNotBoughtAgain) {
  AddGroup("web", 5);
  AddPod("a", "cpu", 3);
  AddPod("b", "cpu", 3);
  Start();
  EXPECT_EQ(CallsOf("Increase"), 1U);
  clock_.Advance(seconds(20));
  const auto report = Pass();
  EXPECT_THAT(report->upcoming, ElementsAre(Pair("web", 2)));
  EXPECT_EQ(report->scale_up.result, ScaleUpResult::kNotNeeded);
  EXPECT_EQ(CallsOf("Increase"), 1U);
}

TEST_F(StageScaleUpTest, AFullClusterIsToldToEveryPodThatWaits) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  AddPod("busy", "cpu", 4, "web-1");
  AddPod("a", "cpu", 3);
  AddPod("b", "cpu", 3);
  const auto report = Start({"--max-nodes-total=1"});
  EXPECT_EQ(report->scale_up.result, ScaleUpResult::kLimitedByMaxNodesTotal);
  EXPECT_THAT(report->scale_up.unhelped, SizeIs(2));
  EXPECT_EQ(CallsOf("Increase"), 0U);
}

TEST_F(StageScaleUpTest, PodsThatFitAreNobodyToBuyFor) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  AddPod("a", "cpu", 3);
  const auto report = Start();
  EXPECT_EQ(report->scale_up.result, ScaleUpResult::kNotNeeded);
  EXPECT_THAT(report->scale_up.resizes, IsEmpty());
}

TEST_F(StageScaleUpTest, ASalvoBuysForWhomTheFirstRoundDidNotHelp) {
  AddGroup("small", 1);
  AddGroup("large", 5);
  groups_.Change("large", [](cloud::FakeNodeGroups::Group& g) {
    model::Node node = *g.node_template;
    node.status.allocatable["cpu"] = model::Quantity::FromUnits(8);
    g.node_template = std::make_shared<const model::Node>(std::move(node));
  });
  AddPod("a", "cpu", 3);
  AddPod("b", "cpu", 6);
  const auto report = Start({"--salvo-scale-up"});
  size_t helped = report->scale_up.triggered.size();
  for (const report::ScaleUp& round : report->earlier_rounds) helped += round.triggered.size();
  EXPECT_EQ(helped, 2U);
}

TEST_F(StageScaleUpTest, AfterAnOrderNothingIsRemovedForAWhile) {
  AddGroup("web", 5);
  AddPod("a", "cpu", 3);
  EXPECT_EQ(Start()->scale_down.result, report::ScaleDownResult::kInCooldown);
}

}  // namespace
}  // namespace coppice::autoscale
