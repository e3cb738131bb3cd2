// Api: the Writer of a model: what an engine asks of the API server happens to the Cluster.
// Evictions obey budgets and grace periods. What is to go wrong is asked from hooks.

#pragma once

#include <functional>
#include <string>

#include "cluster/writer.h"
#include "sim/cluster.h"

namespace coppice::sim {

class Api final : public cluster::Writer {
 public:
  explicit Api(Cluster& cluster) : cluster_(cluster) {}

  struct Hooks {
    // Not OK: the answer, and nothing happens.
    std::function<Status(const std::string& node)> before_change;
    std::function<Status(const model::Pod&)> before_evict;
    // The eviction is accepted and the pod does not end.
    std::function<bool(const model::Pod&)> hangs;
    std::function<void(const cluster::Event&)> event;
    std::function<void(const model::Pod&)> evicted;
  };
  Hooks hooks;

  Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override;
  Task<Status> Evict(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override;
  Task<Result<std::vector<cluster::LivePod>>> PodsOn(std::string node) override;
  Task<Result<cluster::LiveNode>> NodeNow(std::string node) override;
  void Emit(cluster::Event event) override;

 private:
  Status SpendBudget(const model::Pod& pod);

  Cluster& cluster_;
};

}  // namespace coppice::sim
