// `coppice expander`: the built-in expanders for a Cluster Autoscaler, or a Coppice, elsewhere.

#include <cstdio>

#include "app/commands/commands.h"
#include "app/version.h"
#include "base/strings.h"
#include "host/stop_signals.h"
#include "rpc/expander_flags.h"
#include "rpc/expander_host.h"

namespace coppice::app {
int RunExpander(const std::vector<std::string>& args, Plugins& plugins) {
  const auto options = rpc::ParseExpanderFlags(args);
  if (!options.ok()) {
    std::fprintf(stderr, "coppice expander: %s\n", options.status().message().c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(rpc::ExpanderHelp().c_str(), stdout);
    return 0;
  }
  const host::StopSignals signals({SIGTERM, SIGINT});
  SystemClock clock;
  const Log log = Log::ToStderr(clock, options->log_level);
  SeededRng rng(SeedFromSystem());
  Metrics metrics;
  log.Info("coppice expander starts",
           {{"version", kVersion}, {"strategy", Join(options->strategy, ",")}});
  const auto host = rpc::ExpanderHost::Start(
      *options,
      {.expanders = plugins.expanders, .clock = clock, .rng = rng, .log = log, .metrics = metrics});
  if (!host.ok()) {
    log.Error("the expander cannot start", {{"error", host.status().message()}});
    return 1;
  }
  log.Info("serving", {{"port", (*host)->port()}, {"http_port", (*host)->http_port()}});
  for (host::Signal came = host::Signal::kNone; came != host::Signal::kStop;
       came = signals.Wait(std::chrono::seconds(1))) {
    if (came == host::Signal::kReload) (*host)->Reload();
    (*host)->Tick();
  }
  (*host)->Stop();
  log.Info("coppice expander ends");
  return 0;
}

}  // namespace coppice::app
