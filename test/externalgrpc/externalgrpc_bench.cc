// What the client costs a pass: Refresh of 200 groups with 15,000 machines from our own server over
// mutual TLS, and look-ups in what it brought. The server is a process of its own; both share the
// machine.

#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "cloud/cloud_node_groups.h"
#include "cloud/fake_cloud.h"
#include "test/externalgrpc/served.h"

namespace coppice {
namespace {

constexpr int kGroups = 200;
constexpr int kMachines = 15'000;

// Serves until it is killed; says its port first.
[[noreturn]] void Serve(const test::Credentials& credentials, int out) {
  SystemClock clock;
  const Log log = Log::Null();
  Metrics metrics;
  SeededRng rng(1);
  cloud::FakeCloud cloud(clock);
  std::vector<cloud::GroupConfig> configs;
  for (int i = 0; i < kGroups; ++i) {
    configs.push_back({.name = "group-" + std::to_string(i),
                       .max_size = 1'000,
                       .flavor = "small",
                       .volume_size_gb = 50});
  }
  for (int i = 0; i < kMachines; ++i) {
    const std::string group = "group-" + std::to_string(i % kGroups);
    const cloud::MachineSpec spec{
        .name = group + "-" + std::to_string(i),
        .flavor = "small",
        .tags = {{cloud::kGroupTag, group}, {cloud::kClusterTag, "bench"}}};
    (void)MUST(cloud.Create(spec, Deadline::Never()));
  }
  Pool cloud_workers(10, 100'000);
  const auto groups =
      MUST(cloud::CloudNodeGroups::Create({.cloud = cloud,
                                           .workers = cloud_workers,
                                           .clock = clock,
                                           .rng = rng,
                                           .log = log,
                                           .metrics = metrics},
                                          {.cluster = "bench"}, std::move(configs)));
  std::vector<grpc::Service> services;
  services.push_back(rpc::NodeGroupService(*groups));
  Pool workers(8, 1'000);
  const auto server = MUST(
      grpc::Server::Start({.listen = "127.0.0.1:0", .certificates = credentials.ServerStore(log)},
                          std::move(services), workers, clock, log));
  const std::string line = std::to_string(server->port()) + "\n";
  if (write(out, line.data(), line.size()) < 0) std::abort();
  for (;;) pause();
}

// The client of all benchmarks, refreshed.
struct World {
  SystemClock clock;
  const Log log = Log::Null();
  Metrics metrics;
  std::unique_ptr<cloud::NodeGroups> client;
  std::vector<std::string> ids;

  World(const test::Credentials& credentials, int port) {
    cloud::NodeGroupsRegistry registry("node group provider");
    node_groups::externalgrpc::Register(registry);
    client = MUST(registry.Make(
        "externalgrpc", cloud::NodeGroupsContext{.clock = clock,
                                                 .log = log,
                                                 .metrics = metrics,
                                                 .cloud_config = credentials.CloudConfig(
                                                     "127.0.0.1:" + std::to_string(port))}));
    const Status status = client->Refresh(Deadline::In(clock, std::chrono::seconds(60)));
    if (!status.ok()) std::abort();
    for (const auto& group : client->Groups()) {
      for (const auto& instance : MUST(client->Instances(group.id))) ids.push_back(instance.id);
    }
    if (ids.size() != kMachines) std::abort();
  }
};
World* world = nullptr;

void BM_Refresh200Groups15000Machines(benchmark::State& state) {
  for (auto _ : state) {
    const Status status =
        world->client->Refresh(Deadline::In(world->clock, std::chrono::seconds(60)));
    if (!status.ok()) state.SkipWithError(status.message().c_str());
  }
}
BENCHMARK(BM_Refresh200Groups15000Machines)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_GroupOf15000Nodes(benchmark::State& state) {
  std::vector<cloud::NodeRef> nodes;
  for (const std::string& id : world->ids) nodes.push_back({id, "node-of-" + id});
  for (auto _ : state) {
    for (const cloud::NodeRef& node : nodes) benchmark::DoNotOptimize(world->client->GroupOf(node));
  }
}
BENCHMARK(BM_GroupOf15000Nodes)->Unit(benchmark::kMillisecond);

void BM_OptionsAndTargetOf200Groups(benchmark::State& state) {
  const auto groups = world->client->Groups();
  for (auto _ : state) {
    for (const auto& group : groups) {
      benchmark::DoNotOptimize(world->client->Options(group.id, {}));
      benchmark::DoNotOptimize(world->client->TargetSize(group.id));
    }
  }
}
BENCHMARK(BM_OptionsAndTargetOf200Groups)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const coppice::test::Credentials credentials;
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t server = fork();
  if (server == 0) coppice::Serve(credentials, ends[1]);
  char text[16] = {};
  if (read(ends[0], text, sizeof text - 1) <= 0) return 1;
  {
    coppice::World world(credentials, std::atoi(text));
    coppice::world = &world;
    benchmark::RunSpecifiedBenchmarks();
  }
  kill(server, SIGKILL);
  waitpid(server, nullptr, 0);
  return 0;
}
