// Flags of the batch scheduler: vc-scheduler's names, defaults and meanings, as one table. Help,
// documentation and parsing all read it.
//
// What a process has anyway (a kubeconfig, a lease, a log) is not here: those flags are
// autoscale/flags.h's for all engines. A flag that upstream has and Coppice does not is refused with
// a sentence, unless it is given its default; none is silently ignored.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "batch/engine.h"

namespace coppice::batch {

struct SchedulerFlags {
  EngineOptions engine;
  std::string scheduler_conf;
  bool default_conf = true;  // counts where the file cannot be used
  double kube_api_qps = 2000;
  int kube_api_burst = 2000;
  std::string listen_address = ":8080";
  std::string healthz_address = ":11251";
  bool enable_metrics = false;
  bool enable_healthz = false;
  std::string lock_namespace = "volcano-system";
  // Of Volcano's controller-manager, what we do in its place; none where it runs itself.
  struct Controllers {
    bool pod_groups = false;  // for pods without one
    bool queues = false;      // states, counts, the default queue and the root
    bool jobs = false;        // batch.volcano.sh Jobs
    bool any() const { return pod_groups || queues || jobs; }
  } controllers;

  std::vector<std::string> notes;  // asked for and without effect, a sentence each
};

struct SchedulerFlag {
  std::string name;
  std::string type;
  std::string default_text;
  std::string help;
  bool is_bool = false;
  std::function<Status(SchedulerFlags&, std::string_view value)> set;
};
const std::vector<SchedulerFlag>& AllSchedulerFlags();

// Takes the flags of the table out of `args` and leaves the rest, for whoever reads those.
Result<SchedulerFlags> TakeSchedulerFlags(std::vector<std::string>& args);

std::string SchedulerFlagsAsHelp();
std::string SchedulerFlagsAsMarkdown();

}  // namespace coppice::batch
