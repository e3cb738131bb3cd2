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

// A cluster in which all is placed: 1,500 gangs of 100 run on 5,000 nodes. What a session costs when
// nothing has changed, and when some pods have (each is read anew, with its job and its node).
void BM_QuietSession(benchmark::State& state) {
  cluster::World world;
  const int64_t pods = state.range(0);
  const int64_t nodes = pods / 30;
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
  for (int64_t i = 0; i < pods; ++i) {
    const std::string gang = "gang-" + std::to_string(10'000 + i / 100);
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = gang + "-w-" + std::to_string(i % 100);
    pod->metadata.namespace_ = "bench";
    pod->metadata.uid = pod->metadata.name;
    pod->metadata.annotations["scheduling.k8s.io/group-name"] = gang;
    pod->metadata.annotations["volcano.sh/task-spec"] = "w";
    pod->spec.scheduler_name = "volcano";
    pod->spec.node_name = "node-" + std::to_string(100'000 + i % nodes);
    model::Container container{.name = "c", .image = "img"};
    container.resources.requests["cpu"] = Parsed("1");
    container.resources.requests["memory"] = Parsed("1Gi");
    pod->spec.containers.push_back(std::move(container));
    pod->status.phase = "Running";
    all.push_back(pod);
    if (i % 100 != 0) continue;
    auto group = std::make_shared<model::PodGroup>();
    group->metadata.name = gang;
    group->metadata.namespace_ = "bench";
    group->spec.min_member = 100;
    group->spec.queue = "default";
    group->status.phase = "Running";
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
  const batch::Conf conf = batch::ParseConf(kPeersConf).value();
  batch::Roster roster(world, {"volcano"});
  size_t next = 0;
  const auto session = [&] {
    for (int64_t i = 0; i < state.range(1); ++i) {
      const auto& pod = all[next++ * 37 % all.size()];
      world.UpsertPod(std::make_shared<const model::Pod>(*pod));
    }
    roster.Refresh(nullptr);
    batch::SessionInput input;
    for (const batch::NodeInfo* node : roster.nodes())
      input.nodes.push_back({.object = node->object, .index = node->snapshot_index});
    world.objects<model::Queue>().ForEach(
        [&](const auto& queue) { input.queues.push_back(*queue); });
    auto opened =
        batch::Session::Open(conf, {}, test::ThePlugins().batch, test::ThePlugins().filters,
                             world.snapshot(), std::move(input), roster);
    CHECK(opened.ok());
    (*opened)->Run();
    CHECK((*opened)->Close().binds.empty());
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

}  // namespace
}  // namespace coppice
