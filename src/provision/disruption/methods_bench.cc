// What a round costs in which nothing can go: every candidate is judged. Nodes of 20 pods each are
// full, and of the cheapest type that holds them. Watch the time per node: it is to follow the pods
// that move, not the cluster.

#include <benchmark/benchmark.h>

#include "provision/disruption/disruption_scene.h"
#include "provision/disruption/methods.h"

namespace coppice::provision {
namespace {

void BM_NothingCanGo(benchmark::State& state) {
  const auto world = FullScene(state.range(0)).World();
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
  const auto scene = FullScene(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(scene.World());
}
BENCHMARK(BM_MakeWorld)->ArgName("nodes")->Arg(1'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice::provision
