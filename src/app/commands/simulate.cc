// coppice simulate: a cluster dump and a change in, a plan with reasons out; nothing is touched.

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "base/go_duration.h"
#include "base/strings.h"
#include "whatif/whatif.h"
#include "whatif/whatif_output.h"
#include "wire/time_text.h"

namespace coppice::app {

namespace {

constexpr char kHelp[] =
    R"(coppice simulate: what would the autoscaler do with this cluster, and why

  kubectl get nodes,pods,pdb,ds,rs,sts,jobs,pvc,pv,sc,csinodes -A -o json > dump.json
  coppice simulate --cluster dump.json [--add deployment.yaml] [--remove-node NODE]

Options
  --cluster PATH      what kubectl printed: a file, a folder of files, or - for standard input;
                      JSON (fast) or YAML; may be given several times
  --groups FILE       the node groups: see docs/simulate.md, or the configuration of a provider.
                      Without it they are taken from the nodes' pool labels, else from instance
                      type and zone, with the sizes that --nodes=min:max:name gives
  --add FILE          pods, Deployments, ReplicaSets, StatefulSets, Jobs to add; may be repeated
  --remove-node NODE  would it drain, where does each pod go, what blocks; then plan without it
  --now TIME          the moment of the dump (2026-01-31T10:00:00Z); default: the newest time in it
  --horizon DURATION  how far to look ahead on the simulated clock (default 2h)
  --output FORMAT     text (default) or json
  --whole             text with every node and every group instead of the first few
  --help              this text; --help-flags shows the autoscaler's flags

Node pools: `coppice simulate --node-pools --help`.
Every flag of the autoscaler is understood, too: --expander=priority,least-waste
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
  bool json = false;
  bool whole = false;
  bool help = false;
  bool help_flags = false;
  std::vector<std::string> rest;  // the autoscaler's
};

// Takes our own options out; what is left belongs to the autoscaler.
class ArgumentReader {
 public:
  explicit ArgumentReader(const std::vector<std::string>& args) : args_(args) {}

  Result<Arguments> Read() {
    Arguments out;
    for (at_ = 0; at_ < args_.size(); ++at_) {
      std::string text = args_[at_];
      // Go's flag package takes one dash for two.
      if (text.size() > 2 && text[0] == '-' && text[1] != '-') text.insert(0, "-");
      if (text == "--help" || text == "-h" || text == "help") {
        out.help = true;
      } else if (text == "--help-flags") {
        out.help_flags = true;
      } else if (text == "--whole") {
        out.whole = true;
      } else if (Is(text, "cluster")) {
        out.cluster.push_back(TRY(Value(text)));
      } else if (Is(text, "groups")) {
        out.groups = TRY(Value(text));
      } else if (Is(text, "add")) {
        out.add.push_back(TRY(Value(text)));
      } else if (Is(text, "remove-node")) {
        out.remove_nodes.push_back(TRY(Value(text)));
      } else if (Is(text, "now")) {
        const std::string value = TRY(Value(text));
        out.now = wire::ParseRfc3339(value);
        if (!out.now)
          return InvalidArgument("--now=" + value + ": write a time such as 2026-01-31T10:00:00Z");
      } else if (Is(text, "horizon")) {
        out.horizon = TRY(ParseGoDuration(TRY(Value(text))).Context("--horizon"));
      } else if (Is(text, "output") || text == "-o") {
        const std::string value = TRY(Value(text));
        if (value != "text" && value != "json" && value != "table")
          return InvalidArgument("--output=" + value + ": there are text and json");
        out.json = value == "json";
      } else {
        out.rest.push_back(args_[at_]);
        // A flag's value may stand by itself; whatever has no dash goes with the flag before it.
        while (at_ + 1 < args_.size() && !args_[at_ + 1].starts_with('-'))
          out.rest.push_back(args_[++at_]);
      }
    }
    return out;
  }

 private:
  static bool Is(const std::string& text, std::string_view name) {
    const std::string flag = "--" + std::string(name);
    return text == flag || text.starts_with(flag + "=");
  }
  Result<std::string> Value(const std::string& text) {
    const size_t equals = text.find('=');
    if (equals != std::string::npos) return text.substr(equals + 1);
    if (at_ + 1 >= args_.size()) return InvalidArgument(text + " needs a value");
    return args_[++at_];
  }

  const std::vector<std::string>& args_;
  size_t at_ = 0;
};

int Complain(int code, const Status& status) {
  std::fprintf(stderr, "coppice simulate: %s\n", status.message().c_str());
  if (code == 2) std::fprintf(stderr, "`coppice simulate --help` says how it is used\n");
  return code;
}

std::string IgnoredNote(const std::map<std::string, int>& ignored) {
  std::vector<std::string> parts;
  for (const auto& [kind, count] : ignored) parts.push_back(std::to_string(count) + " " + kind);
  return "left out, for no decision looks at them: " + Join(parts, ", ");
}

}  // namespace

int RunSimulate(const std::vector<std::string>& args, Plugins& plugins) {
  if (const auto code = SimulatePools(args, plugins)) return *code;
  const auto arguments = ArgumentReader(args).Read();
  if (!arguments.ok()) return Complain(2, arguments.status());
  if (arguments->help_flags) {
    std::fputs(autoscale::FlagsAsHelp().c_str(), stdout);
    return 0;
  }
  if (arguments->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (arguments->cluster.empty())
    return Complain(2, InvalidArgument("--cluster is required: a dump, or - for standard input"));
  auto flags = autoscale::ParseFlags(arguments->rest);
  if (!flags.ok()) return Complain(2, flags.status());

  whatif::WhatIf what_if{.flags = *std::move(flags),
                         .remove_nodes = arguments->remove_nodes,
                         .now = arguments->now,
                         .horizon = arguments->horizon};
  for (const std::string& path : arguments->cluster) {
    if (const Status read = whatif::ReadObjectsFrom(path, what_if.cluster); !read.ok())
      return Complain(1, read);
  }
  for (const std::string& path : arguments->add) {
    if (const Status read = whatif::ReadObjectsFrom(path, what_if.added); !read.ok())
      return Complain(1, read);
  }
  whatif::GiveProviderIds(what_if.cluster);
  auto groups = arguments->groups.empty()
                    ? whatif::GroupsFromNodes(what_if.cluster.nodes, what_if.flags.nodes)
                    : whatif::GroupsFromFile(arguments->groups, what_if.cluster.nodes);
  if (!groups.ok()) return Complain(arguments->groups.empty() ? 2 : 1, groups.status());
  what_if.groups = *std::move(groups);
  if (!what_if.cluster.ignored.empty())
    what_if.groups.notes.push_back(IgnoredNote(what_if.cluster.ignored));
  if (what_if.cluster.nodes.empty())
    what_if.groups.notes.push_back("there are no nodes in the dump: were they asked for?");

  SystemClock clock;
  const Log log =
      what_if.flags.verbosity > 0 ? Log::ToStderr(clock, LogLevel::kDebug) : Log::Null();
  const auto plan = whatif::RunWhatIf(std::move(what_if), plugins, log);
  if (!plan.ok()) return Complain(1, plan.status());
  const std::string text = arguments->json ? AsJson(*plan) + "\n" : AsText(*plan, arguments->whole);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return plan->everybody_helped() ? 0 : 3;
}

}  // namespace coppice::app
