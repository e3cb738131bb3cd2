// What a snapshot of one's own costs, in time and memory: a World that follows another.
//
// 5,000 nodes with 150,000 pods and 50,000 with 500,000; pods of 30 to a controller, half of them
// with a label of their own, as StatefulSets and Jobs make them. `MB` is what the process has more
// while one exists: the objects are shared.

#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "cluster/world.h"

namespace coppice::cluster {
namespace {

constexpr int kPodsOfAController = 30;

PodPtr APod(int number, int nodes, const char* phase) {
  const std::string owner = "rs-" + std::to_string(number / kPodsOfAController);
  auto pod = std::make_shared<model::Pod>();
  pod->metadata.namespace_ = "apps-" + std::to_string(number % 50);
  pod->metadata.name = owner + "-" + std::to_string(number % kPodsOfAController);
  pod->metadata.uid = pod->metadata.name;
  pod->metadata.labels["app"] = owner;
  if (number % 2 == 0) pod->metadata.labels["pod-index"] = std::to_string(number);
  pod->metadata.owner_references = {{.api_version = "apps/v1",
                                     .kind = "ReplicaSet",
                                     .name = owner,
                                     .uid = owner,
                                     .controller = true}};
  pod->spec.node_name = "n" + std::to_string(number % nodes);
  pod->spec.containers.push_back({.name = "c"});
  pod->spec.containers.front().resources.requests["cpu"] =
      model::Quantity::FromMillis(100 + number / kPodsOfAController % 200);
  pod->status.phase = phase;
  return pod;
}

void Fill(World& world, int nodes, int pods) {
  for (int i = 0; i < nodes; ++i) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = "n" + std::to_string(i);
    node->metadata.labels["kubernetes.io/hostname"] = node->metadata.name;
    node->metadata.labels["topology.kubernetes.io/zone"] = "z" + std::to_string(i % 3);
    node->status.allocatable["cpu"] = model::Quantity::FromUnits(64);
    node->status.allocatable["pods"] = model::Quantity::FromUnits(110);
    world.UpsertNode(std::move(node));
  }
  std::vector<PodPtr> list;
  list.reserve(static_cast<size_t>(pods));
  for (int i = 0; i < pods; ++i) list.push_back(APod(i, nodes, "Running"));
  world.UpsertPods(list);
}

double ResidentMb() {
  malloc_trim(0);  // what was given back does not count
  long pages = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

// One cluster at a time: the large one is a gigabyte.
World& TheCluster(const benchmark::State& state) {
  static std::unique_ptr<World> world;
  static int64_t nodes = 0;
  if (nodes != state.range(0)) {
    world = nullptr;
    world = std::make_unique<World>();
    nodes = state.range(0);
    Fill(*world, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  }
  return *world;
}

void BM_Follow(benchmark::State& state) {
  World& leader = TheCluster(state);
  const double before = ResidentMb();
  double with = 0;
  for (auto _ : state) {
    auto replica = std::make_unique<World>();
    replica->Follow(leader);
    state.PauseTiming();
    with = ResidentMb();
    replica = nullptr;
    state.ResumeTiming();
  }
  state.counters["MB"] = with - before;
}

// Updates of pods all over the cluster, as a watch brings them; with so many Worlds that follow.
void Change(benchmark::State& state, int replicas) {
  World& leader = TheCluster(state);
  std::vector<std::unique_ptr<World>> followers;
  for (int i = 0; i < replicas; ++i) {
    followers.push_back(std::make_unique<World>());
    followers.back()->Follow(leader);
  }
  const int nodes = static_cast<int>(state.range(0));
  constexpr int kChanges = 4096;
  std::vector<PodPtr> news;
  for (const char* phase : {"Pending", "Running"}) {  // and back
    for (int i = 0; i < kChanges; ++i) {
      const int number = static_cast<int>(int64_t{i} * 7919 % state.range(1));
      news.push_back(APod(number, nodes, phase));
    }
  }
  size_t next = 0;
  for (auto _ : state) {
    leader.UpsertPod(news[next]);
    next = (next + 1) % news.size();
  }
}
void BM_Change_Alone(benchmark::State& state) { Change(state, 0); }
void BM_Change_WithAReplica(benchmark::State& state) { Change(state, 1); }
void BM_Change_WithTwoReplicas(benchmark::State& state) { Change(state, 2); }

void Sizes(benchmark::internal::Benchmark* bench, int64_t nodes, int64_t pods) {
  bench->ArgNames({"nodes", "pods"})->Args({nodes, pods});
}

// Registered by cluster, so that each is built once.
const bool kRegistered = [] {
  for (const auto& [nodes, pods] :
       std::vector<std::pair<int64_t, int64_t>>{{5'000, 150'000}, {50'000, 500'000}}) {
    Sizes(benchmark::RegisterBenchmark("Follow", BM_Follow)->Unit(benchmark::kMillisecond), nodes,
          pods);
    Sizes(benchmark::RegisterBenchmark("Change alone", BM_Change_Alone), nodes, pods);
    Sizes(benchmark::RegisterBenchmark("Change, one follows", BM_Change_WithAReplica), nodes, pods);
    Sizes(benchmark::RegisterBenchmark("Change, two follow", BM_Change_WithTwoReplicas), nodes,
          pods);
  }
  return true;
}();

}  // namespace
}  // namespace coppice::cluster
