// StatePage: Karpenter's metrics about every node, pod and claim that there is.
//
// They are worked out when /metrics is asked for, from objects that were put here before and that
// never change: a cluster of 5,000 nodes would have hundreds of thousands of series to be kept, and
// to be taken away again. Ages are those of the moment when the objects were put here.
//
// Put on the decision thread, written on any.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/metric_source.h"
#include "base/mutex.h"
#include "provision/pod_times.h"

namespace coppice::provision {

struct ClusterState {
  TimePoint at;
  std::vector<NodePtr> nodes;
  std::vector<PodList> pods;  // of each node, and the others
  std::vector<ClaimPtr> claims;
  std::vector<NodePoolPtr> pools;
  PodTimes::ByUid pod_times;  // of pods that have not started
  std::vector<std::string> class_labels;
  // Labels of nodes that become labels of series: all that Karpenter and the provider know.
  std::set<std::string, std::less<>> well_known;
};

class StatePage final : public MetricSource {
 public:
  void Put(std::shared_ptr<const ClusterState> state);
  void Write(MetricPage& page) const override;

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const ClusterState> state_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace coppice::provision
