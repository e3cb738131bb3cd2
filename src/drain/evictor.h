// Evictor: empties a node. Pods go tier by tier (by priority), each with its grace period; refused
// evictions are tried again for a while; then it waits until the pods are really gone.

#pragma once

#include <string>
#include <vector>

#include "base/executor.h"
#include "cluster/world.h"
#include "cluster/writer.h"
#include "drain/options.h"

namespace coppice::drain {

class Evictor {
 public:
  Evictor(EvictionOptions options, cluster::Writer& writer, Executor& executor);

  // All pods of an occupied node but mirror pods. OK when they are gone; else why the node must
  // stay.
  Task<Status> Drain(std::string node, std::vector<cluster::PodPtr> pods);
  // DaemonSet pods of an empty node, where that is asked for; failures do not matter.
  Task<void> EvictDaemonSetPods(std::string node, std::vector<cluster::PodPtr> pods);

 private:
  struct Tier {
    int64_t grace_limit_seconds;
    std::vector<cluster::PodPtr> must_go;
    std::vector<cluster::PodPtr> may_stay;
  };

  std::vector<Tier> TiersOf(std::vector<cluster::PodPtr> must_go,
                            std::vector<cluster::PodPtr> may_stay) const;
  Task<Status> DrainTiers(std::string node, std::vector<Tier> tiers);
  Task<Status> EvictTier(std::string node, Tier tier);
  Task<Status> EvictOne(cluster::PodPtr pod, TimePoint retry_until, int64_t grace_limit_seconds,
                        bool must_go);
  Task<Status> WaitUntilGone(std::string node, Tier tier);

  const EvictionOptions options_;
  cluster::Writer& writer_;
  Executor& executor_;
};

// An event about a pod.
cluster::Event PodEvent(const model::Pod& pod, std::string type, std::string reason,
                        std::string text);

}  // namespace coppice::drain
