// What decoding a list costs, alone: 10,000 pods of the size that real ones have (protobuf 2.9 KB,
// JSON 5.3 KB), item by item into one reused Pod. Aims: 300,000 pods/s and 100,000 pods/s.
//
// The second pair makes a whole List value, which is what a small list or a single object costs per
// pod.

#include <benchmark/benchmark.h>

#include <string>

#include "base/check.h"
#include "test/support/pod_list_bytes.h"
#include "wire/wire.h"

namespace coppice::wire {
namespace {

constexpr int kPods = 10'000;
constexpr int kShapes = 50;

void Report(benchmark::State& state, size_t bytes) {
  state.SetItemsProcessed(state.iterations() * kPods);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
  state.counters["bytes_per_pod"] = static_cast<double>(bytes) / kPods;
}

void ForEach(benchmark::State& state, const std::string& bytes) {
  for (auto _ : state) {
    size_t names = 0;
    const auto list = ForEachItem<model::Pod>(bytes, [&names](model::Pod& pod) {
      names += pod.metadata.name.size() + pod.spec.unkept_hash % 2;
      return Status::Ok();
    });
    CHECK(list.ok());
    benchmark::DoNotOptimize(names);
  }
  Report(state, bytes.size());
}

void Whole(benchmark::State& state, const std::string& bytes) {
  for (auto _ : state) {
    const auto list = FromBytes<model::List<model::Pod>>(bytes);
    CHECK(list.ok());
    benchmark::DoNotOptimize(list->items.data());
  }
  Report(state, bytes.size());
}

void BM_EachOf10000PodsFromProtobuf(benchmark::State& state) {
  ForEach(state, test::PodListEnvelope(kPods, kShapes));
}
void BM_EachOf10000PodsFromJson(benchmark::State& state) {
  ForEach(state, test::PodListJson(kPods, kShapes));
}
void BM_ListOf10000PodsFromProtobuf(benchmark::State& state) {
  Whole(state, test::PodListEnvelope(kPods, kShapes));
}
void BM_ListOf10000PodsFromJson(benchmark::State& state) {
  Whole(state, test::PodListJson(kPods, kShapes));
}

BENCHMARK(BM_EachOf10000PodsFromProtobuf)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_EachOf10000PodsFromJson)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ListOf10000PodsFromProtobuf)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ListOf10000PodsFromJson)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice::wire
