// `coppice run`: the autoscaler. On a model cluster unless something names a real one.
// `coppice record`: the same, of which nothing is left but what it writes down.

#include <algorithm>
#include <cstdlib>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "app/commands/run_gangs.h"
#include "app/real_cluster.h"
#include "autoscale/flags.h"
#include "net/url.h"
#include "seats/open_node_claims.h"
#include "seats/open_node_groups.h"

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

constexpr std::string_view kRecordAbout =
    R"(coppice record: writes down what a cluster and its cloud go through, for `coppice rehearse`

  coppice record DIR --kubeconfig=FILE [--cloud-provider=NAME --cloud-config=FILE]

Changes nothing, and needs no lease: it runs beside whatever scales the cluster. Without a provider
groups are not known, and `coppice rehearse` wants --groups or --pools. Without a cluster it records
a model one. Environment variables, arguments, Secrets, ConfigMaps and volumes are not written down.
docs/rehearse.md says more.
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
}

void AddRecord(FlagSet& set, ModelCommand& command) {
  set.Group("On a model cluster and on a real one");
  set.AddString("record", command.record,
                "A directory: what happens is written there, for coppice rehearse.");
}

void AddWebFlags(FlagSet& set, DashboardOptions& web) {
  set.Group("The dashboard, on a model cluster and on a real one (docs/dashboard.md)");
  set.Add("web-address", "string", web.address,
          "Where it listens; another port if this one is taken and was not asked for; none: off.",
          [&web](std::string_view text) -> Status {
            if (text != "none" && !text.empty())
              TRY(net::ParseHostPort(std::string(text)).status());
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

// Engines that are asked for by name, and what is said of them.
struct Asked {
  bool pools = false;
  bool batch = false;
  provision::Settings settings;
  batch::SchedulerFlags scheduler;
};

void AddEngineFlags(FlagSet& set, Asked& asked, ModelCommand& command) {
  set.Group("Which engines");
  set.AddBool("node-pools", asked.pools,
              "Karpenter's model (docs/node-pools.md), beside the node groups of the cloud's file "
              "or, if it has none, instead of them; on a model cluster, too.");
  set.AddBool("node-groups", command.node_groups, "False: no node groups, with --node-pools.");
  set.AddBool(
      "batch", asked.batch,
      "The batch scheduler (docs/batch.md): on a real cluster beside node groups if a cloud "
      "provider is named, else alone; on a model cluster beside node groups, with users who bring "
      "gangs.");
}

void AddSettingsOfEngines(FlagSet& set, Asked& asked) {
  set.With("node-pools");
  provision::AddSettings(set, asked.settings);
  set.With("batch");
  batch::AddSchedulerFlags(set, asked.scheduler);
  set.With("");
}

const char* Variable(const char* name) { return std::getenv(name); }

// Karpenter's settings of the process, where no flag of ours says otherwise.
void SettleProcess(const provision::Settings& settings, const FlagSet& set,
                   autoscale::FlagValues& flags) {
  if (!set.Given("kube-client-qps"))
    flags.kube_client_qps = settings.kube_client_qps.value_or(provision::kKubeClientQps);
  if (!set.Given("kube-client-burst"))
    flags.kube_client_burst = settings.kube_client_burst.value_or(provision::kKubeClientBurst);
  if (settings.metrics_port && !set.Given("address"))
    flags.address = ":" + std::to_string(*settings.metrics_port);
  if (settings.leader_election_name && !set.Given("leader-elect-resource-name"))
    flags.leader_elect_resource_name = *settings.leader_election_name;
  if (settings.leader_election_namespace && !set.Given("namespace"))
    flags.options.namespace_ = *settings.leader_election_namespace;
  if (settings.disable_leader_election) flags.leader_elect = false;
  constexpr int kDebugVerbosity = 4;
  if (settings.log_level == "debug" && !set.Given("v")) flags.log.verbosity = kDebugVerbosity;
}

// Whether the batch scheduler, or who only records, is alone: nothing names node groups.
bool IsAlone(const autoscale::FlagValues& flags) {
  return flags.cloud_provider.empty() && flags.nodes.empty() &&
         flags.node_group_auto_discovery.empty();
}

// What vc-scheduler's own flags say about the process, where nothing else was said.
void SetForBatch(const batch::SchedulerFlags& batch, autoscale::FlagValues& flags) {
  const autoscale::FlagValues standard;
  flags.kube_client_qps = std::max(flags.kube_client_qps, batch.kube_api_qps);
  flags.kube_client_burst = std::max(flags.kube_client_burst, batch.kube_api_burst);
  if (!IsAlone(flags)) return;
  if (flags.address == standard.address) flags.address = batch.listen_address;
  if (flags.leader_elect_resource_name == standard.leader_elect_resource_name)
    flags.leader_elect_resource_name = "vc-scheduler";
  if (flags.options.namespace_ == standard.options.namespace_)
    flags.options.namespace_ = batch.lock_namespace;
}

// A real cluster: one is named, or we run inside one.
bool NamesCluster(const autoscale::FlagValues& flags) {
  return !flags.kubeconfig.empty() || !flags.kubernetes.empty() ||
         std::getenv("KUBERNETES_SERVICE_HOST") != nullptr ||
         (!flags.cloud_provider.empty() && flags.cloud_provider != "simulated");
}

int OnRealCluster(const ModelCommand& command, std::string_view name, Plugins& plugins) {
  seats::RunSettings settings{.flags = command.flags,
                              .node_groups = command.node_groups,
                              .record = command.record,
                              .node_pools = command.node_pools,
                              .batch = command.batch};
  const bool needs_no_groups = settings.batch || command.only_records;
  if (needs_no_groups && IsAlone(settings.flags)) settings.node_groups = false;
  if (settings.node_pools && settings.node_groups) {
    const auto groups = seats::HasNodeGroups(command.flags, plugins);
    if (!groups.ok()) return Failed(name, groups.status());
    settings.node_groups = *groups;
  }
  return RunOnRealCluster(settings, plugins, {}, command.web);
}

// What is asked for goes together, and is there.
Status CheckRun(const FlagSet& flags, Asked& asked, ModelCommand& command, Plugins& plugins) {
  if (asked.pools) {
    TRY(provision::ReadVariables(flags, asked.settings, Variable));
    asked.settings.options.upstream_exact = command.flags.upstream_exact;
    command.node_pools = asked.settings;
  }
  if (asked.batch) command.batch = asked.scheduler;
  TRY(autoscale::FinishFlags(flags, command.flags));
  TRY(seats::CheckPluginNames(command.flags, plugins));
  if (!command.node_groups && !command.node_pools && !command.batch && !command.only_records)
    return InvalidArgument("--node-groups=false without --node-pools leaves nothing to do");
  if (command.node_pools) SettleProcess(*command.node_pools, flags, command.flags);
  if (command.batch) SetForBatch(*command.batch, command.flags);
  if (NamesCluster(command.flags)) {
    if (command.only_records) command.flags.dry_run = true;
    const bool alone = (command.batch || command.only_records) && IsAlone(command.flags);
    const bool claims = command.node_pools && plugins.node_claims.Has(command.flags.cloud_provider);
    return alone || claims ? Status::Ok() : seats::CheckProviderNames(command.flags, plugins);
  }
  if (command.batch && (command.node_pools || !command.node_groups)) {
    return InvalidArgument(
        "--batch is played with node groups on a model cluster, and neither beside --node-pools "
        "nor with --node-groups=false: name a cluster with --kubeconfig");
  }
  if (command.batch) SettleModelGangs(flags, command);
  if (!command.flags.dry_run) return Status::Ok();
  return InvalidArgument(
      "--dry-run: nothing real is touched on a model cluster anyway; name a cluster with "
      "--kubeconfig");
}

int RunCommand(const std::vector<std::string>& args, ModelCommand& command, const CommandText& text,
               Plugins& plugins) {
  Asked asked;
  std::vector<std::string> words;
  FlagSet flags;
  if (command.only_records) {
    flags.AddWords("DIR", words, true, "A directory, made if it is not there.");
    command.web.address.clear();
  }
  AddModelFlags(flags, command);
  if (!command.only_records) AddRecord(flags, command);
  AddEngineFlags(flags, asked, command);
  AddWebFlags(flags, command.web);
  autoscale::AddFlags(flags, command.flags);
  AddSettingsOfEngines(flags, asked);
  const auto check = [&]() -> Status {
    if (words.size() > 1) return InvalidArgument("'" + words[1] + "' is a second directory");
    if (!words.empty()) command.record = words.front();
    return CheckRun(flags, asked, command, plugins);
  };
  if (const auto code = ReadCommandLine(text, flags, args, check)) return *code;
  return NamesCluster(command.flags) ? OnRealCluster(command, text.name, plugins)
                                     : RunModel(command, plugins);
}

}  // namespace

int RunAutoscaler(const std::vector<std::string>& args, Plugins& plugins) {
  ModelCommand command;
  return RunCommand(args, command, {"run", kRunAbout, seats::LinkedIn(plugins)}, plugins);
}

int RunRecord(const std::vector<std::string>& args, Plugins& plugins) {
  ModelCommand command{.only_records = true};
  return RunCommand(args, command, {"record", kRecordAbout}, plugins);
}

}  // namespace coppice::app
