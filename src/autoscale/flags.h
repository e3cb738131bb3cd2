// The autoscaler's command-line flags: upstream's names, defaults and meanings, as one table. Help,
// documentation and parsing all read it, so that they cannot disagree.
//
// A flag that upstream has and Coppice does not is in the table, too: it is refused with a sentence
// that says what to do instead, unless it is given its default, which changes nothing. None is
// silently ignored.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autoscale/options.h"
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
  int verbosity = 0;                    // --v
  std::string logging_format;           // text, json; "": what fits the destination
  bool log_to_stderr = true;
  std::string log_file;
  bool upstream_exact = false;
  bool dry_run = false;

  // What was asked for and has no effect, a sentence each, for the log at start.
  std::vector<std::string> notes;
};

struct Flag {
  std::string name;
  std::string group;         // heading in --help
  std::string type;          // bool, int, float, duration, string, list, range
  std::string default_text;  // as it would be written
  std::string help;
  bool is_bool = false;  // may stand without a value
  std::string alias_of;  // another name for that one
  std::function<Status(FlagValues&, std::string_view value)> set;
};

// In the order in which they are shown.
const std::vector<Flag>& AllFlags();

// Reads `--name=value`, `--name value` and `--flag`, and klog's `-v=4`. Unknown flags are refused
// with the nearest known one. What is left over (no dash) is an error, too.
Result<FlagValues> ParseFlags(const std::vector<std::string>& args);

// The table as Markdown: docs/flags.md.
std::string FlagsAsMarkdown();
// The table as --help prints it.
std::string FlagsAsHelp();

}  // namespace coppice::autoscale
