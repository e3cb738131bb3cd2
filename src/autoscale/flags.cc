#include "autoscale/flags.h"

#include <algorithm>

#include "autoscale/flag_parts.h"
#include "base/go_duration.h"
#include "base/strings.h"

namespace coppice::autoscale {

namespace {

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
  TRY(CheckLogFlags(values.log));
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

TriggerOptions FlagValues::ForTrigger() const {
  TriggerOptions trigger;
  static_cast<LoopOptions&>(trigger) = options;
  trigger.frequent_loops_enabled = frequent_loops_enabled;
  trigger.bypassed_scheduler_names = options.bypassed_scheduler_names;
  trigger.deviations = options.deviations;
  return trigger;
}

MetricsOptions FlagValues::ForMetrics() const {
  return {.limits = options,
          .taints = options,
          .bypassed_scheduler_names = options.bypassed_scheduler_names,
          .per_group = emit_per_nodegroup_metrics};
}

void AddFlags(FlagSet& set, FlagValues& values) {
  AddClusterFlags(set, values);
  AddScaleUpFlags(set, values);
  AddScaleDownFlags(set, values);
  AddHealthFlags(set, values);
  AddDeviationFlags(set, values);
  AddUnsupportedFlags(set);
  AddLogFlags(set, values.log);
}

Status FinishFlags(const FlagSet& set, FlagValues& values) {
  values.notes = set.notes();
  for (std::string& name : values.options.expander) {
    if (name == "externalgrpc") name = "grpc";  // the proposal's name
  }
  return CheckTogether(values);
}

const std::vector<Flag>& AllFlags() {
  struct Table {
    Table() { AddFlags(set, values); }
    FlagValues values;
    FlagSet set;
  };
  static const Table kTable;
  return kTable.set.flags();
}

Result<FlagValues> ParseFlags(const std::vector<std::string>& args) {
  FlagValues values;
  FlagSet set;
  AddFlags(set, values);
  TRY(set.Parse(args));
  TRY(FinishFlags(set, values));
  return values;
}

std::string FlagsAsMarkdown() {
  FlagValues values;
  FlagSet set;
  AddFlags(set, values);
  return "# Flags\n\nGenerated from the table in src/autoscale/flags_*.cc. Names, "
         "defaults and meanings are those of "
         "Cluster Autoscaler; what is marked [ours] is not.\n" +
         set.AsMarkdown();
}

}  // namespace coppice::autoscale
