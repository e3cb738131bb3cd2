// What a choice costs. With tens of thousands of pending pods every option holds most of them, so
// the time per pod counts: watch that it stays in the tens of nanoseconds.

#include <benchmark/benchmark.h>

#include "base/fake_clock.h"
#include "expand/expander.h"
#include "test/support/must.h"
#include "test/support/option_set.h"

namespace coppice {
namespace expanders::least_waste {
void Register(expand::ExpanderRegistry& registry);
}

namespace {

// `differ`: no two options help quite the same pods.
void BM_LeastWaste(benchmark::State& state, bool differ) {
  FakeClock clock;
  SeededRng rng(1);
  const Log log = Log::Null();
  Metrics metrics;
  expand::ExpanderRegistry registry("expander");
  expanders::least_waste::Register(registry);
  const auto expander = test::MustValue(registry.Make(
      "least-waste",
      expand::ExpanderContext{.clock = clock, .rng = rng, .log = log, .metrics = metrics}));
  const auto groups = state.range(0);
  const auto pods = state.range(1);
  std::deque<model::Pod> storage;
  for (int64_t i = 0; i < pods; ++i)
    storage.push_back(test::APodOf("p" + std::to_string(i), 100 + i % 7, 128 + i % 5));
  test::OptionSet set;
  for (int64_t g = 0; g < groups; ++g) {
    expand::Option& option = set.Add({.group = "g" + std::to_string(g), .nodes = 100, .pods = 0});
    for (const model::Pod& pod : storage) option.pods.push_back(&pod);
    if (differ) option.pods.erase(option.pods.begin(), option.pods.begin() + g);
  }
  const expand::Options options = set.options();
  for (auto _ : state) benchmark::DoNotOptimize(expander->Narrow(options, {}));
  state.SetItemsProcessed(state.iterations() * groups * pods);
}
BENCHMARK_CAPTURE(BM_LeastWaste, same_pods, false)
    ->ArgNames({"groups", "pods"})
    ->Args({10, 1'000})
    ->Args({10, 50'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_LeastWaste, other_pods, true)
    ->ArgNames({"groups", "pods"})
    ->Args({10, 1'000})
    ->Args({10, 50'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice
