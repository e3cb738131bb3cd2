// The commands of the program, each with the options that its flags fill. Exit codes as main.h
// says.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/dashboard.h"
#include "app/plugins.h"
#include "autoscale/flags.h"
#include "base/log.h"

namespace coppice::app {

struct ProviderCommand {
  std::string config;
  std::optional<std::string> metrics_addr;  // unset: the file's metricsListen, else :9090
  bool insecure = false;                    // plaintext on a loopback port
  Duration max_connection_age = std::chrono::hours(1);
  LogLevel log_level = LogLevel::kInfo;
};
// Serves a cloud over externalgrpc until SIGTERM or SIGINT.
int RunProvider(const ProviderCommand& command, Plugins& plugins);

struct ValidateCommand {
  std::vector<std::string> files;
};
// Prints every complaint about the files; an unknown key is an error here.
int RunValidate(const ValidateCommand& command, Plugins& plugins);

struct ModelCommand {
  uint64_t seed = 1;
  std::optional<double> speed;    // simulated seconds per second, 0: as fast as it goes
  std::optional<Duration> lasts;  // unset: until somebody interrupts it
  Duration table = std::chrono::hours(2);
  bool verbose = false;
  std::string record;  // a directory: what happens is written there
  autoscale::FlagValues flags;
  DashboardOptions web;
};
// The autoscaler on a model cluster.
int RunModel(const ModelCommand& command, Plugins& plugins);

// `coppice run`, and the program under the name cluster-autoscaler: the autoscaler on a model
// cluster or on a real one. Its flags are those of autoscale/flags.h beside a few of its own.
int RunAutoscaler(const std::vector<std::string>& args, Plugins& plugins);
// Prints the table of the autoscaler's flags, for people or (--markdown) for docs/flags.md.
int RunFlags(const std::vector<std::string>& args, Plugins& plugins);

// Commands that read their arguments themselves, because the autoscaler's flags are a table of
// their own (autoscale/flags.h). `args` is what follows the command's name.
int RunExpander(const std::vector<std::string>& args, Plugins& plugins);
int RunExtender(const std::vector<std::string>& args, Plugins& plugins);
int RunExplain(const std::vector<std::string>& args, Plugins& plugins);
int RunSimulate(const std::vector<std::string>& args, Plugins& plugins);
int RunRehearse(const std::vector<std::string>& args, Plugins& plugins);
int RunConform(const std::vector<std::string>& args, Plugins& plugins);

}  // namespace coppice::app
