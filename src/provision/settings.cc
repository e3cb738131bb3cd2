#include "provision/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/go_duration.h"
#include "base/strings.h"

namespace coppice::provision {
namespace {

using Set = std::function<Status(Settings&, std::string_view)>;

Result<bool> ReadBool(std::string_view text) {
  if (text == "true" || text == "1" || text == "t" || text == "T" || text == "TRUE") return true;
  if (text == "false" || text == "0" || text == "f" || text == "F" || text == "FALSE") return false;
  return InvalidArgument("'" + std::string(text) + "' is not true or false");
}

template <class T>
Result<T> ReadNumberFrom(std::string_view text, T least) {
  T value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value < least)
    return InvalidArgument("'" + std::string(text) + "' is not a number of " +
                           std::to_string(static_cast<int64_t>(least)) + " or more");
  return value;
}

// What a gate of Karpenter's stands for here; null: it is not there.
bool FeatureGates::* GateNamed(std::string_view name) {
  if (name == "NodeRepair") return &FeatureGates::node_repair;
  if (name == "ReservedCapacity") return &FeatureGates::reserved_capacity;
  if (name == "SpotToSpotConsolidation") return &FeatureGates::spot_to_spot_consolidation;
  if (name == "StaticCapacity") return &FeatureGates::static_capacity;
  if (name == "TerminateFirstDrift") return &FeatureGates::terminate_first_drift;
  if (name == "PodDeletionCostManagement") return &FeatureGates::pod_deletion_cost_management;
  return nullptr;
}

constexpr std::string_view kAbsentGates[] = {"NodeOverlay", "CapacityBuffer",
                                             "NodeRegistrationHooks", "Reboot"};

Status SetGates(Settings& settings, std::string_view text) {
  for (const std::string& part : Split(std::string(text), ',')) {
    if (Trim(part).empty()) continue;
    const size_t equals = part.find('=');
    const std::string name(Trim(std::string_view(part).substr(0, equals)));
    if (equals == std::string::npos)
      return InvalidArgument("'" + part + "': write Name=true or Name=false");
    const bool wanted =
        TRY(ReadBool(Trim(std::string_view(part).substr(equals + 1))).Context(name));
    if (bool FeatureGates::* const gate = GateNamed(name); gate != nullptr) {
      settings.options.gates.*gate = wanted;
    } else if (std::ranges::find(kAbsentGates, name) == std::end(kAbsentGates)) {
      return InvalidArgument(
          "there is no feature gate '" + name +
          "'; there are NodeRepair, ReservedCapacity, SpotToSpotConsolidation, StaticCapacity, "
          "TerminateFirstDrift and PodDeletionCostManagement");
    } else if (wanted) {
      return Unimplemented("the feature gate " + name +
                           " is not there yet: take it out, or leave those pools to Karpenter");
    }
  }
  return Status::Ok();
}

Set AsDuration(Duration EngineOptions::* member, bool fixes_batches = false) {
  return [=](Settings& s, std::string_view text) -> Status {
    const Duration value = TRY(ParseGoDuration(text));
    if (value < Duration::zero()) return InvalidArgument("must not be negative");
    s.options.*member = value;
    if (fixes_batches) s.options.fixed_batches = true;
    return Status::Ok();
  };
}

Set AsBool(bool EngineOptions::* member) {
  return [member](Settings& s, std::string_view text) -> Status {
    s.options.*member = TRY(ReadBool(text));
    return Status::Ok();
  };
}

Set AsCount(size_t EngineOptions::* member) {
  return [member](Settings& s, std::string_view text) -> Status {
    s.options.*member = TRY(ReadNumberFrom<size_t>(text, 0));
    return Status::Ok();
  };
}

Set AsText(std::optional<std::string> Settings::* member) {
  return [member](Settings& s, std::string_view text) -> Status {
    s.*member = std::string(text);
    return Status::Ok();
  };
}

// Understood, and without effect by design.
Set Without(std::string name, std::string default_text, std::string why) {
  return [=](Settings& s, std::string_view text) -> Status {
    if (text != default_text) s.notes.push_back("--" + name + " has no effect: " + why);
    return Status::Ok();
  };
}

Set Refused(std::string default_text, std::string instead) {
  return [=](Settings&, std::string_view text) -> Status {
    if (text == default_text) return Status::Ok();
    return Unimplemented(instead);
  };
}

Status SetPreference(Settings& s, std::string_view text) {
  if (text != "Respect" && text != "Ignore")
    return InvalidArgument("'" + std::string(text) + "' is not Respect or Ignore");
  s.options.preference_policy =
      text == "Ignore" ? PreferencePolicy::kIgnore : PreferencePolicy::kRespect;
  return Status::Ok();
}

Status SetMinValues(Settings& s, std::string_view text) {
  if (text != "Strict" && text != "BestEffort")
    return InvalidArgument("'" + std::string(text) + "' is not Strict or BestEffort");
  s.options.min_values_policy =
      text == "BestEffort" ? MinValuesPolicy::kBestEffort : MinValuesPolicy::kStrict;
  return Status::Ok();
}

auto AddTo(std::vector<Setting>& all) {
  return [&all](std::string name, std::string type, std::string default_text, std::string help,
                Set set, bool shared = false) {
    all.push_back({.name = std::move(name),
                   .type = type,
                   .default_text = std::move(default_text),
                   .help = std::move(help),
                   .is_bool = type == "bool",
                   .shared = shared,
                   .set = std::move(set)});
  };
}

void AddKarpenters(std::vector<Setting>& all) {
  const auto add = AddTo(all);
  add("batch-max-duration", "duration", "10s",
      "Longest window of a batch of pods. Given, it (and --batch-idle-duration) replaces ours, "
      "which ends when the burst does.",
      AsDuration(&EngineOptions::batch_max_duration, true));
  add("batch-idle-duration", "duration", "1s", "A batch ends when no pod came for so long.",
      AsDuration(&EngineOptions::batch_idle_duration, true));
  add("preference-policy", "string", "Respect",
      "Whether preferences of pods count until nothing else helps: Respect or Ignore.",
      SetPreference);
  add("min-values-policy", "string", "Strict",
      "What to do when minValues cannot be met: Strict refuses, BestEffort relaxes.", SetMinValues);
  add("ignore-dra-requests", "bool", "true",
      "Pods with ResourceClaims are refused, not guessed at.",
      Refused("true", "DRA is not there yet: pods with ResourceClaims are left alone"));
  add("feature-gates", "string", "ReservedCapacity=true",
      "Name=true or false, comma separated: NodeRepair, ReservedCapacity, SpotToSpotConsolidation, "
      "StaticCapacity, TerminateFirstDrift, PodDeletionCostManagement. NodeOverlay and "
      "CapacityBuffer are refused.",
      SetGates);
}

// Karpenter's, about the process.
void AddKarpentersProcess(std::vector<Setting>& all) {
  const auto add = AddTo(all);
  add(
      "kube-client-qps", "float", "200", "Requests per second to the API server.",
      [](Settings& s, std::string_view text) -> Status {
        s.kube_client_qps = TRY(ReadNumberFrom<double>(text, 0));
        return Status::Ok();
      },
      true);
  add(
      "kube-client-burst", "int", "300", "And so many at once.",
      [](Settings& s, std::string_view text) -> Status {
        s.kube_client_burst = TRY(ReadNumberFrom<int>(text, 0));
        return Status::Ok();
      },
      true);
  add("metrics-port", "int", "8080",
      "Where /metrics and all other pages are, unless --address says so.",
      [](Settings& s, std::string_view text) -> Status {
        const int port = TRY(ReadNumberFrom<int>(text, 0));
        if (port > 65535) return InvalidArgument("there is no port " + std::string(text));
        s.metrics_port = port;
        return Status::Ok();
      });
  add("health-probe-port", "int", "8081", "No effect: probes are on the same port as /metrics.",
      Without("health-probe-port", "8081", "/health-check and /readyz are where /metrics is"));
  add("disable-leader-election", "bool", "false", "The same as --leader-elect=false.",
      [](Settings& s, std::string_view text) -> Status {
        s.disable_leader_election = TRY(ReadBool(text));
        return Status::Ok();
      });
  add("leader-election-name", "string", "karpenter-leader-election",
      "Name of the lease. Ours is --leader-elect-resource-name's; give this one if Karpenter may "
      "run beside, so that only one of the two acts.",
      AsText(&Settings::leader_election_name));
  add("leader-election-namespace", "string", "", "Where the lease is; else --namespace.",
      AsText(&Settings::leader_election_namespace));
  add("log-level", "string", "info", "debug, info or error; --v wins.",
      [](Settings& s, std::string_view text) -> Status {
        if (text != "debug" && text != "info" && text != "warn" && text != "error")
          return InvalidArgument("'" + std::string(text) + "' is not debug, info, warn or error");
        s.log_level = std::string(text);
        return Status::Ok();
      });
  for (const auto& [name, type, default_text, why] :
       std::initializer_list<std::array<const char*, 4>>{
           {"cpu-requests", "int", "1000", "nothing here is sized by the process's own requests"},
           {"memory-limit", "int", "-1", "there is no garbage collector to be told"},
           {"disable-controller-warmup", "bool", "true", "a replica that waits reads the cluster"},
           {"disable-cluster-state-observability", "bool", "false", "those metrics cost nothing"},
           {"log-output-paths", "string", "stdout", "the log goes to standard error"},
           {"log-error-output-paths", "string", "stderr", "the log goes to standard error"},
           {"karpenter-service", "string", "", "there is no webhook"}}) {
    add(name, type, default_text, std::string("No effect: ") + why + ".",
        Without(name, default_text, why));
  }
  add("enable-profiling", "bool", "false", "Not there.",
      Refused("false", "there are no profiling pages: use perf on the process"));
  add("scheduler-config", "string", "", "Not there.",
      Refused("", "default spread constraints are not read: write them into the pods"));
}

void AddOurs(std::vector<Setting>& all) {
  const auto add = [&all](std::string name, std::string type, std::string default_text,
                          std::string help, Set set) {
    all.push_back({.name = std::move(name),
                   .type = type,
                   .default_text = std::move(default_text),
                   .help = "[ours] " + help,
                   .is_bool = type == "bool",
                   .set = std::move(set)});
  };
  add("pool-batch-quiet", "duration", "100ms", "A batch ends when no new pod came for so long.",
      AsDuration(&EngineOptions::batch_quiet));
  add("pool-batch-wait", "duration", "150ms", "And at the latest so long after its first pod.",
      AsDuration(&EngineOptions::batch_wait));
  add("ask-filters", "bool", "true",
      "Ask kube-scheduler's filters before a machine is bought: what it would not use is never "
      "bought.",
      AsBool(&EngineOptions::ask_filters));
  add("pool-disruption", "bool", "true",
      "Take machines away that are empty, outdated or too dear; false: only what others delete.",
      AsBool(&EngineOptions::disruption));
  add("pause-between-disruptions", "duration", "0s", "Least time between two of one pool.",
      AsDuration(&EngineOptions::pause_between_disruptions));
  add("spot-to-spot-least-types", "int", "15",
      "A spot machine is replaced by a cheaper spot one only if so many types are cheaper.",
      AsCount(&EngineOptions::spot_to_spot_least_types));
  add("pool-max-view-age", "duration", "5m",
      "With an older view of the cluster nothing is bought and nothing taken away.",
      AsDuration(&EngineOptions::max_view_age));
}

const Setting* FindSetting(std::string_view name) {
  const auto it = std::ranges::find(AllSettings(), name, &Setting::name);
  return it == AllSettings().end() ? nullptr : &*it;
}

}  // namespace

