#include "model/node_pool.h"

#include <gmock/gmock.h>

namespace coppice::model {
namespace {

NodePool APool() {
  NodePool pool;
  pool.spec.template_.labels = {{"a", "2"}, {"b", "x"}};
  pool.spec.template_.spec.taints = {{"t1", "v", "NoSchedule"}, {"t2", "", "NoExecute"}};
  pool.spec.template_.spec.expire_after = "720h";
  pool.spec.template_.spec.node_class_ref = {"coppice.example", "NodeClass", "default"};
  return pool;
}

TEST(NodePoolTest, HashIsTheNumberThatKarpenterWrites) {
  NodePool pool = APool();
  EXPECT_EQ(HashOf(pool), "13288639761750599215");  // recorded
  pool.spec.template_.spec.taints.push_back({"t3", "", "NoSchedule"});
  EXPECT_EQ(HashOf(pool), "4343610730534655815");
}

TEST(NodePoolTest, HashSeesNoOrderAndNoSpelling) {
  const NodePool pool = APool();
  NodePool other = pool;
  std::swap(other.spec.template_.spec.taints[0], other.spec.template_.spec.taints[1]);
  other.spec.template_.spec.expire_after = "43200m";
  EXPECT_EQ(HashOf(other), HashOf(pool));
}

TEST(NodePoolTest, HashLeavesOutWhatDriftsOtherwiseOrNotAtAll) {
  const NodePool pool = APool();
  NodePool other = pool;
  other.spec.template_.spec.requirements = {{.key = "zone", .operator_ = "Exists"}};
  other.spec.weight = 7;
  other.spec.disruption.consolidate_after = "5m";
  other.spec.limits["cpu"] = Quantity::FromUnits(10);
  EXPECT_EQ(HashOf(other), HashOf(pool));
}

TEST(NodePoolTest, NeverAndAbsentAreTheSameLifetime) {
  NodePool pool = APool();
  pool.spec.template_.spec.expire_after = "Never";
  const std::string never = HashOf(pool);
  pool.spec.template_.spec.expire_after.reset();
  EXPECT_EQ(HashOf(pool), never);
  EXPECT_NE(HashOf(APool()), never);
}

TEST(NodePoolTest, DefaultsAreThoseOfTheApiServer) {
  NodePool pool;
  FillDefaults(pool);
  EXPECT_EQ(pool.spec.disruption.consolidate_after, "0s");
  EXPECT_EQ(pool.spec.disruption.consolidation_policy, "WhenEmptyOrUnderutilized");
  ASSERT_EQ(pool.spec.disruption.budgets->size(), 1u);
  EXPECT_EQ(pool.spec.disruption.budgets->front().nodes, "10%");
  EXPECT_EQ(pool.spec.template_.spec.expire_after, "720h");
}

TEST(NodePoolTest, AnEmptyListOfBudgetsIsNoLimitAndStaysSo) {
  NodePool pool;
  pool.spec.disruption.budgets.emplace();
  FillDefaults(pool);
  EXPECT_TRUE(pool.spec.disruption.budgets->empty());
}

TEST(NodeClaimTest, DurationsAreReadFromTheirText) {
  using std::chrono::hours;
  EXPECT_EQ(LastingOf("720h"), hours(720));
  EXPECT_EQ(LastingOf("Never"), std::nullopt);
  EXPECT_EQ(LastingOf(std::nullopt), std::nullopt);
  EXPECT_EQ(LastingOf("soon"), std::nullopt);
}

TEST(NodeClaimTest, AConditionKeepsItsTimeUntilItsStatusChanges) {
  const TimePoint first{std::chrono::hours(1)};
  const TimePoint second{std::chrono::hours(2)};
  std::vector<Condition> conditions;
  SetCondition(conditions, {.type = "Drifted", .status = "True", .reason = "A"}, first);
  SetCondition(conditions, {.type = "Drifted", .status = "True", .reason = "B"}, second);
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(conditions[0].reason, "B");
  EXPECT_EQ(conditions[0].last_transition_time, Time{first});
  SetCondition(conditions, {.type = "Drifted", .status = "False", .reason = "B"}, second);
  EXPECT_EQ(conditions[0].last_transition_time, Time{second});
  EXPECT_FALSE(IsTrue(conditions, "Drifted"));
  EXPECT_TRUE(ClearCondition(conditions, "Drifted"));
  EXPECT_EQ(FindCondition(conditions, "Drifted"), nullptr);
}

}  // namespace
}  // namespace coppice::model
