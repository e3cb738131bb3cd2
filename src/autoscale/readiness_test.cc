#include "autoscale/readiness.h"

#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

model::Time At(int second) { return model::Time{TimePoint(std::chrono::seconds(second))}; }

model::NodeCondition Condition(std::string type, std::string status, int since) {
  return {.type = std::move(type), .status = std::move(status), .last_transition_time = At(since)};
}

model::Node WithConditions(std::vector<model::NodeCondition> conditions) {
  model::Node node;
  node.status.conditions = std::move(conditions);
  return node;
}

TEST(ReadinessTest, OnlyAReadyConditionMakesANodeReady) {
  EXPECT_TRUE(ReadinessOf(WithConditions({Condition("Ready", "True", 5)})).ready);
  EXPECT_FALSE(ReadinessOf(WithConditions({})).ready) << "nothing is known";
  EXPECT_FALSE(ReadinessOf(WithConditions({Condition("DiskPressure", "False", 5)})).ready);
  for (const char* status : {"False", "Unknown"})
    EXPECT_FALSE(ReadinessOf(WithConditions({Condition("Ready", status, 5)})).ready) << status;
}

TEST(ReadinessTest, PressureOnDiskAndNetworkCountsAndOnMemoryDoesNot) {
  const auto with = [](const char* type, const char* status) {
    return ReadinessOf(WithConditions({Condition("Ready", "True", 5), Condition(type, status, 9)}));
  };
  EXPECT_FALSE(with("DiskPressure", "True").ready);
  EXPECT_FALSE(with("NetworkUnavailable", "True").ready);
  EXPECT_TRUE(with("DiskPressure", "False").ready);
  EXPECT_TRUE(with("MemoryPressure", "True").ready);
  EXPECT_EQ(with("DiskPressure", "True").last_transition, At(9).at);
  EXPECT_EQ(with("MemoryPressure", "True").last_transition, At(5).at) << "it does not matter";
}

TEST(ReadinessTest, TheTaintOfAConditionCountsLikeTheCondition) {
  model::Node node = WithConditions({Condition("Ready", "True", 5)});
  node.spec.taints.push_back({.key = "node.kubernetes.io/memory-pressure", .time_added = At(8)});
  EXPECT_TRUE(ReadinessOf(node).ready);
  node.spec.taints.push_back({.key = "node.kubernetes.io/not-ready", .time_added = At(7)});
  EXPECT_FALSE(ReadinessOf(node).ready);
  EXPECT_EQ(ReadinessOf(node).last_transition, At(7).at);
}

TEST(ReadinessTest, AnUnreadyCopyIsUnreadySinceItsBeginning) {
  model::Node node =
      WithConditions({Condition("DiskPressure", "False", 3), Condition("Ready", "True", 5)});
  node.metadata.creation_timestamp = At(1);
  const model::Node copy = UnreadyCopy(node, kStartupTaintReason);
  const Readiness readiness = ReadinessOf(copy);
  EXPECT_FALSE(readiness.ready);
  EXPECT_EQ(readiness.reason, kStartupTaintReason);
  EXPECT_EQ(copy.status.conditions.size(), 2u) << "one Ready, not two";
  EXPECT_EQ(copy.status.conditions[0].last_transition_time->at, At(1).at);
}

}  // namespace
}  // namespace coppice::autoscale
