#include "provision/claim_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "provision/bench_load.h"

namespace coppice::provision {
namespace {

model::NodePool APool() {
  model::NodePool pool;
  pool.metadata.name = "default";
  pool.metadata.uid = "uid-1";
  pool.spec.template_.labels["team"] = "red";
  pool.spec.template_.spec.node_class_ref = {"example.com", "NodeClass", "small"};
  pool.spec.template_.spec.requirements = {
      {.key = "rack", .operator_ = "Exists"},
      {.key = std::string(model::kZoneLabel), .operator_ = "In", .values = {"test-zone-1"}}};
  return pool;
}

const model::RequirementSpec* FindIn(const model::NodeClaim& claim, std::string_view key) {
  const auto it = std::ranges::find(claim.spec.requirements, key, &model::RequirementSpec::key);
  return it == claim.spec.requirements.end() ? nullptr : &*it;
}

model::NodeClaim Bought(const model::NodePool& pool) {
  SolverInput input;
  input.pools.push_back(PoolFrom(pool, BenchTypes(4)));
  Solver solver(input, {});
  const auto outcome = solver.Solve({.pods = {BenchPods(1).Plain("app")}});
  EXPECT_EQ(outcome.claims.size(), 1u);
  return ClaimFrom(pool, outcome.claims.front(), model::LabelRules::Default());
}

TEST(ClaimBuilderTest, AClaimSaysWhichTypesAndCapacityTypesMayBeBought) {
  const model::NodeClaim claim = Bought(APool());
  EXPECT_EQ(claim.metadata.generate_name, "default-");
  ASSERT_NE(FindIn(claim, model::kInstanceTypeLabel), nullptr);
  EXPECT_FALSE(FindIn(claim, model::kInstanceTypeLabel)->values.empty());
  EXPECT_EQ(FindIn(claim, model::kCapacityTypeLabel)->values,
            (std::vector<std::string>{"on-demand", "spot"}));
  EXPECT_TRUE(claim.spec.requests.contains("cpu"));
  EXPECT_EQ(claim.metadata.owner_references.front().uid, "uid-1");
}

TEST(ClaimBuilderTest, WhatOnlyServedTheSimulationIsNotOnTheClaim) {
  const model::NodeClaim claim = Bought(APool());
  EXPECT_EQ(FindIn(claim, model::kRegisteredLabel), nullptr);
  EXPECT_EQ(FindIn(claim, model::kInitializedLabel), nullptr);
  EXPECT_FALSE(claim.metadata.labels.contains(model::kInitializedLabel));
}

TEST(ClaimBuilderTest, LabelsOfThePoolsOwnGetAValueAndWellKnownOnesWaitForTheMachine) {
  const model::NodeClaim claim = Bought(APool());
  EXPECT_EQ(*claim.metadata.labels.Find("team"), "red");
  EXPECT_EQ(*claim.metadata.labels.Find("example.com/nodeclass"), "small");
  EXPECT_TRUE(claim.metadata.labels.contains("rack"));
  EXPECT_FALSE(claim.metadata.labels.contains(model::kZoneLabel));
}

TEST(ClaimBuilderTest, TheHashOfThePoolIsNotedSoThatDriftShows) {
  const model::NodePool pool = APool();
  const model::NodeClaim claim = Bought(pool);
  EXPECT_EQ(*claim.metadata.annotations.Find(model::karpenter::kHashAnnotation),
            model::HashOf(pool));
  EXPECT_EQ(*claim.metadata.annotations.Find(model::karpenter::kMinValuesRelaxedAnnotation),
            "false");
}

TEST(ClaimBuilderTest, WithoutTypesTheProviderChoosesAmongAllThatThePoolAllows) {
  const model::NodePool pool = APool();
  PlannedClaim planned;
  planned.requirements = RequirementsOf(pool, model::LabelRules::Default());
  const model::NodeClaim claim = ClaimFrom(pool, planned, model::LabelRules::Default());
  EXPECT_EQ(FindIn(claim, model::kInstanceTypeLabel), nullptr);
  EXPECT_EQ(FindIn(claim, model::kCapacityTypeLabel), nullptr);
  EXPECT_EQ(FindIn(claim, model::kNodePoolLabel)->values, std::vector<std::string>{"default"});
  EXPECT_EQ(FindIn(claim, "team")->values, std::vector<std::string>{"red"});
  EXPECT_EQ(FindIn(claim, "example.com/nodeclass")->values, std::vector<std::string>{"small"});
  EXPECT_EQ(FindIn(claim, model::kZoneLabel)->values, std::vector<std::string>{"test-zone-1"});
}

}  // namespace
}  // namespace coppice::provision
