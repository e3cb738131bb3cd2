// What a pass of the autoscaler costs, on the objects of upstream's own benchmarks and on clusters
// in their everyday state.
//
// The RunOnce cases are cold: from decoded objects through the world, every stage of the pass and
// the expander to the order that is placed, under --upstream-exact and on one thread. Upstream's
// BenchmarkRunOnceScaleUp and -ScaleDown, BenchmarkBinpackingEstimate and
// BenchmarkFilterOutSchedulable build the same; each case checks upstream's own condition at its
// end. Times are processor time. Aims on two cores at 2.8 GHz: 100 ms, 100 ms, 5 ms, 20 ms; a quiet
// pass 10 ms, a scan of all nodes 250 ms.

#include <benchmark/benchmark.h>

#include "test/bench/autoscale_cases.h"

namespace coppice::bench {
namespace {

void BM_RunOnceScaleUp_50000PodsWithoutController_1000Nodes(benchmark::State& state) {
  for (auto _ : state) state.SetIterationTime(RunOnceScaleUp(50'000, 1'000));
}
BENCHMARK(BM_RunOnceScaleUp_50000PodsWithoutController_1000Nodes)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BM_RunOnceScaleDown_2000Nodes_40PodsEach_1200Tainted(benchmark::State& state) {
  for (auto _ : state) state.SetIterationTime(RunOnceScaleDown(2'000));
}
BENCHMARK(BM_RunOnceScaleDown_2000Nodes_40PodsEach_1200Tainted)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BM_Estimate_51000Pods_2Kinds_2595Nodes(benchmark::State& state) {
  for (auto _ : state) state.SetIterationTime(Estimate51000());
}
BENCHMARK(BM_Estimate_51000Pods_2Kinds_2595Nodes)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_FilterOutSchedulable_1000Nodes_1000Pods_12000Pending(benchmark::State& state) {
  for (auto _ : state) state.SetIterationTime(FilterOutSchedulable(1'000, 1'000, 12'000));
}
void BM_FilterOutSchedulable_200Nodes_200Pods_60000Pending(benchmark::State& state) {
  for (auto _ : state) state.SetIterationTime(FilterOutSchedulable(200, 200, 60'000));
}
void BM_FilterOutSchedulable_100Nodes_3000Pods_1000Pending(benchmark::State& state) {
  for (auto _ : state) state.SetIterationTime(FilterOutSchedulable(100, 3'000, 1'000));
}
BENCHMARK(BM_FilterOutSchedulable_1000Nodes_1000Pods_12000Pending)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FilterOutSchedulable_200Nodes_200Pods_60000Pending)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_FilterOutSchedulable_100Nodes_3000Pods_1000Pending)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void QuietPass(benchmark::State& state, int nodes, int pods_per_node) {
  Everyday cluster(nodes, pods_per_node, 80, {"--upstream-exact", "--max-nodes-total=100000"});
  cluster.Later(std::chrono::minutes(2));
  cluster.rig().Pass();
  int round = 0;
  for (auto _ : state) {
    cluster.ChangeALittle(++round);
    std::shared_ptr<const report::PassReport> report;
    state.SetIterationTime(SecondsOf([&] { report = cluster.rig().Pass(); }));
    CHECK(report->error.empty());
  }
}
void BM_QuietPass_5000Nodes_150000Pods(benchmark::State& state) { QuietPass(state, 5'000, 30); }
BENCHMARK(BM_QuietPass_5000Nodes_150000Pods)->UseManualTime()->Unit(benchmark::kMillisecond);

// How the cost of a pass grows with the cluster: cold, and when little has changed.
void BM_QuietPass_Growth_10PodsEach(benchmark::State& state) {
  QuietPass(state, static_cast<int>(state.range(0)), 10);
}
BENCHMARK(BM_QuietPass_Growth_10PodsEach)
    ->ArgName("nodes")
    ->Arg(500)
    ->Arg(5'000)
    ->Arg(50'000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BM_FirstPass_Growth_10PodsEach(benchmark::State& state) {
  for (auto _ : state) {
    Everyday cluster(static_cast<int>(state.range(0)), 10, 80,
                     {"--upstream-exact", "--max-nodes-total=100000"});
    cluster.Later(std::chrono::minutes(2));
    state.SetIterationTime(SecondsOf([&] { cluster.rig().Pass(); }));
  }
}
BENCHMARK(BM_FirstPass_Growth_10PodsEach)
    ->ArgName("nodes")
    ->Arg(500)
    ->Arg(5'000)
    ->Arg(50'000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Every node is a candidate and is simulated: about half can be emptied onto the others, for the
// rest the search has to find out that there is no room.
void BM_RemovalScan_5000Nodes_30PodsEach(benchmark::State& state) {
  size_t unneeded = 0;
  for (auto _ : state) {
    Everyday cluster(5'000, 30, 45, {"--max-nodes-total=100000"});
    cluster.Later(std::chrono::minutes(2));
    std::shared_ptr<const report::PassReport> report;
    state.SetIterationTime(SecondsOf([&] { report = cluster.rig().Pass(); }));
    unneeded = report->scale_down.unneeded.size();
    CHECK(unneeded > 2'000);
  }
  state.counters["unneeded"] = static_cast<double>(unneeded);
}
BENCHMARK(BM_RemovalScan_5000Nodes_30PodsEach)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice::bench
