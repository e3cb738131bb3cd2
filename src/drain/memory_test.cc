#include "drain/memory.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "drain/world_controllers.h"
#include "test/support/must.h"

namespace coppice::drain {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const TimePoint kNow{hours(500'000)};
constexpr const char* kPrefix = "cluster-autoscaler.kubernetes.io/";

// Pods that differ in everything that some rule reads, in few enough ways that kinds repeat.
model::Pod RandomPod(const std::string& name, Rng& rng) {
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(*(words.begin() + rng.Below(words.size())));
  };
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = rng.Chance(0.2) ? "kube-system" : "default";
  pod.metadata.labels["app"] = pick({"web", "db"});
  pod.metadata.creation_timestamp = model::Time{kNow - (rng.Chance(0.5) ? hours(3) : hours(0))};
  pod.status.phase = rng.Chance(0.1) ? "Failed" : "Running";
  if (rng.Chance(0.9)) {
    pod.metadata.owner_references = {{.api_version = "apps/v1",
                                      .kind = pick({"ReplicaSet", "ReplicaSet", "ReplicaSet",
                                                    "DaemonSet", "StatefulSet", "Odd"}),
                                      .name = pick({"x", "x", "x", "gone"}),
                                      .controller = true}};
  }
  if (rng.Chance(0.3))
    pod.metadata.annotations[std::string(kPrefix) + "safe-to-evict"] =
        pick({"true", "false", "on-completion"});
  if (rng.Chance(0.05)) pod.metadata.annotations["kubernetes.io/config.mirror"] = "m";
  if (rng.Chance(0.1)) {
    pod.metadata.deletion_timestamp = model::Time{kNow - minutes(rng.Below(4))};
    pod.spec.termination_grace_period_seconds = 30;
  }
  if (rng.Chance(0.1)) pod.spec.volumes = {{.name = pick({"v", "w"}), .host_path = "/var"}};
  return pod;
}

std::vector<std::string> Names(const std::vector<const model::Pod*>& pods) {
  std::vector<std::string> names;
  for (const model::Pod* pod : pods) names.push_back(pod->metadata.name);
  return names;
}

// One pod is judged for all of its kind: the answers must be those of judging each.
TEST(DrainMemoryTest, SaysOfEveryPodWhatTheRulesSayOfItsObject) {
  SeededRng rng(7);
  cluster::World world;
  for (const char* kind : {"ReplicaSet", "DaemonSet", "StatefulSet"}) {
    model::ObjectMeta meta;
    meta.name = "x";
    meta.namespace_ = "default";
    if (std::string_view(kind) == "ReplicaSet") {
      model::ReplicaSet set;
      set.metadata = meta;
      set.spec.replicas = 3;
      world.Upsert(std::make_shared<const model::ReplicaSet>(set));
    } else if (std::string_view(kind) == "DaemonSet") {
      model::DaemonSet set;
      set.metadata = meta;
      world.Upsert(std::make_shared<const model::DaemonSet>(set));
    }
  }
  constexpr int kNodes = 300;
  for (int n = 0; n < kNodes; ++n) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = "n" + std::to_string(n);
    world.UpsertNode(std::move(node));
    for (uint64_t i = 0; i < 1 + rng.Below(3); ++i) {
      model::Pod pod = RandomPod("p" + std::to_string(n) + "-" + std::to_string(i), rng);
      pod.spec.node_name = "n" + std::to_string(n);
      world.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
    }
  }
  auto budget = std::make_shared<model::PodDisruptionBudget>();
  budget->metadata.name = "web";
  budget->metadata.namespace_ = "default";
  budget->spec.selector.emplace().match_labels["app"] = "web";
  budget->status.disruptions_allowed = 40;
  PdbTracker budgets = MUST(PdbTracker::Create({budget}));

  const WorldControllers controllers(world);
  const std::vector<Rule> rules = DefaultRules({.annotation_prefix = kPrefix});
  PodTraits traits;
  Memory memory(rules, traits);
  int moved = 0;
  int refused = 0;
  for (int n = 0; n < kNodes; ++n) {
    const auto indexes = world.PodsInOrder(world.snapshot().FindNode("n" + std::to_string(n)));
    const auto objects = [&](const std::vector<cluster::PodIndex>& pods) {
      std::vector<const model::Pod*> all;
      for (const cluster::PodIndex pod : pods) all.push_back(world.EntryOf(pod)->pod.get());
      return all;
    };
    const Context context{budgets, &controllers, kNow};
    const PodsToMove expected = FindPodsToMove(rules, objects(indexes), context);
    const IndexesToMove found = memory.Sort(world, indexes, context);
    if (expected.blocking != nullptr) {
      ASSERT_NE(found.blocking, cluster::kNone);
      EXPECT_EQ(world.EntryOf(found.blocking)->pod.get(), expected.blocking);
      EXPECT_EQ(found.blocked_by.text, expected.blocked_by.text);
      ++refused;
      continue;
    }
    ASSERT_EQ(found.blocking, cluster::kNone) << found.blocked_by.text;
    EXPECT_EQ(Names(objects(found.movable)), Names(expected.movable));
    EXPECT_EQ(Names(objects(found.daemon_set)), Names(expected.daemon_set));
    EXPECT_EQ(Names(objects(found.on_completion)), Names(expected.on_completion));
    budgets.Remove(expected.movable);  // so that the budget runs out on the way
    moved += static_cast<int>(expected.movable.size());
  }
  EXPECT_GT(moved, 40);
  EXPECT_GT(refused, 40);
}

}  // namespace
}  // namespace coppice::drain
