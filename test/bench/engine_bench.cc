// What node pools cost the thread that decides for all engines: 20 pods on each machine, nothing can
// go. Times are processor time of that thread, without what is done on workers ("worked"); "longest"
// is the longest piece in which nobody else had a turn.

#include <benchmark/benchmark.h>

#include "test/bench/pool_cases.h"

namespace coppice::bench {
namespace {

using std::chrono::seconds;

void Report(benchmark::State& state, const LoopWatch& watch, double& longest, double& worked) {
  state.SetIterationTime(watch.decided());
  longest = std::max(longest, watch.longest());
  worked = std::max(worked, watch.worked());
  state.counters["longest_ms"] = longest * 1e3;
  state.counters["worked_ms"] = worked * 1e3;
}

void Quiet(benchmark::State& state, bool after_the_round) {
  PoolsAtRest pools(static_cast<int>(state.range(0)));
  double longest = 0;
  double worked = 0;
  for (auto _ : state) {
    pools.PassAfter(seconds(11));  // with its round
    if (after_the_round) pools.PassAfter(seconds(1));
    Report(state, pools.watch, longest, worked);
  }
}

// No round is due.
void BM_QuietPoolPass(benchmark::State& state) { Quiet(state, true); }
BENCHMARK(BM_QuietPoolPass)
    ->ArgName("nodes")
    ->Arg(500)
    ->Arg(5'000)
    ->UseManualTime()
    ->Iterations(15)
    ->Unit(benchmark::kMillisecond);

// A pass, and the round of disruption that it begins.
void BM_QuietPoolRound(benchmark::State& state) { Quiet(state, false); }
BENCHMARK(BM_QuietPoolRound)
    ->ArgName("nodes")
    ->Arg(500)
    ->Arg(5'000)
    ->UseManualTime()
    ->Iterations(15)
    ->Unit(benchmark::kMillisecond);

// A pod comes that fits nowhere, and a machine is ordered for it.
void BM_PoolPassWithANewPod(benchmark::State& state) {
  PoolsAtRest pools(static_cast<int>(state.range(0)));
  double longest = 0;
  double worked = 0;
  int number = 0;
  for (auto _ : state) {
    pools.PassAfter(seconds(11));
    pools.rig.AddPod("new-" + std::to_string(number++), 7'500);
    pools.PassAfter(seconds(1));
    Report(state, pools.watch, longest, worked);
    if (pools.rig.last_report->provisioning->machines.size() != 1)
      state.SkipWithError("nothing was bought");
  }
}
BENCHMARK(BM_PoolPassWithANewPod)
    ->ArgName("nodes")
    ->Arg(500)
    ->Arg(5'000)
    ->UseManualTime()
    ->Iterations(15)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice::bench
