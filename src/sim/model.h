// Model: a cluster in process, on anybody's clock: API server, scheduler, controllers, and a cloud
// whose machines become its nodes. Everything but the autoscaler, which is put on top of it through
// the same two doors as on a real cluster: a World that is fed (view.h) and a Writer (api.h).
//
// Deterministic: what happens depends on the clock's steps, the calls, and the seeds of the cloud
// and of whoever sets the hooks.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cloud/cloud.h"
#include "fit/chain.h"
#include "sim/agenda.h"
#include "sim/api.h"
#include "sim/cluster.h"
#include "sim/controllers.h"
#include "sim/machines.h"
#include "sim/scheduler.h"
#include "sim/watched_cloud.h"

namespace coppice::sim {

inline constexpr char kClusterName[] = "model";  // value of the k8s-cluster tag

class Model {
 public:
  struct Parts {
    const Clock& clock;
    const fit::Chain& filters;
    std::unique_ptr<cloud::Cloud> cloud;
    std::vector<cloud::GroupConfig> groups;
    MachineTimes times = {};
  };
  static Result<std::unique_ptr<Model>> Create(Parts parts);

  const std::vector<cloud::GroupConfig>& groups() const { return groups_; }

  // A machine of the group that has long been there, and its Node, ready since `since`.
  Status AddNode(const std::string& group, const std::string& name, TimePoint since);
  // How many machines of the group there really are: not on their way out, not failed.
  int MachinesIn(const std::string& group) const;
  // Pods that the scheduler could not place.
  std::vector<PodPtr> Pending() const;

  Agenda agenda;
  Cluster cluster;
  WatchedCloud cloud;
  Scheduler scheduler;
  Controllers controllers;
  Machines machines;
  Api api;

 private:
  explicit Model(Parts parts);

  std::vector<cloud::GroupConfig> groups_;
};

}  // namespace coppice::sim
