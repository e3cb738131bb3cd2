// Flags of the batch scheduler: vc-scheduler's names, defaults and meanings, as rows of a
// command's FlagSet.
//
// What a process has anyway (a kubeconfig, a lease, a log) is not here: those flags are
// autoscale/flags.h's for all engines. A flag that upstream has and Coppice does not is refused with
// a sentence, unless it is given its default; none is silently ignored.

#pragma once

#include <string>

#include "base/flag_set.h"
#include "batch/buying/options.h"
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
  bool buys = true;  // machines for gangs, where somebody sells some
  BuyingOptions buying;
  // Of Volcano's controller-manager, what we do in its place; none where it runs itself.
  struct Controllers {
    bool pod_groups = false;  // for pods without one
    bool queues = false;      // states, counts, the default queue and the root
    bool jobs = false;        // batch.volcano.sh Jobs
    bool any() const { return pod_groups || queues || jobs; }
  } controllers;
};

// Whether Jobs of batch.volcano.sh are looked at: their controller does, and so does whoever buys
// for gangs whose pods somebody else makes late; what these will ask for stands in the templates.
bool ReadsVolcanoJobs(const SchedulerFlags& flags, bool upstream_exact, bool somebody_sells);

// Adds the whole table; `flags` is filled when it is parsed.
void AddSchedulerFlags(FlagSet& set, SchedulerFlags& flags);

}  // namespace coppice::batch
