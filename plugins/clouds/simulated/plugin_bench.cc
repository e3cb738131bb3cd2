// An increase by 1,000 on the simulated cloud without latency: all that the provider and its cloud
// do besides waiting. Bar: 50 ms.

#include <benchmark/benchmark.h>

#include <cstdlib>

#include "base/pool.h"
#include "cloud/cloud_node_groups.h"
#include "plugins/clouds/simulated/verbs.h"

namespace coppice::clouds::simulated {
namespace {

void BM_IncreaseBy1000(benchmark::State& state) {
  SystemClock clock;
  SeededRng rng(1);
  const Log log = Log::Null();
  Metrics metrics;
  cloud::CloudNodeGroupsOptions options{.cluster = "c"};
  options.audit = [](const cloud::AuditEntry&) {};
  for (auto _ : state) {
    state.PauseTiming();
    SimulatedCloud simulated(DefaultOptions(), clock, 1, metrics);
    {
      Pool pool(10, 10'000);
      const auto groups = cloud::CloudNodeGroups::Create(
          {simulated, pool, clock, rng, log, metrics}, options,
          {{.name = "g", .max_size = 1'000, .flavor = "small-2-4", .zone = "north1"}});
      if (!groups.ok() || !(*groups)->Refresh(Deadline::Never()).ok()) std::abort();
      state.ResumeTiming();
      if (!(*groups)->Increase("g", 1'000, Deadline::Never()).ok()) std::abort();
      state.PauseTiming();
    }
    state.ResumeTiming();
  }
}
BENCHMARK(BM_IncreaseBy1000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace coppice::clouds::simulated
