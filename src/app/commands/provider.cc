#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "app/commands/commands.h"
#include "app/provider.h"
#include "app/version.h"
#include "grpc/library_log.h"

namespace coppice::app {
namespace {

// Blocked in the first thread before any other exists, so that all inherit it and the one loop
// below is the only receiver: no handler, no global flag.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

}  // namespace

int RunProvider(const ProviderCommand& command, Plugins& plugins) {
  const sigset_t signals = BlockStopSignals();
  // Neither is ever destroyed: threads of the gRPC library may still log while the process ends.
  SystemClock& clock = *new SystemClock;
  const Log& log = *new Log(Log::ToStderr(clock, command.log_level));
  grpc::RouteLibraryLog(log);
  SeededRng rng(SeedFromSystem());
  Metrics metrics;
  log.Info("coppice provider starts", {{"version", kVersion}, {"config", command.config}});
  if (std::getenv("PPROF_ENABLED") != nullptr) {
    log.Warning("PPROF_ENABLED has no effect: it belongs to the Go provider's profiler");
  }
  const auto provider = Provider::Start(
      {.config_path = command.config,
       .metrics_addr = command.metrics_addr,
       .insecure = command.insecure},
      {.plugins = plugins, .clock = clock, .rng = rng, .log = log, .metrics = metrics});
  if (!provider.ok()) {
    log.Error("the provider cannot start", {{"error", provider.status().message()}});
    return 1;
  }
  log.Info("serving", {{"port", (*provider)->port()}, {"http_port", (*provider)->http_port()}});
  const timespec second{.tv_sec = 1, .tv_nsec = 0};
  while (sigtimedwait(&signals, nullptr, &second) < 0) (*provider)->Tick();
  return (*provider)->Stop().ok() ? 0 : 1;
}

}  // namespace coppice::app
