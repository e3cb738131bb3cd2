// The commands of the program. `args` is what follows the command's name; command_line.h is how
// they read it. Exit codes as main.h says.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/dashboard.h"
#include "app/main.h"
#include "autoscale/flags.h"
#include "base/clock.h"
#include "base/log.h"
#include "batch/scheduler_flags.h"
#include "provision/settings.h"

namespace coppice::app {

struct ModelCommand {
  uint64_t seed = 1;
  std::optional<double> speed;    // simulated seconds per second, 0: as fast as it goes
  std::optional<Duration> lasts;  // unset: until somebody interrupts it
  Duration table = std::chrono::hours(2);
  bool verbose = false;
  std::string record;         // a directory: what happens is written there
  bool only_records = false;  // `coppice record`: on a real cluster nothing is changed
  autoscale::FlagValues flags;
  std::optional<provision::Settings> node_pools;  // absent: node groups alone
  bool node_groups = true;                        // false: --node-groups=false
  std::optional<batch::SchedulerFlags> batch;     // --batch
  DashboardOptions web;
};
// The autoscaler on a model cluster.
int RunModel(const ModelCommand& command, Plugins& plugins);

// `coppice run`, and the program under the names cluster-autoscaler and vc-scheduler: engines on a
// model cluster or on a real one. Its flags are those of autoscale/flags.h beside a few of its own.
int RunAutoscaler(const std::vector<std::string>& args, Plugins& plugins);
// Serves a cloud over externalgrpc until SIGTERM or SIGINT.
int RunProvider(const std::vector<std::string>& args, Plugins& plugins);
// Serves the built-in expanders over upstream's gRPC protocol.
int RunExpander(const std::vector<std::string>& args, Plugins& plugins);
// The reference server of the batch scheduler's HTTP extender.
int RunExtender(const std::vector<std::string>& args, Plugins& plugins);
// A plan for a cluster dump.
int RunSimulate(const std::vector<std::string>& args, Plugins& plugins);
// Why a pod waits or a node stays, asked of a running instance.
int RunExplain(const std::vector<std::string>& args, Plugins& plugins);
// The Now page as a screen.
int RunTop(const std::vector<std::string>& args, Plugins& plugins);
// Writes down what a cluster goes through.
int RunRecord(const std::vector<std::string>& args, Plugins& plugins);
// A recorded day again, with other flags, groups or pools.
int RunRehearse(const std::vector<std::string>& args, Plugins& plugins);
// A contract played against somebody else's server.
int RunConform(const std::vector<std::string>& args, Plugins& plugins);
// Prints every complaint about configuration files; an unknown key is an error here.
int RunValidate(const std::vector<std::string>& args, Plugins& plugins);
// Prints the table of the autoscaler's flags, for people or (--markdown) for docs/flags.md.
int RunFlags(const std::vector<std::string>& args, Plugins& plugins);

// --now of both kinds of dump.
void AddMoment(FlagSet& set, std::optional<TimePoint>& now);
// Its part for node pools; absent: the question is not about them.
std::optional<int> SimulatePools(const std::vector<std::string>& args, Plugins& plugins);

}  // namespace coppice::app
