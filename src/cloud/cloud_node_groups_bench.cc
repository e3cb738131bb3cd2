// What a provider costs besides the cloud's own time. Refresh runs every ten seconds and has to
// stay far below the client's deadline with 15,000 machines (bar: 150 ms); an increase by 1,000 may
// not be slower than the cloud (bar: 50 ms without latency). GroupOf is asked once per node and
// loop.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>

#include "base/clock.h"
#include "base/pool.h"
#include "cloud/cloud_node_groups.h"

namespace coppice::cloud {
namespace {

// A cloud that has its answers ready, so that only our own time is measured.
class ReadyCloud final : public Cloud {
 public:
  ReadyCloud(int groups, int machines) {
    for (int i = 0; i < machines; ++i) {
      const std::string group = "group-" + std::to_string(i % groups);
      all_.push_back({.id = "ready://" + std::to_string(1'000'000 + i),
                      .name = group + "-" + std::to_string(i),
                      .flavor = "small",
                      .zone = "zone1",
                      .tags = {{kGroupTag, group}, {kClusterTag, "c"}},
                      .state = MachineState::kRunning});
    }
  }
  Result<std::vector<Machine>> List(const Tags&, Deadline) override { return all_; }
  Result<Machine> Create(const MachineSpec& spec, Deadline) override {
    return Machine{.id = "ready://" + spec.name, .name = spec.name, .tags = spec.tags};
  }
  Status Delete(const ProviderId&, Deadline) override { return Status::Ok(); }
  Result<std::vector<Flavor>> Flavors(Deadline) override {
    return std::vector<Flavor>{{.name = "small", .cpu_millis = 2'000, .memory_bytes = 4LL << 30}};
  }
  void Change(size_t i) {  // one machine's state differs from the list before
    MachineState& state = all_[i % all_.size()].state;
    state = state == MachineState::kRunning ? MachineState::kCreating : MachineState::kRunning;
  }

 private:
  std::vector<Machine> all_;
};

struct Setup {
  Setup(int group_count, int machines, int max_size) : cloud(group_count, machines) {
    std::vector<GroupConfig> configs;
    for (int i = 0; i < group_count; ++i) {
      configs.push_back({.name = "group-" + std::to_string(i),
                         .max_size = max_size,
                         .flavor = "small",
                         .zone = "zone1"});
    }
    CloudNodeGroupsOptions options{.cluster = "c"};
    options.audit = [](const AuditEntry&) {};
    auto made = CloudNodeGroups::Create({cloud, pool, clock, rng, log, metrics}, options, configs);
    if (!made.ok() || !(*made)->Refresh(Deadline::Never()).ok()) std::abort();
    groups = *std::move(made);
  }

  SystemClock clock;
  ReadyCloud cloud;
  SeededRng rng{1};
  Log log = Log::Null();
  Metrics metrics;
  Pool pool{10, 100'000};
  std::unique_ptr<CloudNodeGroups> groups;
};

void BM_Refresh(benchmark::State& state) {
  Setup setup(200, static_cast<int>(state.range(0)), 1'000);
  size_t i = 0;
  for (auto _ : state) {
    setup.cloud.Change(i++);
    benchmark::DoNotOptimize(setup.groups->Refresh(Deadline::Never()));
  }
}
BENCHMARK(BM_Refresh)->ArgName("machines")->Arg(500)->Arg(15'000)->Unit(benchmark::kMillisecond);

void BM_IncreaseBy1000(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    auto setup = std::make_unique<Setup>(200, static_cast<int>(state.range(0)), 20'000);
    state.ResumeTiming();
    if (!setup->groups->Increase("group-7", 1'000, Deadline::Never()).ok()) std::abort();
    state.PauseTiming();
    setup.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(BM_IncreaseBy1000)
    ->ArgName("machines")
    ->Arg(0)
    ->Arg(15'000)
    ->Unit(benchmark::kMillisecond);

void BM_GroupOf(benchmark::State& state) {
  static Setup setup(200, 15'000, 1'000);
  const NodeRef node{"ready://1007777", "node"};
  for (auto _ : state) benchmark::DoNotOptimize(setup.groups->GroupOf(node));
}
BENCHMARK(BM_GroupOf)->Threads(1)->Threads(2);

void BM_DeleteOneOfManyAfterAnother(benchmark::State& state) {
  Setup setup(200, 15'000, 1'000);
  int i = 0;
  for (auto _ : state) {
    if (i == 15'000) break;
    const std::string id = "ready://" + std::to_string(1'000'000 + i);
    if (!setup.groups->Delete("group-" + std::to_string(i % 200), {{id, "node"}}, Deadline::Never())
             .ok()) {
      std::abort();
    }
    ++i;
  }
}
BENCHMARK(BM_DeleteOneOfManyAfterAnother)->Iterations(2'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace coppice::cloud
