#include <gtest/gtest.h>

#include "cluster/world.h"
#include "model/taints.h"
#include "test/support/must.h"
#include "test/support/snapshot_inspector.h"

namespace coppice::cluster {
namespace {

const model::Time kThen{TimePoint(std::chrono::hours(500'000))};

std::shared_ptr<model::Node> ANode(const std::string& name) {
  auto node = std::make_shared<model::Node>();
  node->metadata.name = name;
  node->metadata.labels["zone"] = "a";
  node->status.allocatable["cpu"] = model::Quantity::FromUnits(1000);
  return node;
}

// As a Job makes them: an owner and labels that no other Job's pods have.
std::shared_ptr<model::Pod> AJobsPod(int job, int index, const std::string& node) {
  const std::string name = "job-" + std::to_string(job);
  auto pod = std::make_shared<model::Pod>();
  pod->metadata.namespace_ = "batch";
  pod->metadata.name = name + "-" + std::to_string(index);
  pod->metadata.uid = pod->metadata.name;
  pod->metadata.labels["job-name"] = name;
  pod->metadata.owner_references = {
      {.api_version = "batch/v1", .kind = "Job", .name = name, .uid = name, .controller = true}};
  pod->spec.node_name = node;
  pod->spec.containers.push_back({.name = "c"});
  pod->spec.containers.front().resources.requests["cpu"] = model::Quantity::FromUnits(1);
  pod->status.phase = "Running";
  return pod;
}

model::PodAffinityTerm AwayFrom(const std::string& app) {
  model::PodAffinityTerm term{.topology_key = "zone"};
  term.label_selector.emplace().match_labels["app"] = app;
  return term;
}

TEST(RenumberTest, WhatIsInternedStaysInProportionToWhatLives) {
  World world;
  world.UpsertNode(ANode("n"));
  for (int job = 0; job < 20'000; ++job) {
    auto pod = AJobsPod(job, 0, "n");
    world.UpsertPod(pod);
    auto going = std::make_shared<model::Pod>(*pod);
    going->metadata.deletion_timestamp = kThen;
    world.UpsertPod(going);
    if (job >= 10) world.DeletePod("batch", AJobsPod(job - 10, 0, "")->metadata.name);
  }
  const Interner& interner = world.snapshot().interner();
  EXPECT_EQ(world.pod_count(), 10);
  EXPECT_LT(interner.label_set_count(), 4'000);
  EXPECT_LT(interner.eviction_count(), 4'000);
  EXPECT_EQ(SnapshotInspector::WrongCounts(world.snapshot()), "");
}

TEST(RenumberTest, PodsThatOnlyComeAreNotGoneThroughAgainAndAgain) {
  World world;
  world.UpsertNode(ANode("n"));
  for (int job = 0; job < 20'000; ++job) world.UpsertPod(AJobsPod(job, 0, "n"));
  EXPECT_EQ(world.snapshot().id_epoch(), 1);
}

TEST(RenumberTest, LaterPodsOfAKindThatLivesGetItsIds) {
  Snapshot snapshot;
  const NodeIndex node = MUST(snapshot.AddNode(*ANode("n")));
  const PodIndex dead = snapshot.AddPod(*AJobsPod(1, 0, "n"), node);
  auto object = AJobsPod(2, 0, "n");
  object->spec.volumes = {{.name = "v", .claim_name = "data"}};
  object->spec.containers.front().resources.requests["example.com/gpu"] =
      model::Quantity::FromUnits(3);
  const PodIndex pod = snapshot.AddPod(object, node);
  snapshot.RemovePod(dead);
  const uint64_t content = snapshot.content_version(node);
  const uint64_t epoch = snapshot.id_epoch();
  snapshot.Renumber();

  EXPECT_NE(snapshot.id_epoch(), epoch);
  EXPECT_EQ(snapshot.content_version(node), content);
  EXPECT_EQ(snapshot.interner().spec_count(), 1);
  EXPECT_EQ(snapshot.interner().label_set_count(), 1);
  EXPECT_EQ(snapshot.interner().eviction_count(), 1);
  EXPECT_EQ(snapshot.interner().claim_count(), 1);
  EXPECT_EQ(snapshot.ClaimUsers("batch", "data"), 1);
  EXPECT_EQ(snapshot.pod(pod).owner->name, "job-2");
  EXPECT_EQ(snapshot.pod(pod).label_set.labels, object->metadata.labels);

  const PodIndex twin = snapshot.AddPod(object, node);
  EXPECT_EQ(snapshot.spec_id(twin), snapshot.spec_id(pod));
  EXPECT_EQ(snapshot.label_set_id(twin), snapshot.label_set_id(pod));
  EXPECT_EQ(snapshot.eviction_id(twin), snapshot.eviction_id(pod));
  EXPECT_EQ(snapshot.pod(twin).volume_set_id, snapshot.pod(pod).volume_set_id);
  EXPECT_EQ(snapshot.pod(twin).owner, snapshot.pod(pod).owner);
  EXPECT_EQ(snapshot.ClaimUsers("batch", "data"), 2);
  EXPECT_EQ(snapshot.resources().free(kCpuColumn)[node], 998'000);
  snapshot.RemovePod(pod);
  snapshot.RemovePod(twin);
  EXPECT_EQ(snapshot.resources().free(kCpuColumn)[node], 1'000'000);
}

TEST(RenumberTest, PodsThatKeepOthersAwayStillDo) {
  Snapshot snapshot;
  const NodeIndex node = MUST(snapshot.AddNode(*ANode("n")));
  const PodIndex dead = snapshot.AddPod(*AJobsPod(1, 0, "n"), node);
  auto object = AJobsPod(2, 0, "n");
  object->metadata.labels["app"] = "web";
  object->spec.affinity.emplace().pod_anti_affinity.emplace().required.push_back(AwayFrom("web"));
  const PodIndex pod = snapshot.AddPod(object, node);
  snapshot.RemovePod(dead);
  snapshot.Renumber();
  Counters& counters = snapshot.counters();
  ASSERT_EQ(counters.TermsAgainst(snapshot.label_set_id(pod)).size(), 1);
  EXPECT_EQ(counters.term(counters.TermsAgainst(snapshot.label_set_id(pod))[0]).total, 1);
  EXPECT_TRUE(counters.any_term_carried());
  EXPECT_EQ(SnapshotInspector::WrongCounts(snapshot), "");
}

constexpr const char* kGoing = "example.com/going";

WorldOptions TimedTaints() { return {.marks = {.timed_taints = {kGoing}}}; }

model::Taint GoingSince(const std::string& seconds) {
  return {.key = kGoing, .value = seconds, .effect = "NoSchedule"};
}

TEST(RenumberTest, NodesThatAreDeletedAtDifferentTimesHaveOneShape) {
  World world(TimedTaints());
  for (const char* name : {"a", "b"}) {
    auto node = ANode(name);
    node->spec.taints = {GoingSince(name[0] == 'a' ? "1700000000" : "1700000060"),
                         {.key = "DeletionCandidateOfClusterAutoscaler",
                          .value = name[0] == 'a' ? "1699999000" : "1699999001",
                          .effect = "PreferNoSchedule"}};
    world.UpsertNode(node);
  }
  const Snapshot& snapshot = world.snapshot();
  EXPECT_EQ(snapshot.node_shape_id(snapshot.FindNode("a")),
            snapshot.node_shape_id(snapshot.FindNode("b")));
}

TEST(RenumberTest, APodThatToleratesADeletionOfOneSecondIsTakenAtItsWord) {
  struct Row {
    const char* name;
    model::Toleration toleration;
    bool a, b;  // tolerates the taint of that node
  };
  const std::string key(kGoing);
  const Row rows[] = {
      {"the very second", {.key = key, .operator_ = "Equal", .value = "1700000000"}, true, false},
      {"any key", {.operator_ = "Equal", .value = "1700000060"}, false, true},
      {"no value", {.key = key}, false, false},
      {"whatever the value", {.key = key, .operator_ = "Exists"}, true, true},
  };
  for (const Row& row : rows) {
    World world(TimedTaints());
    for (const char* name : {"a", "b"}) {
      auto node = ANode(name);
      node->spec.taints = {GoingSince(name[0] == 'a' ? "1700000000" : "1700000060")};
      world.UpsertNode(node);
    }
    auto pod = AJobsPod(1, 0, "");
    pod->spec.tolerations = {row.toleration};
    world.UpsertPod(pod);  // after the nodes: what was left out of their shapes matters from now on
    const Snapshot& snapshot = world.snapshot();
    const auto tolerates = [&](const char* node) {
      return model::FirstUntolerated(snapshot.node_shape(snapshot.FindNode(node)).taints,
                                     pod->spec.tolerations) == nullptr;
    };
    EXPECT_EQ(tolerates("a"), row.a) << row.name;
    EXPECT_EQ(tolerates("b"), row.b) << row.name;
  }
}

TEST(RenumberTest, ShapesOfNodesThatKeepChangingAreForgotten) {
  World world;
  for (int i = 0; i < 5'000; ++i) {
    auto node = ANode("n");
    node->metadata.labels["generation"] = std::to_string(i);
    world.UpsertNode(node);
  }
  EXPECT_LT(world.snapshot().interner().node_shape_count(), 400);
}

}  // namespace
}  // namespace coppice::cluster
