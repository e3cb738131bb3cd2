// TPUs of Google's cloud are attached when a pod runs: no node ever has them to give, so that a
// request for them must not keep a pod off a node.

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cluster/snapshot.h"
#include "fit/equivalence.h"

namespace coppice::autoscale {

// Remembers by shape which pods ask for them, for almost none does.
class TpuRequests {
 public:
  // `object_of` gives the object of a pod, and is asked once per shape.
  using ObjectOf = std::function<const model::Pod&(cluster::PodIndex)>;
  bool Any(const std::vector<cluster::PodIndex>& pods, const cluster::Snapshot& snapshot,
           const ObjectOf& object_of);
  // Pods that ask for TPUs stand in the snapshot once more, without that; the list then means
  // those. Call it within a fork.
  void Forget(std::vector<fit::PendingPod>& pods, cluster::Snapshot& snapshot);
  void Forget(std::vector<cluster::PodIndex>& pods, cluster::Snapshot& snapshot,
              const ObjectOf& object_of);

 private:
  bool Asks(cluster::PodIndex pod, const cluster::Snapshot& snapshot, const ObjectOf& object_of);

  uint64_t id_epoch_ = 0;
  std::vector<int8_t> known_;  // by spec id: 0 unknown, 1 no, 2 yes
};

}  // namespace coppice::autoscale
