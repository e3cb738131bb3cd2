// What it costs to forget the dead: 5,000 nodes, 150,000 pods of 15,000 Jobs, and half as many that
// are gone, with an owner and labels per Job.

#include <benchmark/benchmark.h>

#include "cluster/world.h"

namespace coppice::cluster {
namespace {

constexpr int kNodes = 5'000;
constexpr int kPods = 150'000;
constexpr int kPodsOfAJob = 10;

PodPtr AJobsPod(int number) {
  const std::string job = "job-" + std::to_string(number / kPodsOfAJob);
  auto pod = std::make_shared<model::Pod>();
  pod->metadata.namespace_ = "batch";
  pod->metadata.name = job + "-" + std::to_string(number % kPodsOfAJob);
  pod->metadata.uid = pod->metadata.name;
  pod->metadata.labels["job-name"] = job;
  pod->metadata.labels["controller-uid"] = job;
  pod->metadata.owner_references = {
      {.api_version = "batch/v1", .kind = "Job", .name = job, .uid = job, .controller = true}};
  pod->spec.node_name = "n" + std::to_string(number % kNodes);
  pod->spec.containers.push_back({.name = "c"});
  pod->spec.containers.front().resources.requests["cpu"] =
      model::Quantity::FromMillis(100 + number % 300);
  return pod;
}

void Renumber(benchmark::State& state) {
  Snapshot snapshot;
  for (int i = 0; i < kNodes; ++i) {
    model::Node node;
    node.metadata.name = "n" + std::to_string(i);
    node.metadata.labels["generation"] = std::to_string(i % 100);
    snapshot.AddNode(node).value();
  }
  const auto add = [&](int number) {
    const PodPtr pod = AJobsPod(number);
    return snapshot.AddPod(pod, snapshot.FindNode(pod->spec.node_name));
  };
  for (int i = 0; i < kPods; ++i) add(i);
  int next = kPods;
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<PodIndex> dead;
    for (int i = 0; i < kPods / 2; ++i) dead.push_back(add(next++));
    for (const PodIndex pod : dead) snapshot.RemovePod(pod);
    state.ResumeTiming();
    snapshot.Renumber();
  }
  state.counters["label_sets"] = snapshot.interner().label_set_count();
}
BENCHMARK(Renumber)->Unit(benchmark::kMillisecond)->Iterations(10);

}  // namespace
}  // namespace coppice::cluster
