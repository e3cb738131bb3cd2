#include "provision/node_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/node_claim.h"

namespace coppice::provision {
namespace {

class NodePodsTest : public testing::Test {
 protected:
  NodePodsTest() {
    for (const char* name : {"one", "two"}) {
      model::Node node;
      node.metadata.name = name;
      world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
    }
  }
  void Put(const std::string& name, const std::string& node,
           const std::function<void(model::Pod&)>& change = nullptr) {
    model::Pod pod;
    pod.metadata.namespace_ = "default";
    pod.metadata.name = name;
    pod.metadata.uid = "uid-" + name;
    pod.spec.node_name = node;
    pod.status.phase = "Running";
    if (change) change(pod);
    world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
  }
  std::vector<NodePodsPtr> Look() { return book_.Of(world_.Nodes()); }
  static std::vector<std::string> Names(const PodList& pods) {
    std::vector<std::string> names;
    for (const PodPtr& pod : pods) names.push_back(pod->metadata.name);
    return names;
  }

  cluster::World world_;
  NodePodsBook book_{world_};
};

TEST_F(NodePodsTest, PodsAreSortedAndToldApart) {
  Put("c", "one");
  Put("a", "one", [](model::Pod& pod) { pod.status.phase = "Succeeded"; });
  Put("b", "one", [](model::Pod& pod) {
    pod.status.phase = "Pending";
    pod.metadata.owner_references = {
        {.api_version = "apps/v1", .kind = "DaemonSet", .name = "agent", .controller = true}};
  });
  Put("waits", "");
  const auto found = Look();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(Names(found[0]->all), testing::ElementsAre("a", "b", "c"));
  EXPECT_THAT(Names(found[0]->running), testing::ElementsAre("b", "c"));
  EXPECT_THAT(Names(found[0]->daemons), testing::ElementsAre("b"));
  EXPECT_THAT(Names(found[0]->pending), testing::ElementsAre("b"));
  EXPECT_FALSE(found[0]->speaks);
  EXPECT_TRUE(found[1]->all.empty());
}

TEST_F(NodePodsTest, OnlyWhatHasChangedIsMadeAnew) {
  Put("a", "one");
  Put("b", "two");
  const auto before = Look();
  EXPECT_EQ(Look(), before);
  Put("c", "two", [](model::Pod& pod) {
    pod.metadata.annotations[model::karpenter::kDoNotDisruptAnnotation] = "true";
  });
  const auto after = Look();
  EXPECT_EQ(after[0], before[0]);
  EXPECT_THAT(Names(after[1]->all), testing::ElementsAre("b", "c"));
  EXPECT_NE(after[1]->print, before[1]->print);
  EXPECT_TRUE(after[1]->speaks);
  EXPECT_THAT(Names(before[1]->all), testing::ElementsAre("b")) << "who holds it keeps it";
  world_.DeleteNode("one");
  EXPECT_EQ(Look(), std::vector<NodePodsPtr>{after[1]});
}

TEST_F(NodePodsTest, WhoAddsToASharedListGetsHisOwn) {
  Put("a", "one");
  const auto found = Look();
  PodList mine = found[0]->all;
  mine.push_back(mine[0]);
  EXPECT_EQ(mine.size(), 2u);
  EXPECT_EQ(found[0]->all.size(), 1u);
}

}  // namespace
}  // namespace coppice::provision
