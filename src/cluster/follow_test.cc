// One hold for every kind, Worlds that follow another, and copies of a Snapshot.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "cluster/world.h"
#include "test/support/snapshot_inspector.h"

namespace coppice::cluster {
namespace {

using testing::ElementsAre;

struct Gang {  // a kind that one engine knows and nobody here
  model::ObjectMeta metadata;
  int members = 0;
};

template <class T>
std::shared_ptr<const T> FollowedNamed(const std::string& name) {
  T object;
  object.metadata.name = name;
  return std::make_shared<const T>(std::move(object));
}

NodePtr FollowedNode(const std::string& name) {
  model::Node node = *FollowedNamed<model::Node>(name);
  node.metadata.uid = name;
  node.metadata.labels["zone"] = name;
  node.status.allocatable["cpu"] = model::Quantity::FromMillis(4'000);
  return std::make_shared<const model::Node>(std::move(node));
}

PodPtr FollowedPod(const std::string& name, const std::string& node, int priority = 0) {
  model::Pod pod = *FollowedNamed<model::Pod>(name);
  pod.metadata.labels["app"] = name.substr(0, 2);
  pod.spec.node_name = node;
  pod.spec.priority = priority;
  pod.spec.containers.push_back({.name = "c"});
  pod.spec.containers.back().resources.requests["cpu"] =
      model::Quantity::FromMillis(100 + priority);
  return std::make_shared<const model::Pod>(std::move(pod));
}

std::vector<std::string> PodNames(const World& world) {
  std::vector<std::string> names;
  for (const auto* entry : world.Pods()) names.push_back(entry->pod->metadata.name);
  return names;
}

TEST(WorldHoldTest, EveryKindWaitsForTheEndOfThePlan) {
  World world;
  world.Upsert(FollowedNamed<model::PodDisruptionBudget>("early"));
  world.Hold();
  world.UpsertNode(FollowedNode("n"));
  world.UpsertPod(FollowedPod("p", "n"));
  world.Upsert(FollowedNamed<model::PodDisruptionBudget>("late"));
  world.Erase<model::PodDisruptionBudget>("", "early");
  world.Upsert(FollowedNamed<model::ReplicaSet>("rs"));
  world.Upsert(FollowedNamed<model::Namespace>("ns"));
  world.Upsert(FollowedNamed<Gang>("gang"));
  EXPECT_NE(world.objects<model::PodDisruptionBudget>().Find("early"), nullptr);
  EXPECT_EQ(world.objects<model::PodDisruptionBudget>().size(), 1u);
  EXPECT_EQ(world.objects<model::ReplicaSet>().size(), 0u);
  EXPECT_EQ(world.objects<Gang>().size(), 0u);
  EXPECT_EQ(world.facts().namespaces.size(), 0u);
  EXPECT_EQ(world.node_count() + world.pod_count(), 0u);
  world.ApplyHeld();
  EXPECT_EQ(world.objects<model::PodDisruptionBudget>().Find("early"), nullptr);
  EXPECT_NE(world.objects<model::PodDisruptionBudget>().Find("late"), nullptr);
  EXPECT_NE(world.objects<Gang>().Find("gang"), nullptr);
  EXPECT_NE(world.snapshot().facts().replica_sets.Find("rs"),
            nullptr);  // one store, two ways to it
  EXPECT_NE(world.snapshot().facts().namespaces.Find("ns"), nullptr);
  EXPECT_EQ(world.node_count() + world.pod_count(), 2u);
}

TEST(WorldHoldTest, AnOpenForkHoldsFactsBack) {
  World world;
  {
    const auto fork = world.snapshot().Fork();
    world.Upsert(FollowedNamed<model::StorageClass>("fast"));
    EXPECT_EQ(world.facts().storage_classes.size(), 0u);
    EXPECT_TRUE(world.behind());
  }
  world.ApplyHeld();
  EXPECT_EQ(world.facts().storage_classes.size(), 1u);
}

TEST(FollowTest, WhoFollowsKnowsWhatTheLeaderKnowsAndHearsWhatItHears) {
  World leader;
  leader.UpsertNode(FollowedNode("n"));
  for (const char* name : {"b", "a"}) leader.UpsertPod(FollowedPod(name, "n"));
  leader.Upsert(FollowedNamed<Gang>("gang"));
  leader.Hold();
  leader.UpsertPod(FollowedPod("waits", ""));
  World replica;
  replica.Follow(leader);
  EXPECT_THAT(PodNames(replica), ElementsAre("b", "a", "waits"));  // the newest, as listed
  EXPECT_EQ(replica.objects<Gang>().Get("", "gang"), leader.objects<Gang>().Get("", "gang"));
  leader.ApplyHeld();
  EXPECT_THAT(PodNames(replica), ElementsAre("b", "a", "waits"));  // and not twice
  leader.DeletePod("", "b");
  leader.Erase<Gang>("", "gang");
  EXPECT_THAT(PodNames(replica), ElementsAre("a", "waits"));
  EXPECT_EQ(replica.objects<Gang>().size(), 0u);
}

TEST(FollowTest, EachHoldsOnItsOwnAccount) {
  World leader;
  World replica;
  replica.Follow(leader);
  replica.Hold();
  leader.UpsertNode(FollowedNode("n"));
  EXPECT_EQ(leader.node_count(), 1u);
  EXPECT_EQ(replica.node_count(), 0u);
  {
    const auto fork = leader.snapshot().Fork();  // somebody else plans meanwhile
    leader.UpsertNode(FollowedNode("m"));
    replica.ApplyHeld();
    EXPECT_EQ(leader.node_count(), 1u);
    EXPECT_EQ(replica.node_count(), 2u);
    EXPECT_EQ(replica.snapshot().forks(), 0u);
  }
  leader.ApplyHeld();
  EXPECT_EQ(leader.node_count(), 2u);
}

TEST(FollowTest, EachCountsThePodsThatItSaysAndAllKnowWhoHoldsANode) {
  World leader({.counts = [](const model::Pod& pod) { return pod.spec.priority >= 0; }});
  World replica;
  replica.Follow(leader);
  leader.UpsertNode(FollowedNode("n"));
  leader.UpsertPod(FollowedPod("idler", "n", -10));
  EXPECT_EQ(leader.snapshot().pod_count(), 0u);
  EXPECT_EQ(replica.snapshot().pod_count(), 1u);
  ASSERT_TRUE(leader.held_nodes().Hold("n", "n", "autoscale").ok());
  EXPECT_TRUE(replica.held_nodes().HeldByAnother("n", "n", "batch"));
}

TEST(FollowTest, EitherMayGoFirst) {
  auto leader = std::make_unique<World>();
  {
    World replica;
    replica.Follow(*leader);
  }
  leader->UpsertNode(FollowedNode("n"));
  World replica;
  replica.Follow(*leader);
  leader.reset();
  replica.UpsertNode(FollowedNode("m"));  // on its own now
  EXPECT_EQ(replica.node_count(), 2u);
}

// Whatever happens, and whoever holds: in the end both are the same.
TEST(FollowTest, ConvergesUnderAnyHistory) {
  SeededRng rng(4);
  World leader;
  World replica;
  replica.Follow(leader);
  for (int step = 0; step < 3'000; ++step) {
    const std::string node = "n" + std::to_string(rng.Below(5));
    const std::string pod = "p" + std::to_string(rng.Below(40));
    switch (rng.Below(8)) {
      case 0:
        leader.UpsertNode(FollowedNode(node));
        break;
      case 1:
        leader.DeleteNode(node);
        break;
      case 2:
        leader.DeletePod("", pod);
        break;
      case 3:
        replica.Hold();
        break;
      case 4:
        replica.ApplyHeld();
        break;
      case 5:
        rng.Chance(0.5) ? leader.Hold() : leader.ApplyHeld();
        break;
      default:
        leader.UpsertPod(
            FollowedPod(pod, rng.Chance(0.3) ? "" : node, static_cast<int>(rng.Below(3))));
    }
  }
  leader.ApplyHeld();
  replica.ApplyHeld();
  EXPECT_EQ(PodNames(replica), PodNames(leader));
  EXPECT_EQ(SnapshotInspector::Nodes(replica.snapshot()),
            SnapshotInspector::Nodes(leader.snapshot()));
}

}  // namespace
}  // namespace coppice::cluster
