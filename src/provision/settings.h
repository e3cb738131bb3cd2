// Karpenter's settings: its flags, its environment variables (a flag's name in upper snake case) and
// its defaults, as one table; ours stand beside them. Parsing, --help and docs/flags.md read it.
//
// A setting that Karpenter has and Coppice does not is in the table, too: it is refused with a
// sentence unless it is given its default. A feature gate that is asked for and not there is an
// error, never a silent no.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "provision/options.h"

namespace coppice::provision {

struct Settings {
  EngineOptions options;

  // What belongs to the process, where somebody has said it: flags of the process itself win.
  std::optional<double> kube_client_qps;
  std::optional<int> kube_client_burst;
  std::optional<int> metrics_port;
  std::optional<std::string> leader_election_name;
  std::optional<std::string> leader_election_namespace;
  std::optional<std::string> log_level;
  bool disable_leader_election = false;

  // What was asked for and has no effect, a sentence each, for the log at start.
  std::vector<std::string> notes;
};

// Karpenter's, where nobody has said anything: many claims are written in a burst.
inline constexpr double kKubeClientQps = 200;
inline constexpr int kKubeClientBurst = 300;

struct Setting {
  std::string name;
  std::string type;
  std::string default_text;
  std::string help;
  bool is_bool = false;  // may stand without a value
  // Also a flag of the process: as a flag it is the process's, as a variable it is read here.
  bool shared = false;
  std::function<Status(Settings&, std::string_view value)> set;

  std::string Variable() const;  // BATCH_MAX_DURATION
};

// In the order in which they are shown.
const std::vector<Setting>& AllSettings();

using Environment = std::function<const char*(const char* name)>;
// Takes the flags that it knows out of `args`, and reads the variables of those that are not there.
Result<Settings> TakeSettings(std::vector<std::string>& args, const Environment& environment);

std::string SettingsAsMarkdown();
std::string SettingsAsHelp();

}  // namespace coppice::provision
