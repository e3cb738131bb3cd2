#include "cluster/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace coppice::cluster {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodePtr WorldNode(const std::string& name) {
  model::Node node;
  node.metadata.name = name;
  node.status.allocatable["cpu"] = model::Quantity::FromMillis(4'000);
  node.status.allocatable["pods"] = model::Quantity::FromUnits(110);
  return std::make_shared<const model::Node>(std::move(node));
}

PodPtr WorldPod(const std::string& name, const std::string& node = "",
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

std::vector<std::string> NodeNames(const std::vector<const World::PodEntry*>& entries) {
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

template <class T>
concept HasAStore = requires(World& world, std::shared_ptr<const T> object) {
  world.Upsert(object);
  world.Erase<T>("", "");
  world.objects<T>();
};

TEST(WorldTest, NodesAndPodsGoInByTheirOwnDoorsOnly) {
  EXPECT_TRUE(HasAStore<model::DaemonSet>);
  EXPECT_FALSE(HasAStore<model::Node>) << "it would be in a store that no plan looks at";
  EXPECT_FALSE(HasAStore<model::Pod>);
}

TEST(WorldTest, NewPodsComeLastAndAnUpdateKeepsItsPlace) {
  World world;
  for (const char* name : {"a", "b", "c"}) world.UpsertPod(WorldPod(name));
  world.UpsertPod(WorldPod("a"));
  EXPECT_THAT(NodeNames(world.Unbound()), ElementsAre("a", "b", "c"));
  world.DeletePod("default", "b");
  world.UpsertPod(WorldPod("b"));
  EXPECT_THAT(NodeNames(world.Unbound()), ElementsAre("a", "c", "b"));
  EXPECT_THAT(NodeNames(world.Pods()), ElementsAre("a", "c", "b"));
  EXPECT_EQ(world.pod_count(), 3u);
}

TEST(WorldTest, PodsAreListedAsTheyCameWhoeverHasGone) {
  World world;
  SeededRng rng(7);
  std::vector<std::string> expected;
  for (int i = 0; i < 400; ++i) {
    expected.push_back("p" + std::to_string(i));
    world.UpsertPod(WorldPod(expected.back()));
    for (int gone = 0; i % 10 == 9 && gone < 7; ++gone) {
      const auto one = expected.begin() + static_cast<long>(rng.Below(expected.size()));
      world.DeletePod("default", *one);
      expected.erase(one);
    }
    ASSERT_EQ(NodeNames(world.Pods()), expected) << i;
  }
}

TEST(WorldTest, APodThatIsBoundLeavesTheUnboundOnesAndMayComeBackToItsPlace) {
  World world;
  world.UpsertNode(WorldNode("n"));
  for (const char* name : {"a", "b", "c"}) world.UpsertPod(WorldPod(name));
  world.UpsertPod(WorldPod("b", "n"));
  EXPECT_THAT(NodeNames(world.Unbound()), ElementsAre("a", "c"));
  EXPECT_THAT(NodeNames(world.BoundTo("n")), ElementsAre("b"));
  world.UpsertPod(WorldPod("b"));
  EXPECT_THAT(NodeNames(world.Unbound()), ElementsAre("a", "b", "c"));
  EXPECT_THAT(world.BoundTo("n"), IsEmpty());
  EXPECT_THAT(OnNode(world, "n"), IsEmpty());
}

TEST(WorldTest, PodsWaitForANodeThatIsNotThereYet) {
  World world;
  world.UpsertPod(WorldPod("late", "n"));
  world.UpsertPod(WorldPod("later", "n"));
  world.UpsertPod(WorldPod("gone", "n"));
  world.DeletePod("default", "gone");
  world.UpsertNode(WorldNode("n"));
  EXPECT_THAT(OnNode(world, "n"), ElementsAre("late", "later"));
  world.DeleteNode("n");
  EXPECT_THAT(NodeNames(world.BoundTo("n")), ElementsAre("late", "later"));
  world.UpsertNode(WorldNode("n"));
  EXPECT_THAT(OnNode(world, "n"), ElementsAre("late", "later"));
}

TEST(WorldTest, ANodeListsBoundPodsThenNominatedOnesThenPlannedOnes) {
  World world;
  world.UpsertNode(WorldNode("n"));
  world.UpsertPod(WorldPod("nominated", "", "n"));
  world.UpsertPod(WorldPod("pending"));
  world.UpsertPod(WorldPod("bound", "n"));
  const auto fork = world.snapshot().Fork();
  const PodIndex pending = world.Unbound()[1]->index;
  world.snapshot().Place(pending, world.snapshot().FindNode("n"));
  EXPECT_THAT(OnNode(world, "n"), ElementsAre("bound", "nominated", "pending"));
}

TEST(WorldTest, RoomIsAnotherWhenAPodTakesOrLeavesAPlaceOrANodeChangesAndNotOtherwise) {
  World world;
  uint64_t before = world.room_version();
  const auto changed = [&] { return std::exchange(before, world.room_version()) != before; };
  world.UpsertNode(WorldNode("n"));
  EXPECT_TRUE(changed());
  world.UpsertPod(WorldPod("a"));
  EXPECT_FALSE(changed()) << "it has no place yet";
  world.UpsertPod(WorldPod("a", "n"));
  EXPECT_TRUE(changed());
  world.UpsertPod(WorldPod("a", "n"));
  world.UpsertNode(WorldNode("n"));
  EXPECT_FALSE(changed()) << "nothing is different";
  model::Node cordoned = *world.FindNode("n");
  cordoned.spec.unschedulable = true;
  world.UpsertNode(std::make_shared<const model::Node>(cordoned));
  EXPECT_TRUE(changed());
  {
    const auto fork = world.snapshot().Fork();
    world.snapshot().Unplace(world.FindEntry("default", "a")->index);
  }
  EXPECT_FALSE(changed());
  world.DeletePod("default", "a");
  EXPECT_TRUE(changed());
  world.DeleteNode("n");
  EXPECT_TRUE(changed());
}

TEST(WorldTest, AChangeThatComesDuringAForkWaits) {
  World world;
  world.UpsertNode(WorldNode("n"));
  {
    const auto fork = world.snapshot().Fork();
    world.UpsertPod(WorldPod("a", "n"));
    world.DeleteNode("n");
    world.UpsertNode(WorldNode("m"));
    EXPECT_EQ(world.pod_count(), 0u);
    EXPECT_EQ(world.node_count(), 1u);
  }
  world.ApplyHeld();
  EXPECT_EQ(world.FindNode("n"), nullptr);
  EXPECT_NE(world.FindNode("m"), nullptr);
  EXPECT_THAT(NodeNames(world.BoundTo("n")), ElementsAre("a"));
}

TEST(WorldTest, AChangeThatComesDuringAHoldWaitsToo) {
  World world;
  world.UpsertNode(WorldNode("n"));
  world.UpsertPod(WorldPod("a"));
  world.Hold();
  EXPECT_FALSE(world.behind());
  world.UpsertPod(WorldPod("a", "n"));
  EXPECT_TRUE(world.behind());
  EXPECT_THAT(NodeNames(world.Unbound()), ElementsAre("a"));
  world.ApplyHeld();
  EXPECT_FALSE(world.behind());
  EXPECT_THAT(NodeNames(world.BoundTo("n")), ElementsAre("a"));
  world.DeletePod("default", "a");
  EXPECT_EQ(world.pod_count(), 0u);
}

TEST(WorldTest, WhatDoesNotCountIsListedButTakesNoRoom) {
  World world({.counts = [](const model::Pod& pod) { return pod.status.phase != "Succeeded"; }});
  world.UpsertNode(WorldNode("n"));
  world.UpsertPod(WorldPod("a", "n"));
  const NodeIndex node = world.snapshot().FindNode("n");
  EXPECT_EQ(world.snapshot().resources().free(kCpuColumn)[node], 3'900);
  model::Pod done = *WorldPod("a", "n");
  done.status.phase = "Succeeded";
  world.UpsertPod(std::make_shared<const model::Pod>(done));
  EXPECT_EQ(world.snapshot().resources().free(kCpuColumn)[node], 4'000);
  EXPECT_THAT(NodeNames(world.BoundTo("n")), ElementsAre("a"));
  EXPECT_EQ(world.EntryOf(0), nullptr);
}

// Lists stay in order however pods come and go.
TEST(WorldTest, ListsAreThoseOfAPlainListUnderAnyHistory) {
  SeededRng rng(11);
  World world;
  for (const char* name : {"n0", "n1", "n2"}) world.UpsertNode(WorldNode(name));
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
      world.UpsertPod(WorldPod(name, node));
      known == plain.end() ? plain.push_back({name, node}) : void(known->node = node);
    }
  }
  for (const char* node : {"", "n0", "n1", "n2", "n3"}) {
    std::vector<std::string> expected;
    for (const Known& pod : plain) {
      if (pod.node == node) expected.push_back(pod.name);
    }
    const bool unbound = std::string_view(node).empty();
    EXPECT_EQ(NodeNames(unbound ? world.Unbound() : world.BoundTo(node)), expected);
    if (!unbound && world.FindNode(node)) {
      EXPECT_EQ(OnNode(world, node), expected);
    }
  }
}

TEST(WorldTest, AnIndexThatAPlanUsesAgainDoesNotInheritAPlaceOnTheNode) {
  World world;
  world.UpsertNode(WorldNode("n"));
  for (const char* name : {"a", "b", "c"}) world.UpsertPod(WorldPod(name, "n"));
  world.DeletePod("default", "a");
  const auto fork = world.snapshot().Fork();
  const NodeIndex node = world.snapshot().FindNode("n");
  const PodIndex planned = world.snapshot().AddPod(*WorldPod("planned"), node);
  EXPECT_EQ(world.EntryOf(planned), nullptr);
  EXPECT_THAT(OnNode(world, "n"), ElementsAre("b", "c", "planned"));
}

TEST(WorldTest, AListOfPodsIsTheSameAsOneByOne) {
  World one;
  World all;
  std::vector<PodPtr> pods;
  for (int i = 0; i < 20; ++i) pods.push_back(WorldPod("p" + std::to_string(i), i % 3 ? "n" : ""));
  for (World* world : {&one, &all}) world->UpsertNode(WorldNode("n"));
  for (const PodPtr& pod : pods) one.UpsertPod(pod);
  all.UpsertPods(pods);
  EXPECT_EQ(OnNode(all, "n"), OnNode(one, "n"));
  EXPECT_EQ(NodeNames(all.Pods()), NodeNames(one.Pods()));
}

TEST(WorldTest, WhateverHappensToThePodsOfANodeGivesThemANewVersion) {
  World world;
  world.UpsertNode(WorldNode("n"));
  world.UpsertNode(WorldNode("other"));
  std::set<uint64_t> seen = {world.pods_version("n")};
  const auto is_new = [&] { return seen.insert(world.pods_version("n")).second; };
  world.UpsertPod(WorldPod("a", "n"));
  EXPECT_TRUE(is_new()) << "came";
  world.UpsertPod(WorldPod("a", "n"));
  EXPECT_TRUE(is_new()) << "changed";
  world.UpsertPod(WorldPod("b"));
  EXPECT_FALSE(is_new()) << "waits";
  world.UpsertPod(WorldPod("b", "n"));
  EXPECT_TRUE(is_new()) << "was bound";
  const uint64_t other = world.pods_version("other");
  world.UpsertPod(WorldPod("b", "other"));
  EXPECT_TRUE(is_new()) << "went elsewhere";
  EXPECT_NE(world.pods_version("other"), other);
  world.UpsertNode(WorldNode("n"));
  EXPECT_FALSE(is_new()) << "only the node has changed";
  const uint64_t all = world.pods_version();
  world.DeletePod("default", "a");
  EXPECT_TRUE(is_new()) << "gone";
  EXPECT_GT(world.pods_version(), all);
  world.UpsertPod(WorldPod("a", "n"));
  EXPECT_TRUE(is_new()) << "back again";
  EXPECT_EQ(world.pods_version("nowhere"), 0u);
}

}  // namespace
}  // namespace coppice::cluster
