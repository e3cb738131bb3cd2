#include "whatif/whatif_cluster.h"

#include <algorithm>

#include "cluster/node_change.h"
#include "model/pod_kinds.h"
#include "sim/pending.h"

namespace coppice::whatif {

namespace {

template <class T>
void LoadAll(const Listed<T>& objects, cluster::World& world) {
  for (const auto& object : objects) world.Upsert(object);
}

}  // namespace

void WhatIfCluster::Load(const ClusterObjects& objects) {
  LoadAll(objects.namespaces, world_);
  LoadAll(objects.claims, world_);
  LoadAll(objects.volumes, world_);
  LoadAll(objects.storage_classes, world_);
  LoadAll(objects.csi_nodes, world_);
  LoadAll(objects.csi_drivers, world_);
  LoadAll(objects.storage_capacities, world_);
  LoadAll(objects.volume_attachments, world_);
  LoadAll(objects.services, world_);
  LoadAll(objects.replication_controllers, world_);
  LoadAll(objects.replica_sets, world_);
  LoadAll(objects.stateful_sets, world_);
  LoadAll(objects.daemon_sets, world_);
  LoadAll(objects.jobs, world_);
  LoadAll(objects.budgets, world_);
  LoadAll(objects.config_maps, world_);
  LoadAll(objects.priority_classes, world_);
  LoadAll(objects.pod_groups, world_);
  LoadAll(objects.queues, world_);
  LoadAll(objects.hyper_nodes, world_);
  LoadAll(objects.quotas, world_);
  for (const auto& node : objects.nodes) world_.UpsertNode(node);
  world_.UpsertPods(objects.pods);
}

void WhatIfCluster::Become(const ClusterObjects& objects) {
  std::set<std::pair<std::string, std::string>> pods;
  std::set<std::string> nodes;
  for (const auto& pod : objects.pods) pods.emplace(pod->metadata.namespace_, pod->metadata.name);
  for (const auto& node : objects.nodes) nodes.insert(node->metadata.name);
  std::vector<cluster::PodPtr> gone;
  for (const cluster::World::PodEntry* entry : world_.Pods()) {
    const model::ObjectMeta& meta = entry->pod->metadata;
    if (!pods.contains({meta.namespace_, meta.name})) gone.push_back(entry->pod);
  }
  for (const cluster::PodPtr& pod : gone)
    world_.DeletePod(pod->metadata.namespace_, pod->metadata.name);
  for (const auto& node : world_.Nodes())
    if (!nodes.contains(node->metadata.name)) world_.DeleteNode(node->metadata.name);
  for (const auto& node : objects.nodes)
    if (world_.FindNode(node->metadata.name) != node) world_.UpsertNode(node);
  for (const auto& pod : objects.pods) {
    const cluster::PodPtr known = world_.FindPod(pod->metadata.namespace_, pod->metadata.name);
    const bool waits = pod->spec.node_name.empty() && known && known->spec.node_name.empty();
    if (known != pod && !waits) world_.UpsertPod(pod);
  }
}

void WhatIfCluster::Displace(const cluster::PodPtr& pod) {
  world_.DeletePod(pod->metadata.namespace_, pod->metadata.name);
  const bool comes_back = model::ControllerOf(pod->metadata) != nullptr &&
                          pod->status.phase != "Succeeded" && pod->status.phase != "Failed" &&
                          !pod->metadata.deletion_timestamp;
  if (!comes_back) return;
  model::Pod successor = sim::AsRefused(*pod, clock_.Now());
  successor.metadata.creation_timestamp = model::Time{clock_.Now()};
  world_.UpsertPod(std::make_shared<const model::Pod>(std::move(successor)));
}

void WhatIfCluster::RemoveNode(const std::string& name) {
  std::vector<cluster::PodPtr> left;
  for (const cluster::World::PodEntry* entry : world_.BoundTo(name)) left.push_back(entry->pod);
  for (const cluster::PodPtr& pod : left) {
    if (model::IsDaemonSetPod(*pod) || model::IsMirrorPod(*pod) || model::IsStaticPod(*pod)) {
      world_.DeletePod(pod->metadata.namespace_, pod->metadata.name);
    } else {
      Displace(pod);
    }
  }
  world_.DeleteNode(name);
}

void WhatIfCluster::Drain(const std::string& node) {
  const cluster::NodePtr object = world_.FindNode(node);
  RemoveNode(node);
  if (object != nullptr) groups_.Forget(object->spec.provider_id);
}

std::vector<std::string> WhatIfCluster::Settle(const autoscale::Templates& templates) {
  const std::vector<cloud::ProviderId> deleted = groups_.TakeDeleted();
  if (!deleted.empty()) {
    const std::set<std::string_view> gone(deleted.begin(), deleted.end());
    for (const cluster::NodePtr& node : world_.Nodes()) {
      if (gone.contains(node->spec.provider_id)) RemoveNode(node->metadata.name);
    }
  }
  std::vector<std::string> names;
  for (const DumpGroups::Ordered& ordered : groups_.TakeOrdered()) {
    const autoscale::TemplatePtr made = templates.Find(ordered.group);
    if (made == nullptr) continue;
    model::Node node = made->node;
    const std::string name = ordered.group + "-new-" + std::to_string(++made_);
    pack::Rename(node, name);
    node.metadata.labels.erase(autoscale::kTemplateLabel);
    node.metadata.creation_timestamp = model::Time{clock_.Now()};
    node.spec.provider_id = ordered.id;
    node.status.conditions = {{.type = "Ready",
                               .status = "True",
                               .last_heartbeat_time = model::Time{clock_.Now()},
                               .last_transition_time = model::Time{clock_.Now()}}};
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
    for (const model::Pod& pod : made->pods) {
      model::Pod copy = pack::Renamed(pod, name, std::to_string(made_));
      copy.status.phase = "Running";
      world_.UpsertPod(std::make_shared<const model::Pod>(std::move(copy)));
    }
    names.push_back(name);
  }
  return names;
}

void WhatIfCluster::Schedule() {
  const std::vector<sim::Waiting> waiting = sim::WaitingPods(world_, [this](const model::Pod& pod) {
    return !placed_by_others_.contains(pod.spec.scheduler_name);
  });
  std::vector<cluster::PodPtr> bound;
  {
    const auto fork = world_.snapshot().Fork();  // the world itself places them, below
    for (const auto& [pod, index] : waiting) {
      const cluster::NodeIndex node = search_.Find(index);
      if (node == cluster::kNone) continue;
      world_.snapshot().Place(index, node);
      model::Pod placed = *pod;
      placed.spec.node_name = world_.snapshot().node(node).name;
      placed.status = {};
      placed.status.phase = "Running";
      bound.push_back(std::make_shared<const model::Pod>(std::move(placed)));
    }
  }
  for (const cluster::PodPtr& pod : bound) world_.UpsertPod(pod);
}

Task<Status> WhatIfCluster::ChangeNode(std::string name, cluster::NodeChange change) {
  const cluster::NodePtr present = world_.FindNode(name);
  if (present == nullptr) co_return NotFound("there is no node " + name);
  world_.UpsertNode(std::make_shared<const model::Node>(cluster::Changed(*present, change)));
  co_return Status::Ok();
}

Task<Status> WhatIfCluster::Evict(cluster::PodName name, int64_t) {
  const cluster::PodPtr pod = world_.FindPod(name.namespace_, name.name);
  if (pod == nullptr || pod->spec.node_name.empty()) co_return NotFound("the pod is gone");
  Displace(pod);
  co_return Status::Ok();
}

Task<Result<std::optional<std::string>>> WhatIfCluster::WhereIs(cluster::PodName name) {
  const cluster::PodPtr pod = world_.FindPod(name.namespace_, name.name);
  std::optional<std::string> where;
  if (pod != nullptr) where = pod->spec.node_name;
  co_return Result<std::optional<std::string>>(std::move(where));
}

}  // namespace coppice::whatif
