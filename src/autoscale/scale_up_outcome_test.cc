#include "autoscale/scale_up_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ScaleUpPlan::Kind HelpedBy(std::vector<std::string> groups) {
  ScaleUpPlan::Kind kind;
  kind.schedulable = !groups.empty();
  kind.schedulable_groups = std::move(groups);
  kind.pods.push_back({.pod = std::make_shared<const model::Pod>()});
  return kind;
}

ScaleUpPlan PlanOf(std::vector<ScaleUpPlan::Kind> kinds) {
  ScaleUpPlan plan;
  plan.kinds = std::move(kinds);
  plan.resizes = {{.group = "a", .from = 0, .to = 1},
                  {.group = "b", .from = 0, .to = 1},
                  {.group = "c", .from = 0, .to = 1}};
  plan.skipped = std::make_shared<const SkipReasons>();
  return plan;
}

TEST(ScaleUpOutcomeTest, WhatComesAfterAFailureInTurnWasNotTriedEither) {
  const report::ScaleUp report = ScaleUpPlanner::Failed(
      PlanOf({HelpedBy({"a"}), HelpedBy({"b"}), HelpedBy({"c"}), HelpedBy({"a", "c"})}), {"b"},
      "no quota", /*parallel=*/false);
  EXPECT_EQ(report.result, report::ScaleUpResult::kError);
  EXPECT_EQ(report.error, "no quota");
  EXPECT_THAT(report.failed_groups, ElementsAre("b"));
  EXPECT_THAT(report.unhelped, SizeIs(2)) << "of b and of c; a has grown";
}

TEST(ScaleUpOutcomeTest, SideBySideOnlyWhatFailedIsLost) {
  const report::ScaleUp report =
      ScaleUpPlanner::Failed(PlanOf({HelpedBy({"a"}), HelpedBy({"b"}), HelpedBy({"c"})}), {"b"},
                             "no quota", /*parallel=*/true);
  ASSERT_THAT(report.unhelped, SizeIs(1));
  EXPECT_TRUE(report.unhelped[0].rejected.contains("b"));
}

TEST(ScaleUpOutcomeTest, PodsThatTheChosenGroupRefusedWaitForTheNextPass) {
  ScaleUpPlan plan = PlanOf({HelpedBy({"a"}), HelpedBy({"b"}), HelpedBy({})});
  plan.chosen = "a";
  plan.kinds[1].rejected.emplace(
      "a", model::Verdict::No("", model::VerdictCode::kUnschedulable, "no room"));
  const report::ScaleUp report = ScaleUpPlanner::Succeeded(std::move(plan));
  EXPECT_THAT(report.awaiting, SizeIs(1));
  EXPECT_THAT(report.unhelped, SizeIs(1));
  EXPECT_THAT(report.resizes, SizeIs(3));
}

TEST(ScaleUpOutcomeTest, AnErrorGivesUpWhoCouldHaveBeenHelped) {
  ScaleUpPlan plan = PlanOf({HelpedBy({"a", "b"})});
  EXPECT_THAT(UnservedOf(plan), SizeIs(1));
  EndWithError(plan, "broken", "internalError");
  EXPECT_EQ(plan.report.error_type, "internalError");
  EXPECT_THAT(UnservedOf(plan), IsEmpty());
  ASSERT_THAT(plan.report.unhelped, SizeIs(1));
  EXPECT_THAT(plan.report.unhelped[0].rejected, SizeIs(2)) << "each group with the reason";
}

}  // namespace
}  // namespace coppice::autoscale
