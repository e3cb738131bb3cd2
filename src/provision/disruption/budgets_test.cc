#include "provision/disruption/budgets.h"

#include <gmock/gmock.h>

namespace coppice::provision {
namespace {

using testing::HasSubstr;
constexpr TimePoint kNoon{std::chrono::seconds(1'768'478'400)};  // 2026-01-15 12:00:00 UTC

model::NodePool WithBudgets(std::vector<model::DisruptionBudget> budgets) {
  model::NodePool pool;
  pool.spec.disruption.budgets = std::move(budgets);
  return pool;
}

TEST(BudgetsTest, TheSmallestThatAppliesCounts) {
  const auto pool = WithBudgets({{.nodes = "5"}, {.reasons = {{kEmpty}}, .nodes = "2"}});
  EXPECT_EQ(*AllowedDisruptions(pool, kEmpty, 100, kNoon), 2);
  EXPECT_EQ(*AllowedDisruptions(pool, kDriftedReason, 100, kNoon), 5);
}

TEST(BudgetsTest, PercentagesAreRoundedUp) {
  EXPECT_EQ(*AllowedDisruptions(WithBudgets({{.nodes = "10%"}}), kEmpty, 1, kNoon), 1);
  EXPECT_EQ(*AllowedDisruptions(WithBudgets({{.nodes = "10%"}}), kEmpty, 11, kNoon), 2);
  EXPECT_EQ(*AllowedDisruptions(WithBudgets({{.nodes = "0%"}}), kEmpty, 11, kNoon), 0);
}

TEST(BudgetsTest, WithoutBudgetsThereIsNoLimit) {
  EXPECT_EQ(*AllowedDisruptions(WithBudgets({}), kEmpty, 9, kNoon), kUnbounded);
  EXPECT_EQ(*AllowedDisruptions({}, kEmpty, 9, kNoon), kUnbounded);
}

TEST(BudgetsTest, AnEmptyListOfReasonsAppliesToNone) {
  const auto pool = WithBudgets({{.reasons = std::vector<std::string>{}, .nodes = "0"}});
  EXPECT_EQ(*AllowedDisruptions(pool, kEmpty, 9, kNoon), kUnbounded);
}

TEST(BudgetsTest, OneThatCannotBeReadClosesThePoolForEveryReason) {
  const auto pool = WithBudgets(
      {{.nodes = "5"},
       {.reasons = {{kDriftedReason}}, .nodes = "1", .schedule = "0 25 * * *", .duration = "1h"}});
  const auto allowed = AllowedDisruptions(pool, kEmpty, 9, kNoon);
  ASSERT_FALSE(allowed.ok());
  EXPECT_THAT(allowed.status().message(), HasSubstr("spec.disruption.budgets[1]"));
}

TEST(BudgetsTest, AWindowIsOpenFromItsHitOnAndNotAtItsEnd) {
  const model::DisruptionBudget from_noon{.nodes = "0", .schedule = "0 12 * * *", .duration = "1h"};
  EXPECT_TRUE(*IsActive(from_noon, kNoon));
  EXPECT_TRUE(*IsActive(from_noon, kNoon + std::chrono::minutes(59)));
  EXPECT_FALSE(*IsActive(from_noon, kNoon + std::chrono::hours(1)));
  EXPECT_FALSE(*IsActive(from_noon, kNoon - std::chrono::seconds(1)));
}

TEST(BudgetsTest, AScheduleWithoutADurationIsNeverOpen) {
  EXPECT_FALSE(*IsActive({.nodes = "0", .schedule = "0 12 * * *"}, kNoon));
}

TEST(BudgetsTest, ADurationWithoutAScheduleIsAMistake) {
  EXPECT_FALSE(IsActive({.nodes = "0", .duration = "1h"}, kNoon).ok());
}

}  // namespace
}  // namespace coppice::provision
