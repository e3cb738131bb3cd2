// Karpenter's settings: its flags, its environment variables (a flag's name in upper snake case) and
// its defaults, as rows of a command's FlagSet; ours stand beside them.
//
// A setting that Karpenter has and Coppice does not is in the table, too: it is refused with a
// sentence unless it is given its default. A feature gate that is asked for and not there is an
// error, never a silent no.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/flag_set.h"
#include "base/status.h"
#include "provision/options.h"

namespace coppice::provision {

struct Settings {
  EngineOptions options;
  // Schedulers whose pods somebody else in this process buys for; not a flag.
  std::vector<std::string> gang_scheduler_names = {};

  // What belongs to the process, where somebody has said it: flags of the process itself win.
  std::optional<double> kube_client_qps;
  std::optional<int> kube_client_burst;
  std::optional<int> metrics_port;
  std::optional<std::string> leader_election_name;
  std::optional<std::string> leader_election_namespace;
  std::optional<std::string> log_level;
  bool disable_leader_election = false;
};

// Karpenter's, where nobody has said anything: many claims are written in a burst.
inline constexpr double kKubeClientQps = 200;
inline constexpr int kKubeClientBurst = 300;

// Adds the whole table; `settings` is filled when it is parsed. --kube-client-qps and
// --kube-client-burst are the process's, and not in it.
void AddSettings(FlagSet& set, Settings& settings);

// After parsing: the variables of those that were not given, of the two above, too.
using Environment = std::function<const char*(const char* name)>;
Status ReadVariables(const FlagSet& set, Settings& settings, const Environment& environment);

}  // namespace coppice::provision
