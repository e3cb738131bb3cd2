#include <cstdlib>
#include <optional>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "app/version.h"
#include "base/log_flags.h"
#include "host/stop_signals.h"
#include "provider/provider.h"

namespace coppice::app {
namespace {

constexpr std::string_view kProviderAbout =
    "coppice provider: serves a cloud to Cluster Autoscaler over externalgrpc; docs/provider.md "
    "has\n"
    "the configuration\n";

}  // namespace

int RunProvider(const std::vector<std::string>& args, Plugins& plugins) {
  std::string config;
  std::string serve = "node-groups";
  std::optional<std::string> metrics_addr;  // unset: the file's metricsListen, else :9090
  bool insecure = false;
  Duration max_connection_age = std::chrono::hours(1);
  LogFlags log_flags;
  FlagSet flags;
  flags.AddString("config", config, "Configuration file (YAML).");
  flags.Require("config");
  flags.AddChoice("serve", serve, {"node-groups", "cloud"},
                  "node-groups: to Cluster Autoscaler, over externalgrpc; cloud: the four verbs of "
                  "the file's cloud, over our own protocol (proto/cloud.proto).");
  flags.AddString("metrics-addr", metrics_addr,
                  "Address of /metrics, /healthz and /readyz; empty: the file's metricsListen, "
                  "else :9090.");
  flags.AddBool("insecure", insecure, "Allow plaintext, on a loopback address only.");
  flags.AddDuration("max-connection-age", max_connection_age,
                    "A client is told to connect again after this time, a tenth more or less; 0s: "
                    "never.");
  flags.Further();
  AddLogFlags(flags, log_flags);
  const CommandText text{"provider", kProviderAbout, seats::LinkedIn(plugins)};
  const auto check = [&log_flags] { return CheckLogFlags(log_flags); };
  if (const auto code = ReadCommandLine(text, flags, args, check)) return *code;
  const host::StopSignals signals({SIGTERM, SIGINT});
  SystemClock clock;
  const Log log = LogToStderr(log_flags, clock);
  SeededRng rng(SeedFromSystem());
  Metrics metrics;
  log.Info("coppice provider starts", {{"version", kVersion}, {"config", config}});
  for (const std::string& note : flags.notes())
    log.Warning("a flag has no effect", {{"why", note}});
  if (std::getenv("PPROF_ENABLED") != nullptr) {
    log.Warning("PPROF_ENABLED has no effect: it belongs to the Go provider's profiler");
  }
  const auto provider = provider::Provider::Start(
      {.config_path = config,
       .serve = serve == "cloud" ? provider::Serve::kCloud : provider::Serve::kGroups,
       .metrics_addr = metrics_addr,
       .insecure = insecure,
       .max_connection_age = max_connection_age},
      {.clouds = plugins.clouds, .clock = clock, .rng = rng, .log = log, .metrics = metrics});
  if (!provider.ok()) {
    log.Error("the provider cannot start", {{"error", provider.status().message()}});
    return 1;
  }
  log.Info("serving", {{"port", (*provider)->port()}, {"http_port", (*provider)->http_port()}});
  for (host::Signal came = host::Signal::kNone; came != host::Signal::kStop;
       came = signals.Wait(std::chrono::seconds(1))) {
    if (came == host::Signal::kReload) (*provider)->Reload();
    (*provider)->Tick();
  }
  return (*provider)->Stop().ok() ? 0 : 1;
}

}  // namespace coppice::app
