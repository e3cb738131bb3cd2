// Api: the Writer of a model: what an engine asks of the API server happens to the Cluster.
// Evictions obey budgets and grace periods. What is to go wrong is asked from hooks. What is written
// as JSON, of any kind, goes through objects.h.

#pragma once

#include <functional>
#include <string>

#include "cluster/writer.h"
#include "sim/cluster.h"
#include "sim/objects.h"

namespace coppice::sim {

class Api final : public cluster::Writer {
 public:
  explicit Api(Cluster& cluster) : objects(cluster), cluster_(cluster) {}

  struct Hooks {
    // Not OK: the answer, and nothing happens.
    std::function<Status(const std::string& node)> before_change;
    std::function<Status(const model::Pod&)> before_evict;
    // The eviction is accepted and the pod does not end.
    std::function<bool(const model::Pod&)> hangs;
    std::function<void(const cluster::Event&)> event;
    std::function<void(const model::Pod&)> evicted;
    std::function<void(const model::Pod&)> deleted;  // not by an eviction
    std::function<Status(const model::Pod&)> before_bind;
    std::function<void(const model::Pod&, const std::string& node)> bound;
    // Not OK: the answer to a binding that has happened.
    std::function<Status(const model::Pod&)> after_bind;
    // Somebody tried to bind it elsewhere than where it is.
    std::function<void(const model::Pod&, const std::string& node)> bound_twice;
  };
  Hooks hooks;
  Objects objects;

  Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override;
  Task<Status> Evict(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Status> DeletePod(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Status> Bind(cluster::PodName pod, std::string node, Annotations annotations) override;
  Task<Status> ChangePodStatus(cluster::PodName pod, cluster::PodStatusChange change) override;
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override;
  Task<Result<std::vector<cluster::LivePod>>> PodsOn(std::string node) override;
  Task<Result<cluster::LiveNode>> NodeNow(std::string node) override;
  Task<Result<std::string>> CreateObject(cluster::ObjectName object, std::string json) override {
    return objects.CreateObject(std::move(object), std::move(json));
  }
  Task<Result<std::string>> UpdateObject(cluster::ObjectName object, std::string patch) override {
    return objects.UpdateObject(std::move(object), std::move(patch));
  }
  Task<Result<std::string>> UpdateStatus(cluster::ObjectName object, std::string patch) override {
    return objects.UpdateStatus(std::move(object), std::move(patch));
  }
  Task<Status> ChangeFinalizers(cluster::ObjectName object,
                                cluster::FinalizerChange change) override {
    return objects.ChangeFinalizers(std::move(object), std::move(change));
  }
  Task<Status> DeleteObject(cluster::ObjectName object) override {
    return objects.DeleteObject(std::move(object));
  }
  Task<Result<std::string>> ObjectNow(cluster::ObjectName object) override {
    return objects.ObjectNow(std::move(object));
  }
  void Emit(cluster::Event event) override;

 private:
  Result<cluster::LivePod> Find(const cluster::PodName& name) const;
  Status SpendBudget(const model::Pod& pod);

  Cluster& cluster_;
};

}  // namespace coppice::sim
