// What reading a list of servers costs: it happens at every Refresh, ten seconds apart. A server is
// about 1.2 KB of JSON here; 15,000 of them are the largest cluster that we promise to carry.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

#include "plugins/clouds/cloudscale/messages.h"

namespace coppice::clouds::cloudscale {
namespace {

std::string List(int64_t servers) {
  std::string json = "[";
  for (int64_t i = 0; i < servers; ++i) {
    char uuid[37];
    std::snprintf(uuid, sizeof uuid, "%08x-fcd2-482f-bdb6-24461b2d47b1", static_cast<unsigned>(i));
    if (i > 0) json += ',';
    json +=
        std::string(R"({"href":"https://api.cloudscale.ch/v1/servers/)") + uuid + R"(","uuid":")" +
        uuid + R"(","name":"workers-)" + std::to_string(i) +
        R"(","status":"running","created_at":"2026-03-01T12:30:45.250000Z","zone":{"slug":"rma1"},)"
        R"("flavor":{"slug":"flex-8-2","name":"Flex-8-2","vcpu_count":2,"memory_gb":8},"image":{"slug":)"
        R"("debian-12","name":"Debian 12","operating_system":"Debian","default_username":"debian"},"volumes":[)"
        R"({"href":"","uuid":"11111111-1111-4111-8111-111111111111","name":"root","type":"ssd","size_gb":50}],)"
        R"("interfaces":[{"type":"private","network":{"href":"","name":"n","uuid":)"
        R"("11111111-1111-4111-8111-111111111111"},"addresses":[{"version":4,"address":"10.0.0.2",)"
        R"("prefix_length":24,"gateway":"10.0.0.1","reverse_ptr":"","subnet":{"href":"","cidr":"10.0.0.0/24",)"
        R"("uuid":"11111111-1111-4111-8111-111111111111"}}]}],"ssh_fingerprints":[],"ssh_host_keys":[],)"
        R"("anti_affinity_with":[],"server_groups":[],)"
        R"("tags":{"k8s-autoscaler-group":"workers","k8s-cluster":"prod"}})";
  }
  return json + "]";
}

void BM_ParseServers(benchmark::State& state) {
  const std::string json = List(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(ParseServers(json));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(json.size()));
}
BENCHMARK(BM_ParseServers)
    ->ArgName("servers")
    ->Arg(500)
    ->Arg(15'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace coppice::clouds::cloudscale
