// `coppice run` until the autoscaler itself is here: the provider on the simulated cloud, and an
// hour of scaling played against it. Everything is real but time and machines: the configuration is
// parsed, the server listens on a Unix socket, and each question goes over gRPC.

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>
#include <string>

#include "app/commands/commands.h"
#include "app/commands/demo_client.h"
#include "app/provider_config.h"
#include "autoscale/flags.h"
#include "base/fake_clock.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cloud/cloud_node_groups.h"
#include "grpc/interceptors.h"
#include "grpc/server.h"
#include "rpc/node_group_server.h"

namespace coppice::app {
namespace {

constexpr auto kHour = std::chrono::hours(1);
constexpr auto kLoop = std::chrono::seconds(10);
constexpr auto kTable = std::chrono::minutes(10);

// A calm group, one that meets a stock-out, and one that runs into the quota; now and then a boot
// fails or the answer to an order is lost.
constexpr char kConfig[] = R"(clusterTag: demo
cloud:
  kind: simulated
  bootTime: 45s
  latency: 120ms
  quota: 26
  faults: {{bootFailure: 0.03, lostAnswer: 0.03, deleteFailure: 0.02}}
  stockOuts:
    - {{flavor: compute-16-32, after: 14m, for: 7m}}
  seed: {}
nodeGroups:
  - {{name: web, minSize: 2, maxSize: 20, flavor: medium-4-16, zone: north1}}
  - {{name: batch, minSize: 0, maxSize: 8, flavor: compute-16-32, zone: north2}}
  - {{name: spiky, minSize: 0, maxSize: 15, flavor: small-2-4, zone: south1}}
)";

class Account {
 public:
  explicit Account(const Clock& clock) : clock_(clock), start_(clock.Now()) {}

  void Line(const std::string& who, const std::string& what) const {
    const auto t = (clock_.Now() - start_) / std::chrono::seconds(1);
    std::printf("%02lld:%02lld:%02lld  %-6s  %s\n", static_cast<long long>(t / 3600),
                static_cast<long long>(t / 60 % 60), static_cast<long long>(t % 60), who.c_str(),
                what.c_str());
  }

  void Audit(const cloud::AuditEntry& entry) const {
    const char* verb = entry.action == "increase" ? "ordered"
                       : entry.action == "delete" ? "deleted"
                                                  : "cancelled";
    std::string what =
        fmt::format("{} {} of {} for {}", verb, entry.done, entry.asked, entry.group);
    if (entry.pending > 0) what += fmt::format(", {} still under way", entry.pending);
    if (!entry.status.ok()) what += ": " + entry.status.message();
    Line("cloud", what);
  }

  void Table(const DemoClient& client) const {
    std::printf("\n          %-7s %5s %5s %7s %8s %9s %10s %9s\n", "group", "min", "max", "target",
                "running", "creating", "load CPUs", "cost");
    for (const auto& group : client.groups()) {
      std::printf("          %-7s %5d %5d %7d %8d %9d %10d %9.2f\n", group.id.c_str(), group.min,
                  group.max, group.target, group.running, group.creating, group.load_cpus,
                  group.cost);
    }
    std::printf("\n");
  }

