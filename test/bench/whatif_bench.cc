// What explanations cost a pass.
//
// BM_PassWithUnhelpedPods: a whole pass over kinds of pods that no group takes (too large, a taint,
// another zone). checks 0 is a pass without explanations, 200 is the default bound, -1 is all that
// `coppice simulate` asks for. The default must stay a small part of the pass, however many kinds
// there are.

#include <benchmark/benchmark.h>

#include "autoscale/assembly.h"
#include "base/fake_clock.h"
#include "sim/pending.h"
#include "test/support/discovered_plugins.h"
#include "whatif/whatif_cluster.h"

namespace coppice::whatif {
namespace {

model::Node TemplateNode(int group) {
  model::Node node;
  node.metadata.name = "template-" + std::to_string(group);
  node.metadata.labels["topology.kubernetes.io/zone"] =
      std::string(1, static_cast<char>('a' + group % 3));
  if (group % 4 == 0) node.spec.taints.push_back({"dedicated", "ml", "NoSchedule", {}});
  for (auto* list : {&node.status.allocatable, &node.status.capacity}) {
    (*list)["cpu"] = model::Quantity::FromUnits(4 + group % 5);
    (*list)["memory"] = model::Quantity::FromUnits(int64_t{16} << 30);
    (*list)["pods"] = model::Quantity::FromUnits(110);
  }
  node.status.conditions = {{.type = "Ready", .status = "True"}};
  return node;
}

model::Pod TooLarge(int kind, TimePoint now) {
  model::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = "pod-" + std::to_string(kind);
  pod.metadata.uid = pod.metadata.name;
  pod.metadata.creation_timestamp = model::Time{now - std::chrono::hours(1)};
  model::Container container;
  container.resources.requests["cpu"] = model::Quantity::FromMillis(9'000 + kind);
  container.resources.requests["memory"] = model::Quantity::FromUnits(int64_t{1} << 30);
  pod.spec.containers.push_back(std::move(container));
  if (kind % 2 == 0) pod.spec.node_selector["topology.kubernetes.io/zone"] = "d";
  return sim::AsRefused(std::move(pod), now);
}

void BM_PassWithUnhelpedPods(benchmark::State& state) {
  FakeClock clock;
  Executor executor(clock);
  InlineWorkers workers;
  SeededRng rng(1);
  Metrics metrics;
  const Log log = Log::Null();
  cluster::World world;
  DumpGroups groups;
  for (int i = 0; i < state.range(0); ++i) {
    DumpGroups::Group group{.name = "group-" + std::to_string(i), .max = 10};
    group.node_template = std::make_shared<const model::Node>(TemplateNode(i));
    groups.Add(std::move(group));
  }
  auto filters = fit::Chain::Create(test::ThePlugins().filters, {});
  WhatIfCluster cluster(world, groups, *filters, clock);
  ClusterObjects objects;
  for (int i = 0; i < state.range(1); ++i) {
    objects.pods.push_back(std::make_shared<const model::Pod>(TooLarge(i, clock.Now())));
  }
  cluster.Load(objects);
  autoscale::FlagValues flags;
  flags.options.explain_checks = static_cast<int>(state.range(2));
  auto assembly = autoscale::Assembly::Create({.flags = flags,
                                               .plugins = test::ThePlugins(),
                                               .world = world,
                                               .writer = cluster,
                                               .executor = executor,
                                               .workers = workers,
                                               .rng = rng,
                                               .log = log,
                                               .metrics = metrics,
                                               .groups = groups});
  for (auto _ : state) {
    clock.Advance(std::chrono::seconds(10));
    auto report = executor.BlockOn((*assembly)->engine().Pass(clock.Now()));
    benchmark::DoNotOptimize(report);
  }
}
BENCHMARK(BM_PassWithUnhelpedPods)
    ->ArgNames({"groups", "kinds", "checks"})
    ->Args({20, 1'000, 0})
    ->Args({20, 1'000, 200})
    ->Args({20, 1'000, -1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice::whatif
