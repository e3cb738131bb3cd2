// --dry-run: what would have been written goes to the log and nowhere else.
//
// A removal is walked to its end as if every step had been done: an evicted pod counts as gone when
// it is asked for, so that the log shows the whole of it. The cluster itself is only read.
//
// Decision thread.

#pragma once

#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "cluster/writer.h"

namespace coppice::host {

class DryRunWriter final : public cluster::Writer {
 public:
  // Questions go to `real`; nothing else does.
  DryRunWriter(cluster::Writer& real, const Log& log) : real_(real), log_(log) {}

  Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override;
  Task<Status> Evict(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override;
  Task<Result<std::vector<cluster::LivePod>>> PodsOn(std::string node) override;
  Task<Result<cluster::LiveNode>> NodeNow(std::string node) override;
  bool pretends() const override { return true; }
  void Emit(cluster::Event event) override;

 private:
  cluster::Writer& real_;
  const Log& log_;
  // Namespace, name and uid of the pods that count as evicted, until their node was looked at.
  std::set<std::string> evicted_;
  // Soft marks that were told: no view ever shows them, so that every pass asks for them again.
  std::set<std::pair<std::string, std::string>> soft_marks_;
};

}  // namespace coppice::host
