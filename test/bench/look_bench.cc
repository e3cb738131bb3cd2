// What being watched and being asked cost the decision thread, which does nothing else meanwhile.
//
// BM_Look, BM_LookWithoutPrices: a look at the cluster (web/seen.h), four times a second while
// somebody watches.
// BM_TakeMoment: what a what-if takes hold of (whatif/live.h), once per question.
// BM_RecordQuiet: a look of the recorder (rehearse/recorder.h) at a cluster where a hundred pods have
// changed, every five seconds.
// BM_RecordStart: its looks until the first file has everything, all together, and how many there were.

#include <benchmark/benchmark.h>

#include <chrono>
#include <optional>

#include "rehearse/recorder.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"
#include "web/seen.h"
#include "whatif/live.h"

namespace coppice {
namespace {

constexpr int kGroups = 20;
constexpr int kWaiting = 1'000;

std::shared_ptr<const model::Node> NodeOf(int i) {
  model::Node node;
  node.metadata.name = "node-" + std::to_string(i);
  node.metadata.uid = node.metadata.name;
  node.spec.provider_id = "sim://" + node.metadata.name;
  node.metadata.labels["node.kubernetes.io/instance-type"] = "medium-" + std::to_string(i % 7);
  node.metadata.labels["topology.kubernetes.io/zone"] = "z";
  for (auto* list : {&node.status.allocatable, &node.status.capacity}) {
    (*list)["cpu"] = model::Quantity::FromUnits(16);
    (*list)["memory"] = model::Quantity::FromUnits(int64_t{64} << 30);
    (*list)["pods"] = model::Quantity::FromUnits(110);
  }
  node.status.conditions = {{.type = "Ready", .status = "True"}};
  return std::make_shared<const model::Node>(std::move(node));
}

std::shared_ptr<const model::Pod> PodOf(int i, const std::string& node) {
  model::Pod pod;
  pod.metadata.namespace_ = "load";
  pod.metadata.name = "pod-" + std::to_string(i);
  pod.metadata.uid = pod.metadata.name;
  pod.metadata.owner_references = {{.kind = "ReplicaSet",
                                    .name = "app-" + std::to_string(i / 30),
                                    .uid = "o",
                                    .controller = true}};
  pod.spec.node_name = node;
  pod.status.phase = node.empty() ? "Pending" : "Running";
  model::Container container;
  container.resources.requests["cpu"] = model::Quantity::FromMillis(400);
  container.resources.requests["memory"] = model::Quantity::FromUnits(int64_t{1} << 30);
  pod.spec.containers.push_back(std::move(container));
  return std::make_shared<const model::Pod>(std::move(pod));
}

struct Scene {
  Scene(int nodes, int pods, double price = 0.4) {
    std::vector<std::shared_ptr<const model::Node>> made;
    for (int i = 0; i < nodes; ++i) made.push_back(NodeOf(i));
    for (int g = 0; g < kGroups; ++g) {
      whatif::DumpGroups::Group group{.name = "group-" + std::to_string(g), .max = nodes};
      group.node_template = made.front();
      group.price_per_hour = price;
      for (int i = g; i < nodes; i += kGroups) group.machines.push_back(made[i]->spec.provider_id);
      group.target = static_cast<int>(group.machines.size());
      groups.Add(std::move(group));
    }
    for (const auto& node : made) world.UpsertNode(node);
    std::vector<std::shared_ptr<const model::Pod>> all;
    for (int i = 0; i < pods; ++i) all.push_back(PodOf(i, made[i % nodes]->metadata.name));
    for (int i = 0; i < kWaiting; ++i) all.push_back(PodOf(pods + i, ""));
    world.UpsertPods(all);
  }
  cluster::World world;
  whatif::DumpGroups groups;
  TimePoint now{std::chrono::hours(500'000)};
};

void Look(benchmark::State& state, double price) {
  Scene scene(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), price);
  web::Looker looker;
  for (auto _ : state) {
    scene.now += std::chrono::milliseconds(250);
    auto seen = looker.Look(scene.world, &scene.groups, scene.now);
    benchmark::DoNotOptimize(seen);
    state.PauseTiming();  // it ends on the board's thread
    seen.reset();
    state.ResumeTiming();
  }
}
void BM_Look(benchmark::State& state) { Look(state, 0.4); }
BENCHMARK(BM_Look)
    ->ArgNames({"nodes", "pods"})
    ->Args({2'000, 20'000})
    ->Args({5'000, 150'000})
    ->Unit(benchmark::kMillisecond);

// A cloud that knows no prices: it is asked now and then whether it has some, and not at each look.
void BM_LookWithoutPrices(benchmark::State& state) { Look(state, 0); }
BENCHMARK(BM_LookWithoutPrices)
    ->ArgNames({"nodes", "pods"})
    ->Args({5'000, 150'000})
    ->Unit(benchmark::kMillisecond);

void BM_TakeMoment(benchmark::State& state) {
  Scene scene(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  for (auto _ : state) {
    std::optional<whatif::LiveMoment> moment =
        whatif::TakeMoment(scene.world, &scene.groups, scene.now, {});
    benchmark::DoNotOptimize(moment);
    state.PauseTiming();
    moment.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(BM_TakeMoment)
    ->ArgNames({"nodes", "pods"})
    ->Args({2'000, 20'000})
    ->Args({5'000, 150'000})
    ->Unit(benchmark::kMillisecond);

// To a disk that takes everything at once, on workers that never run: what is measured is the look.
struct NoWorkers final : Workers {
  Status Submit(std::function<void()>) override { return Status::Ok(); }
};

struct Recording {
  explicit Recording(const cluster::World& world)
      : recorder(
            MUST(rehearse::LogWriter::Open(
                {.directory = dir.At("log"), .max_waiting_bytes = size_t{8} << 30}, workers, log)),
            world) {}
  const test::TempDirectory dir;
  NoWorkers workers;
  const Log log = Log::Null();
  rehearse::Recorder recorder;
};

int UntilWhole(Recording& recording, Scene& scene) {
  int looks = 0;
  do {
    scene.now += std::chrono::milliseconds(200);
    recording.recorder.Look(&scene.groups, scene.now);
    ++looks;
  } while (!recording.recorder.whole());
  return looks;
}

void BM_RecordStart(benchmark::State& state) {
  Scene scene(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  int looks = 0;
  for (auto _ : state) {
    std::optional<Recording> recording(std::in_place, scene.world);
    looks = UntilWhole(*recording, scene);
    state.PauseTiming();
    recording.reset();
    state.ResumeTiming();
  }
  state.counters["looks"] = looks;
}
BENCHMARK(BM_RecordStart)
    ->ArgNames({"nodes", "pods"})
    ->Args({5'000, 150'000})
    ->Unit(benchmark::kMillisecond);

void BM_RecordQuiet(benchmark::State& state) {
  Scene scene(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  Recording recording(scene.world);
  UntilWhole(recording, scene);
  int changed = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 100; ++i, ++changed) {
      const int pod = changed % static_cast<int>(state.range(1));
      scene.world.UpsertPod(PodOf(pod, "node-" + std::to_string(pod % state.range(0))));
    }
    scene.now += std::chrono::seconds(5);
    state.ResumeTiming();
    recording.recorder.Look(&scene.groups, scene.now);
  }
}
BENCHMARK(BM_RecordQuiet)
    ->ArgNames({"nodes", "pods"})
    ->Args({5'000, 150'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice
