#include "cluster/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace coppice::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodePtr ANode(const std::string& name) {
  model::Node node;
  node.metadata.name = name;
  node.status.allocatable["cpu"] = model::Quantity::FromMillis(4'000);
  node.status.allocatable["pods"] = model::Quantity::FromUnits(110);
  return std::make_shared<const model::Node>(std::move(node));
}

PodPtr APod(const std::string& name, const std::string& node = "",
            const std::string& nominated = "") {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = "default";
  pod.spec.node_name = node;
  pod.status.nominated_node_name = nominated;
  model::Container container;
  container.resources.requests["cpu"] = model::Quantity::FromMillis(100);
  pod.spec.containers.push_back(std::move(container));
  return std::make_shared<const model::Pod>(std::move(pod));
}

std::vector<std::string> Names(const std::vector<const World::PodEntry*>& entries) {
  std::vector<std::string> names;
  for (const auto* entry : entries) names.push_back(entry->pod->metadata.name);
  return names;
}

std::vector<std::string> OnNode(const World& world, std::string_view node) {
  std::vector<std::string> names;
  for (const PodIndex pod : world.PodsInOrder(world.snapshot().FindNode(node))) {
    names.emplace_back(world.snapshot().pod(pod).name);
  }
  return names;
}

TEST(WorldTest, NewPodsComeLastAndAnUpdateKeepsItsPlace) {
  World world;
  for (const char* name : {"a", "b", "c"}) world.UpsertPod(APod(name));
  world.UpsertPod(APod("a"));
  EXPECT_THAT(Names(world.Unbound()), ElementsAre("a", "b", "c"));
  world.DeletePod("default", "b");
  world.UpsertPod(APod("b"));
  EXPECT_THAT(Names(world.Unbound()), ElementsAre("a", "c", "b"));
  EXPECT_THAT(Names(world.Pods()), ElementsAre("a", "c", "b"));
  EXPECT_EQ(world.pod_count(), 3u);
}

TEST(WorldTest, APodThatIsBoundLeavesTheUnboundOnesAndMayComeBackToItsPlace) {
  World world;
  world.UpsertNode(ANode("n"));
  for (const char* name : {"a", "b", "c"}) world.UpsertPod(APod(name));
  world.UpsertPod(APod("b", "n"));
  EXPECT_THAT(Names(world.Unbound()), ElementsAre("a", "c"));
  EXPECT_THAT(Names(world.BoundTo("n")), ElementsAre("b"));
  world.UpsertPod(APod("b"));
  EXPECT_THAT(Names(world.Unbound()), ElementsAre("a", "b", "c"));
  EXPECT_THAT(world.BoundTo("n"), IsEmpty());
  EXPECT_THAT(OnNode(world, "n"), IsEmpty());
}

TEST(WorldTest, PodsWaitForANodeThatIsNotThereYet) {
  World world;
  world.UpsertPod(APod("late", "n"));
  world.UpsertPod(APod("later", "n"));
  world.UpsertPod(APod("gone", "n"));
  world.DeletePod("default", "gone");
  world.UpsertNode(ANode("n"));
  EXPECT_THAT(OnNode(world, "n"), ElementsAre("late", "later"));
  world.DeleteNode("n");
  EXPECT_THAT(Names(world.BoundTo("n")), ElementsAre("late", "later"));
  world.UpsertNode(ANode("n"));
  EXPECT_THAT(OnNode(world, "n"), ElementsAre("late", "later"));
}

TEST(WorldTest, ANodeListsBoundPodsThenNominatedOnesThenPlannedOnes) {
  World world;
  world.UpsertNode(ANode("n"));
  world.UpsertPod(APod("nominated", "", "n"));
  world.UpsertPod(APod("pending"));
  world.UpsertPod(APod("bound", "n"));
  const auto fork = world.snapshot().Fork();
  const PodIndex pending = world.Unbound()[1]->index;
  world.snapshot().Place(pending, world.snapshot().FindNode("n"));
  EXPECT_THAT(OnNode(world, "n"), ElementsAre("bound", "nominated", "pending"));
}

TEST(WorldTest, AChangeThatComesDuringAForkWaits) {
  World world;
  world.UpsertNode(ANode("n"));
  {
    const auto fork = world.snapshot().Fork();
    world.UpsertPod(APod("a", "n"));
    world.DeleteNode("n");
    world.UpsertNode(ANode("m"));
    EXPECT_EQ(world.pod_count(), 0u);
    EXPECT_EQ(world.node_count(), 1u);
  }
  world.ApplyHeld();
  EXPECT_EQ(world.FindNode("n"), nullptr);
  EXPECT_NE(world.FindNode("m"), nullptr);
  EXPECT_THAT(Names(world.BoundTo("n")), ElementsAre("a"));
}

