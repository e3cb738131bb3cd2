// What the rules cost when every node of a large cluster is a candidate: 5,000 nodes of 30 pods,
// once per pass.

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "drain/rules.h"

namespace coppice::drain {
namespace {

void BM_FindPodsToMove_30PodsPerNode(benchmark::State& state) {
  constexpr int kPods = 30;
  ListedControllers controllers;
  std::vector<std::shared_ptr<const model::PodDisruptionBudget>> pdbs;
  std::vector<model::Pod> pods(static_cast<size_t>(state.range(0)) * kPods);
  for (size_t i = 0; i < pods.size(); ++i) {
    const std::string app = "app-" + std::to_string(i % 200);
    pods[i].metadata = {
        .name = "pod-" + std::to_string(i),
        .namespace_ = "team-" + std::to_string(i % 20),
        .labels = {{"app", app}},
        .owner_references = {
            {.api_version = "apps/v1", .kind = "ReplicaSet", .name = app, .controller = true}}};
    if (i >= 200) continue;
    controllers.Add("ReplicaSet", {.name = app, .namespace_ = pods[i].metadata.namespace_}, 3);
    model::PodDisruptionBudget pdb;
    pdb.metadata = {.name = app, .namespace_ = pods[i].metadata.namespace_};
    pdb.spec.selector = model::LabelSelector{.match_labels = {{"app", app}}};
    pdb.status.disruptions_allowed = 1;
    pdbs.push_back(std::make_shared<const model::PodDisruptionBudget>(std::move(pdb)));
  }
  const auto budgets = PdbTracker::Create(pdbs);
  const Context context{.budgets = *budgets, .controllers = &controllers, .now = {}};
  const auto rules = DefaultRules({});
  std::vector<const model::Pod*> on_node(kPods);
  for (auto _ : state) {
    for (size_t first = 0; first < pods.size(); first += kPods) {
      for (size_t i = 0; i < kPods; ++i) on_node[i] = &pods[first + i];
      benchmark::DoNotOptimize(FindPodsToMove(rules, on_node, context));
    }
  }
}
BENCHMARK(BM_FindPodsToMove_30PodsPerNode)
    ->ArgName("nodes")
    ->Arg(500)
    ->Arg(5'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice::drain
