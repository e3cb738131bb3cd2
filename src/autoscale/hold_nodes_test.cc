#include "autoscale/hold_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

RemovableNode ANodeToGo(const std::string& name) { return {.node = name, .uid = "uid-" + name}; }

TEST(HoldNodesTest, WhatNobodyHoldsIsOursUntilItIsReleased) {
  cluster::HeldNodes held;
  CroppedDeletions plan{.empty = {{.group = "web", .nodes = {ANodeToGo("a")}}},
                        .drain = {{.group = "web", .nodes = {ANodeToGo("b")}}}};
  EXPECT_THAT(HoldNodes(held, plan), IsEmpty());
  EXPECT_EQ(held.HolderOf("a", "uid-a"), kHolder);
  EXPECT_EQ(held.HolderOf("b", "uid-b"), kHolder);
  ReleaseNodes(held, plan.empty);
  EXPECT_EQ(held.HolderOf("a", "uid-a"), "");
  EXPECT_EQ(held.HolderOf("b", "uid-b"), kHolder);
}

TEST(HoldNodesTest, WhatAnotherEngineHoldsStaysAndIsToldOf) {
  cluster::HeldNodes held;
  ASSERT_TRUE(held.Hold("a", "uid-a", "provision").ok());
  CroppedDeletions plan{.empty = {{.group = "web", .nodes = {ANodeToGo("a"), ANodeToGo("b")}},
                                  {.group = "batch", .nodes = {}}}};
  const auto left_out = HoldNodes(held, plan);
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_EQ(left_out[0].node, "a");
  EXPECT_THAT(left_out[0].error, HasSubstr("held by provision"));
  ASSERT_EQ(plan.empty.size(), 1u) << "a batch without nodes is none";
  EXPECT_EQ(plan.empty[0].nodes[0].node, "b");
  EXPECT_EQ(held.HolderOf("a", "uid-a"), "provision");
}

TEST(HoldNodesTest, AGroupThatGoesAsAWholeStaysAsAWhole) {
  cluster::HeldNodes held;
  ASSERT_TRUE(held.Hold("b", "uid-b", "provision").ok());
  CroppedDeletions plan{.empty = {{.group = "tpu", .nodes = {ANodeToGo("a")}, .whole_group = 2}},
                        .drain = {{.group = "tpu", .nodes = {ANodeToGo("b")}, .whole_group = 2},
                                  {.group = "web", .nodes = {ANodeToGo("c")}}}};
  EXPECT_EQ(HoldNodes(held, plan).size(), 2u);
  EXPECT_THAT(plan.empty, IsEmpty());
  ASSERT_EQ(plan.drain.size(), 1u);
  EXPECT_EQ(plan.drain[0].group, "web");
  EXPECT_EQ(held.HolderOf("a", "uid-a"), "") << "nothing is kept that does not go";
}

}  // namespace
}  // namespace coppice::autoscale
