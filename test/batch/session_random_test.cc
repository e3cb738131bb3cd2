// The class tables against the plain search: the same placements, one by one, on random clusters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/rng.h"
#include "test/batch/session_world.h"

namespace coppice {
namespace {

using test::SessionWorld;

// What all have in common, and one way of dividing the cluster each.
std::string ConfOf(int variant) {
  static constexpr const char* kDividing[] = {
      "  - name: drf\n  - name: proportion\n",
      "  - name: drf\n    enableHierarchy: true\n",
      "  - name: drf\n  - name: capacity\n",
      "  - name: proportion\n  - name: nodegroup\n    arguments: {strict: false}\n",
  };
  return std::string(R"(actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: overcommit
    arguments: {overcommit-factor: 2}
  - name: predicates
  - name: nodeorder
  - name: binpack
)") + kDividing[variant];
}
constexpr int kVariants = 4;

struct Draw {
  SeededRng rng;
  int64_t Of(int64_t bound) {
    return static_cast<int64_t>(rng.Below(static_cast<uint64_t>(bound)));
  }
  bool Once(int64_t in) { return Of(in) == 0; }
};

model::Pod RandomPod(Draw& draw, const std::string& name, const std::string& group, int64_t kind) {
  model::Pod pod = SessionWorld::Pod(name, group, std::to_string(100 + 250 * kind) + "m");
  pod.spec.containers[0].resources.requests["memory"] =
      SessionWorld::Amount(std::to_string(1 + kind % 3) + "Gi");
  if (kind == 1) pod.spec.node_selector["disk"] = "ssd";
  if (kind == 2) {
    pod.spec.containers[0].ports.push_back({.host_port = 8080, .container_port = 80});
  }
  if (kind == 3) {
    pod.metadata.labels["app"] = "apart";
    auto& term = pod.spec.affinity.emplace().pod_anti_affinity.emplace().required.emplace_back();
    term.topology_key = "kubernetes.io/hostname";
    term.label_selector.emplace().match_labels["app"] = "apart";
  }
  if (kind == 4) {
    pod.metadata.labels["app"] = "spread";
    auto& rule = pod.spec.topology_spread_constraints.emplace_back();
    rule.max_skew = 2;
    rule.topology_key = "zone";
    rule.when_unsatisfiable = "DoNotSchedule";
    rule.label_selector.emplace().match_labels["app"] = "spread";
  }
  if (draw.Once(20)) pod.spec.priority = 7;
  return pod;
}

void Fill(SessionWorld& world, uint64_t seed, int64_t nodes) {
  Draw draw{SeededRng(seed)};
  for (int64_t i = 0; i < nodes; ++i) {
    world.Node("n" + std::to_string(i), std::to_string(2 + draw.Of(7)),
               {{"disk", draw.Once(3) ? "ssd" : "hdd"},
                {"zone", "z" + std::to_string(draw.Of(3))},
                {"volcano.sh/nodegroup-name", draw.Once(2) ? "red" : "blue"}});
  }
  for (const std::string name : {"default", "other"}) {
    model::Queue& queue = world.Queue(name, static_cast<int32_t>(1 + draw.Of(3)));
    queue.metadata.annotations["volcano.sh/hierarchy"] = "root/" + name;
    queue.metadata.annotations["volcano.sh/hierarchy-weights"] =
        "1/" + std::to_string(1 + draw.Of(3));
    queue.spec.deserved["cpu"] = SessionWorld::Amount(std::to_string(nodes * (1 + draw.Of(3))));
    auto& affinity = queue.spec.affinity.emplace();
    (draw.Once(2) ? affinity.node_group_affinity : affinity.node_group_anti_affinity)
        .emplace()
        .preferred.push_back(draw.Once(2) ? "red" : "blue");
  }
  const int64_t groups = 10 + draw.Of(30);
  for (int64_t g = 0; g < groups; ++g) {
    const std::string name = "g" + std::to_string(g);
    const int64_t size = 1 + draw.Of(40);
    const auto least = static_cast<int32_t>(draw.Once(2) ? size : 1 + draw.Of(size));
    model::PodGroup& group = world.Group(name, least, draw.Once(2) ? "default" : "other");
    if (draw.Once(2)) group.status.phase = "Pending";
    const int64_t kind = draw.Of(6);
    for (int64_t i = 0; i < size; ++i) {
      model::Pod pod = RandomPod(draw, name + "-w-" + std::to_string(i), name,
                                 draw.Once(10) ? draw.Of(6) : kind);
      if (draw.Once(15)) pod.status.nominated_node_name = "n" + std::to_string(draw.Of(nodes));
      if (draw.Once(12)) {
        pod.spec.node_name = "n" + std::to_string(draw.Of(nodes));
        pod.status.phase = "Running";
        if (draw.Once(3)) pod.metadata.deletion_timestamp = model::Time{world.input.now};
      }
      world.Add(std::move(pod));
    }
  }
}

std::vector<std::string> Placements(const batch::Outcome& outcome) {
  std::vector<std::string> all;
  for (const auto& bind : outcome.binds) all.push_back(bind.pod.key() + " on " + bind.node);
  for (const auto& condition : outcome.conditions) {
    all.push_back(condition.pod.key() + " waits: " + condition.message);
  }
  return all;
}

class SessionRandomTest : public testing::TestWithParam<int> {};

TEST_P(SessionRandomTest, ClassTablesPlaceAsThePlainSearchDoes) {
  const auto seed = static_cast<uint64_t>(GetParam());
  const int64_t nodes = GetParam() % 20 == 9 ? 2'000 : 50 + 25 * (GetParam() % 10);
  const std::string conf = ConfOf(GetParam() % kVariants);
  SessionWorld fast;
  SessionWorld plain;
  plain.options.plain_search = true;
  Fill(fast, seed, nodes);
  Fill(plain, seed, nodes);
  const auto quick = fast.Run(conf);
  EXPECT_THAT(quick.binds, testing::Not(testing::IsEmpty()));
  const auto ours = Placements(quick);
  const auto theirs = Placements(plain.Run(conf));
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) ASSERT_EQ(ours[i], theirs[i]) << "placement " << i;
}

INSTANTIATE_TEST_SUITE_P(Seeds, SessionRandomTest, testing::Range(0, 40));

}  // namespace
}  // namespace coppice
