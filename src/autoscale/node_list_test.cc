#include "autoscale/node_list.h"

#include <gtest/gtest.h>

#include "autoscale/readiness.h"
#include "cloud/fake_node_groups.h"

namespace coppice::autoscale {
namespace {

class NodeListTest : public testing::Test {
 protected:
  NodeListTest() {
    groups_.Add({.info = {.id = "web"}});
    groups_.Map("a", "web");
  }
  void Put(const std::string& name, const std::function<void(model::Node&)>& change = nullptr) {
    model::Node node;
    node.metadata.name = name;
    node.status.conditions = {{.type = "Ready", .status = "True"}};
    if (change) change(node);
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }
  const ListedNode& Only() {
    list_.Update();
    EXPECT_EQ(list_.nodes().size(), 1u);
    return list_.nodes()[0];
  }

  static Options WithStartupTaint() {
    Options options;
    options.startup_taint = {"cni"};
    return options;
  }
  const Options options_ = WithStartupTaint();  // the list reads it when it is made
  cluster::World world_;
  cloud::FakeNodeGroups groups_;
  Owners owners_{options_.deviations, groups_, world_};
  Processors slots_;
  NodeList list_{options_, world_, groups_, owners_, slots_};
};

TEST_F(NodeListTest, AReadyNodeOfAGroup) {
  Put("a");
  EXPECT_TRUE(Only().ready);
  EXPECT_EQ(Only().group, "web");
  EXPECT_EQ(Only().index, world_.snapshot().FindNode("a"));
  EXPECT_EQ(list_.ready(), 1u);
  EXPECT_EQ(list_.unknown(), 0u);
}

TEST_F(NodeListTest, CordonedOrWithAStartupTaintItIsNotReadyToUs) {
  Put("a", [](model::Node& node) { node.spec.unschedulable = true; });
  EXPECT_FALSE(Only().ready);
  EXPECT_TRUE(ReadinessOf(*Only().node).ready) << "the object is as it was";
  Put("a", [](model::Node& node) { node.spec.taints = {{.key = "cni"}}; });
  EXPECT_FALSE(Only().ready);
  EXPECT_EQ(ReadinessOf(*Only().node).reason, kStartupTaintReason);
  Put("a");
  EXPECT_TRUE(Only().ready) << "the taint is gone";
}

TEST_F(NodeListTest, TheGroupIsAskedForAgainWhenTheProviderKnowsMore) {
  groups_.SetUnknown("a", true);
  Put("a");
  EXPECT_FALSE(Only().group_known);
  EXPECT_EQ(list_.unknown(), 1u);
  groups_.SetUnknown("a", false);
  EXPECT_EQ(Only().group, "web");
  EXPECT_EQ(list_.unknown(), 0u);
}

TEST_F(NodeListTest, TheSoftTaintMarksACandidate) {
  Put("a", [](model::Node& node) {
    node.spec.taints = {{.key = std::string(kDeletionCandidateTaint)}};
  });
  EXPECT_TRUE(Only().candidate);
  EXPECT_TRUE(Only().ready);
}

}  // namespace
}  // namespace coppice::autoscale
