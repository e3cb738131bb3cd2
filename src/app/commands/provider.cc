#include <cstdio>
#include <cstdlib>

#include "app/commands/commands.h"
#include "app/version.h"
#include "base/keep_forever.h"
#include "grpc/library_log.h"
#include "host/stop_signals.h"
#include "provider/provider.h"

namespace coppice::app {
int RunProvider(const ProviderCommand& command, Plugins& plugins) {
  const host::StopSignals signals({SIGTERM, SIGINT});
  // Neither is ever destroyed: threads of the gRPC library may still log while the process ends.
  SystemClock& clock = KeepForever(std::make_unique<SystemClock>());
  const Log& log = KeepForever(std::make_unique<Log>(Log::ToStderr(clock, command.log_level)));
  grpc::RouteLibraryLog(log);
  SeededRng rng(SeedFromSystem());
  Metrics metrics;
  log.Info("coppice provider starts", {{"version", kVersion}, {"config", command.config}});
  if (std::getenv("PPROF_ENABLED") != nullptr) {
    log.Warning("PPROF_ENABLED has no effect: it belongs to the Go provider's profiler");
  }
  const auto provider = provider::Provider::Start(
      {.config_path = command.config,
       .serve = command.serve == "cloud" ? provider::Serve::kCloud : provider::Serve::kGroups,
       .metrics_addr = command.metrics_addr,
       .insecure = command.insecure,
       .max_connection_age = command.max_connection_age},
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
