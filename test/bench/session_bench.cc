// What a session costs: gangs that wait, and nodes that are empty.
//
// Volcano v1.10 takes 56.4 s for the first line and 72.5 s for the second on two cores (its newest
// tree 34.1 s and 42.3 s), with its own sampling of nodes, 42 % and 10 % of them; here every node
// is looked at, by one thread. The aim is 250 times that, and 50,000 placements per second for the
// last.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "batch/session.h"
#include "cluster/world.h"
#include "model/batch.h"
#include "test/bench/session_cases.h"
#include "test/support/discovered_plugins.h"

namespace coppice {
namespace {

using bench::AddGang;
using bench::AddNodes;
using bench::AddQueues;
using bench::kPeersConf;
using bench::Parsed;

void BM_Session(benchmark::State& state) {
  bench::SessionCase world;
  AddNodes(world, state.range(0));
  for (int64_t i = 0; i < state.range(1); ++i) AddGang(world, i, state.range(2));
  AddQueues(world);
  const batch::Conf conf = batch::ParseConf(kPeersConf).value();
  size_t bound = 0;
  for (auto _ : state) {
    auto session = batch::Session::Open(conf, {}, test::ThePlugins().batch,
                                        test::ThePlugins().filters, world.snapshot, world.input);
    CHECK(session.ok());
    (*session)->Run();
    bound = (*session)->Close().binds.size();
  }
  CHECK(bound == static_cast<size_t>(state.range(1) * state.range(2)));
  state.counters["placements/s"] =
      benchmark::Counter(static_cast<double>(bound), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_Session)
    ->ArgNames({"nodes", "gangs", "pods"})
    ->Args({100, 10, 100})
    ->Args({1'000, 100, 100})
    ->Args({5'000, 200, 50})
    ->Args({10'000, 1'000, 100})
    ->Unit(benchmark::kMillisecond);

// Gangs of 100 on nodes of 32 cores; those before `running` run, in turns on all nodes.
std::vector<std::shared_ptr<const model::Pod>> FillWorld(cluster::World& world, int64_t nodes,
                                                         int64_t running, int64_t waiting) {
  for (int64_t i = 0; i < nodes; ++i) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = "node-" + std::to_string(100'000 + i);
    node->metadata.labels["kubernetes.io/hostname"] = node->metadata.name;
    node->status.allocatable["cpu"] = Parsed("32");
    node->status.allocatable["memory"] = Parsed("256Gi");
    node->status.allocatable["pods"] = Parsed("110");
    world.UpsertNode(std::move(node));
  }
  std::vector<std::shared_ptr<const model::Pod>> all;
  for (int64_t i = 0; i < running + waiting; ++i) {
    const bool runs = i < running;
    const std::string gang = "gang-" + std::to_string(10'000 + i / 100);
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = gang + "-w-" + std::to_string(i % 100);
    pod->metadata.namespace_ = "bench";
    pod->metadata.uid = pod->metadata.name;
    pod->metadata.annotations["scheduling.k8s.io/group-name"] = gang;
    pod->metadata.annotations["volcano.sh/task-spec"] = "w";
    pod->spec.scheduler_name = "volcano";
    if (runs) pod->spec.node_name = "node-" + std::to_string(100'000 + i % nodes);
    model::Container container{.name = "c", .image = "img"};
    container.resources.requests["cpu"] = Parsed("1");
    container.resources.requests["memory"] = Parsed("1Gi");
    pod->spec.containers.push_back(std::move(container));
    pod->status.phase = runs ? "Running" : "Pending";
    all.push_back(pod);
    if (i % 100 != 0) continue;
    auto group = std::make_shared<model::PodGroup>();
    group->metadata.name = gang;
    group->metadata.namespace_ = "bench";
    group->spec.min_member = 100;
    group->spec.queue = "default";
    group->status.phase = runs ? "Running" : "Inqueue";
    world.Upsert<model::PodGroup>(group);
  }
  world.UpsertPods(all);
  for (const char* name : {"root", "default"}) {
    auto queue = std::make_shared<model::Queue>();
    queue->metadata.name = name;
    queue->spec.weight = 1;
    queue->status.state = "Open";
    world.Upsert<model::Queue>(queue);
  }
  return all;
}

// As the engine runs one: what has changed is read anew, the rest is as the last one left it. How
// many pods were placed.
size_t RunSession(const batch::Conf& conf, cluster::World& world, batch::Roster& roster) {
  roster.Refresh(nullptr);
  batch::SessionInput input;
  for (const batch::NodeInfo* node : roster.nodes())
    input.nodes.push_back({.object = node->object, .index = node->snapshot_index});
  world.objects<model::Queue>().ForEach([&](const auto& queue) { input.queues.push_back(*queue); });
  auto opened = batch::Session::Open(conf, {}, test::ThePlugins().batch, test::ThePlugins().filters,
                                     world.snapshot(), std::move(input), roster);
  CHECK(opened.ok());
  (*opened)->Run();
  return (*opened)->Close().binds.size();
}

// A cluster in which all is placed: 1,500 gangs of 100 run on 5,000 nodes. What a session costs when
// nothing has changed, and when some pods have (each is read anew, with its job and its node).
void BM_QuietSession(benchmark::State& state) {
  cluster::World world;
  const int64_t pods = state.range(0);
  const auto all = FillWorld(world, pods / 30, pods, 0);
  const batch::Conf conf = batch::ParseConf(kPeersConf).value();
  batch::Roster roster(world, {"volcano"});
  size_t next = 0;
  const auto session = [&] {
    for (int64_t i = 0; i < state.range(1); ++i) {
      const auto& pod = all[next++ * 37 % all.size()];
      world.UpsertPod(std::make_shared<const model::Pod>(*pod));
    }
    CHECK(RunSession(conf, world, roster) == 0);
  };
  session();  // the first one reads everything
  for (auto _ : state) session();
}
BENCHMARK(BM_QuietSession)
    ->ArgNames({"running", "changed"})
    ->Args({15'000, 0})
    ->Args({150'000, 0})
    ->Args({150'000, 100})
    ->Unit(benchmark::kMillisecond);

// Ten gangs of 100 come into a cluster that is in use. What a session costs must follow them, not
// the nodes and the pods that are there already: watch the last line against the first.
void BM_BusySession(benchmark::State& state) {
  cluster::World world;
  constexpr size_t kWaiting = 1'000;
  (void)FillWorld(world, state.range(0), state.range(1), kWaiting);
  const batch::Conf conf = batch::ParseConf(kPeersConf).value();
  batch::Roster roster(world, {"volcano"});
  CHECK(RunSession(conf, world, roster) == kWaiting);
  for (auto _ : state) CHECK(RunSession(conf, world, roster) == kWaiting);
}
BENCHMARK(BM_BusySession)
    ->ArgNames({"nodes", "running"})
    ->Args({1'000, 0})
    ->Args({5'000, 0})
    ->Args({10'000, 0})
    ->Args({5'000, 50'000})
    ->Args({5'000, 150'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice
