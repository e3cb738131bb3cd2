#include "provision/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "base/go_duration.h"
#include "base/strings.h"
#include "fit/default_spread_config.h"

namespace coppice::provision {
namespace {

// Those under it have a variable each.
constexpr char kKarpentersGroup[] = "Node pools (with --node-pools): Karpenter's settings";

// What a gate of Karpenter's stands for here; null: it is not there.
bool FeatureGates::* GateNamed(std::string_view name) {
  if (name == "NodeRepair") return &FeatureGates::node_repair;
  if (name == "ReservedCapacity") return &FeatureGates::reserved_capacity;
  if (name == "SpotToSpotConsolidation") return &FeatureGates::spot_to_spot_consolidation;
  if (name == "StaticCapacity") return &FeatureGates::static_capacity;
  if (name == "TerminateFirstDrift") return &FeatureGates::terminate_first_drift;
  if (name == "TerminateFirstRepair") return &FeatureGates::terminate_first_repair;
  if (name == "PodDeletionCostManagement") return &FeatureGates::pod_deletion_cost_management;
  return nullptr;
}

constexpr std::string_view kAbsentGates[] = {"NodeOverlay", "CapacityBuffer",
                                             "NodeRegistrationHooks", "Reboot"};

Status SetGates(FeatureGates& gates, std::string_view text) {
  for (const std::string& part : Split(std::string(text), ',')) {
    if (Trim(part).empty()) continue;
    const size_t equals = part.find('=');
    const std::string name(Trim(std::string_view(part).substr(0, equals)));
    if (equals == std::string::npos)
      return InvalidArgument("'" + part + "': write Name=true or Name=false");
    const bool wanted =
        TRY(FlagBool(Trim(std::string_view(part).substr(equals + 1))).Context(name));
    if (bool FeatureGates::* const gate = GateNamed(name); gate != nullptr) {
      gates.*gate = wanted;
    } else if (std::ranges::find(kAbsentGates, name) == std::end(kAbsentGates)) {
      const std::vector<std::string> known = {"NodeRepair",
                                              "ReservedCapacity",
                                              "SpotToSpotConsolidation",
                                              "StaticCapacity",
                                              "TerminateFirstDrift",
                                              "TerminateFirstRepair",
                                              "PodDeletionCostManagement"};
      const std::string nearest = Nearest(name, known);
      return InvalidArgument("there is no feature gate '" + name + "'; there are " +
                             Join(known, ", ") +
                             (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
    } else if (wanted) {
      return Unimplemented("the feature gate " + name +
                           " is not there yet: take it out, or leave those pools to Karpenter");
    }
  }
  return Status::Ok();
}

// One of two words; `yes` is the one that is not the default.
void AddPolicy(FlagSet& set, std::string name, std::string no, std::string yes, std::string help,
               std::function<void(bool is_yes)> take) {
  std::string default_text = no;
  set.Add(std::move(name), "string", std::move(default_text), std::move(help),
          [no = std::move(no), yes = std::move(yes),
           take = std::move(take)](std::string_view text) -> Status {
            if (text != no && text != yes) return BadFlagValue(text, no + " or " + yes);
            take(text == yes);
            return Status::Ok();
          });
}

// Whoever says how long a batch lasts wants Karpenter's windows, not ours.
void AddWindow(FlagSet& set, std::string name, Duration& value, bool& fixed, std::string help) {
  set.Add(std::move(name), "duration", FormatGoDuration(value), std::move(help),
          [&value, &fixed](std::string_view text) -> Status {
            value = TRY(FlagDuration(text));
            fixed = true;
            return Status::Ok();
          });
}

void AddKarpenters(FlagSet& set, EngineOptions& options) {
  AddWindow(set, "batch-max-duration", options.batch_max_duration, options.fixed_batches,
            "Longest window of a batch of pods. Given, it (and --batch-idle-duration) replaces "
            "ours, which ends when the burst does.");
  AddWindow(set, "batch-idle-duration", options.batch_idle_duration, options.fixed_batches,
            "A batch ends when no pod came for so long.");
  AddPolicy(set, "preference-policy", "Respect", "Ignore",
            "Whether preferences of pods count until nothing else helps: Respect or Ignore.",
            [&options](bool ignore) {
              options.preference_policy =
                  ignore ? PreferencePolicy::kIgnore : PreferencePolicy::kRespect;
            });
  AddPolicy(set, "min-values-policy", "Strict", "BestEffort",
            "What to do when minValues cannot be met: Strict refuses, BestEffort relaxes.",
            [&options](bool best_effort) {
              options.min_values_policy =
                  best_effort ? MinValuesPolicy::kBestEffort : MinValuesPolicy::kStrict;
            });
  set.Add("scheduler-config", "string", "",
          "What the cluster's kube-scheduler adds to pods, as a YAML or JSON document: "
          "podTopologySpread.defaultConstraints, for pods without spread constraints of their own.",
          [&options](std::string_view text) -> Status {
            options.default_spread = TRY(fit::ParseDefaultSpread(text, "scheduler-config"));
            return Status::Ok();
          });
  set.Refuse("ignore-dra-requests", "true",
             "DRA is not there yet: pods with ResourceClaims are left alone");
  set.AddBool("legacy-node-repair", options.legacy_node_repair,
              "With the gate NodeRepair: sick nodes are deleted at once, as before Karpenter 1.15, "
              "instead of within the budgets for Unhealthy and after their replacement.");
  set.Add("disable-cluster-state-observability", "bool", "false",
          "No metrics about every node, pod and claim, nor about their conditions.",
          [&options](std::string_view text) -> Status {
            options.observe_cluster_state = !TRY(FlagBool(text));
            return Status::Ok();
          });
  set.Add("feature-gates", "string", "ReservedCapacity=true",
          "Name=true or false, comma separated: NodeRepair, ReservedCapacity, "
          "SpotToSpotConsolidation, StaticCapacity, TerminateFirstDrift, TerminateFirstRepair, "
          "PodDeletionCostManagement. NodeOverlay and CapacityBuffer are refused.",
          [&options](std::string_view text) { return SetGates(options.gates, text); });
}

// Karpenter's, about the process.
void AddKarpentersProcess(FlagSet& set, Settings& settings) {
  constexpr int kMostPorts = 65535;
  set.Add("metrics-port", "int", "8080",
          "Where /metrics and all other pages are, unless --address says so.",
          [&settings](std::string_view text) -> Status {
            settings.metrics_port = TRY(FlagNumber<int>(text, {0, kMostPorts}));
            return Status::Ok();
          });
  set.Accept("health-probe-port", "int", "8081", "/health-check and /readyz are where /metrics is");
  set.AddBool("disable-leader-election", settings.disable_leader_election,
              "The same as --leader-elect=false.");
  set.AddString(
      "leader-election-name", settings.leader_election_name,
      "Name of the lease. Ours is --leader-elect-resource-name's; give Karpenter's, "
      "karpenter-leader-election, if it may run beside, so that only one of the two acts.");
  set.AddString("leader-election-namespace", settings.leader_election_namespace,
                "Where the lease is; else --namespace.");
  set.Add("log-level", "string", "info", "debug, info, warn or error; --v wins.",
          [&settings](std::string_view text) -> Status {
            if (text != "debug" && text != "info" && text != "warn" && text != "error")
              return BadFlagValue(text, "debug, info, warn or error");
            settings.log_level = std::string(text);
            return Status::Ok();
          });
  for (const auto& [name, type, default_text, why] :
       std::initializer_list<std::array<const char*, 4>>{
           {"cpu-requests", "int", "1000", "nothing here is sized by the process's own requests"},
           {"memory-limit", "int", "-1", "there is no garbage collector to be told"},
           {"disable-controller-warmup", "bool", "true", "a replica that waits reads the cluster"},
           {"log-output-paths", "string", "stdout", "the log goes to standard error"},
           {"log-error-output-paths", "string", "stderr", "the log goes to standard error"},
           {"karpenter-service", "string", "", "there is no webhook"}}) {
    set.Accept(name, type, default_text, why);
  }
  set.Refuse("enable-profiling", "false", "there are no profiling pages: use perf on the process");
}

void AddOurs(FlagSet& set, EngineOptions& options) {
  set.AddDuration("pool-batch-quiet", options.batch_quiet,
                  "[ours] A batch ends when no new pod came for so long.");
  set.AddDuration("pool-batch-wait", options.batch_wait,
                  "[ours] And at the latest so long after its first pod.");
  set.AddBool("ask-filters", options.ask_filters,
              "[ours] Ask kube-scheduler's filters before a machine is bought: what it would not "
              "use is never bought.");
  set.AddBool("pool-disruption", options.disruption,
              "[ours] Take machines away that are empty, outdated, too dear or (gate NodeRepair) "
              "sick; false: only what others delete, what expires, and with --legacy-node-repair "
              "what is sick.");
  set.AddDuration("pause-between-disruptions", options.pause_between_disruptions,
                  "[ours] Least time between two of one pool.");
  set.AddNumber("spot-to-spot-least-types", options.spot_to_spot_least_types,
                "[ours] A spot machine is replaced by a cheaper spot one only if so many types are "
                "cheaper.");
  set.AddDuration("pool-max-view-age", options.max_view_age,
                  "[ours] With an older view of the cluster nothing is bought and nothing taken "
                  "away, and the pass fails.");
}

// BATCH_MAX_DURATION
std::string VariableOf(std::string_view flag) {
  std::string variable;
  for (const char c : flag)
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

}  // namespace

void AddSettings(FlagSet& set, Settings& settings) {
  set.Group(kKarpentersGroup);
  AddKarpenters(set, settings.options);
  AddKarpentersProcess(set, settings);
  set.Group("Node pools (with --node-pools)");
  AddOurs(set, settings.options);
}

Status ReadVariables(const FlagSet& set, Settings& settings, const Environment& environment) {
  const auto read = [&](const std::string& flag,
                        const std::function<Status(std::string_view)>& take) -> Status {
    const std::string variable = VariableOf(flag);
    const char* value = set.Given(flag) ? nullptr : environment(variable.c_str());
    if (value == nullptr || *value == '\0') return Status::Ok();
    return take(value).Context(variable + "=" + value);
  };
  for (const Flag& flag : set.flags()) {
    if (flag.group == kKarpentersGroup) TRY(read(flag.name, flag.set));
  }
  TRY(read("kube-client-qps", [&](std::string_view text) -> Status {
    settings.kube_client_qps = TRY(FlagNumber<double>(text));
    return Status::Ok();
  }));
  return read("kube-client-burst", [&](std::string_view text) -> Status {
    settings.kube_client_burst = TRY(FlagNumber<int>(text));
    return Status::Ok();
  });
}

}  // namespace coppice::provision
