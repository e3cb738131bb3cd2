// DefaultSpread: the spread constraints of a cluster's scheduler for pods that have none of their
// own (--scheduler-config).
//
// Such a constraint has no selector: kube-scheduler finds one per pod, from the Services that select
// it and from the controller that owns it, and so do we, so that both count the same pods. A pod for
// which none is found is left as it is: an empty selector would count everybody.
//
// Never changed after it was made: any thread.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster_objects.h"
#include "model/pod.h"
#include "model/workloads.h"

namespace coppice::provision {

struct SpreadObjects {
  std::vector<std::shared_ptr<const model::Service>> services;
  std::vector<std::shared_ptr<const model::ReplicationController>> replication_controllers;
  std::vector<std::shared_ptr<const model::ReplicaSet>> replica_sets;
  std::vector<std::shared_ptr<const model::StatefulSet>> stateful_sets;
};

class DefaultSpread {
 public:
  DefaultSpread(std::vector<model::TopologySpreadConstraint> constraints,
                const SpreadObjects& objects);

  // The pod with the constraints; null if it has its own or no selector is found for it.
  std::shared_ptr<const model::Pod> With(const model::Pod& pod) const;
  // What has to be equal for two pods with the same labels to get the same.
  static std::string OwnerKey(const model::Pod& pod);

 private:
  std::optional<model::LabelSelector> SelectorOf(const model::Pod& pod) const;

  const std::vector<model::TopologySpreadConstraint> constraints_;
  std::map<std::string, std::vector<std::shared_ptr<const model::Service>>> services_;
  // By "<kind>/<namespace>/<name>": what the controller selects, as labels or as requirements.
  std::map<std::string, model::LabelSelector> controllers_;
};

}  // namespace coppice::provision
