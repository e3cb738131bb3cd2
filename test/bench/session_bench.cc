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

#include "base/check.h"
#include "batch/session.h"
#include "test/support/discovered_plugins.h"

namespace coppice {
namespace {

// What the peer's benchmark runs.
constexpr std::string_view kConf = R"(actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
)";

model::Quantity Parsed(const std::string& text) { return model::Quantity::Parse(text).value(); }

struct World {
  cluster::Facts facts;
  cluster::Snapshot snapshot{facts};
  batch::SessionInput input;
};

void AddNodes(World& world, int64_t nodes) {
  for (int64_t i = 0; i < nodes; ++i) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = "node-" + std::to_string(100'000 + i);
    node->metadata.labels["kubernetes.io/hostname"] = node->metadata.name;
    node->status.allocatable["cpu"] = Parsed("32");
    node->status.allocatable["memory"] = Parsed("256Gi");
    node->status.allocatable["pods"] = Parsed("110");
    node->status.capacity = node->status.allocatable;
    const auto index = world.snapshot.AddNode(*node).value();
    world.input.nodes.push_back({.object = std::move(node), .index = index});
  }
}

void AddGang(World& world, int64_t number, int64_t size) {
  model::PodGroup group;
  group.metadata.name = "gang-" + std::to_string(10'000 + number);
  group.metadata.namespace_ = "bench";
  group.metadata.creation_timestamp = model::Time{TimePoint(std::chrono::seconds(number))};
  group.spec.min_member = static_cast<int32_t>(size);
  group.spec.queue = "default";
  group.spec.min_resources["cpu"] = model::Quantity::FromUnits(size);
  group.spec.min_resources["memory"] = model::Quantity::FromUnits(size << 30);
  group.status.phase = "Pending";
  for (int64_t i = 0; i < size; ++i) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = group.metadata.name + "-w-" + std::to_string(i);
    pod->metadata.namespace_ = "bench";
    pod->metadata.uid = pod->metadata.name;
    pod->metadata.creation_timestamp = group.metadata.creation_timestamp;
    pod->metadata.annotations["scheduling.k8s.io/group-name"] = group.metadata.name;
    pod->metadata.annotations["volcano.sh/task-spec"] = "w";
    pod->spec.scheduler_name = "volcano";
    model::Container container{.name = "c", .image = "img"};
    container.resources.requests["cpu"] = Parsed("1");
    container.resources.requests["memory"] = Parsed("1Gi");
    pod->spec.containers.push_back(std::move(container));
    pod->status.phase = "Pending";
    const auto index =
        world.snapshot.AddPod(std::shared_ptr<const model::Pod>(pod), cluster::kNone);
    world.input.pods.push_back({.object = std::move(pod), .index = index});
  }
  world.input.groups.push_back(std::move(group));
}

void BM_Session(benchmark::State& state) {
  World world;
  AddNodes(world, state.range(0));
  for (int64_t i = 0; i < state.range(1); ++i) AddGang(world, i, state.range(2));
  for (const char* name : {"root", "default"}) {
    model::Queue queue;
    queue.metadata.name = name;
    queue.spec.weight = 1;
    queue.status.state = "Open";
    world.input.queues.push_back(std::move(queue));
  }
  const batch::Conf conf = batch::ParseConf(kConf).value();
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

}  // namespace
}  // namespace coppice
