// `coppice rehearse`: a recorded day again, with other flags, groups or pools.

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "app/command_line.h"
#include "app/commands/commands.h"
#include "batch/scheduler_flags.h"
#include "provision/settings.h"
#include "rehearse/comparison.h"
#include "rehearse/demand.h"
#include "rehearse/played_pools.h"
#include "rehearse/player.h"
#include "rehearse/recorded_config.h"
#include "whatif/model_scene.h"

namespace coppice::app {
namespace {

constexpr std::string_view kRehearseAbout =
    R"(coppice rehearse: a recorded day again, with other flags, groups or pools

  coppice rehearse LOG [--groups=FILE] [--pools=FILE] [--html=FILE] [--FLAG=value] [--base-FLAG=value]

Plays what was recorded by `coppice record` or `coppice run --record=DIR` against a model cluster
and cloud: once as it was, and once with the autoscaler's flags, the groups or the node pools that
are given here. Prints both side by side and the first decisions that differ. Under --base-FLAG the
first column has a flag, too, if the day was not lived with its default. docs/rehearse.md has an
example.
)";

struct RehearseCommand {
  std::vector<std::string> logs;
  std::string groups;
  std::string pools;
  std::string html;
  uint64_t seed = 1;
  std::optional<Duration> pass_every;
  autoscale::FlagValues base;   // of the first column
  autoscale::FlagValues other;  // of the second: those, and what is given beside them
  provision::Settings pool_settings;
  bool batch = false;
  batch::SchedulerFlags scheduler;
  bool changed = false;

