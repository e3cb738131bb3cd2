#include "provision/disruption/repair_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kStart{std::chrono::hours(1000)};

cloud::RepairPolicy Policy(std::string type, std::string status, Duration toleration,
                           std::string reason = "") {
  cloud::RepairPolicy policy{std::move(type), std::move(status), toleration};
  policy.reason_regex = std::move(reason);
  return policy;
}

model::Node Sick(std::vector<std::array<std::string, 3>> conditions) {
  model::Node node;
  node.metadata.creation_timestamp = model::Time{kStart - minutes(60)};
  for (auto& [type, status, reason] : conditions) {
    node.status.conditions.push_back({.type = type,
                                      .status = status,
                                      .last_transition_time = model::Time{kStart},
                                      .reason = reason});
  }
  return node;
}

TEST(RepairPoliciesTest, ANodeIsSickAtOnceAndDecidedOnWhenItsTimeIsUp) {
  const auto policies = MUST(RepairPolicies::Create({Policy("Ready", "False", minutes(10))}));
  const model::Node node = Sick({{"Ready", "False", "KubeletDown"}});
  EXPECT_TRUE(policies.IsSick(node));
  EXPECT_FALSE(policies.Decide(node, kStart + minutes(10) - seconds(1)));
  const auto decision = policies.Decide(node, kStart + minutes(10));
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->condition, "Ready");
  EXPECT_EQ(decision->reason, "KubeletDown");
  EXPECT_FALSE(policies.IsSick(Sick({{"Ready", "True", ""}})));
}

TEST(RepairPoliciesTest, TheOnlyFallbackIsForEveryPairAndReasonsComeFirst) {
  const auto policies = MUST(RepairPolicies::Create(
      {Policy("Ready", "False", minutes(10)), Policy("Disk", "True", minutes(1), "^ReadOnly")}));
  EXPECT_TRUE(policies.Decide(Sick({{"Disk", "True", "ReadOnlyRoot"}}), kStart + minutes(1)));
  EXPECT_FALSE(policies.Decide(Sick({{"Disk", "True", "Slow"}}), kStart + minutes(1)));
  EXPECT_TRUE(policies.Decide(Sick({{"Disk", "True", "Slow"}}), kStart + minutes(10)));
}

TEST(RepairPoliciesTest, TheShortestGraceCountsAndTheMoreImportantDecides) {
  auto minor = Policy("Disk", "True", minutes(1));
  minor.termination_grace_period = minutes(2);
  auto major = Policy("Ready", "False", minutes(5));
  major.priority = 50;
  major.termination_grace_period = minutes(3);
  const auto policies = MUST(RepairPolicies::Create({minor, major}));
  const model::Node both = Sick({{"Disk", "True", ""}, {"Ready", "False", ""}});
  const auto decision = policies.Decide(both, kStart + minutes(6));
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->condition, "Ready");
  EXPECT_EQ(decision->grace, Duration(minutes(2)));
  // A rank higher; half an hour of waiting is worth as much.
  const auto alone = policies.Decide(Sick({{"Disk", "True", ""}}), kStart + minutes(33));
  ASSERT_TRUE(alone);
  EXPECT_GT(alone->score, decision->score);
}

TEST(RepairPoliciesTest, WhatMakesNoSenseIsSaidSo) {
  EXPECT_FALSE(RepairPolicies::Create({Policy("Ready", "False", minutes(1), "(")}).ok());
  EXPECT_FALSE(RepairPolicies::Create({Policy("Ready", "No", minutes(1))}).ok());
  EXPECT_FALSE(RepairPolicies::Create({Policy("", "True", minutes(1))}).ok());
  EXPECT_FALSE(RepairPolicies::Create({Policy("Ready", "False", -minutes(1))}).ok());
  auto reboot = Policy("Ready", "False", minutes(1));
  reboot.action = cloud::RepairAction::kReboot;
  const auto refused = RepairPolicies::Create({reboot});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("Reboot"));
}

}  // namespace
}  // namespace coppice::provision
