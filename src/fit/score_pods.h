// Scores that depend on the pods that are placed already: preferred pod affinity, and spread
// constraints that do not have to hold. Made once per pod; good until the snapshot changes.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/snapshot.h"
#include "fit/node_set.h"

namespace coppice::fit {

// To be normalized by range. O(pods).
class PreferredPodAffinity {
 public:
  // `heard`: of a pod without preferences of its own, only what pods on these nodes prefer counts.
  PreferredPodAffinity(const cluster::Snapshot& snapshot, cluster::PodIndex pod,
                       const NodeSet* heard = nullptr);
  // Nothing speaks for or against any node.
  bool empty() const { return by_domain_.empty(); }
  int64_t Score(cluster::NodeIndex node) const;

 private:
  const cluster::Snapshot& snapshot_;
  std::map<std::string, std::map<std::string, int64_t>> by_domain_;  // by key and value
};
// Whether a pod of this spec, placed or to be placed, gives PreferredPodAffinity anything to do.
bool PrefersPods(const cluster::PodSpecShape& spec);

// ScheduleAnyway constraints; already brought into 0..100 over the candidates.
class SoftSpread {
 public:
  // An error is kube-scheduler's: a selector that cannot be read.
  static Result<SoftSpread> Create(const cluster::Snapshot& snapshot, cluster::PodIndex pod,
                                   std::span<const cluster::NodeIndex> candidates);
  bool empty() const { return scores_.empty(); }
  std::span<const int64_t> scores() const { return scores_; }  // by place in `candidates`

 private:
  std::vector<int64_t> scores_;
};

}  // namespace coppice::fit
