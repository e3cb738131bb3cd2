#include "autoscale/shown_removals.h"

#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

class ShownRemovalsTest : public testing::Test {
 protected:
  void PutNode(const std::string& name, const std::string& uid) {
    model::Node node;
    node.metadata.name = name;
    node.metadata.uid = uid;
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }
  void PutPod(const std::string& name, const std::string& uid) {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "d";
    pod.metadata.uid = uid;
    pod.spec.node_name = "a";
    world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
  }
  // Whether a pass would tell of the removal of `a` again.
  bool ToldAgain() {
    NodesToDelete nodes;
    nodes.drain.push_back({.node = "a"});
    const auto left_out = shown_.LeaveOut(nodes);
    EXPECT_EQ(nodes.drain.size() + left_out.size(), 1u);
    return !nodes.drain.empty();
  }

  cluster::World world_;
  ShownRemovals shown_{world_};
};

TEST_F(ShownRemovalsTest, WhatLooksAsItDidIsToldOnce) {
  PutNode("a", "1");
  PutPod("p", "1");
  EXPECT_TRUE(ToldAgain());
  shown_.Add("a");
  EXPECT_FALSE(ToldAgain());
  PutPod("q", "1");
  EXPECT_TRUE(ToldAgain()) << "another pod";
  world_.DeletePod("d", "q");
  EXPECT_FALSE(ToldAgain());
  PutPod("p", "2");
  EXPECT_TRUE(ToldAgain()) << "another pod under an old name";
}

TEST_F(ShownRemovalsTest, AnotherNodeUnderTheNameIsAnotherNode) {
  PutNode("a", "1");
  shown_.Add("a");
  EXPECT_FALSE(ToldAgain());
  world_.DeleteNode("a");
  PutNode("a", "2");
  EXPECT_TRUE(ToldAgain());
}

}  // namespace
}  // namespace coppice::autoscale
