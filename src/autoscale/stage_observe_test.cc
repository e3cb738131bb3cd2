// What a pass knows before it decides anything, and what ends it before it does.

#include "autoscale/stage_observe.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

class StageObserveTest : public PlainEngineRig {
 protected:
  std::shared_ptr<const report::PassReport> Start(std::vector<std::string> args = {}) {
    Assemble(std::move(args), inline_, writer_);
    return Pass();
  }
};

TEST_F(StageObserveTest, AnEmptyClusterIsServedUnlessToldOtherwise) {
  AddGroup("web", 5);
  AddPod("p", "cpu", 3);
  Start({"--scale-up-from-zero=false"});
  EXPECT_EQ(CallsOf("Refresh"), 0U) << "there is nobody to act for";
  EXPECT_EQ(CallsOf("Increase"), 0U);
  Start();
  EXPECT_EQ(CallsOf("Increase"), 1U);
}

TEST_F(StageObserveTest, WhereNothingIsReadyNothingIsDoneEither) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  model::Node node = *world_.FindNode("web-1");
  node.status.conditions[0].status = "False";
  world_.UpsertNode(std::make_shared<const model::Node>(node));
  AddPod("p", "cpu", 3);
  Start({"--scale-up-from-zero=false"});
  EXPECT_EQ(CallsOf("Increase"), 0U);
}

TEST_F(StageObserveTest, ACloudThatDoesNotAnswerEndsThePass) {
  AddGroup("web", 5);
  AddPod("p", "cpu", 3);
  groups_.Fail("Refresh", Unavailable("away"));
  const auto report = Start();
  EXPECT_EQ(report->error_type, "cloudProviderError");
  EXPECT_THAT(report->error, HasSubstr("away"));
  EXPECT_FALSE(report->status) << "it was not known";
  EXPECT_EQ(CallsOf("Increase"), 0U);
  EXPECT_TRUE(report->call_again.has_value());
}

TEST_F(StageObserveTest, AViewThatIsTooOldEndsThePass) {
  AddGroup("web", 5);
  AddPod("p", "cpu", 3);
  Duration age = hours(1);
  view_age_ = [&age] { return age; };
  EXPECT_EQ(Start()->error_type, "apiCallError");
  EXPECT_EQ(CallsOf("Increase"), 0U);
  age = {};
  clock_.Advance(seconds(10));
  EXPECT_EQ(Pass()->error, "");
  EXPECT_EQ(CallsOf("Increase"), 1U);
}

TEST_F(StageObserveTest, UnderUpstreamsRulesABudgetThatCannotBeUnderstoodEndsThePassAndIsNamed) {
  AddGroup("web", 5);
  AddPod("p", "cpu", 3);
  model::PodDisruptionBudget budget;
  budget.metadata.namespace_ = "default";
  budget.metadata.name = "wrong";
  budget.spec.selector.emplace().match_expressions.push_back(
      {.key = "app", .operator_ = "Nonsense", .values = {}});
  world_.Upsert(std::make_shared<const model::PodDisruptionBudget>(budget));
  const auto report = Start({"--upstream-exact"});
  EXPECT_EQ(report->error_type, "internalError");
  EXPECT_THAT(report->error, HasSubstr("failed to initialize RemainingPdbTracker"));
  EXPECT_EQ(CallsOf("Increase"), 0U);
}

TEST_F(StageObserveTest, GroupsThatCannotBeAskedForTheirSizeEndThePass) {
  AddGroup("web", 5, 1);
  AddNode("web-1", "web");
  groups_.Fail("TargetSize", Unavailable("away"));
  const auto report = Start();
  EXPECT_EQ(report->error_type, "cloudProviderError");
  EXPECT_THAT(report->scale_down.unneeded, IsEmpty());
}

TEST_F(StageObserveTest, WhatIsBeingDeletedIsCounted) {
  BeginDeletion({"--fuses=false"}, writer_);
  EXPECT_EQ(Pass()->deleting, 1U);
}

}  // namespace
}  // namespace coppice::autoscale
