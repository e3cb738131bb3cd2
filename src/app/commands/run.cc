// `coppice run`: the autoscaler. On a model cluster unless something names a real one.

#include <cstdlib>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "app/open_node_groups.h"
#include "app/real_cluster.h"
#include "autoscale/flags.h"

namespace coppice::app {
namespace {

constexpr std::string_view kRunAbout =
    R"(coppice run: the autoscaler

With --kubeconfig, or in a pod: on that cluster, leader-elected. Without: a model cluster in this
process, with a small scheduler, a simulated cloud of several groups, zones and prices, a load that
rises and falls, and the autoscaler on top. It prints a line per decision with its reason, a table
now and then, and at Ctrl-C a summary. If the output is no terminal and neither --speed nor --for is
given: 24h in about a minute.
)";

void AddModelFlags(FlagSet& set, ModelCommand& command) {
  set.Group("The model cluster");
  set.AddNumber("seed", command.seed,
                "Of the load, the cloud and all lots; the same seed gives the same run.");
  set.AddNumber("speed", command.speed,
                "Simulated seconds per second; 60 on a terminal; 0: as fast as it goes.");
  set.AddDuration("for", command.lasts,
                  "Stop after so much simulated time, such as 24h; empty: at Ctrl-C.");
  set.AddDuration("table", command.table, "Simulated time between two tables; 0: none.");
  set.AddBool("verbose", command.verbose, "The autoscaler's log to standard error.");
  set.Group("On a model cluster and on a real one");
  set.AddString("record", command.record,
                "A directory: what happens is written there, for coppice rehearse.");
}

void AddWebFlags(FlagSet& set, DashboardOptions& web) {
  set.Group("The dashboard, on a model cluster and on a real one (docs/dashboard.md)");
  set.Add("web-address", "string", web.address,
          "Where it listens; another port if this one is taken and was not asked for; none: off.",
          [&web](std::string_view text) {
            web.address = text == "none" ? "" : std::string(text);
            web.address_is_given = true;
            return Status::Ok();
          });
  set.AddString("web-token-file", web.token_file,
                "A bearer token; needed, or mutual TLS, to listen elsewhere than on loopback.");
  set.AddString("web-tls-cert-file", web.tls_cert_file, "PEM certificate: TLS 1.3.");
  set.AddString("web-tls-private-key-file", web.tls_key_file, "PEM key of that certificate.");
  set.AddString("web-client-ca-file", web.client_ca_file,
                "PEM bundle: only clients with a certificate of these authorities.");
  set.AddList("web-host", web.hosts, "Further names under which it may be called.");
}

// A real cluster: one is named, or we run inside one.
bool NamesCluster(const autoscale::FlagValues& flags) {
  return !flags.kubeconfig.empty() || !flags.kubernetes.empty() ||
         std::getenv("KUBERNETES_SERVICE_HOST") != nullptr ||
         (!flags.cloud_provider.empty() && flags.cloud_provider != "simulated");
}

}  // namespace

int RunAutoscaler(const std::vector<std::string>& args, Plugins& plugins) {
  ModelCommand command;
  FlagSet flags;
  AddModelFlags(flags, command);
  AddWebFlags(flags, command.web);
  autoscale::AddFlags(flags, command.flags);
  const auto check = [&]() -> Status {
    TRY(autoscale::FinishFlags(flags, command.flags));
    TRY(CheckPluginNames(command.flags, plugins));
    if (NamesCluster(command.flags)) return CheckProviderNames(command.flags, plugins);
    if (!command.flags.dry_run) return Status::Ok();
    return InvalidArgument(
        "--dry-run: nothing real is touched on a model cluster anyway; name a cluster with "
        "--kubeconfig");
  };
  const CommandText text{"run", kRunAbout, LinkedIn(plugins)};
  if (const auto code = ReadCommandLine(text, flags, args, check)) return *code;
  return NamesCluster(command.flags)
             ? RunOnRealCluster(command.flags, plugins, {}, command.web, command.record)
             : RunModel(command, plugins);
}

}  // namespace coppice::app
