// Any sequence of operations with forks leaves the snapshot as if it had been built from scratch.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.h"
#include "cluster/snapshot.h"
#include "test/support/must.h"
#include "test/support/snapshot_inspector.h"

namespace coppice::cluster {
namespace {

// What the snapshot should hold, as two plain lists.
struct Naive {
  std::vector<model::Node> nodes;
  std::vector<model::Pod> pods;  // spec.node_name says where
};

class RandomWorld {
 public:
  explicit RandomWorld(uint64_t seed) : rng_(seed) {}

  void Step() {
    switch (rng_.Below(12)) {
      case 0:
        return AddNode();
      case 1:
        return rng_.Chance(0.5) ? RemoveNode() : AddNode();
      case 2:
        return UpdateNode();
      case 3:
        return rng_.Chance(0.6) ? Fork() : Close(rng_.Chance(0.6));
      case 4:
        return RemovePod();
      case 5:
        return UpdatePod();
      case 6:
        return Count();
      case 7:
        return MovePod();
      default:
        return AddPod();
    }
  }

  void RenumberIfPossible() {
    if (stack_.empty()) snapshot.Renumber();
  }

  void CloseAll() {
    while (!stack_.empty()) Close(true);
  }

  std::string Expected() const {
    Snapshot fresh;
    for (const model::Node& node : now_.nodes) MUST(fresh.AddNode(node));
    for (const model::Pod& pod : now_.pods) fresh.AddPod(pod, fresh.FindNode(pod.spec.node_name));
    return SnapshotInspector::Nodes(fresh);
  }

  Snapshot snapshot;

 private:
  std::string Pick(std::initializer_list<const char*> words) {
    return *(words.begin() + rng_.Below(words.size()));
  }

  model::Node RandomNode(const std::string& name) {
    model::Node node;
    node.metadata.name = name;
    if (rng_.Chance(0.9)) node.metadata.labels["kubernetes.io/hostname"] = name;
    if (rng_.Chance(0.8)) node.metadata.labels["zone"] = Pick({"a", "b", "c"});
    if (rng_.Chance(0.5)) node.metadata.labels["disk"] = Pick({"ssd", "hdd"});
    if (rng_.Chance(0.2)) node.spec.taints.push_back({.key = "dedicated", .effect = "NoSchedule"});
    node.spec.unschedulable = rng_.Chance(0.1);
    node.status.allocatable["cpu"] =
        model::Quantity::FromMillis(static_cast<int64_t>(rng_.Below(9)) * 500);
    node.status.allocatable["pods"] = model::Quantity::FromUnits(10);
    if (rng_.Chance(0.3))
      node.status.allocatable["example.com/gpu"] = model::Quantity::FromUnits(2);
    return node;
  }

  model::Pod RandomPod(const std::string& name) {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = Pick({"x", "y"});
    pod.metadata.labels["app"] = Pick({"web", "db", "cache"});
    if (rng_.Chance(0.2)) pod.metadata.deletion_timestamp = model::Time{};
    model::Container container;
    container.resources.requests["cpu"] =
        model::Quantity::FromMillis(static_cast<int64_t>(rng_.Below(5)) * 100);
    if (rng_.Chance(0.1))
      container.resources.requests["example.com/gpu"] = model::Quantity::FromUnits(1);
    if (rng_.Chance(0.2)) container.ports.push_back({.host_port = 80});
    pod.spec.containers.push_back(container);
    if (rng_.Chance(0.2))
      pod.spec.volumes.push_back({.name = "v", .claim_name = Pick({"c1", "c2"})});
    if (rng_.Chance(0.3)) {
      model::PodAffinityTerm term{.topology_key = Pick({"zone", "kubernetes.io/hostname", "rack"})};
      term.label_selector.emplace().match_labels["app"] = Pick({"web", "db"});
      if (rng_.Chance(0.3)) term.namespaces = {"x", "y"};
      pod.spec.affinity.emplace().pod_anti_affinity.emplace().required.push_back(term);
    }
    return pod;
  }

  void AddNode() {
    const std::string name = "n" + std::to_string(next_node_++);
    now_.nodes.push_back(RandomNode(name));
    MUST(snapshot.AddNode(now_.nodes.back()));
  }

  void RemoveNode() {
    if (now_.nodes.empty()) return;
    const size_t i = rng_.Below(now_.nodes.size());
    const std::string name = now_.nodes[i].metadata.name;
    now_.nodes.erase(now_.nodes.begin() + static_cast<ptrdiff_t>(i));
    std::erase_if(now_.pods, [&](const model::Pod& p) { return p.spec.node_name == name; });
    snapshot.RemoveNode(snapshot.FindNode(name));
  }

