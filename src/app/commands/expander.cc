// `coppice expander`: the built-in expanders for a Cluster Autoscaler, or a Coppice, elsewhere.

#include <cstdio>

#include "app/commands/commands.h"
#include "app/expander_flags.h"
#include "app/expander_host.h"
#include "app/stop_signals.h"
#include "app/version.h"
#include "base/strings.h"

namespace coppice::app {
int RunExpander(const std::vector<std::string>& args, Plugins& plugins) {
  const auto options = ParseExpanderFlags(args);
  if (!options.ok()) {
    std::fprintf(stderr, "coppice expander: %s\n", options.status().message().c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(ExpanderHelp().c_str(), stdout);
    return 0;
  }
  const StopSignals signals({SIGTERM, SIGINT});
  SystemClock clock;
  const Log log = Log::ToStderr(clock, options->log_level);
  SeededRng rng(SeedFromSystem());
  Metrics metrics;
  log.Info("coppice expander starts",
           {{"version", kVersion}, {"strategy", Join(options->strategy, ",")}});
  const auto host = ExpanderHost::Start(
      *options, {.plugins = plugins, .clock = clock, .rng = rng, .log = log, .metrics = metrics});
  if (!host.ok()) {
    log.Error("the expander cannot start", {{"error", host.status().message()}});
    return 1;
  }
  log.Info("serving", {{"port", (*host)->port()}, {"http_port", (*host)->http_port()}});
  for (Signal came = Signal::kNone; came != Signal::kStop;
       came = signals.Wait(std::chrono::seconds(1))) {
    if (came == Signal::kReload) (*host)->Reload();
    (*host)->Tick();
  }
  (*host)->Stop();
  log.Info("coppice expander ends");
  return 0;
}

}  // namespace coppice::app
