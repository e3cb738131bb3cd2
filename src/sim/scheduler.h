// Scheduler: puts pending pods on nodes, on the product's own filters, and says Unschedulable of
// those that fit nowhere. Small, and no more than a model needs: by priority, then by age; of the
// nodes that take a pod, first those without a taint that says "rather not", then the emptiest, as
// kube-scheduler's defaults do. No preemption.

#pragma once

#include "fit/chain.h"
#include "fit/search.h"
#include "sim/cluster.h"

namespace coppice::sim {

class Scheduler {
 public:
  Scheduler(Cluster& cluster, const fit::Chain& filters)
      : cluster_(cluster), search_(cluster.objects().snapshot(), filters) {}

  // One round over all pending pods; whether any was bound or newly refused.
  bool Round();
  // How long the pod that waited longest until it was bound had to wait.
  Duration longest_wait() const { return longest_wait_; }
  const std::string& longest_waiter() const { return longest_waiter_; }
  size_t bound() const { return bound_; }

 private:
  std::string FindNode(cluster::PodIndex pod);
  void Refuse(const model::Pod& pod);

  Cluster& cluster_;
  fit::Search search_;
  Duration longest_wait_{};
  std::string longest_waiter_;
  size_t bound_ = 0;
};

}  // namespace coppice::sim
