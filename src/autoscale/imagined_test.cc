#include "autoscale/imagined.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ImaginedTest : public testing::Test {
 protected:
  static model::Node Node(const std::string& name) {
    model::Node node;
    node.metadata.name = name;
    return node;
  }
  void AddNode(const std::string& name) {
    world.UpsertNode(std::make_shared<const model::Node>(Node(name)));
  }
  cluster::PodPtr AddPod(const std::string& name, const std::string& uid,
                         const std::string& node = "", const std::string& resource = "cpu") {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.uid = uid;
    pod.spec.node_name = node;
    pod.spec.containers.emplace_back().resources.requests[resource] = model::Quantity::FromUnits(1);
    auto object = std::make_shared<const model::Pod>(std::move(pod));
    world.UpsertPod(object);
    return object;
  }
  fit::PendingPod Pending(const cluster::PodPtr& pod) {
    for (const auto* entry : world.Pods()) {
      if (entry->pod == pod) return {pod, entry->index};
    }
    return {pod, cluster::kNone};
  }
  // Who is on the node in the next plan, in order; of copies and made-up ones "?".
  std::vector<std::string> NextPlanHas(const std::string& node) {
    const Imagined::Fork fork(imagined);
    std::vector<std::string> names;
    const cluster::NodeIndex index = world.snapshot().FindNode(node);
    if (index == cluster::kNone) return {"no such node"};
    for (const cluster::PodIndex pod : world.PodsInOrder(index)) {
      const auto* entry = world.EntryOf(pod);
      names.push_back(entry == nullptr ? "?" : entry->pod->metadata.name);
    }
    return names;
  }
  cluster::NodeIndex Index(const std::string& node) { return world.snapshot().FindNode(node); }

  cluster::World world;
  TpuRequests tpus;
  Imagined imagined{world, tpus};
};

TEST_F(ImaginedTest, TheNextPlanHasTheSameNodesAndPodsInTheSameOrder) {
  AddNode("real");
  AddNode("young");
  const auto a = AddPod("a", "1");
  const auto b = AddPod("b", "2");
  const auto c = AddPod("c", "3");
  {
    const Imagined::Fork fork(imagined);
    EXPECT_TRUE(imagined.Add("web", {.node = Node("stand-in")}));
    EXPECT_FALSE(imagined.Add("web", {.node = Node("real")})) << "there is one of that name";
    imagined.Replace("young");
    world.snapshot().Place(Pending(c).index, Index("real"));
    world.snapshot().Place(Pending(a).index, Index("real"));
    imagined.Keep({Pending(a), Pending(b), Pending(c)});
    imagined.Place(Pending(b), Index("stand-in"));
  }
  EXPECT_EQ(world.snapshot().forks(), 0U);
  EXPECT_EQ(Index("stand-in"), cluster::kNone);
  EXPECT_NE(Index("young"), cluster::kNone);
  EXPECT_THAT(NextPlanHas("real"), ElementsAre("c", "a"));
  EXPECT_THAT(NextPlanHas("stand-in"), ElementsAre("b"));
  EXPECT_THAT(NextPlanHas("young"), ElementsAre("no such node"));
  EXPECT_THAT(NextPlanHas("real"), ElementsAre("c", "a")) << "and so on";
  ASSERT_EQ(imagined.stand_ins().size(), 1U);
  EXPECT_EQ(imagined.stand_ins().front().group, "web");
}

TEST_F(ImaginedTest, APodThatIsGoneBoundOrAnotherOneIsLeftOut) {
  AddNode("real");
  AddNode("other");
  const auto gone = AddPod("gone", "1");
  const auto bound = AddPod("bound", "2");
  const auto another = AddPod("another", "3");
  const auto stays = AddPod("stays", "4");
  {
    const Imagined::Fork fork(imagined);
    for (const auto& pod : {gone, bound, another, stays})
      imagined.Place(Pending(pod), Index("real"));
  }
  EXPECT_THAT(NextPlanHas("real"), ElementsAre("gone", "bound", "another", "stays"));
  world.DeletePod("", "gone");
  AddPod("bound", "2", "other");
  world.DeletePod("", "another");
  AddPod("another", "5");
  EXPECT_THAT(NextPlanHas("real"), ElementsAre("stays"));
  EXPECT_THAT(NextPlanHas("other"), ElementsAre("bound"));
  world.DeleteNode("real");
  EXPECT_THAT(NextPlanHas("other"), ElementsAre("bound"));
}

TEST_F(ImaginedTest, TheSuccessorOfAPodThatLeavesIsACopyAsLongAsThatPodIsThere) {
  AddNode("leaving");
  AddNode("real");
  const auto pod = AddPod("pod", "1", "leaving");
  {
    const Imagined::Fork fork(imagined);
    const fit::PendingPod copy = imagined.Successor(pod, Pending(pod).index);
    EXPECT_EQ(imagined.SourceOf(copy).origin, Imagined::Origin::kLeaving);
    imagined.Place(copy, Index("real"));
  }
  EXPECT_THAT(NextPlanHas("real"), ElementsAre("?"));
  EXPECT_THAT(NextPlanHas("leaving"), ElementsAre("pod"));
  world.DeletePod("", "pod");
  EXPECT_THAT(NextPlanHas("real"), IsEmpty());
}

TEST_F(ImaginedTest, WhatAProcessorMadeUpIsMadeAgain) {
  AddNode("real");
  model::Pod pod;
  pod.metadata.name = "made-up";
  const auto object = std::make_shared<const model::Pod>(std::move(pod));
  {
    const Imagined::Fork fork(imagined);
    const fit::PendingPod made{object, world.snapshot().AddPod(*object)};
    EXPECT_EQ(imagined.SourceOf(made).origin, Imagined::Origin::kMadeUp);
    imagined.Place(made, Index("real"));
  }
  EXPECT_THAT(NextPlanHas("real"), ElementsAre("?"));
}

TEST_F(ImaginedTest, APodThatAsksForATpuStandsThereWithoutThat) {
  AddNode("real");
  const auto pod = AddPod("pod", "1", "", "cloud-tpus.google.com/v2");
  {
    const Imagined::Fork fork(imagined);
    Pods pods = {Pending(pod)};
    imagined.ForgetTpus(pods);
    EXPECT_EQ(imagined.SourceOf(pods.front()).origin, Imagined::Origin::kWaiting);
    imagined.Place(pods.front(), Index("real"));
  }
  EXPECT_THAT(NextPlanHas("real"), ElementsAre("?"));
}

}  // namespace
}  // namespace coppice::autoscale
