// From bytes into the model, and how large the model is.
//
// Aims: a list of 10,000 pods, interning included, 200,000 pods/s from protobuf and 50,000 from
// JSON; 100,000 nodes and 1,000,000 pods in 2 GiB.

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <fstream>
#include <string>

#include "base/check.h"
#include "cluster/snapshot.h"
#include "test/support/pod_list_bytes.h"
#include "wire/wire.h"

namespace coppice {
namespace {

using cluster::Snapshot;

constexpr int kPods = 10'000;
constexpr int kShapes = 50;

double ResidentMiB() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * 4096 / (1 << 20);
}

void IntoModel(benchmark::State& state, const std::string& bytes) {
  for (auto _ : state) {
    Snapshot s;
    const auto list = wire::ForEachItem<model::Pod>(bytes, [&s](model::Pod& pod) {
      s.AddPod(pod);
      return Status::Ok();
    });
    CHECK(list.ok() && s.pod_count() == kPods);
  }
  state.SetItemsProcessed(state.iterations() * kPods);
}

void BM_10000PodsFromProtobufIntoTheModel(benchmark::State& state) {
  IntoModel(state, test::PodListEnvelope(kPods, kShapes));
}
void BM_10000PodsFromJsonIntoTheModel(benchmark::State& state) {
  IntoModel(state, test::PodListJson(kPods, kShapes));
}
BENCHMARK(BM_10000PodsFromProtobufIntoTheModel)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_10000PodsFromJsonIntoTheModel)->Unit(benchmark::kMillisecond);

// Interning alone: the pods are decoded already.
void BM_Add10000PodsToTheModel(benchmark::State& state) {
  const auto list = wire::FromBytes<model::List<model::Pod>>(test::PodListEnvelope(kPods, kShapes));
  CHECK(list.ok());
  for (auto _ : state) {
    Snapshot s;
    for (const model::Pod& pod : list->items) s.AddPod(pod);
    benchmark::DoNotOptimize(s.pod_count());
  }
  state.SetItemsProcessed(state.iterations() * kPods);
}
BENCHMARK(BM_Add10000PodsToTheModel)->Unit(benchmark::kMillisecond);

// Real pods differ in name, uid, labels and node: so do these.
void BM_Build_100000Nodes_1000000Pods(benchmark::State& state) {
  const auto list = wire::FromBytes<model::List<model::Pod>>(test::PodListEnvelope(1000, 500));
  CHECK(list.ok());
  for (auto _ : state) {
    const double before = ResidentMiB();
    Snapshot s;
    model::Node node;
    node.status.allocatable["cpu"] = model::Quantity::FromUnits(16);
    node.status.allocatable["memory"] = model::Quantity::FromUnits(int64_t{64} << 30);
    node.status.allocatable["pods"] = model::Quantity::FromUnits(110);
    for (const char* key :
         {"kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/instance-type",
          "topology.kubernetes.io/region", "example.com/pool"}) {
      node.metadata.labels[key] = "some-value";
    }
    auto pods = list->items;
    for (int i = 0; i < 100'000; ++i) {
      node.metadata.name = "ip-10-0-" + std::to_string(i) + ".example.internal";
      node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
      node.metadata.labels["topology.kubernetes.io/zone"] = "zone-" + std::to_string(i % 3);
      const auto index = s.AddNode(node);
      CHECK(index.ok());
      for (int j = 0; j < 10; ++j) {
        model::Pod& pod = pods[static_cast<size_t>(i * 10 + j) % pods.size()];
        pod.metadata.name = "deployment-7d4b9c6f5d-" + std::to_string(i * 10 + j);
        pod.metadata.uid =
            "3f2504e0-4f89-11d3-9a0c-" + std::to_string(100'000'000'000 + i * 10 + j);
        s.AddPod(pod, *index);
      }
    }
    CHECK(s.pod_count() == 1'000'000);
    state.counters["model_MiB"] = ResidentMiB() - before;
    state.counters["spec_shapes"] = s.interner().spec_count();
    state.counters["label_sets"] = s.interner().label_set_count();
  }
}
BENCHMARK(BM_Build_100000Nodes_1000000Pods)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace coppice
