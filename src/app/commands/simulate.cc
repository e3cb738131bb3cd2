// coppice simulate: a cluster dump and a change in, a plan with reasons out; nothing is touched.

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "seats/open_node_groups.h"
#include "whatif/doubles.h"
#include "whatif/whatif.h"
#include "whatif/whatif_output.h"
#include "wire/time_text.h"

namespace coppice::app {

namespace {

constexpr std::string_view kSimulateAbout =
    R"(coppice simulate: what would the autoscaler do with this cluster, and why

  kubectl get nodes,pods,pdb,ds,rs,sts,jobs,pvc,pv,sc,csinodes -A -o json > dump.json
  coppice simulate --cluster dump.json [--add deployment.yaml] [--remove-node NODE]

Node pools: `coppice simulate --node-pools --help`.
Every flag of the autoscaler is understood, too (--help-flags shows them): --expander=priority,least-waste
--scale-down-unneeded-time=5m --nodes=1:10:pool-a ...

Exit codes
  0  a plan was made
  1  it failed: a file that cannot be read, an object that is broken
  2  wrong usage
  3  a plan was made, but there are pods that nothing helps, or a node that does not drain
)";

struct Arguments {
  std::vector<std::string> cluster;
  std::string groups;
  std::vector<std::string> add;
  std::vector<std::string> remove_nodes;
  std::optional<TimePoint> now;
  Duration horizon = std::chrono::hours(2);
  std::string output = "text";
  bool whole = false;
};

void AddSimulateFlags(FlagSet& set, Arguments& out) {
  set.Group("What is simulated");
  set.AddRepeated("cluster", out.cluster,
                  "What kubectl printed: a file, a folder of files, or - for standard input; JSON "
                  "(fast) or YAML.");
  set.AddString("groups", out.groups,
                "The node groups: see docs/simulate.md, or the configuration of a provider. "
                "Without it they are taken from the nodes' pool labels, else from instance type "
                "and zone, with the sizes that --nodes=min:max:name gives.");
  set.AddRepeated("add", out.add,
                  "File with pods, Deployments, ReplicaSets, StatefulSets, Jobs to add.");
  set.AddRepeated("remove-node", out.remove_nodes,
                  "Would it drain, where does each pod go, what blocks; then plan without it.");
  AddMoment(set, out.now);
  set.AddDuration("horizon", out.horizon, "How far to look ahead on the simulated clock.");
  set.AddChoice("output", out.output, {"text", "json"}, "what is printed.");
  set.Alias("o", "output");
  set.AddBool("whole", out.whole, "Text with every node and every group instead of the first few.");
}

}  // namespace

void AddMoment(FlagSet& set, std::optional<TimePoint>& now) {
  set.Add("now", "time", "",
          "The moment of the dump (2026-01-31T10:00:00Z); empty: the newest time in it.",
          [&now](std::string_view text) -> Status {
            now = wire::ParseRfc3339(text);
            if (!now) return InvalidArgument("write a time such as 2026-01-31T10:00:00Z");
            return Status::Ok();
          });
}

int RunSimulate(const std::vector<std::string>& args, Plugins& plugins) {
  if (const auto code = SimulatePools(args, plugins)) return *code;
  Arguments arguments;
  autoscale::FlagValues values;
  FlagSet flags;
  AddSimulateFlags(flags, arguments);
  flags.Further();
  autoscale::AddFlags(flags, values);
  const auto check = [&]() -> Status {
    TRY(autoscale::FinishFlags(flags, values));
    TRY(seats::CheckPluginNames(values, plugins));
    if (!arguments.cluster.empty()) return Status::Ok();
    return InvalidArgument("--cluster is required: a dump, or - for standard input");
  };
  if (const auto code = ReadCommandLine({"simulate", kSimulateAbout}, flags, args, check))
    return *code;

  whatif::WhatIf what_if{.flags = std::move(values),
                         .remove_nodes = arguments.remove_nodes,
                         .now = arguments.now,
                         .horizon = arguments.horizon,
                         .batch_plugins = &plugins.batch};
  for (const std::string& path : arguments.cluster) {
    if (const Status read = whatif::ReadObjectsFrom(path, what_if.cluster); !read.ok())
      return Failed("simulate", read);
  }
  for (const std::string& path : arguments.add) {
    if (const Status read = whatif::ReadObjectsFrom(path, what_if.added); !read.ok())
      return Failed("simulate", read);
  }
  std::vector<std::string> notes;
  whatif::DropDoubles(what_if.cluster, notes);
  whatif::DropDoubles(what_if.added, notes);
  whatif::NoteReplaced(what_if.cluster, what_if.added, notes);
  whatif::GiveProviderIds(what_if.cluster);
  auto groups = arguments.groups.empty()
                    ? whatif::GroupsFromNodes(what_if.cluster.nodes, what_if.flags.nodes)
                    : whatif::GroupsFromFile(arguments.groups, what_if.cluster.nodes);
  if (!groups.ok()) {
    return arguments.groups.empty() ? WrongUsage("simulate", groups.status())
                                    : Failed("simulate", groups.status());
  }
  what_if.groups = *std::move(groups);
  what_if.groups.notes.insert(what_if.groups.notes.end(), notes.begin(), notes.end());
  whatif::NoteIgnored(what_if.cluster, what_if.groups.notes);
  if (what_if.cluster.nodes.empty())
    what_if.groups.notes.push_back("there are no nodes in the dump: were they asked for?");

  SystemClock clock;
  const Log log =
      what_if.flags.log.verbosity > 0 ? Log::ToStderr(clock, LogLevel::kDebug) : Log::Null();
  const auto plan = whatif::RunWhatIf(std::move(what_if), plugins, log);
  if (!plan.ok()) {
    // --remove-node names a node that is not there.
    return plan.status().message().starts_with("--") ? WrongUsage("simulate", plan.status())
                                                     : Failed("simulate", plan.status());
  }
  const std::string text =
      arguments.output == "json" ? AsJson(*plan) + "\n" : AsText(*plan, arguments.whole);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return plan->everybody_helped() ? 0 : 3;
}

}  // namespace coppice::app