  const std::string& log() const { return logs.front(); }
};

void AddRehearseFlags(FlagSet& set, RehearseCommand& command) {
  set.Group("What is played");
  set.AddWords("LOG", command.logs, true, "A directory of recordings, or one file.");
  set.AddString("groups", command.groups,
                "Other groups: a configuration of `coppice provider` with cloud.kind: simulated; "
                "with --pools it may have none, and says what is for sale.");
  set.AddString("pools", command.pools,
                "Node pools instead of the recorded groups: NodePools and NodeClasses as kubectl "
                "prints them, a file or a folder. They may buy what the recorded groups consist "
                "of, or what --groups sells.");
  set.AddBool(
      "batch", command.batch,
      "The second column with the batch scheduler's flags that are given beside this. Gangs "
      "that were recorded are played in any case.");
  set.AddString("html", command.html, "A file: the comparison as a page with pictures.");
  set.AddNumber("seed", command.seed, "Of the model.");
  set.AddDuration("pass-every", command.pass_every,
                  "A pass this often and not whenever something changes: for speed. Empty: 1m from "
                  "50,000 pods on, else as the autoscaler does it.");
}

constexpr std::string_view kBase = "base-";

// What was written of the flags from one to another, without what their names begin with.
std::vector<std::string> Written(const FlagSet& set, size_t from, size_t to, size_t prefix) {
  std::vector<std::string> args;
  for (size_t i = from; i < to; ++i) {
    const Flag& flag = set.flags()[i];
    for (const std::string& value : flag.values)
      args.push_back("--" + flag.name.substr(prefix) + "=" + value);
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
  const size_t pools = flags.flags().size();
  flags.With("pools");
  provision::AddSettings(flags, command.pool_settings);
  flags.With("batch");
  batch::AddSchedulerFlags(flags, command.scheduler);
  flags.With("");
  const size_t base = flags.flags().size();
  flags.Prefix(std::string(kBase));
  autoscale::FlagValues given_base;
  autoscale::AddFlags(flags, given_base);
  return ReadCommandLine({"rehearse", kRehearseAbout}, flags, args, [&]() -> Status {
    if (command.logs.size() > 1)
      return InvalidArgument("'" + command.logs[1] + "' is a second log");
    std::vector<std::string> both = Written(flags, base, flags.flags().size(), kBase.size());
    command.base = TRY(autoscale::ParseFlags(both));
    const std::vector<std::string> other = Written(flags, own, pools, 0);
    both.insert(both.end(), other.begin(), other.end());
    command.other = TRY(autoscale::ParseFlags(both));
    command.pool_settings.options.upstream_exact = command.other.upstream_exact;
    command.changed =
        !other.empty() || !command.groups.empty() || !command.pools.empty() || command.batch;
    return Status::Ok();
  });
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

void IntroduceLog(const RehearseCommand& command, const rehearse::Demand& demand) {
  for (const std::string& note : demand.notes) std::fprintf(stderr, "%s\n", note.c_str());
  const auto hours =
      std::chrono::duration<double, std::ratio<3600>>(demand.end - demand.start).count();
  std::printf(
      "%s: %.1f hours, %zu pods of %zu shapes, %zu nodes at the start, %zu groups, %zu pools%s\n\n",
      command.log().c_str(), hours, demand.pods.size(), demand.shapes.size(),
      demand.start_nodes.size(), demand.groups.size(), demand.pools.size(),
      demand.gangs.empty() ? "" : (", " + std::to_string(demand.gangs.size()) + " gangs").c_str());
  std::fflush(stdout);
}

// The columns, played one after the other.
Result<std::vector<rehearse::Outcome>> PlayColumns(const RehearseCommand& command,
                                                   const rehearse::Demand& demand,
                                                   Plugins& plugins) {
  std::vector<rehearse::Outcome> outcomes;
  const bool gangs = !demand.gangs.empty();
  const rehearse::PlayedBatch standard{.plugins = plugins.batch};
  const rehearse::PlayedBatch given{.flags = command.scheduler, .plugins = plugins.batch};
  const rehearse::PlayedBatch* batch = gangs ? &standard : nullptr;
  const auto play = [&](const std::string& name, const provider::ProviderConfig& config,
                        autoscale::FlagValues flags, const rehearse::PlayedPools* pools) -> Status {
    SetPace(command, demand, flags);
    outcomes.push_back(TRY(rehearse::PlayDemand({.demand = demand,
                                                 .config = config,
                                                 .flags = std::move(flags),
                                                 .plugins = plugins,
                                                 .clouds = plugins.clouds,
                                                 .seed = command.seed,
                                                 .name = name,
                                                 .pools = pools,
                                                 .batch = batch})));
    std::fprintf(stderr, "%s: %.1f s\n", name.c_str(), outcomes.back().real_seconds);
    return Status::Ok();
  };
  const bool has_groups = std::ranges::any_of(
      demand.groups, [](const rehearse::RecordedGroup& group) { return group.node.has_value(); });
  const bool has_pools = !demand.pools.empty() && !demand.types.empty();
  if (!has_groups && !has_pools && command.groups.empty()) {
    return InvalidArgument("the log knows no groups: give some with --groups=FILE");
  }
  const char* const who = "a rehearsal";
  const auto recorded_pools = rehearse::RecordedPools(demand, command.pool_settings.options);
  const std::string recorded = rehearse::GroupsAsConfig(demand, command.seed);
  const auto some = has_pools ? provider::Groups::kOptional : provider::Groups::kRequired;
  if (has_groups || has_pools) {
    const auto config = TRY(whatif::SimulatedConfig("", recorded, who, some));
    TRY(play("as it was", config, command.base, has_pools ? &recorded_pools : nullptr));
  }
  if (!command.changed) return outcomes;
  if (command.batch) batch = &given;
  if (command.pools.empty()) {
    // Other groups beside the pools if that is what there was, else instead of them.
    const bool keeps_pools = has_pools && (has_groups || command.groups.empty());
    const auto config = TRY(whatif::SimulatedConfig(
        command.groups, recorded, who, keeps_pools ? some : provider::Groups::kRequired));
    TRY(play("changed", config, command.other, keeps_pools ? &recorded_pools : nullptr));
    return outcomes;
  }
  std::vector<std::string> notes;
  const auto pools =
      TRY(rehearse::ReadPlayedPools(command.pools, command.pool_settings.options, notes));
  for (const std::string& note : notes) std::fprintf(stderr, "%s\n", note.c_str());
  const auto config =
      TRY(whatif::SimulatedConfig(command.groups, rehearse::FlavorsAsConfig(demand, command.seed),
                                  who, provider::Groups::kOptional));
  TRY(play("changed", config, command.other, &pools));
  return outcomes;
}

Status Rehearse(const RehearseCommand& command, Plugins& plugins) {
  const rehearse::Demand demand = TRY(rehearse::ReadDemand(command.log()));
  IntroduceLog(command, demand);
  const auto outcomes = TRY(PlayColumns(command, demand, plugins));
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
