// `coppice expander`: the built-in expanders for a Cluster Autoscaler, or a Coppice, elsewhere.

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "app/version.h"
#include "base/strings.h"
#include "host/stop_signals.h"
#include "rpc/expander_flags.h"
#include "rpc/expander_host.h"

namespace coppice::app {
namespace {

constexpr std::string_view kExpanderAbout =
    "coppice expander: chooses among node groups for a Cluster Autoscaler that asks with\n"
    "--expander=grpc --grpc-expander-url=HOST:PORT --grpc-expander-cert=CA.pem\n";

}  // namespace

int RunExpander(const std::vector<std::string>& args, Plugins& plugins) {
  rpc::ExpanderOptions options;
  FlagSet flags;
  rpc::AddExpanderFlags(flags, options);
  const auto check = [&]() -> Status {
    TRY(rpc::CheckExpanderFlags(options));
    return seats::KnownNames("--strategy", options.strategy, plugins.expanders.names());
  };
  const CommandText text{"expander", kExpanderAbout, seats::LinkedIn(plugins)};
  if (const auto code = ReadCommandLine(text, flags, args, check)) return *code;
  const host::StopSignals signals({SIGTERM, SIGINT});
  SystemClock clock;
  const Log log = LogToStderr(options.log, clock);
  SeededRng rng(SeedFromSystem());
  Metrics metrics;
  log.Info("coppice expander starts",
           {{"version", kVersion}, {"strategy", Join(options.strategy, ",")}});
  const auto host = rpc::ExpanderHost::Start(
      options,
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
