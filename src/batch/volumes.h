// Volumes: what has to be true of a pod's claims before the pod is bound (kube-scheduler's PreBind).
//
// A claim that waits for its first consumer is given the free volume that the node reaches, or, if
// a new one has to be made, is told the node (volume.kubernetes.io/selected-node). Then it is waited
// for until every claim has its volume, for as long as kube-scheduler waits. Whether the node is
// right at all was asked before, by the filter.
//
// Volumes that were promised to one claim are not promised to another meanwhile. Decision thread.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/status.h"
#include "cluster/world.h"
#include "cluster/writer.h"

namespace coppice::batch {

class Volumes {
 public:
  struct Parts {
    cluster::World& world;
    cluster::ObjectWriter& writer;
    Executor& executor;
    Duration limit = std::chrono::seconds(600);
  };
  explicit Volumes(Parts parts) : parts_(parts) {}

  // OK when every claim of the pod is bound; at once for a pod without claims.
  coppice::Task<Status> Bind(cluster::PodPtr pod, std::string node);

 private:
  using ClaimPtr = std::shared_ptr<const model::PersistentVolumeClaim>;
  // Claims of the pod that have no volume yet.
  Result<std::vector<ClaimPtr>> Unbound(const model::Pod& pod) const;
  std::string FindVolume(const model::PersistentVolumeClaim& claim, const model::Node& node) const;
  coppice::Task<Status> Give(ClaimPtr claim, std::string volume);
  coppice::Task<Status> TellNode(ClaimPtr claim, std::string node);

  const Parts parts_;
  std::map<std::string, std::string> promised_;  // volume -> uid of the claim
};

}  // namespace coppice::batch
