// WhatIfCluster: a dump that lives on. What the engine asks for happens in memory at once: taints
// are written, evicted pods come back without a node, new machines register, deleted ones vanish,
// and a small scheduler on the engine's own filters binds what fits. No API server, no cloud.
//
// One thread only, the executor's.

#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "autoscale/templates.h"
#include "base/executor.h"
#include "cluster/world.h"
#include "cluster/writer.h"
#include "fit/chain.h"
#include "fit/search.h"
#include "whatif/dump_groups.h"
#include "whatif/dump_reader.h"

namespace coppice::whatif {

class WhatIfCluster final : public cluster::Writer {
 public:
  WhatIfCluster(cluster::World& world, DumpGroups& groups, const fit::Chain& filters, Clock& clock)
      : world_(world), groups_(groups), search_(world.snapshot(), filters), clock_(clock) {}

  // Everything that decisions read, into the world.
  void Load(const ClusterObjects& objects);

  // Its nodes and pods are these from now on. Pods that waited and wait still are left as they were.
  void Become(const ClusterObjects& objects);

  // Machines that were ordered come up, as `templates` has them, and those that were deleted go,
  // with what is left on them. Names of the new nodes.
  std::vector<std::string> Settle(const autoscale::Templates& templates);
  // Binds pods that wait and fit somewhere, the most important first.
  void Schedule();
  // Pods of these schedulers are not bound here.
  void LeaveToOthers(const std::vector<std::string>& scheduler_names) {
    placed_by_others_.insert(scheduler_names.begin(), scheduler_names.end());
  }
  // The node's pods wait for another, the node is gone.
  void Drain(const std::string& node);

  const std::vector<cluster::Event>& events() const { return events_; }

  Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override;
  Task<Status> Evict(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override;
  void Emit(cluster::Event event) override { events_.push_back(std::move(event)); }

 private:
  void RemoveNode(const std::string& name);
  void Displace(const cluster::PodPtr& pod);  // off its node; comes back unless nobody makes it

  cluster::World& world_;
  DumpGroups& groups_;
  fit::Search search_;
  Clock& clock_;
  std::vector<cluster::Event> events_;
  std::set<std::string> placed_by_others_;
  int made_ = 0;
};

}  // namespace coppice::whatif
