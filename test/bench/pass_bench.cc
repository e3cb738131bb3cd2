// What a pass of the autoscaler costs, on the objects of upstream's own benchmarks and on clusters
// in their everyday state.
//
// The RunOnce cases are cold: from decoded objects through the world, every stage of the pass and
// the expander to the order that is placed, under --upstream-exact and on one thread. Upstream's
// BenchmarkRunOnceScaleUp and -ScaleDown, BenchmarkBinpackingEstimate and
// BenchmarkFilterOutSchedulable build the same; each case checks upstream's own condition at its
// end. Aims on two cores at 2.8 GHz: 100 ms, 100 ms, 5 ms, 20 ms; a quiet pass 10 ms, a scan 250
// ms.

#include <benchmark/benchmark.h>
#include <time.h>

#include "pack/estimator.h"
#include "pack/placer.h"
#include "test/bench/autoscale_rig.h"

namespace coppice::bench {
namespace {

// Processor time of this thread, which does all the work: on a busy machine the clock on the wall
// measures the others.
double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Runs `body` and hands its duration to the benchmark: what comes before and after is not timed.
template <class Body>
void Time(benchmark::State& state, Body body) {
  const double start = ThreadSeconds();
  body();
  state.SetIterationTime(ThreadSeconds() - start);
}

const std::vector<std::string> kUpstreamFlags = {"--upstream-exact",
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

std::vector<std::string> With(std::vector<std::string> flags,
                              std::initializer_list<const char*> more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

void RunOnceScaleUp(benchmark::State& state, int pods, int expected_nodes) {
  const auto flags = With(kUpstreamFlags, {"--max-nodes-per-scaleup=10000"});
  for (auto _ : state) {
    FakeClock clock;
    BenchGroups groups;
    groups.Add({.id = "ng1", .min_size = 0, .max_size = 10'000},
               Shared(TestNode("n-template", 10'000, 10'000, clock.Now())));
    std::vector<cluster::PodPtr> objects;
    for (int i = 0; i < pods; ++i) {
      objects.push_back(Shared(Unschedulable(TestPod("pod-" + std::to_string(i), 200, 200))));
    }
    std::optional<Rig> rig;
    Time(state, [&] {
      rig.emplace(flags, clock, groups);
      for (const cluster::PodPtr& pod : objects) rig->world().UpsertPod(pod);
      rig->Pass();
    });
    CHECK(*groups.TargetSize("ng1") == expected_nodes);
  }
}
void BM_RunOnceScaleUp_50000PodsWithoutController_1000Nodes(benchmark::State& state) {
  RunOnceScaleUp(state, 50'000, 1'000);
}
BENCHMARK(BM_RunOnceScaleUp_50000PodsWithoutController_1000Nodes)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BM_RunOnceScaleDown_2000Nodes_40PodsEach_1200Tainted(benchmark::State& state) {
  const auto flags =
      With(kUpstreamFlags,
           {"--scale-down-unneeded-time=0s", "--max-scale-down-parallelism=2000",
            "--max-drain-parallelism=2000", "--scale-down-delay-after-add=0s",
            "--scale-down-non-empty-candidates-count=2000", "--scale-down-simulation-timeout=60s"});
  constexpr int kNodes = 2'000;
  for (auto _ : state) {
    FakeClock clock;
    BenchGroups groups;
    groups.Add({.id = "ng1", .min_size = 0, .max_size = 10'000},
               Shared(TestNode("n-template", 10'000, 10'000, clock.Now())));
    std::vector<cluster::NodePtr> nodes;
    for (int i = 0; i < kNodes; ++i) {
      nodes.push_back(
          Shared(TestNode("ng1-node-" + std::to_string(i), 10'000, 10'000, clock.Now())));
      groups.AddInstance(0, nodes.back()->metadata.name);
    }
    std::vector<cluster::PodPtr> pods;
    for (int i = 0; i < kNodes * 40; ++i) {
      model::Pod pod = TestPod("pod-" + std::to_string(i), 100, 100);
      pod.spec.node_name = nodes[static_cast<size_t>(i % kNodes)]->metadata.name;
      pod.metadata.annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "true";
      pods.push_back(Shared(std::move(pod)));
    }
    std::optional<Rig> rig;
    Time(state, [&] {
      rig.emplace(flags, clock, groups);
      for (const cluster::NodePtr& node : nodes) rig->world().UpsertNode(node);
      for (const cluster::PodPtr& pod : pods) rig->world().UpsertPod(pod);
      rig->Pass();
    });
    CHECK(rig->writer.tainted == 1'200);
  }
}
BENCHMARK(BM_RunOnceScaleDown_2000Nodes_40PodsEach_1200Tainted)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BM_Estimate_51000Pods_2Kinds_2595Nodes(benchmark::State& state) {
  constexpr int64_t kMi = int64_t{1} << 20;
  const auto zoned = [](model::Node node, const char* zone) {
    node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
    node.metadata.labels["topology.kubernetes.io/zone"] = zone;
    return node;
  };
  FakeClock clock;
  for (auto _ : state) {
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
    Time(state, [&] {
      CHECK(snapshot.AddNode(old).ok());
      pack::Search search(snapshot, TheFilters());
      pack::Estimator estimator(search, clock);
      estimate = estimator.Run({&kinds[0], &kinds[1]}, node_template,
                               {.max_nodes = 3'000, .group_free = 3'000});
    });
    CHECK(estimate.nodes == 2'595 && estimate.pods.size() == 51'000);
  }
}
BENCHMARK(BM_Estimate_51000Pods_2Kinds_2595Nodes)->UseManualTime()->Unit(benchmark::kMillisecond);

void FilterOutSchedulable(benchmark::State& state, int nodes, int scheduled, int pending) {
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
  for (auto _ : state) {
    // Pending pods are new to the snapshot, as they are to upstream's.
    snapshot.OpenFork();
    size_t placed = 0;
    Time(state, [&] {
      std::vector<pack::PendingPod> pods;
      for (const cluster::PodPtr& pod : objects) pods.push_back({pod, snapshot.AddPod(*pod)});
      pack::Search search(snapshot, TheFilters());
      pack::Placer placer(search);
      for (const uint8_t p : placer.Place(pods, {}).placed) placed += p;
    });
    CHECK(placed == 0);
    snapshot.RevertFork();
  }
}
void BM_FilterOutSchedulable_1000Nodes_1000Pods_12000Pending(benchmark::State& state) {
  FilterOutSchedulable(state, 1'000, 1'000, 12'000);
}
void BM_FilterOutSchedulable_200Nodes_200Pods_60000Pending(benchmark::State& state) {
  FilterOutSchedulable(state, 200, 200, 60'000);
}
void BM_FilterOutSchedulable_100Nodes_3000Pods_1000Pending(benchmark::State& state) {
  FilterOutSchedulable(state, 100, 3'000, 1'000);
}
BENCHMARK(BM_FilterOutSchedulable_1000Nodes_1000Pods_12000Pending)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FilterOutSchedulable_200Nodes_200Pods_60000Pending)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FilterOutSchedulable_100Nodes_3000Pods_1000Pending)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

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
      rig_.world().replica_sets.Upsert(std::make_shared<const model::ReplicaSet>(std::move(set)));
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

void QuietPass(benchmark::State& state, int nodes, int pods_per_node) {
  Everyday cluster(nodes, pods_per_node, 80, {"--upstream-exact", "--max-nodes-total=100000"});
  cluster.Later(std::chrono::minutes(2));
  cluster.rig().Pass();
  int round = 0;
  for (auto _ : state) {
    cluster.ChangeALittle(++round);
    std::shared_ptr<const report::PassReport> report;
    Time(state, [&] { report = cluster.rig().Pass(); });
    CHECK(report->error.empty());
  }
}
void BM_QuietPass_5000Nodes_150000Pods(benchmark::State& state) { QuietPass(state, 5'000, 30); }
BENCHMARK(BM_QuietPass_5000Nodes_150000Pods)->UseManualTime()->Unit(benchmark::kMillisecond);

// How the cost of a pass grows with the cluster: cold, and when little has changed.
void BM_QuietPass_Growth_10PodsEach(benchmark::State& state) {
  QuietPass(state, static_cast<int>(state.range(0)), 10);
}
BENCHMARK(BM_QuietPass_Growth_10PodsEach)
    ->ArgName("nodes")
    ->Arg(500)
    ->Arg(5'000)
    ->Arg(50'000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BM_FirstPass_Growth_10PodsEach(benchmark::State& state) {
  for (auto _ : state) {
    Everyday cluster(static_cast<int>(state.range(0)), 10, 80,
                     {"--upstream-exact", "--max-nodes-total=100000"});
    cluster.Later(std::chrono::minutes(2));
    Time(state, [&] { cluster.rig().Pass(); });
  }
}
BENCHMARK(BM_FirstPass_Growth_10PodsEach)
    ->ArgName("nodes")
    ->Arg(500)
    ->Arg(5'000)
    ->Arg(50'000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Every node is a candidate and is simulated: about half can be emptied onto the others, for the
// rest the search has to find out that there is no room.
void BM_RemovalScan_5000Nodes_30PodsEach(benchmark::State& state) {
  size_t unneeded = 0;
  for (auto _ : state) {
    Everyday cluster(5'000, 30, 45, {"--max-nodes-total=100000"});
    cluster.Later(std::chrono::minutes(2));
    std::shared_ptr<const report::PassReport> report;
    Time(state, [&] { report = cluster.rig().Pass(); });
    unneeded = report->scale_down.unneeded.size();
    CHECK(unneeded > 2'000);
  }
  state.counters["unneeded"] = static_cast<double>(unneeded);
}
BENCHMARK(BM_RemovalScan_5000Nodes_30PodsEach)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice::bench
