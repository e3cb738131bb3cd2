// What it costs to read a large cluster: 5,000 nodes and 50,000 pods of a real size over HTTP on
// loopback into the World. Watch cpu_ms (ours: both threads, the server's share taken off as it
// only writes ready bytes) and rss_mb, which is what the process has grown by.

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "kube/feed.h"
#include "net/http_server.h"
#include "test/support/must.h"
#include "test/support/pod_list_bytes.h"
#include "wire/wire.h"

namespace coppice::kube {
namespace {

constexpr int kPage = 1'000;

std::string NodeList(int nodes) {
  model::List<model::Node> list;
  list.metadata.resource_version = "5";
  for (int i = 0; i < nodes; ++i) {
    model::Node node;
    node.metadata.name = "node-" + std::to_string(i);
    node.metadata.resource_version = std::to_string(i + 1);
    node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
    node.spec.provider_id = "sim://" + node.metadata.name;
    node.status.conditions.push_back({.type = "Ready", .status = "True"});
    list.items.push_back(std::move(node));
  }
  return wire::ToEnvelope(list);
}

double RssMb() {
  std::ifstream statm("/proc/self/statm");
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double CpuMs() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

void BM_ListIntoWorld(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0));

  std::map<int, std::string> pages;
  const auto whole = test::MustValue(
      wire::FromEnvelope<model::List<model::Pod>>(test::PodListEnvelope(pods, 100)));
  for (int page = 0; page * kPage < pods; ++page) {
    model::List<model::Pod> part;
    part.metadata.resource_version = "5";
    if ((page + 1) * kPage < pods) part.metadata.continue_ = std::to_string(page + 1);
    for (int i = page * kPage; i < std::min(pods, (page + 1) * kPage); ++i) {
      part.items.push_back(whole.items[static_cast<size_t>(i)]);
      part.items.back().metadata.resource_version = "1";
    }
    pages[page] = wire::ToEnvelope(part);
  }
  const std::string nodes = NodeList(pods / 10);
  auto server = test::MustValue(net::HttpServer::Create({}, [&](const net::ServerRequest& request) {
    net::ServerResponse response;
    response.content_type = "application/vnd.kubernetes.protobuf";
    const bool watch = request.Query("watch") != nullptr;
    if (watch) {
      response.stream = [](std::shared_ptr<net::ServerStream>) {};
    } else if (request.path == "/api/v1/pods") {
      const std::string* from = request.Query("continue");
      response.body = pages[from == nullptr ? 0 : std::stoi(*from)];
    } else if (request.path == "/api/v1/nodes") {
      response.body = nodes;
    } else {
      response.status = 404;
    }
    return response;
  }));
  for (auto _ : state) {
    SystemClock clock;
    Executor executor(clock);
    InlineWorkers workers;
    SeededRng rng(1);
    const Log log = Log::Null();
    const auto transport = test::MustValue(net::MultiClient::Create({}));
    ConnectionConfig config;
    config.server = "http://127.0.0.1:" + std::to_string(server->port());
    Credentials credentials({.config = config, .executor = executor, .workers = workers});
    Client client({.server = config.server, .qps = 0}, *transport, credentials, executor, rng);
    cluster::World world;
    const double cpu = CpuMs();
    const double rss = RssMb();
    FeedOptions options;
    options.stream_first = false;
    ClusterFeed feed(options, world, client, log);
    feed.Start();
    const auto& reflectors = feed.reflectors();
    while (!(reflectors[0]->synced() && reflectors[1]->synced()))
      executor.RunFor(std::chrono::milliseconds(1));
    state.counters["cpu_ms"] = CpuMs() - cpu;
    state.counters["rss_mb"] = RssMb() - rss;
    state.counters["pods"] = static_cast<double>(world.pod_count());
  }
}
BENCHMARK(BM_ListIntoWorld)
    ->Arg(5'000)
    ->Arg(50'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace coppice::kube
