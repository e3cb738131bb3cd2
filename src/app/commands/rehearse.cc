// `coppice rehearse`: a recorded day again, with other flags or groups.

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "rehearse/comparison.h"
#include "rehearse/demand.h"
#include "rehearse/player.h"

namespace coppice::app {
namespace {

constexpr std::string_view kRehearseAbout =
    R"(coppice rehearse: a recorded day again, with other flags or groups

  coppice rehearse LOG [--groups=FILE] [--html=FILE] [--FLAG=value] [--base-FLAG=value]

Plays what was recorded by `coppice run --record=DIR` against a model cluster and cloud: once as it
was, and once with the autoscaler's flags or the groups that are given here. Prints both side by
side and the first decisions that differ. Under --base-FLAG the first column has a flag, too, if the
day was not lived with its default. docs/rehearse.md has an example.
)";

struct RehearseCommand {
  std::vector<std::string> logs;
  std::string groups;
  std::string html;
  uint64_t seed = 1;
  std::optional<Duration> pass_every;
  autoscale::FlagValues base;   // of the first column
  autoscale::FlagValues other;  // of the second: those, and what is given beside them
  bool changed = false;

  const std::string& log() const { return logs.front(); }
};

void AddRehearseFlags(FlagSet& set, RehearseCommand& command) {
  set.Group("What is played");
  set.AddWords("LOG", command.logs, true, "A directory of recordings, or one file.");
  set.AddString("groups", command.groups,
                "Other groups: a configuration of `coppice provider` with cloud.kind: simulated.");
  set.AddString("html", command.html, "A file: the comparison as a page with pictures.");
  set.AddNumber("seed", command.seed, "Of the model.");
  set.AddDuration("pass-every", command.pass_every,
                  "A pass this often and not whenever something changes: for speed. Empty: 1m from "
                  "50,000 pods on, else as the autoscaler does it.");
}

constexpr std::string_view kBase = "base-";

// What was written of the autoscaler's flags, the first column's or the second's own.
std::vector<std::string> Written(const FlagSet& set, size_t own, bool base) {
  std::vector<std::string> args;
  for (size_t i = own; i < set.flags().size(); ++i) {
    const Flag& flag = set.flags()[i];
    if (flag.name.starts_with(kBase) != base) continue;
    for (const std::string& value : flag.values)
      args.push_back("--" + flag.name.substr(base ? kBase.size() : 0) + "=" + value);
  }
  return args;
}

// An exit code when the command is over with that.
std::optional<int> ReadRehearse(const std::vector<std::string>& args, RehearseCommand& command) {
  FlagSet flags;
  AddRehearseFlags(flags, command);
  const size_t own = flags.flags().size();
  flags.Further();
  autoscale::FlagValues
      given;  // checked here, and read again below: one column is the other's base
  autoscale::AddFlags(flags, given);
  flags.Prefix(std::string(kBase));
  autoscale::FlagValues given_base;
  autoscale::AddFlags(flags, given_base);
  return ReadCommandLine({"rehearse", kRehearseAbout}, flags, args, [&]() -> Status {
    if (command.logs.size() > 1)
      return InvalidArgument("'" + command.logs[1] + "' is a second log");
    std::vector<std::string> both = Written(flags, own, true);
    command.base = TRY(autoscale::ParseFlags(both));
    const std::vector<std::string> other = Written(flags, own, false);
    both.insert(both.end(), other.begin(), other.end());
    command.other = TRY(autoscale::ParseFlags(both));
    command.changed = !other.empty() || !command.groups.empty();
    return Status::Ok();
  });
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
  const rehearse::Demand demand = TRY(rehearse::ReadDemand(command.log()));
  for (const std::string& note : demand.notes) std::fprintf(stderr, "%s\n", note.c_str());
  const auto hours =
      std::chrono::duration<double, std::ratio<3600>>(demand.end - demand.start).count();
  std::printf("%s: %.1f hours, %zu pods of %zu shapes, %zu nodes at the start, %zu groups\n\n",
              command.log().c_str(), hours, demand.pods.size(), demand.shapes.size(),
              demand.start_nodes.size(), demand.groups.size());
  std::fflush(stdout);
  const std::string recorded = rehearse::GroupsAsConfig(demand, command.seed);
  autoscale::FlagValues base_flags = command.base;
  autoscale::FlagValues other_flags = command.other;
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
  if (command.changed) TRY(play("changed", command.groups, other_flags));
  std::fputs(rehearse::AsText(outcomes).c_str(), stdout);
  if (command.html.empty()) return Status::Ok();
  std::ofstream file(command.html);
  file << rehearse::AsHtml(outcomes, command.log());
  return file.flush() ? Status::Ok() : Unavailable("cannot write " + command.html);
}

}  // namespace

int RunRehearse(const std::vector<std::string>& args, Plugins& plugins) {
  RehearseCommand command;
  if (const auto code = ReadRehearse(args, command)) return *code;
  const Status done = Rehearse(command, plugins);
  if (done.ok()) return 0;
  return done.code() == Code::kInvalidArgument ? WrongUsage("rehearse", done)
                                               : Failed("rehearse", done);
}

}  // namespace coppice::app
