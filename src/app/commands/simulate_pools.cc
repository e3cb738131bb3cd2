// coppice simulate --node-pools: what node pools would do with a dump, and with --consolidate what
// they would take away.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "provider/provider_config.h"
#include "provision/settings.h"
#include "seats/open_node_claims.h"
#include "whatif/doubles.h"
#include "whatif/pools.h"

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
  std::optional<TimePoint> now;
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
  AddMoment(set, arguments.now);
  set.AddChoice("output", arguments.output, {"text", "json"}, "For people or for programs.");
  set.AddBool("whole", arguments.whole, "Every pod and every node, not the first few.");
}

Status ReadAll(const std::vector<std::string>& paths, whatif::ClusterObjects& into) {
  for (const std::string& path : paths) TRY(whatif::ReadObjectsFrom(path, into));
  return Status::Ok();
}

// The cloud that the file names, if nobody else does.
Status NameCloud(autoscale::FlagValues& flags, const Plugins& plugins) {
  if (!flags.cloud_provider.empty()) return Status::Ok();
  yaml::Problems problems;
  const auto config = TRY(provider::LoadProviderConfig(
      flags.cloud_config,
      {plugins.clouds, [](const char* name) -> const char* { return std::getenv(name); },
       provider::Groups::kOptional},
      problems));
  flags.cloud_provider = config.cloud_kind;
  return Status::Ok();
}

Result<whatif::PoolsPlan> PlanPools(PoolsArguments& arguments, whatif::PoolsWhatIf what_if,
                                    Plugins& plugins) {
  TRY(ReadAll(arguments.cluster, what_if.cluster));
  TRY(ReadAll(arguments.add, what_if.added));
  whatif::DropDoubles(what_if.cluster, what_if.notes);
  whatif::DropDoubles(what_if.added, what_if.notes);
  whatif::NoteReplaced(what_if.cluster, what_if.added, what_if.notes);
  whatif::NoteIgnored(what_if.cluster, what_if.notes);
  TRY(NameCloud(arguments.process, plugins));
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

std::optional<int> SimulatePools(const std::vector<std::string>& args, Plugins& plugins) {
  const auto asks = [](const std::string& arg) {
    return arg == "--node-pools" || arg == "--node-pools=true" || arg == "--consolidate";
  };
  if (std::ranges::none_of(args, asks)) return std::nullopt;
  PoolsArguments arguments;
  provision::Settings settings;
  FlagSet flags;
  AddPoolsArguments(flags, arguments);
  flags.AddBool("upstream-exact", settings.options.upstream_exact,
                "The peer's rule wherever ours differs.");
  provision::AddSettings(flags, settings);
  const auto check = [&]() -> Status {
    TRY(provision::ReadVariables(
        flags, settings, [](const char* name) -> const char* { return std::getenv(name); }));
    if (arguments.cluster.empty() && arguments.add.empty())
      return InvalidArgument("--cluster is required: a dump, or - for standard input");
    if (arguments.process.cloud_config.empty())
      return InvalidArgument("--cloud-config is required: it is the catalog");
    const std::string& cloud = arguments.process.cloud_provider;
    if (!cloud.empty() && !plugins.clouds.Has(cloud) && !plugins.node_claims.Has(cloud) &&
        !plugins.node_groups.Has(cloud))
      return plugins.clouds.Find(cloud).status().Context("--cloud-provider=" + cloud);
    return Status::Ok();
  };
  if (const auto code = ReadCommandLine({"simulate --node-pools", kPoolsAbout}, flags, args, check))
    return *code;
  whatif::PoolsWhatIf what_if{
      .options = settings.options, .consolidate = arguments.consolidate, .now = arguments.now};
  const auto plan = PlanPools(arguments, std::move(what_if), plugins);
  if (!plan.ok()) return Failed("simulate", plan.status());
  const std::string text = arguments.output == "json" ? whatif::AsJson(*plan) + "\n"
                                                      : whatif::AsText(*plan, arguments.whole);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return plan->everybody_helped() ? 0 : 3;
}

}  // namespace coppice::app
