// DryRunWriter: says what would have been written, and answers as if it had been. A pod that was
// "evicted" counts as gone, so that a drain runs to its end.

#pragma once

#include <string>

#include "base/log.h"
#include "cluster/writer.h"

namespace coppice::app {

class DryRunWriter final : public cluster::Writer {
 public:
  // Questions go to `real`; nothing else does.
  DryRunWriter(cluster::Writer& real, const Log& log) : real_(real), log_(log) {}

  Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override;
  Task<Status> Evict(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override;
  Task<Result<std::vector<cluster::LivePod>>> PodsOn(std::string node) override;
  void Emit(cluster::Event event) override;

 private:
  cluster::Writer& real_;
  const Log& log_;
};

}  // namespace coppice::app
