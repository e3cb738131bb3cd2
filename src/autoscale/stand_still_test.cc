// For how long a pass keeps the news out, and how it learns that some have come in.

#include "autoscale/stand_still.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace coppice::autoscale {
namespace {

class StandStillTest : public testing::Test {
 protected:
  void NodeComes(const std::string& name) {
    model::Node node;
    node.metadata.name = name;
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }

  FakeClock clock_;
  Executor executor_{clock_};
  cluster::World world_;
};

TEST_F(StandStillTest, ByDefaultTheWorldIsHeldForOnePlanAndNoLonger) {
  StandStill still(world_, executor_, /*whole_pass=*/false);
  {
    const StandStill::Plan plan(still);
    NodeComes("a");
    EXPECT_EQ(world_.node_count(), 0U);
  }
  EXPECT_EQ(world_.node_count(), 1U);
  NodeComes("b");
  EXPECT_EQ(world_.node_count(), 2U) << "between two plans news come in";
}

TEST_F(StandStillTest, AsUpstreamItIsHeldFromTheFirstPlanToTheEnd) {
  StandStill still(world_, executor_, /*whole_pass=*/true);
  NodeComes("before");
  EXPECT_EQ(world_.node_count(), 1U) << "no plan has begun";
  {
    const StandStill::Plan plan(still);
  }
  NodeComes("a");
  {
    const StandStill::Plan plan(still);
  }
  NodeComes("b");
  EXPECT_EQ(world_.node_count(), 1U);
  still.End();
  EXPECT_EQ(world_.node_count(), 3U);
}

TEST_F(StandStillTest, WithoutAPlanThereIsNothingToEnd) {
  StandStill still(world_, executor_, /*whole_pass=*/true);
  bool applied = false;
  world_.WhenApplied([&] { applied = true; });
  still.End();
  EXPECT_FALSE(applied) << "somebody else may hold it";
}

TEST_F(StandStillTest, AMomentHasNewsOnceTheWorldIsAnotherOne) {
  const StandStill still(world_, executor_, /*whole_pass=*/false);
  const StandStill::Moment listed = still.Now();
  EXPECT_FALSE(listed.HasNews());
  executor_.Post([this] { NodeComes("a"); });
  executor_.RunUntilIdle();
  EXPECT_TRUE(listed.HasNews());
  EXPECT_FALSE(still.Now().HasNews()) << "a list that is made now knows of it";
}

TEST_F(StandStillTest, WhatWaitsForTheEndOfThePassIsNoNews) {
  StandStill still(world_, executor_, /*whole_pass=*/true);
  const StandStill::Plan plan(still);
  const StandStill::Moment listed = still.Now();
  executor_.Post([this] { NodeComes("a"); });
  executor_.RunUntilIdle();
  EXPECT_FALSE(listed.HasNews());
}

TEST_F(StandStillTest, AMomentThatNobodyListedAtHasNoNews) {
  EXPECT_FALSE(StandStill::Moment().HasNews());
}

}  // namespace
}  // namespace coppice::autoscale
