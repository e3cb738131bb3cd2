#include "cluster/held_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/world.h"

namespace coppice::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Held = HeldNodes::Held;

TEST(HeldNodesTest, WhoComesSecondIsToldWhoHoldsTheNode) {
  HeldNodes held;
  EXPECT_TRUE(held.Hold("n", "u", "autoscale").ok());
  EXPECT_TRUE(held.Hold("n", "u", "autoscale").ok());  // it may say so twice
  const Status refused = held.Hold("n", "u", "provision");
  EXPECT_EQ(refused.code(), Code::kAlreadyExists);
  EXPECT_THAT(refused.message(), HasSubstr("held by autoscale"));
  EXPECT_TRUE(held.HeldByAnother("n", "u", "provision"));
  EXPECT_FALSE(held.HeldByAnother("n", "u", "autoscale"));
  EXPECT_FALSE(held.HeldByAnother("other", "u", "provision"));
}

TEST(HeldNodesTest, OnlyTheHolderCanLetGo) {
  HeldNodes held;
  ASSERT_TRUE(held.Hold("n", "u", "autoscale").ok());
  held.Release("n", "provision");
  EXPECT_EQ(held.HolderOf("n", "u"), "autoscale");
  held.Release("n", "autoscale");
  EXPECT_EQ(held.HolderOf("n", "u"), "");
  EXPECT_TRUE(held.Hold("n", "u", "provision").ok());
}

TEST(HeldNodesTest, ANodeThatComesBackUnderTheNameIsNobodys) {
  HeldNodes held;
  ASSERT_TRUE(held.Hold("n", "old", "autoscale").ok());
  EXPECT_EQ(held.HolderOf("n", "new"), "");
  EXPECT_TRUE(held.Hold("n", "new", "provision").ok());
  EXPECT_EQ(held.HolderOf("n", "new"), "provision");
  held.NodeGone("n", "old");  // the news of the old one's end come late
  EXPECT_EQ(held.HolderOf("n", "new"), "provision");
}

TEST(HeldNodesTest, ListsWhatIsHeldByName) {
  HeldNodes held;
  ASSERT_TRUE(held.Hold("b", "1", "autoscale").ok());
  ASSERT_TRUE(held.Hold("c", "2", "provision").ok());
  ASSERT_TRUE(held.Hold("a", "3", "autoscale").ok());
  held.Release("b", "autoscale");
  EXPECT_THAT(held.List(), ElementsAre(Held{"a", "3", "autoscale"}, Held{"c", "2", "provision"}));
}

TEST(HeldNodesTest, TheWorldForgetsWhoHeldANodeThatIsGone) {
  World world;
  model::Node node;
  node.metadata.name = "n";
  node.metadata.uid = "u";
  world.UpsertNode(std::make_shared<const model::Node>(node));
  ASSERT_TRUE(world.held_nodes().Hold("n", "u", "autoscale").ok());
  world.DeleteNode("n");
  EXPECT_EQ(world.held_nodes().size(), 0u);
}

}  // namespace
}  // namespace coppice::cluster
