// The autoscaler's command-line flags: upstream's names, defaults and meanings, as one table. Help,
// documentation and parsing all read it, so that they cannot disagree.
//
// A flag that upstream has and Coppice does not is in the table, too: it is refused with a sentence
// that says what to do instead, unless it is given its default, which changes nothing. None is
// silently ignored.

#pragma once

#include <string>
#include <vector>

#include "autoscale/options.h"
#include "base/flag_set.h"
#include "base/log_flags.h"
#include "base/status.h"

namespace coppice::autoscale {

// What a command line is read into: the engine's options, and what only the process needs.
struct FlagValues {
  Options options;

  std::string cloud_provider;
  std::string cloud_config;
  std::vector<std::string> nodes;  // min:max:name
  std::vector<std::string> node_group_auto_discovery;
  std::string address = ":8085";
  std::string kubernetes;
  std::string kubeconfig;
  double kube_client_qps = 5;
  int kube_client_burst = 10;
  bool leader_elect = true;
  Duration leader_elect_lease_duration = std::chrono::seconds(15);
  Duration leader_elect_renew_deadline = std::chrono::seconds(10);
  Duration leader_elect_retry_period = std::chrono::seconds(2);
  std::string leader_elect_resource_name = "cluster-autoscaler";
  bool frequent_loops_enabled = true;
  Duration max_inactivity = std::chrono::minutes(10);
  Duration max_failing_time = std::chrono::minutes(15);
  Duration max_startup_time = std::chrono::minutes(20);
  std::string grpc_expander_url;
  std::string grpc_expander_cert;
  bool grpc_expander_legacy_fields = false;
  std::string scheduler_config_file;
  bool debugging_snapshot_enabled = false;
  bool emit_per_nodegroup_metrics = false;
  std::vector<std::string> processors;  // SLOT=NAME
  LogFlags log;
  bool upstream_exact = false;
  bool dry_run = false;

  // What was asked for and has no effect, a sentence each, for the log at start.
  std::vector<std::string> notes;

  TriggerOptions ForTrigger() const;
  MetricsOptions ForMetrics() const;
};

// Adds the whole table to a command's flags; `values` is filled when they are parsed.
void AddFlags(FlagSet& set, FlagValues& values);
// After parsing: what single flags cannot tell, and what is to be noted.
Status FinishFlags(const FlagSet& set, FlagValues& values);

// In the order in which they are shown.
const std::vector<Flag>& AllFlags();

// For a command line that holds nothing else.
Result<FlagValues> ParseFlags(const std::vector<std::string>& args);

// The table as Markdown: docs/flags.md.
std::string FlagsAsMarkdown();

}  // namespace coppice::autoscale