  void UpdateNode() {
    if (now_.nodes.empty()) return;
    model::Node& node = now_.nodes[rng_.Below(now_.nodes.size())];
    const NodeIndex index = snapshot.FindNode(node.metadata.name);
    if (rng_.Chance(0.4)) {
      node.spec.taints.push_back({.key = Pick({"going", "sick"}), .effect = "NoSchedule"});
      snapshot.AddTaint(index, node.spec.taints.back());
      return;
    }
    node = RandomNode(node.metadata.name);
    snapshot.UpdateNode(index, node);
  }

  void AddPod() {
    if (now_.nodes.empty()) return;
    model::Pod pod = RandomPod("p" + std::to_string(next_pod_++));
    pod.spec.node_name = now_.nodes[rng_.Below(now_.nodes.size())].metadata.name;
    snapshot.AddPod(pod, snapshot.FindNode(pod.spec.node_name));
    now_.pods.push_back(std::move(pod));
  }

  PodIndex Index(const model::Pod& pod) {
    return snapshot.FindPods(pod.metadata.namespace_, pod.metadata.name).at(0);
  }

  void RemovePod() {
    if (now_.pods.empty()) return;
    const size_t i = rng_.Below(now_.pods.size());
    snapshot.RemovePod(Index(now_.pods[i]));
    now_.pods.erase(now_.pods.begin() + static_cast<ptrdiff_t>(i));
  }

  void MovePod() {
    if (now_.pods.empty()) return;
    model::Pod& pod = now_.pods[rng_.Below(now_.pods.size())];
    const PodIndex index = Index(pod);
    pod.spec.node_name = now_.nodes[rng_.Below(now_.nodes.size())].metadata.name;
    snapshot.Unplace(index);
    snapshot.Place(index, snapshot.FindNode(pod.spec.node_name));
  }

  void UpdatePod() {
    if (now_.pods.empty()) return;
    model::Pod& pod = now_.pods[rng_.Below(now_.pods.size())];
    const PodIndex index = Index(pod);
    model::Pod next = RandomPod(pod.metadata.name);
    next.spec.node_name = pod.spec.node_name;
    snapshot.UpdatePod(index, next);
    pod = std::move(next);
  }

  void Count() {
    PodSpecShape asking;
    if (rng_.Chance(0.5)) asking.node_selector["disk"] = "ssd";
    TopologySpec topology{.key = Pick({"zone", "kubernetes.io/hostname", "rack"})};
    if (rng_.Chance(0.3)) topology.needed_keys = {"zone", "disk"};
    if (rng_.Chance(0.3)) topology.honor_affinity = &asking;
    if (rng_.Chance(0.3)) topology.honor_taints = &asking;
    model::Labels labels;
    labels["app"] = Pick({"web", "db", "cache"});
    PodTerm term{.all_namespaces = rng_.Chance(0.3),
                 .namespaces = {Pick({"x", "y"})},
                 .selector = model::Selector::FromLabels(labels)};
    snapshot.counters().Counter(snapshot.counters().Topology(topology),
                                {.terms = {term}, .skip_terminating = rng_.Chance(0.5)});
  }

  void Fork() {
    if (stack_.size() > 4) return;
    stack_.push_back(now_);
    snapshot.OpenFork();
  }

  void Close(bool revert) {
    if (stack_.empty()) return;
    if (revert) now_ = stack_.back();
    stack_.pop_back();
    revert ? snapshot.RevertFork() : snapshot.CommitFork();
  }

  SeededRng rng_;
  Naive now_;
  std::vector<Naive> stack_;
  int next_node_ = 0;
  int next_pod_ = 0;
};

TEST(SnapshotRandomTest, EqualsASnapshotBuiltFromScratchAfterAnySequenceOfOperations) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    RandomWorld world(seed);
    for (int step = 0; step < 150; ++step) {
      world.Step();
      if (step % 5 == 0) world.RenumberIfPossible();
      ASSERT_EQ(SnapshotInspector::Nodes(world.snapshot), world.Expected())
          << "seed " << seed << ", step " << step;
      ASSERT_EQ(SnapshotInspector::WrongCounts(world.snapshot), "")
          << "seed " << seed << ", step " << step;
    }
    world.CloseAll();
    ASSERT_EQ(SnapshotInspector::Nodes(world.snapshot), world.Expected()) << "seed " << seed;
    ASSERT_EQ(SnapshotInspector::WrongCounts(world.snapshot), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace coppice::cluster