 private:
  const Clock& clock_;
  const TimePoint start_;
};

// CPUs that the pods of a group ask for, at a time between 0 (start) and 1 (an hour later).
int LoadOf(const std::string& group, double t, double wobble) {
  if (group == "web")
    return static_cast<int>(
        std::lround(8 + 40 * std::pow(std::sin(std::numbers::pi * t), 2) + wobble));
  if (group == "batch") return t > 0.25 && t < 0.6 ? 70 : 0;
  return (t > 0.10 && t < 0.16) || (t > 0.45 && t < 0.55) ? 24 : 0;
}

Result<ProviderConfig> Configure(uint64_t seed, const std::string& listen) {
  yaml::Problems problems;
  auto config = TRY(ParseProviderConfig(
      fmt::format(kConfig, seed % 1'000'000'000), "the demo's configuration",
      [](const char*) -> const char* { return nullptr; },
      [](const std::string& path) -> Result<std::string> { return NotFound(path); }, problems));
  config.listen = listen;
  return config;
}

void Summary(const DemoClient& client, const Metrics& metrics, double wall_seconds) {
  const auto& totals = client.totals();
  double cost = 0;
  for (const auto& group : client.groups()) cost += group.cost;
  int calls = 0;
  for (const auto& [method, count] : totals.calls) calls += count;
  std::printf("Summary of the hour\n");
  std::printf("  machines    %d ordered, %d came up, %d failed, %d deleted, at most %d at a time\n",
              totals.ordered, totals.arrived, totals.failed, totals.deleted, totals.peak);
  std::printf("  cost        %.2f\n", cost);
  std::printf(
      "  calls       %d over gRPC, %.0f microseconds each; %d requests to grow were refused\n",
      calls, totals.wire_seconds / std::max(calls, 1) * 1e6, totals.refused);
  std::printf("  took        %.1f s of real time; /metrics would show %zu lines\n", wall_seconds,
              static_cast<size_t>(std::ranges::count(metrics.Render(), '\n')));
}

Status Play(const RunCommand& command, Plugins& plugins, const std::string& folder) {
  FakeClock clock;
  SeededRng rng(command.seed);
  Metrics metrics;
  const Log log = command.verbose ? Log::ToStderr(clock, LogLevel::kDebug) : Log::Null();
  const Account account(clock);

  const ProviderConfig config = TRY(Configure(command.seed, "unix:" + folder + "/provider.sock"));
  yaml::Problems problems;
  const auto cloud =
      TRY(plugins.clouds.Make(config.cloud_kind, cloud::CloudContext{.clock = clock,
                                                                     .rng = rng,
                                                                     .log = log,
                                                                     .metrics = metrics,
                                                                     .config = config.cloud,
                                                                     .problems = problems}));
  InlineWorkers cloud_workers;  // on a simulated clock nobody may wait for another thread
  const auto groups = TRY(cloud::CloudNodeGroups::Create(
      {.cloud = *cloud,
       .workers = cloud_workers,
       .clock = clock,
       .rng = rng,
       .log = log,
       .metrics = metrics},
      {.cluster = config.cluster_tag,
       .audit = [&account](const cloud::AuditEntry& entry) { account.Audit(entry); }},
      config.groups));
  std::vector<grpc::Service> services;
  services.push_back(grpc::Intercept(
      rpc::NodeGroupService(*groups),
      {.clock = clock, .log = log, .metrics = metrics, .metric_prefix = "autoscaler_cloudscale_"}));
  Pool call_workers(2, 100);
  const auto server = TRY(grpc::Server::Start({.listen = config.listen}, std::move(services),
                                              call_workers, clock, log));
  grpc::Channel channel({.address = config.listen}, clock);
  DemoClient client(channel, clock,
                    [&account](const auto& who, const auto& what) { account.Line(who, what); });

  std::printf(
      "The provider serves a simulated cloud over gRPC; an autoscaler's calls are played against "
      "it for an hour.\n"
      "Seed %llu. Times are simulated.\n\n",
      static_cast<unsigned long long>(command.seed));
  const auto wall_start = std::chrono::steady_clock::now();
  const TimePoint start = clock.Now();
  TimePoint next_table = start + kTable;
  SeededRng wobble(command.seed + 1);
  while (clock.Now() - start <= kHour) {
    const TimePoint loop_start = clock.Now();
    const double t = std::chrono::duration<double>(loop_start - start) / kHour;
    TRY(client.Loop([&](const std::string& group) { return LoadOf(group, t, 3 * wobble.Unit()); }));
    if (clock.Now() >= next_table) {
      account.Table(client);
      next_table += kTable;
    }
    clock.Set(loop_start + kLoop);
  }
  Summary(client, metrics,
          std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_start).count());
  server->Stop(std::chrono::seconds(1));
  return groups->Drain(Deadline::In(clock, std::chrono::minutes(1)));
}

}  // namespace

int RunDemo(const RunCommand& command, Plugins& plugins) {
  std::string folder = std::filesystem::temp_directory_path() / "coppice-run-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("coppice run: no temporary folder");
    return 1;
  }
  const Status played = Play(command, plugins, folder);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!played.ok()) {
    std::fprintf(stderr, "coppice run: %s\n", played.ToString().c_str());
    return 1;
  }
  return 0;
}

int RunAutoscaler(const std::vector<std::string>& args, Plugins& plugins) {
  RunCommand run;
  std::vector<std::string> rest;
  for (const std::string& arg : args) {
    if (arg == "--help" || arg == "-h") {
      std::printf("coppice run [--seed=N] [--verbose] [FLAGS]\n%s",
                  autoscale::FlagsAsHelp().c_str());
      return 0;
    }
    if (arg == "--verbose") {
      run.verbose = true;
    } else if (arg.starts_with("--seed=")) {
      run.seed = std::strtoull(arg.c_str() + 7, nullptr, 10);
    } else {
      rest.push_back(arg);
    }
  }
  const auto flags = autoscale::ParseFlags(rest);
  if (!flags.ok()) {
    std::fprintf(stderr, "coppice run: %s\n", flags.status().message().c_str());
    return 2;
  }
  return RunDemo(run, plugins);
}

}  // namespace coppice::app
