// `coppice rehearse`: a recorded day again, with other flags or groups.

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "app/commands/commands.h"
#include "base/flag_set.h"
#include "base/strings.h"
#include "rehearse/comparison.h"
#include "rehearse/demand.h"
#include "rehearse/player.h"

namespace coppice::app {
namespace {

constexpr char kRehearseUsage[] =
    "coppice rehearse LOG [--groups=FILE] [--html=FILE] [--seed=N] [--base-FLAG=value] "
    "[--FLAG=value]\n"
    "\n"
    "Plays what was recorded by `coppice run --record=DIR` against a model cluster and cloud: once "
    "as it was,\nand once with the autoscaler's flags (coppice run --help) or the groups that are "
    "given here. Prints both\nside by side and the first decisions that differ. docs/rehearse.md "
    "has "
    "an example.\n"
    "\n"
    "  LOG              a directory of recordings, or one file\n"
    "  --groups=FILE    other groups: a configuration of `coppice provider` with cloud.kind: "
    "simulated\n"
    "  --html=FILE      the comparison as a page with pictures\n"
    "  --seed=N         of the model (default 1)\n"
    "  --pass-every=TIME  a pass this often and not whenever something changes: for speed. "
    "Default: 1m\n"
    "                   from 50,000 pods on, else as the autoscaler does it\n"
    "  --base-FLAG=...  an autoscaler's flag of the first column, if it is not at its default\n";

struct RehearseCommand {
  std::string log;
  std::string groups;
  std::string html;
  uint64_t seed = 1;
  std::optional<Duration> pass_every;
  std::vector<std::string> base;   // flags of the first column
  std::vector<std::string> other;  // and what the second has beside them
  bool help = false;
};

Result<RehearseCommand> ReadRehearseCommand(const std::vector<std::string>& args) {
  RehearseCommand command;
  for (const std::string& arg : args) {
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : arg.substr(equals + 1);
    if (arg == "--help" || arg == "-h") {
      command.help = true;
    } else if (!arg.starts_with("-")) {
      if (!command.log.empty()) return InvalidArgument("'" + arg + "' is a second log");
      command.log = arg;
    } else if (name == "--groups") {
      command.groups = value;
    } else if (name == "--html") {
      command.html = value;
    } else if (name == "--seed") {
      command.seed = TRY(FlagNumber<uint64_t>(value).Context("--seed"));
    } else if (name == "--pass-every") {
      command.pass_every = TRY(FlagDuration(value).Context("--pass-every"));
    } else if (name.starts_with("--base-")) {
      command.base.push_back("--" + arg.substr(std::string("--base-").size()));
    } else {
      command.other.push_back(arg);
    }
  }
  if (command.help) return command;
  if (command.log.empty()) return InvalidArgument("which log? --help shows the arguments");
  return command;
}

Result<provider::ProviderConfig> ReadGroups(const std::string& text, const std::string& path) {
  yaml::Problems problems;
  const auto getenv = [](const char* name) -> const char* { return std::getenv(name); };
  auto config =
      path.empty()
          ? provider::ParseProviderConfig(
                text, "the recorded groups", getenv,
                [](const std::string& file) -> Result<std::string> { return NotFound(file); },
                problems)
          : provider::LoadProviderConfig(path, getenv, problems);
  if (!config.ok()) return config.status();
  if (config->cloud_kind != "simulated") {
    return InvalidArgument(path + ": a rehearsal runs on the simulated cloud only, not on " +
                           config->cloud_kind);
  }
  return config;
}

// A pass looks at every machine, so that a day of thousands of them is a matter of how many passes.
void SetPace(const RehearseCommand& command, const rehearse::Demand& demand,
             autoscale::FlagValues& flags) {
  constexpr size_t kManyPods = 50'000;
  const bool many = demand.pods.size() >= kManyPods;
  if (!command.pass_every && !many) return;
  flags.options.scan_interval = command.pass_every.value_or(std::chrono::minutes(1));
  flags.frequent_loops_enabled = false;
}

Status Rehearse(const RehearseCommand& command, Plugins& plugins) {
  const rehearse::Demand demand = TRY(rehearse::ReadDemand(command.log));
  for (const std::string& note : demand.notes) std::fprintf(stderr, "%s\n", note.c_str());
  const auto hours =
      std::chrono::duration<double, std::ratio<3600>>(demand.end - demand.start).count();
  std::printf("%s: %.1f hours, %zu pods of %zu shapes, %zu nodes at the start, %zu groups\n\n",
              command.log.c_str(), hours, demand.pods.size(), demand.shapes.size(),
              demand.start_nodes.size(), demand.groups.size());
  std::fflush(stdout);
  const std::string recorded = rehearse::GroupsAsConfig(demand, command.seed);
  std::vector<std::string> both = command.base;
  both.insert(both.end(), command.other.begin(), command.other.end());
  auto base_flags = TRY(autoscale::ParseFlags(command.base));
  auto other_flags = TRY(autoscale::ParseFlags(both));
  SetPace(command, demand, base_flags);
  SetPace(command, demand, other_flags);
  std::vector<rehearse::Outcome> outcomes;
  const bool has_groups = std::ranges::any_of(
      demand.groups, [](const rehearse::RecordedGroup& group) { return group.node.has_value(); });
  if (!has_groups && command.groups.empty()) {
    return InvalidArgument("the log knows no groups: give some with --groups=FILE");
  }
  const auto play = [&](const std::string& name, const std::string& groups,
                        const autoscale::FlagValues& flags) -> Status {
    const auto config = TRY(ReadGroups(recorded, groups));
    outcomes.push_back(TRY(rehearse::PlayDemand({.demand = demand,
                                                 .config = config,
                                                 .flags = flags,
                                                 .plugins = plugins,
                                                 .clouds = plugins.clouds,
                                                 .seed = command.seed,
                                                 .name = name})));
    std::fprintf(stderr, "%s: %.1f s\n", name.c_str(), outcomes.back().real_seconds);
    return Status::Ok();
  };
  if (has_groups) TRY(play("as it was", "", base_flags));
  const bool changed = !command.other.empty() || !command.groups.empty();
  if (changed) TRY(play("changed", command.groups, other_flags));
  std::fputs(rehearse::AsText(outcomes).c_str(), stdout);
  if (command.html.empty()) return Status::Ok();
  std::ofstream file(command.html);
  file << rehearse::AsHtml(outcomes, command.log);
  return file.flush() ? Status::Ok() : Unavailable("cannot write " + command.html);
}

}  // namespace

int RunRehearse(const std::vector<std::string>& args, Plugins& plugins) {
  const auto command = ReadRehearseCommand(args);
  if (!command.ok()) {
    std::fprintf(stderr, "coppice rehearse: %s\n", command.status().message().c_str());
    return 2;
  }
  if (command->help) {
    std::fputs(kRehearseUsage, stdout);
    return 0;
  }
  const Status done = Rehearse(*command, plugins);
  if (done.ok()) return 0;
  std::fprintf(stderr, "coppice rehearse: %s\n", done.message().c_str());
  return done.code() == Code::kInvalidArgument ? 2 : 1;
}

}  // namespace coppice::app
