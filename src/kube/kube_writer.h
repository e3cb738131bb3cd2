// KubeWriter: the door out to a real API server.
//
// Every write asks the fence first and ends before the fence does (lease.h). Nodes are changed by
// reading and putting back with the version that was read, because the rights that upstream's chart
// grants have no patch on nodes; whoever was faster makes it start over, for five seconds as
// upstream does. Objects of other kinds are changed by merge patches (kube_objects.cc).
//
// Decision thread.

#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/permits.h"
#include "cluster/writer.h"
#include "kube/client.h"
#include "kube/events.h"

namespace coppice::kube {

// What has to be true for a write. Null members: nothing.
struct Fence {
  std::function<Status()> may_write;
  std::function<Deadline(Deadline)> within;
};

Request EvictionRequest(const cluster::PodName& pod, int64_t grace_period_seconds);

class KubeWriter final : public cluster::Writer {
 public:
  KubeWriter(Client& client, EventSender& events, Fence fence);

  Task<Status> ChangeNode(std::string node, cluster::NodeChange change) override;
  Task<Status> Evict(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Status> DeletePod(cluster::PodName pod, int64_t grace_period_seconds) override;
  Task<Status> Bind(cluster::PodName pod, std::string node,
                    cluster::PodWriter::Annotations annotations) override;
  Task<Status> ChangePodStatus(cluster::PodName pod, cluster::PodStatusChange change) override;
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName pod) override;
  Task<Result<std::vector<cluster::LivePod>>> PodsOn(std::string node) override;
  Task<Result<cluster::LiveNode>> NodeNow(std::string node) override;
  Task<Result<std::string>> CreateObject(cluster::ObjectName object, std::string json) override;
  Task<Result<std::string>> UpdateObject(cluster::ObjectName object, std::string patch) override;
  Task<Result<std::string>> UpdateStatus(cluster::ObjectName object, std::string patch) override;
  Task<Status> ChangeFinalizers(cluster::ObjectName object,
                                cluster::FinalizerChange change) override;
  Task<Status> DeleteObject(cluster::ObjectName object) override;
  Task<Result<std::string>> ObjectNow(cluster::ObjectName object) override;
  void Emit(cluster::Event event) override;
  void EmitAboutPods(std::vector<cluster::LivePod> pods, cluster::Event what) override;

  // Writes that have not been answered yet.
  size_t under_way() const { return under_way_; }

  // Told how each eviction was answered.
  std::function<void(const Status&)> on_eviction;

  // Writes data and annotations of a ConfigMap; those that are not named stay. Creates it if
  // absent.
  Task<Status> PutConfigMap(std::string namespace_, std::string name, std::string data_key,
                            std::string data, Annotations annotations);
  // "" if there is no such map or annotation.
  Task<Result<std::string>> ReadAnnotation(std::string namespace_, std::string config_map,
                                           std::string annotation);
  Task<Status> DeleteConfigMap(std::string namespace_, std::string name);

 private:
  Task<Result<Answer>> Fenced(Request request, Duration timeout);
  Task<Result<std::string>> PatchObject(cluster::ObjectName object, std::string patch,
                                        std::string subresource);
  Task<void> AfterConflict();  // a short while, drawn

  Client& client_;
  EventSender& events_;
  Fence fence_;
  Permits asks_pods_;
  size_t under_way_ = 0;
  // Of the ConfigMap that was written last: events about it point to it.
  std::string map_name_;
  std::string map_uid_;
};

}  // namespace coppice::kube
