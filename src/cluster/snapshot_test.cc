#include "cluster/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "test/support/must.h"
#include "test/support/snapshot_inspector.h"

namespace coppice::cluster {
namespace {

using testing::ElementsAre;

model::Node ANode(const std::string& name, const std::string& cpu = "4",
                  model::Labels labels = {}) {
  model::Node node;
  node.metadata.name = name;
  node.metadata.labels = std::move(labels);
  node.status.allocatable["cpu"] = MUST(model::Quantity::Parse(cpu));
  node.status.allocatable["pods"] = MUST(model::Quantity::Parse("110"));
  return node;
}

model::Pod APod(const std::string& name, const std::string& cpu = "1", model::Labels labels = {}) {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = "default";
  pod.metadata.labels = std::move(labels);
  model::Container container;
  container.resources.requests["cpu"] = MUST(model::Quantity::Parse(cpu));
  pod.spec.containers.push_back(container);
  return pod;
}

int64_t FreeCpu(const Snapshot& s, NodeIndex node) { return s.resources().free(kCpuColumn)[node]; }

TEST(SnapshotTest, PlacingTakesAndRemovingGivesBack) {
  Snapshot s;
  const NodeIndex node = MUST(s.AddNode(ANode("a")));
  const PodIndex pod = s.AddPod(APod("p"), node);
  EXPECT_EQ(FreeCpu(s, node), 3000);
  EXPECT_EQ(s.resources().free(kPodsColumn)[node], 109);
  s.RemovePod(pod);
  EXPECT_EQ(FreeCpu(s, node), 4000);
  EXPECT_FALSE(s.IsKnown(pod));
}

TEST(SnapshotTest, EqualSpecsAreOneShapeHoweverTheyAreSpelled) {
  Snapshot s;
  const PodIndex a = s.AddPod(APod("a", "1"));
  const PodIndex b = s.AddPod(APod("b", "1000m", {{"app", "b"}}));
  const PodIndex c = s.AddPod(APod("c", "2"));
  EXPECT_EQ(s.pod(a).spec_id, s.pod(b).spec_id);
  EXPECT_NE(s.pod(a).label_set_id, s.pod(b).label_set_id);
  EXPECT_NE(s.pod(a).spec_id, s.pod(c).spec_id);
}

TEST(SnapshotTest, NodesOfOneGroupShareAShapeInSpiteOfTheirHostnames) {
  Snapshot s;
  const NodeIndex a =
      MUST(s.AddNode(ANode("a", "4", {{"kubernetes.io/hostname", "a"}, {"zone", "1"}})));
  const NodeIndex b =
      MUST(s.AddNode(ANode("b", "4", {{"kubernetes.io/hostname", "b"}, {"zone", "1"}})));
  EXPECT_EQ(s.node_shape_id(a), s.node_shape_id(b));
  EXPECT_EQ(*s.node(b).labels.Find("kubernetes.io/hostname"), "b");
}

TEST(SnapshotTest, ARevertedRemovalComesBackAtItsOldPlaceWithItsPods) {
  Snapshot s;
  const NodeIndex a = MUST(s.AddNode(ANode("a")));
  const NodeIndex b = MUST(s.AddNode(ANode("b")));
  s.AddPod(APod("p"), a);
  const std::string before = SnapshotInspector::Nodes(s);
  {
    const auto fork = s.Fork();
    s.RemoveNode(a);
    const NodeIndex c = MUST(s.AddNode(ANode("c")));
    EXPECT_THAT(s.nodes(), ElementsAre(b, c));
    EXPECT_NE(c, a) << "an index that a revert still needs must not be used again";
  }
  EXPECT_THAT(s.nodes(), ElementsAre(a, b));
  EXPECT_EQ(SnapshotInspector::Nodes(s), before);
  EXPECT_EQ(FreeCpu(s, a), 3000);
}

TEST(SnapshotTest, AUsedIndexDoesNotInheritAPlaceInTheOrder) {
  Snapshot s;
  const NodeIndex a = MUST(s.AddNode(ANode("a")));
  const NodeIndex b = MUST(s.AddNode(ANode("b")));
  s.RemoveNode(a);
  const NodeIndex c = MUST(s.AddNode(ANode("c")));
  EXPECT_EQ(c, a);
  EXPECT_THAT(s.nodes(), ElementsAre(b, c));
}

TEST(SnapshotTest, TheSameNameMayOccurTwice) {
  Snapshot s;
  const NodeIndex a = MUST(s.AddNode(ANode("a")));
  const PodIndex first = s.AddPod(APod("p"), a);
  const PodIndex second = s.AddPod(APod("p"), a);
  EXPECT_THAT(s.FindPods("default", "p"), ElementsAre(first, second));
  s.RemovePod(first);
  EXPECT_THAT(s.FindPods("default", "p"), ElementsAre(second));
  s.RemovePod(second);
  EXPECT_TRUE(s.FindPods("default", "p").empty());
}

TEST(SnapshotTest, AddingANodeTwiceIsAnError) {
  Snapshot s;
  MUST(s.AddNode(ANode("a")));
  EXPECT_EQ(s.AddNode(ANode("a")).code(), Code::kAlreadyExists);
}

TEST(SnapshotTest, APodRemembersTheNodeItAskedForUntilItIsPlacedByUs) {
  Snapshot s;
  const NodeIndex a = MUST(s.AddNode(ANode("a")));
  model::Pod pod = APod("p");
  pod.spec.node_name = "a";
  EXPECT_EQ(s.pod(s.AddPod(pod)).wanted_node, "a");
  EXPECT_EQ(s.pod(s.AddPod(pod, a)).wanted_node, "");
}

TEST(SnapshotTest, UpdatingAPodMovesWhatItTakes) {
  Snapshot s;
  const NodeIndex a = MUST(s.AddNode(ANode("a")));
  const PodIndex pod = s.AddPod(APod("p", "1"), a);
  {
    const auto fork = s.Fork();
    s.UpdatePod(pod, APod("p", "3", {{"new", "label"}}));
    EXPECT_EQ(FreeCpu(s, a), 1000);
    EXPECT_EQ(s.node_of(pod), a);
  }
  EXPECT_EQ(FreeCpu(s, a), 3000);
  EXPECT_TRUE(s.pod(pod).labels().empty());
}

TEST(SnapshotTest, ACommittedInnerForkIsUndoneByTheOuterOne) {
  Snapshot s;
  const NodeIndex a = MUST(s.AddNode(ANode("a")));
  const std::string before = SnapshotInspector::Nodes(s);
  s.OpenFork();
  s.OpenFork();
  s.AddPod(APod("p"), a);
  s.CommitFork();
  EXPECT_EQ(FreeCpu(s, a), 3000);
  s.RevertFork();
  EXPECT_EQ(SnapshotInspector::Nodes(s), before);
  EXPECT_EQ(s.forks(), 0u);
}

TEST(SnapshotTest, ACounterFirstAskedForInsideAForkIsRightAfterTheRevert) {
  Snapshot s;
  const NodeIndex a = MUST(s.AddNode(ANode("a", "4", {{"zone", "1"}})));
  const PodKind kind{
      .terms = {{.all_namespaces = true, .selector = model::Selector::Everything()}}};
  CounterId counter;
  {
    const auto fork = s.Fork();
    s.AddPod(APod("p"), a);
    counter = s.counters().Counter(s.counters().PlainTopology("zone"), kind);
    EXPECT_EQ(s.counters().total(counter), 1);
  }
  EXPECT_EQ(s.counters().total(counter), 0);
  EXPECT_EQ(SnapshotInspector::WrongCounts(s), "");
}

TEST(SnapshotTest, PodsMoveWithTheirNodeFromZoneToZone) {
  Snapshot s;
  const NodeIndex a = MUST(s.AddNode(ANode("a", "4", {{"zone", "1"}})));
  s.AddPod(APod("p"), a);
  const PodKind kind{
      .terms = {{.all_namespaces = true, .selector = model::Selector::Everything()}}};
  const TopologyId zones = s.counters().PlainTopology("zone");
  const CounterId counter = s.counters().Counter(zones, kind);
  s.UpdateNode(a, ANode("a", "4", {{"zone", "2"}}));
  EXPECT_THAT(s.counters().counts(counter), ElementsAre(0, 1));
  s.UpdateNode(a, ANode("a"));
  EXPECT_THAT(s.counters().counts(counter), ElementsAre(0, 0));
  EXPECT_EQ(s.counters().Least(counter), std::numeric_limits<int32_t>::max())
      << "no domain is left";
}

TEST(SnapshotTest, RevertingAForkBringsContentVersionsBackAndNoOtherContentGetsThem) {
  Snapshot s;
  const NodeIndex a = MUST(s.AddNode(ANode("a")));
  const NodeIndex b = MUST(s.AddNode(ANode("b")));
  const PodIndex pod = s.AddPod(APod("p"), a);
  const uint64_t on_a = s.content_version(a);
  const uint64_t on_b = s.content_version(b);
  std::vector<uint64_t> imagined;
  for (int round = 0; round < 3; ++round) {
    const auto fork = s.Fork();
    s.Unplace(pod);
    s.Place(pod, b);
    s.UpdatePod(pod, APod("p", "2"));
    s.AddTaint(a, {.key = "going", .effect = "NoSchedule"});
    EXPECT_NE(s.content_version(a), on_a);
    EXPECT_NE(s.content_version(b), on_b);
    imagined.push_back(s.content_version(b));
    s.RemoveNode(a);
  }
  EXPECT_EQ(s.content_version(a), on_a);
  EXPECT_EQ(s.content_version(b), on_b);
  EXPECT_NE(imagined[0], imagined[1]);
  s.UpdatePod(pod, APod("p", "2"));
  EXPECT_NE(s.content_version(a), on_a);
  EXPECT_THAT(imagined, testing::Not(testing::Contains(s.content_version(a))));
}

TEST(SnapshotTest, ATaintThatWasAddedOutsideSurvivesTheNodesRemovalInside) {
  Snapshot s;
  const NodeIndex node = MUST(s.AddNode(ANode("a")));
  const NodeShapeId plain = s.node_shape_id(node);
  {
    const auto outside = s.Fork();
    s.AddTaint(node, {.key = "going", .effect = "NoSchedule"});
    const NodeShapeId tainted = s.node_shape_id(node);
    EXPECT_NE(tainted, plain);
    EXPECT_EQ(s.node_shape(node).taints.back().key, "going");
    {
      const auto inside = s.Fork();
      s.RemoveNode(node);
    }
    EXPECT_EQ(s.node_shape_id(node), tainted);
  }
  EXPECT_EQ(s.node_shape_id(node), plain);
}

TEST(SnapshotTest, PodsThatDifferInWhatADrainRuleReadsHaveDifferentEvictionIds) {
  using PodChange = std::function<void(model::Pod&)>;
  const TimePoint when{std::chrono::hours(1)};
  const PodChange changes[] = {
      [](auto& p) { p.metadata.annotations["cluster-autoscaler.kubernetes.io/x"] = "true"; },
      [](auto& p) { p.metadata.annotations["cluster-autoscaler.kubernetes.io/x"] = "false"; },
      [](auto& p) { p.metadata.annotations["kubernetes.io/config.mirror"] = "true"; },
      [](auto& p) { p.metadata.owner_references = {{.kind = "Job", .controller = true}}; },
      [](auto& p) { p.metadata.namespace_ = "kube-system"; },
      [](auto& p) { p.metadata.labels["app"] = "web"; },
      [](auto& p) { p.status.phase = "Failed"; },
      [](auto& p) { p.spec.restart_policy = "Never"; },
      [&](auto& p) { p.metadata.deletion_timestamp = model::Time{when}; },
      [](auto& p) { p.spec.volumes = {{.name = "v", .host_path = "/var"}}; },
      [](auto& p) { p.spec.volumes = {{.name = "v", .empty_dir = model::EmptyDir{}}}; },
      [](auto& p) { p.spec.volumes = {{.name = "v", .empty_dir = model::EmptyDir{"Memory"}}}; },
      [](auto& p) { p.spec.volumes = {{.name = "w", .empty_dir = model::EmptyDir{}}}; },
      [](auto& p) {
        p.metadata.unreadable = model::Unreadable{.what = "spec: odd", .reason = "malformed"};
      },
  };
  const Facts facts;
  Snapshot s(facts, {.eviction_annotations = {{"cluster-autoscaler.kubernetes.io/"}}});
  std::vector<EvictionId> ids = {s.eviction_id(s.AddPod(APod("p")))};
  for (const PodChange& change : changes) {
    model::Pod pod = APod("p");
    change(pod);
    const EvictionId id = s.eviction_id(s.AddPod(pod));
    EXPECT_THAT(ids, testing::Not(testing::Contains(id))) << ids.size();
    ids.push_back(id);
  }
  model::Pod other = APod("another", "2");
  other.metadata.annotations["seen"] = "today";
  other.metadata.creation_timestamp = model::Time{when};
  EXPECT_EQ(s.eviction_id(s.AddPod(other)), ids.front());
}

}  // namespace
}  // namespace coppice::cluster
