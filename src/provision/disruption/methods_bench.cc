// What a round costs in which nothing can go: every candidate is judged. Nodes of 20 pods each are
// full, and of the cheapest type that holds them. Watch the time per node: it is to follow the pods
// that move, not the cluster.

#include <benchmark/benchmark.h>

#include "provision/disruption/disruption_scene.h"
#include "provision/disruption/methods.h"

namespace coppice::provision {
namespace {

constexpr int kPodsPerNode = 20;

DisruptionScene AFullCluster(int64_t nodes) {
  cloud::InstanceTypes types;
  for (int i = 0; i < 100; ++i) {
    types.push_back(
        cloud::FakeNodeClaims::AType("type-" + std::to_string(i), 4 + i, 0.1 + 0.1 * i));
  }
  DisruptionScene scene(std::move(types));
  scene.AddPool("default");
  for (int64_t n = 0; n < nodes; ++n) {
    const std::string name = "node-" + std::to_string(n);
    scene.AddMachine(name, "default", "type-0", model::kSpot);
    for (int p = 0; p < kPodsPerNode; ++p) {
      scene.AddPod("pod-" + std::to_string(n) + "-" + std::to_string(p), name, 190)
          .metadata.labels = {{"app", "app-" + std::to_string(n % 50)}};
    }
  }
  return scene;
}

void BM_NothingCanGo(benchmark::State& state) {
  const auto world = AFullCluster(state.range(0)).World();
  DisruptionOptions options;
  options.spot_to_spot = true;
  for (auto _ : state) {
    DisruptionRound round(world, options);
    size_t commands = 0;
    for (const Method method : AllMethods()) commands += round.Ask(method).commands.size();
    if (commands != 0) state.SkipWithError("something could go after all");
  }
}
BENCHMARK(BM_NothingCanGo)
    ->ArgName("nodes")
    ->Arg(100)
    ->Arg(1'000)
    ->Arg(5'000)
    ->Unit(benchmark::kMillisecond);

void BM_MakeWorld(benchmark::State& state) {
  const auto scene = AFullCluster(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(scene.World());
}
BENCHMARK(BM_MakeWorld)->ArgName("nodes")->Arg(1'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice::provision
