#include "cluster/interner.h"

#include <gtest/gtest.h>

#include <functional>
#include <tuple>

namespace coppice::cluster {
namespace {

using Change = std::function<void(model::Pod&)>;
using PodPtr = std::shared_ptr<const model::Pod>;

model::Pod InternedPod() {
  model::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.labels["app"] = "web";
  pod.metadata.owner_references = {{.kind = "ReplicaSet", .name = "web", .controller = true}};
  pod.spec.containers.push_back({.name = "c"});
  pod.spec.containers.front().resources.requests["cpu"] = model::Quantity::FromUnits(1);
  pod.status.phase = "Running";
  return pod;
}

auto Tied(const PodIds& ids) {
  return std::tie(ids.spec, ids.labels, ids.volumes, ids.eviction, ids.owner);
}

// Everything that one of the ids is made of; the last four change nothing that a shape is about.
constexpr size_t kWithoutEffect = 4;
std::vector<Change> Changes() {
  const model::Time when{TimePoint(std::chrono::hours(1))};
  const model::ResourceList two{{"cpu", model::Quantity::FromUnits(2)}};
  return {
      [](auto& p) { p.metadata.namespace_ = "other"; },
      [](auto& p) { p.metadata.namespace_ = "kube-system"; },
      [](auto& p) { p.metadata.labels["app"] = "db"; },
      [](auto& p) { p.metadata.annotations["cluster-autoscaler.kubernetes.io/x"] = "true"; },
      [](auto& p) { p.metadata.owner_references.front().kind = "DaemonSet"; },
      [](auto& p) { p.metadata.owner_references.clear(); },
      [=](auto& p) { p.metadata.deletion_timestamp = when; },
      [=](auto& p) { p.spec.containers.front().resources.requests = two; },
      [](auto& p) { p.spec.containers.front().ports = {{.host_port = 80}}; },
      [=](auto& p) { p.spec.init_containers = {{.name = "i", .resources = {.requests = two}}}; },
      [=](auto& p) { p.spec.resources = model::ResourceRequirements{.requests = two}; },
      [=](auto& p) { p.spec.overhead = two; },
      [](auto& p) { p.spec.node_selector["disk"] = "fast"; },
      [](auto& p) { p.spec.affinity.emplace().node_affinity.emplace().required.emplace(); },
      [](auto& p) { p.spec.tolerations = {{.key = "x"}}; },
      [](auto& p) { p.spec.topology_spread_constraints = {{.topology_key = "zone"}}; },
      [](auto& p) { p.spec.resource_claims = {{.name = "gpu"}}; },
      [](auto& p) { p.spec.priority = 7; },
      [](auto& p) { p.spec.scheduler_name = "mine"; },
      [](auto& p) { p.spec.restart_policy = "Never"; },
      [](auto& p) { p.spec.volumes = {{.name = "v", .claim_name = "data"}}; },
      [](auto& p) { p.spec.volumes = {{.name = "v", .host_path = "/var"}}; },
      [](auto& p) { p.spec.volumes = {{.name = "v", .empty_dir = model::EmptyDir{"Memory"}}}; },
      [](auto& p) { p.status.phase = "Failed"; },
      // Read, and of no effect here: other bytes, the same shape.
      [](auto& p) { p.spec.containers.front().name = "d"; },
      [](auto& p) { p.spec.containers.front().restart_policy = "Never"; },
      [](auto& p) { p.spec.containers.push_back({.name = "more"}); },
      [=](auto& p) { p.status.resources = model::ResourceRequirements{.requests = two}; },
  };
}

TEST(InternerTest, APodThatFollowsOneLikeItHasItsIdsAndOneThatDiffersHasNot) {
  Interner interner;
  const PodPtr plain = std::make_shared<const model::Pod>(InternedPod());
  const PodIds known = interner.Ids(plain);
  EXPECT_EQ(Tied(interner.Ids(std::make_shared<const model::Pod>(InternedPod()))), Tied(known));
  const std::vector<Change> changes = Changes();
  for (size_t i = 0; i < changes.size(); ++i) {
    auto pod = std::make_shared<model::Pod>(InternedPod());
    changes[i](*pod);
    interner.Ids(plain);  // the last one
    const PodIds after = interner.Ids(PodPtr(pod));
    EXPECT_EQ(Tied(after), Tied(interner.Ids(*pod))) << "found otherwise, change " << i;
    const bool counts = i + kWithoutEffect < changes.size();
    EXPECT_EQ(Tied(after) != Tied(known), counts) << "change " << i;
    // And back: the one that differs is the last now.
    EXPECT_EQ(Tied(interner.Ids(plain)), Tied(known)) << "after change " << i;
  }
}

TEST(InternerTest, WhatDecidesNothingMakesNoOtherIds) {
  Interner interner({.eviction_annotations = {{"cluster-autoscaler.kubernetes.io/"}}});
  const PodIds known = interner.Ids(std::make_shared<const model::Pod>(InternedPod()));
  auto pod = std::make_shared<model::Pod>(InternedPod());
  pod->metadata.name = "another";
  pod->metadata.uid = "another";
  pod->metadata.creation_timestamp = model::Time{TimePoint(std::chrono::hours(1))};
  pod->spec.node_name = "n";
  pod->metadata.annotations["seen"] = "today";
  EXPECT_EQ(Tied(interner.Ids(PodPtr(pod))), Tied(known));
}

// Several engines hand in what they know; who hands in nothing tells too many apart and none too
// few.
TEST(InternerTest, AnnotationsThatAnyEngineNamesTellPodsApart) {
  const auto differs = [](const Marks& marks, const char* annotation) {
    Interner interner(marks);
    auto pod = std::make_shared<model::Pod>(InternedPod());
    const EvictionId plain = interner.Ids(PodPtr(pod)).eviction;
    auto said = std::make_shared<model::Pod>(InternedPod());
    said->metadata.annotations[annotation] = "true";
    return interner.Ids(PodPtr(said)).eviction != plain;
  };
  const Marks both{.eviction_annotations = {
                       {"cluster-autoscaler.kubernetes.io/", "karpenter.sh/do-not-disrupt"}}};
  EXPECT_TRUE(differs(both, "karpenter.sh/do-not-disrupt"));
  EXPECT_TRUE(differs(both, "cluster-autoscaler.kubernetes.io/safe-to-evict"));
  EXPECT_TRUE(differs(both, "kubernetes.io/config.mirror"));
  EXPECT_FALSE(differs(both, "karpenter.sh/nodepool-hash"));
  const Marks one{.eviction_annotations = {{"cluster-autoscaler.kubernetes.io/"}}};
  EXPECT_FALSE(differs(one, "karpenter.sh/do-not-disrupt"));
  EXPECT_TRUE(differs({}, "karpenter.sh/do-not-disrupt"));
  EXPECT_TRUE(differs({}, "anything"));
}

TEST(InternerTest, EnginesTogetherReadWhatEachOfThemReads) {
  const Marks one{.eviction_annotations = {{"a/"}}, .timed_taints = {"t"}};
  const Marks other{.eviction_annotations = {{"b/"}}, .timed_taints = {}};
  const Marks both = Together(one, other);
  EXPECT_EQ(both.eviction_annotations, (std::vector<std::string>{"a/", "b/"}));
  EXPECT_EQ(both.timed_taints, std::vector<std::string>{"t"});
  // Who has not said what it reads may read all of them.
  EXPECT_FALSE(Together(one, {}).eviction_annotations);
  EXPECT_FALSE(Together({}, one).eviction_annotations);
}

}  // namespace
}  // namespace coppice::cluster
