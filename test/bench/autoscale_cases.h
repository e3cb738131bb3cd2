// The autoscaler's cases: each builds its objects, runs, checks upstream's own condition at the
// end, and answers how long the measured part took. Benchmarks print it, a test guards it.

#pragma once

#include <time.h>

#include "fit/placer.h"
#include "pack/estimator.h"
#include "test/bench/autoscale_rig.h"

namespace coppice::bench {

// Processor time of this thread, which does all the work: on a busy machine the clock on the wall
// measures the others.
inline double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Body>
double SecondsOf(Body body) {
  const double start = ThreadSeconds();
  body();
  return ThreadSeconds() - start;
}

// Upstream's benchmarks set these.
inline std::vector<std::string> UpstreamFlags(std::initializer_list<const char*> more) {
  std::vector<std::string> flags = {"--upstream-exact",
                                    "--scale-down-unneeded-time=1m",
                                    "--scale-down-unready-time=1m",
                                    "--scale-down-utilization-threshold=0.5",
                                    "--max-node-provision-time=10m",
                                    "--expander=least-waste",
                                    "--max-nodes-total=10000",
                                    "--cores-total=0:100000000",
                                    "--memory-total=0:100000000",
                                    "--max-binpacking-time=60s",
                                    "--max-nodegroup-binpacking-duration=60s"};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// Pods without a controller, each a kind of its own; fifty fit a node; from zero.
inline double RunOnceScaleUp(int pods, int expected_nodes) {
  const auto flags = UpstreamFlags({"--max-nodes-per-scaleup=10000"});
  FakeClock clock;
  BenchGroups groups;
  groups.Add({.id = "ng1", .min_size = 0, .max_size = 10'000},
             Shared(TestNode("n-template", 10'000, 10'000, clock.Now())));
  std::vector<cluster::PodPtr> objects;
  for (int i = 0; i < pods; ++i) {
    objects.push_back(Shared(Unschedulable(TestPod("pod-" + std::to_string(i), 200, 200))));
  }
  std::optional<Rig> rig;
  const double seconds = SecondsOf([&] {
    rig.emplace(flags, clock, groups);
    rig->world().UpsertPods(objects);
    rig->Pass();
  });
  CHECK(*groups.TargetSize("ng1") == expected_nodes);
  return seconds;
}
// Forty pods of one percent on each node: sixty percent of the nodes can go, and are tainted.
inline double RunOnceScaleDown(int nodes_count) {
  const auto flags = UpstreamFlags(
      {"--scale-down-unneeded-time=0s", "--max-scale-down-parallelism=2000",
       "--max-drain-parallelism=2000", "--scale-down-delay-after-add=0s",
       "--scale-down-non-empty-candidates-count=2000", "--scale-down-simulation-timeout=60s"});
  FakeClock clock;
  BenchGroups groups;
  groups.Add({.id = "ng1", .min_size = 0, .max_size = 10'000},
             Shared(TestNode("n-template", 10'000, 10'000, clock.Now())));
  std::vector<cluster::NodePtr> nodes;
  for (int i = 0; i < nodes_count; ++i) {
    nodes.push_back(Shared(TestNode("ng1-node-" + std::to_string(i), 10'000, 10'000, clock.Now())));
    groups.AddInstance(0, nodes.back()->metadata.name);
  }
  std::vector<cluster::PodPtr> pods;
  for (int i = 0; i < nodes_count * 40; ++i) {
    model::Pod pod = TestPod("pod-" + std::to_string(i), 100, 100);
    pod.spec.node_name = nodes[static_cast<size_t>(i % nodes_count)]->metadata.name;
    pod.metadata.annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "true";
    pods.push_back(Shared(std::move(pod)));
  }
  std::optional<Rig> rig;
  const double seconds = SecondsOf([&] {
    rig.emplace(flags, clock, groups);
    for (const cluster::NodePtr& node : nodes) rig->world().UpsertNode(node);
    rig->world().UpsertPods(pods);
    rig->Pass();
  });
  CHECK(rig->writer.tainted == static_cast<size_t>(nodes_count) * 6 / 10);
  return seconds;
}
// 50,000 small pods and 1,000 larger ones: exactly 2,595 nodes.
inline double Estimate51000() {
  constexpr int64_t kMi = int64_t{1} << 20;
  const auto zoned = [](model::Node node, const char* zone) {
    node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
    node.metadata.labels["topology.kubernetes.io/zone"] = zone;
    return node;
  };
  FakeClock clock;
  cluster::Snapshot snapshot;
  std::vector<pack::PodKind> kinds(2);
  const auto add = [&](pack::PodKind& kind, int64_t cpu, int64_t memory, int count) {
    model::Pod pod = TestPod("estimatee", cpu, memory);
    pod.metadata.namespace_ = "universe";
    pod.metadata.labels["app"] = "estimatee";
    const cluster::PodPtr object = Shared(std::move(pod));
    for (int i = 0; i < count; ++i) kind.push_back({object, snapshot.AddPod(*object)});
  };
  add(kinds[0], 50, 100, 50'000);
  add(kinds[1], 95, 190, 1'000);
  const model::Node old = zoned(TestNode("oldnode", 100, 100 * kMi, clock.Now(), 10), "jupiter");
  const pack::NodeTemplate node_template{
      zoned(TestNode("template", 1'000, 5'000 * kMi, clock.Now(), 100), "mars"), {}};
  pack::Estimate estimate;
  const double seconds = SecondsOf([&] {
    CHECK(snapshot.AddNode(old).ok());
    fit::Search search(snapshot, TheFilters());
    pack::Estimator estimator(search, clock);
    estimate = estimator.Run({&kinds[0], &kinds[1]}, node_template,
                             {.max_nodes = 3'000, .group_free = 3'000});
  });
  CHECK(estimate.nodes == 2'595 && estimate.pods.size() == 51'000);
  return seconds;
}
// Pending pods of which none fits; they are new to the snapshot, as they are to upstream's.
inline double FilterOutSchedulable(int nodes, int scheduled, int pending) {
  FakeClock clock;
  cluster::World world;
  for (int i = 0; i < nodes; ++i) {
    world.UpsertNode(Shared(TestNode("n-" + std::to_string(i), 2'000, 200'000, clock.Now())));
  }
  for (int i = 0; i < scheduled; ++i) {
    model::Pod pod = TestPod("s-" + std::to_string(i), 1'000, 200'000);
    pod.spec.node_name = "n-" + std::to_string(i % nodes);
    world.UpsertPod(Shared(std::move(pod)));
  }
  std::vector<cluster::PodPtr> objects;
  for (int i = 0; i < pending; ++i) {
    objects.push_back(Shared(TestPod("p-" + std::to_string(i), 1'000, 2'000'000)));
  }
  cluster::Snapshot& snapshot = world.snapshot();
  const auto fork = snapshot.Fork();
  size_t placed = 0;
  const double seconds = SecondsOf([&] {
    std::vector<fit::PendingPod> pods;
    for (const cluster::PodPtr& pod : objects) pods.push_back({pod, snapshot.AddPod(*pod)});
    fit::Search search(snapshot, TheFilters());
    fit::Placer placer(search);
    for (const uint8_t p : placer.Place(pods, {}).placed) placed += p;
  });
  CHECK(placed == 0);
  return seconds;
}
// A cluster as it is found on any day: nodes of 16 cores in four groups, pods of ReplicaSets in
// forty sizes. `busy_percent` is how full the nodes are; every hundredth is nearly empty.
class Everyday {
 public:
  Everyday(int nodes, int pods_per_node, int busy_percent, std::vector<std::string> flags)
      : rig_(std::move(flags), clock_, groups_) {
    for (int g = 0; g < kGroups; ++g) {
      groups_.Add({.id = "group-" + std::to_string(g), .min_size = 0, .max_size = 100'000},
                  ANode("template-" + std::to_string(g), g));
    }
    for (int i = 0; i < kControllers; ++i) {
      model::ReplicaSet set;
      set.metadata.name = "rs-" + std::to_string(i);
      set.metadata.namespace_ = "apps";
      set.metadata.uid = set.metadata.name;
      set.spec.replicas = 100;
      rig_.world().Upsert(std::make_shared<const model::ReplicaSet>(std::move(set)));
    }
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "node-" + std::to_string(i);
      rig_.world().UpsertNode(ANode(name, i % kGroups));
      groups_.AddInstance(static_cast<size_t>(i % kGroups), name);
      const int percent = i % 100 == 99 ? 10 : busy_percent;
      for (int j = 0; j < pods_per_node; ++j) {
        // Sizes around the mean, the same sum on every node.
        const int64_t mean = 160 * percent / pods_per_node;
        const int64_t off = (j % 2 == 0 ? 1 : -1) * ((i + j / 2) % 20) * mean / 40;
        rig_.world().UpsertPod(APod(static_cast<int>(pods_.size()), name, mean + off));
      }
    }
  }

  // A few pods report their state again, a few nodes send a heartbeat: everyday noise.
  void ChangeALittle(int round) {
    clock_.Advance(std::chrono::seconds(10));
    for (int i = 0; i < 50; ++i) {
      const size_t k =
          (static_cast<size_t>(round) * 7919 + static_cast<size_t>(i) * 104729) % pods_.size();
      model::Pod pod = *pods_[k];
      pod.metadata.annotations["seen"] = std::to_string(round);
      rig_.world().UpsertPod(pods_[k] = Shared(std::move(pod)));
    }
    for (int i = 0; i < 10; ++i) {
      const std::string name =
          "node-" +
          std::to_string((round * 13 + i * 401) % static_cast<int>(rig_.world().node_count()));
      model::Node node = *rig_.world().FindNode(name);
      node.metadata.annotations["seen"] = std::to_string(round);
      rig_.world().UpsertNode(Shared(std::move(node)));
    }
  }

  Rig& rig() { return rig_; }
  void Later(Duration d) { clock_.Advance(d); }

 private:
  static constexpr int kGroups = 4;
  static constexpr int kControllers = 400;

  cluster::NodePtr ANode(const std::string& name, int group) {
    model::Node node = TestNode(name, 16'000, int64_t{64} << 30, clock_.Now(), 110);
    node.metadata.labels["kubernetes.io/hostname"] = name;
    node.metadata.labels["topology.kubernetes.io/zone"] = "zone-" + std::to_string(group % 3);
    node.metadata.labels["node.kubernetes.io/instance-type"] = "m16";
    node.metadata.labels["pool"] = "group-" + std::to_string(group);
    return Shared(std::move(node));
  }
  cluster::PodPtr APod(int number, const std::string& node, int64_t cpu_millis) {
    model::Pod pod = TestPod("pod-" + std::to_string(number), cpu_millis, cpu_millis << 20);
    pod.metadata.namespace_ = "apps";
    const std::string owner = "rs-" + std::to_string(number % kControllers);
    pod.metadata.labels["app"] = owner;
    pod.metadata.owner_references = {{.api_version = "apps/v1",
                                      .kind = "ReplicaSet",
                                      .name = owner,
                                      .uid = owner,
                                      .controller = true}};
    pod.spec.node_name = node;
    pod.status.phase = "Running";
    pods_.push_back(Shared(std::move(pod)));
    return pods_.back();
  }

  FakeClock clock_;
  BenchGroups groups_;
  Rig rig_;
  std::vector<cluster::PodPtr> pods_;
};

}  // namespace coppice::bench
