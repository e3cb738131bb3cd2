#include "autoscale/flags.h"

#include <algorithm>

#include "autoscale/flag_table.h"
#include "base/go_duration.h"
#include "base/strings.h"

namespace coppice::autoscale {

namespace {

const Flag* FindFlag(std::string_view name) {
  const auto& flags = AllFlags();
  const auto it = std::ranges::find(flags, name, &Flag::name);
  return it == flags.end() ? nullptr : &*it;
}

// What single flags cannot tell. The rules are upstream's.
Status CheckTogether(FlagValues& values) {
  const Options& options = values.options;
  if (!options.drain_priority_config.empty() &&
      options.max_graceful_termination_sec != Options{}.max_graceful_termination_sec) {
    return InvalidArgument(
        "--drain-priority-config and --max-graceful-termination-sec exclude each other: the "
        "first has the seconds per priority");
  }
  if (!options.balancing_label.empty() && !options.balancing_ignore_label.empty()) {
    return InvalidArgument(
        "--balancing-label and --balancing-ignore-label exclude each other: with the first no "
        "other label is looked at");
  }
  if (!options.allowed_scheduler_names.empty()) {
    for (const std::string& name : options.bypassed_scheduler_names) {
      if (std::ranges::find(options.allowed_scheduler_names, name) ==
          options.allowed_scheduler_names.end()) {
        return InvalidArgument("--bypassed-scheduler-names has '" + name +
                               "', which --allowed-scheduler-names leaves out");
      }
    }
  }
  if (!values.log_to_stderr && !values.log_file.empty()) {
    return Unimplemented(
        "--log-file with --logtostderr=false is not supported here: redirect "
        "standard error to the file");
  }
  if (!values.logging_format.empty() && values.logging_format != "text" &&
      values.logging_format != "json") {
    return InvalidArgument("--logging-format=" + values.logging_format + " is not text or json");
  }
  const Duration longest = std::max(values.max_inactivity, values.max_failing_time);
  if (values.max_startup_time < longest) {
    values.max_startup_time = longest;
    values.notes.push_back("--max-startup-time is raised to " + FormatGoDuration(longest) +
                           ", the longest of the limits that it replaces at the start");
  }
  if (!options.scale_down_enabled)
    values.notes.push_back("--scale-down-enabled is deprecated upstream");
  return Status::Ok();
}

}  // namespace

const std::vector<Flag>& AllFlags() {
  static const std::vector<Flag> kFlags = [] {
    FlagTable table;
    AddClusterFlags(table);
    AddScaleUpFlags(table);
    AddScaleDownFlags(table);
    AddHealthFlags(table);
    AddDeviationFlags(table);
    AddUnsupportedFlags(table);
    AddLogFlags(table);
    return table.Take();
  }();
  return kFlags;
}

Result<FlagValues> ParseFlags(const std::vector<std::string>& args) {
  FlagValues values;
  // First, so that single deviations may be switched on again behind it.
  const auto turns_off = [](const std::string& arg) {
    return arg == "--upstream-exact" || arg == "--upstream-exact=true";
  };
  if (std::ranges::any_of(args, turns_off)) values.options.deviations = Deviations::None();
  for (size_t i = 0; i < args.size(); ++i) {
    std::string_view arg = args[i];
    if (!arg.starts_with('-') || arg == "-" || arg == "--") {
      return InvalidArgument("'" + std::string(arg) + "' is no flag; flags begin with --");
    }
    arg.remove_prefix(arg.starts_with("--") ? 2 : 1);
    const size_t equals = arg.find('=');
    std::string name(arg.substr(0, equals));
    std::ranges::replace(name, '_', '-');  // as upstream does: --log_dir is --log-dir
    const Flag* flag = FindFlag(name);
    if (flag == nullptr) {
      std::vector<std::string> names;
      for (const Flag& known : AllFlags()) names.push_back(known.name);
      const std::string nearest = Nearest(name, names);
      return InvalidArgument(
          "there is no flag --" + name +
          (nearest.empty() ? "; --help lists them" : "; did you mean --" + nearest + "?"));
    }
    std::string value;
    if (equals != std::string_view::npos) {
      value = arg.substr(equals + 1);
    } else if (flag->is_bool) {
      value = "true";
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return InvalidArgument("--" + name + " needs a value");
    }
    const Status set = flag->set(values, value);
    if (!set.ok()) return set.Context("--" + name + "=" + value);
  }
  for (std::string& name : values.options.expander) {
    if (name == "externalgrpc") name = "grpc";  // the proposal's name
  }
  TRY(CheckTogether(values));
  return values;
}

std::string FlagsAsMarkdown() {
  std::string text =
      "# Flags\n\nGenerated from the table in src/autoscale/flags_*.cc. Names, "
      "defaults and meanings are those of "
      "Cluster Autoscaler; what is marked [ours] is not.\n";
  std::string group;
  for (const Flag& flag : AllFlags()) {
    if (flag.group != group) {
      group = flag.group;
      text += "\n## " + group + "\n\n| Flag | Type | Default | Meaning |\n|---|---|---|---|\n";
    }
    text += "| `--" + flag.name + "` | " + flag.type + " | " +
            (flag.default_text.empty() ? "" : "`" + flag.default_text + "`") + " | " + flag.help +
            " |\n";
  }
  return text;
}

std::string FlagsAsHelp() {
  std::string text;
  std::string group;
  for (const Flag& flag : AllFlags()) {
    if (flag.group != group) {
      group = flag.group;
      text += "\n" + group + ":\n";
    }
    text += "  --" + flag.name + " " + flag.type;
    if (!flag.default_text.empty()) text += " (" + flag.default_text + ")";
    text += "\n      " + flag.help + "\n";
  }
  return text;
}

}  // namespace coppice::autoscale
