// coppice simulate --node-pools: what node pools would do with a dump, and with --consolidate what
// they would take away.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "app/commands/commands.h"
#include "base/flag_set.h"
#include "provider/provider_config.h"
#include "provision/settings.h"
#include "seats/open_node_claims.h"
#include "whatif/pools.h"
#include "wire/time_text.h"

namespace coppice::app {
namespace {

constexpr char kPoolsAbout[] =
    R"(coppice simulate --node-pools: what would node pools do with this cluster, and why

  kubectl get nodes,pods,pdb,ds,rs,sts,jobs,pvc,pv,sc,csinodes,nodepools,nodeclaims -A -o json > dump.json
  coppice simulate --node-pools --cluster dump.json --cloud-config cloud.yaml [--consolidate]

Exit codes: 0 a plan was made, 1 it failed, 2 wrong usage, 3 a plan was made, but there are pods that
nothing helps, or pools that are left out. docs/node-pools.md says more.
)";

struct PoolsArguments {
  std::vector<std::string> cluster;
  std::vector<std::string> add;
  std::string now;
  std::string output = "text";
  bool whole = false;
  bool consolidate = false;
  bool node_pools = true;
  autoscale::FlagValues process;
};

void AddPoolsArguments(FlagSet& set, PoolsArguments& arguments) {
  set.Group("What is asked");
  set.AddBool("node-pools", arguments.node_pools, "Of node pools, and not of node groups.");
  set.AddRepeated("cluster", arguments.cluster,
                  "What kubectl printed: a file, a folder of files, or - for standard input.");
  set.AddRepeated("add", arguments.add,
                  "Pods, Deployments, Jobs, NodePools, NodeClasses to add; may be repeated.");
  set.AddBool("consolidate", arguments.consolidate,
              "Also what would be taken away or replaced, one move after the other, and what that "
              "saves.");
  set.AddString("cloud-config", arguments.process.cloud_config,
                "The catalog: a cloud's file, as `coppice provider` reads it; nodeGroups may be "
                "absent. Only its flavors are asked for.");
  set.AddString("cloud-provider", arguments.process.cloud_provider,
                "The cloud; empty: what the file says.");
  set.AddString("now", arguments.now,
                "The moment of the dump (2026-01-31T10:00:00Z); empty: the newest time in it.");
  set.AddChoice("output", arguments.output, {"text", "json"}, "For people or for programs.");
  set.AddBool("whole", arguments.whole, "Every pod and every node, not the first few.");
}

int ComplainOfPools(int code, const Status& status) {
  std::fprintf(stderr, "coppice simulate: %s\n", status.message().c_str());
  if (code == 2)
    std::fprintf(stderr, "`coppice simulate --node-pools --help` says how it is used\n");
  return code;
}

Status ReadAll(const std::vector<std::string>& paths, whatif::ClusterObjects& into) {
  for (const std::string& path : paths) TRY(whatif::ReadObjectsFrom(path, into));
  return Status::Ok();
}

// The cloud that the file names, if nobody else does.
Status NameCloud(autoscale::FlagValues& flags) {
  if (!flags.cloud_provider.empty()) return Status::Ok();
  yaml::Problems problems;
  const auto config = TRY(provider::LoadProviderConfig(
      flags.cloud_config, [](const char* name) -> const char* { return std::getenv(name); },
      problems, provider::Groups::kOptional));
  flags.cloud_provider = config.cloud_kind;
  return Status::Ok();
}

Result<whatif::PoolsPlan> PlanPools(PoolsArguments& arguments, whatif::PoolsWhatIf what_if,
                                    Plugins& plugins) {
  TRY(ReadAll(arguments.cluster, what_if.cluster));
  TRY(ReadAll(arguments.add, what_if.added));
  TRY(NameCloud(arguments.process));
  SystemClock clock;
  SeededRng rng(1);
  Metrics metrics;
  const Log log = Log::Null();
  InlineWorkers workers;
  // Whatever it would change is refused: nothing is to be touched.
  cloud::Gate gate;
  gate.may_change = [] { return Status(Code::kFailedPrecondition, "this is a simulation"); };
  const auto opened = TRY(seats::OpenNodeClaims(arguments.process, plugins, clock, rng, log,
                                                metrics, std::move(gate), &workers));
  return whatif::RunPoolsWhatIf(std::move(what_if), opened->claims(), clock);
}

}  // namespace

std::optional<int> SimulatePools(const std::vector<std::string>& given, Plugins& plugins) {
  const auto asks = [](const std::string& arg) {
    return arg == "--node-pools" || arg == "--node-pools=true" || arg == "--consolidate";
  };
  if (std::ranges::none_of(given, asks)) return std::nullopt;
  std::vector<std::string> args = given;
  auto settings = provision::TakeSettings(
      args, [](const char* name) -> const char* { return std::getenv(name); });
  if (!settings.ok()) return ComplainOfPools(2, settings.status());
  PoolsArguments arguments;
  FlagSet flags;
  AddPoolsArguments(flags, arguments);
  bool exact = false;
  flags.AddBool("upstream-exact", exact, "The peer's rule wherever ours differs.");
  if (const Status parsed = flags.Parse(args); !parsed.ok()) return ComplainOfPools(2, parsed);
  if (flags.help_wanted()) {
    std::printf("%s\n%s%s", kPoolsAbout, flags.AsHelp().c_str(),
                provision::SettingsAsHelp().c_str());
    return 0;
  }
  if (arguments.cluster.empty() && arguments.add.empty())
    return ComplainOfPools(2, InvalidArgument("--cluster is required: a dump, or - for standard "
                                              "input"));
  if (arguments.process.cloud_config.empty())
    return ComplainOfPools(2, InvalidArgument("--cloud-config is required: it is the catalog"));
  whatif::PoolsWhatIf what_if{.options = settings->options, .consolidate = arguments.consolidate};
  if (!arguments.now.empty()) {
    what_if.now = wire::ParseRfc3339(arguments.now);
    if (!what_if.now)
      return ComplainOfPools(2, InvalidArgument("--now=" + arguments.now +
                                                ": write a time such as 2026-01-31T10:00:00Z"));
  }
  const auto plan = PlanPools(arguments, std::move(what_if), plugins);
  if (!plan.ok()) return ComplainOfPools(1, plan.status());
  const std::string text = arguments.output == "json" ? whatif::AsJson(*plan) + "\n"
                                                      : whatif::AsText(*plan, arguments.whole);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return plan->everybody_helped() ? 0 : 3;
}

}  // namespace coppice::app