TEST(WorldTest, AChangeThatComesDuringAHoldWaitsToo) {
  World world;
  world.UpsertNode(ANode("n"));
  world.UpsertPod(APod("a"));
  world.Hold();
  EXPECT_FALSE(world.behind());
  world.UpsertPod(APod("a", "n"));
  EXPECT_TRUE(world.behind());
  EXPECT_THAT(Names(world.Unbound()), ElementsAre("a"));
  world.ApplyHeld();
  EXPECT_FALSE(world.behind());
  EXPECT_THAT(Names(world.BoundTo("n")), ElementsAre("a"));
  world.DeletePod("default", "a");
  EXPECT_EQ(world.pod_count(), 0u);
}

TEST(WorldTest, WhatDoesNotCountIsListedButTakesNoRoom) {
  World world({.counts = [](const model::Pod& pod) { return pod.status.phase != "Succeeded"; }});
  world.UpsertNode(ANode("n"));
  world.UpsertPod(APod("a", "n"));
  const NodeIndex node = world.snapshot().FindNode("n");
  EXPECT_EQ(world.snapshot().resources().free(kCpuColumn)[node], 3'900);
  model::Pod done = *APod("a", "n");
  done.status.phase = "Succeeded";
  world.UpsertPod(std::make_shared<const model::Pod>(done));
  EXPECT_EQ(world.snapshot().resources().free(kCpuColumn)[node], 4'000);
  EXPECT_THAT(Names(world.BoundTo("n")), ElementsAre("a"));
  EXPECT_EQ(world.EntryOf(0), nullptr);
}

// Lists stay in order however pods come and go.
TEST(WorldTest, ListsAreThoseOfAPlainListUnderAnyHistory) {
  SeededRng rng(11);
  World world;
  for (const char* name : {"n0", "n1", "n2"}) world.UpsertNode(ANode(name));
  struct Known {
    std::string name;
    std::string node;
  };
  std::vector<Known> plain;  // in list order
  for (int step = 0; step < 4'000; ++step) {
    const std::string name = "p" + std::to_string(rng.Below(60));
    const auto known = std::ranges::find(plain, name, &Known::name);
    if (rng.Chance(0.3)) {
      world.DeletePod("default", name);
      if (known != plain.end()) plain.erase(known);
    } else {
      const std::string node = rng.Chance(0.4) ? "" : "n" + std::to_string(rng.Below(4));
      world.UpsertPod(APod(name, node));
      known == plain.end() ? plain.push_back({name, node}) : void(known->node = node);
    }
  }
  for (const char* node : {"", "n0", "n1", "n2", "n3"}) {
    std::vector<std::string> expected;
    for (const Known& pod : plain) {
      if (pod.node == node) expected.push_back(pod.name);
    }
    const bool unbound = std::string_view(node).empty();
    EXPECT_EQ(Names(unbound ? world.Unbound() : world.BoundTo(node)), expected);
    if (!unbound && world.FindNode(node)) {
      EXPECT_EQ(OnNode(world, node), expected);
    }
  }
}

TEST(WorldTest, AnIndexThatAPlanUsesAgainDoesNotInheritAPlaceOnTheNode) {
  World world;
  world.UpsertNode(ANode("n"));
  for (const char* name : {"a", "b", "c"}) world.UpsertPod(APod(name, "n"));
  world.DeletePod("default", "a");
  const auto fork = world.snapshot().Fork();
  const NodeIndex node = world.snapshot().FindNode("n");
  const PodIndex planned = world.snapshot().AddPod(*APod("planned"), node);
  EXPECT_EQ(world.EntryOf(planned), nullptr);
  EXPECT_THAT(OnNode(world, "n"), ElementsAre("b", "c", "planned"));
}

TEST(WorldTest, AListOfPodsIsTheSameAsOneByOne) {
  World one;
  World all;
  std::vector<PodPtr> pods;
  for (int i = 0; i < 20; ++i) pods.push_back(APod("p" + std::to_string(i), i % 3 ? "n" : ""));
  for (World* world : {&one, &all}) world->UpsertNode(ANode("n"));
  for (const PodPtr& pod : pods) one.UpsertPod(pod);
  all.UpsertPods(pods);
  EXPECT_EQ(OnNode(all, "n"), OnNode(one, "n"));
  EXPECT_EQ(Names(all.Pods()), Names(one.Pods()));
}

}  // namespace
}  // namespace coppice::cluster