std::string Setting::Variable() const {
  std::string variable;
  for (const char c : name)
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

const std::vector<Setting>& AllSettings() {
  static const std::vector<Setting> kSettings = [] {
    std::vector<Setting> all;
    AddKarpenters(all);
    AddKarpentersProcess(all);
    AddOurs(all);
    return all;
  }();
  return kSettings;
}

Result<Settings> TakeSettings(std::vector<std::string>& args, const Environment& environment) {
  Settings settings;
  std::vector<std::string> left;
  std::vector<std::string> given;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string_view arg = args[i];
    const bool exact = arg == "--upstream-exact" || arg == "--upstream-exact=true";
    if (exact) settings.options.upstream_exact = true;
    const bool is_flag = arg.starts_with("-") && arg.size() > 1;
    if (is_flag) arg.remove_prefix(arg.starts_with("--") ? 2 : 1);
    const size_t equals = arg.find('=');
    const Setting* setting = is_flag ? FindSetting(arg.substr(0, equals)) : nullptr;
    if (setting != nullptr) given.push_back(setting->name);
    if (setting == nullptr || setting->shared) {
      left.push_back(args[i]);
      continue;
    }
    std::string value;
    if (equals != std::string_view::npos) {
      value = arg.substr(equals + 1);
    } else if (setting->is_bool) {
      value = "true";
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return InvalidArgument("--" + setting->name + " needs a value");
    }
    TRY(setting->set(settings, value).Context("--" + setting->name + "=" + value));
  }
  for (const Setting& setting : AllSettings()) {
    if (setting.help.starts_with("[ours]") || std::ranges::find(given, setting.name) != given.end())
      continue;
    const char* value = environment(setting.Variable().c_str());
    if (value == nullptr || *value == '\0') continue;
    TRY(setting.set(settings, value).Context(setting.Variable() + "=" + value));
  }
  args = std::move(left);
  return settings;
}

std::string SettingsAsMarkdown() {
  std::string text =
      "\n## Node pools (`--node-pools`)\n\nKarpenter's settings, as flags or as environment "
      "variables (the name in upper snake case); they are read with `--node-pools` only.\n\n"
      "| Flag | Type | Default | Meaning |\n|---|---|---|---|\n";
  for (const Setting& setting : AllSettings()) {
    text += "| `--" + setting.name + "` | " + setting.type + " | " +
            (setting.default_text.empty() ? "" : "`" + setting.default_text + "`") + " | " +
            setting.help + " |\n";
  }
  return text;
}

std::string SettingsAsHelp() {
  std::string text = "\nNode pools (with --node-pools):\n";
  for (const Setting& setting : AllSettings()) {
    text += "  --" + setting.name + " " + setting.type +
            (setting.default_text.empty() ? "" : " (" + setting.default_text + ")") + "\n      " +
            setting.help + "\n";
  }
  return text;
}

}  // namespace coppice::provision
