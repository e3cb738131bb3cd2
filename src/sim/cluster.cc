#include "sim/cluster.h"

#include <algorithm>

namespace coppice::sim {

namespace {

bool IsAlive(const model::Pod& pod) {
  return pod.status.phase != "Succeeded" && pod.status.phase != "Failed";
}

}  // namespace

bool IsReady(const model::Node& node) {
  return std::ranges::any_of(node.status.conditions, [](const model::NodeCondition& condition) {
    return condition.type == "Ready" && condition.status == "True";
  });
}

Cluster::Cluster(Agenda& agenda) : agenda_(agenda), objects_({.counts = IsAlive}) {}

void Cluster::Touch() {
  if (settling_) return;
  settling_ = true;
  agenda_.In(Duration::zero(), [this] {
    // What one of them changes may be news to those before it.
    for (bool again = true; again;) {
      again = false;
      for (const auto& act : acts_) again = act() || again;
    }
    settling_ = false;
  });
}

void Cluster::Publish(const Change& change) {
  change(objects_);
  for (const auto& [id, watcher] : watchers_) watcher(change);
  Touch();
}

void Cluster::ListInto(cluster::World& world) const {
  for (const NodePtr& node : objects_.Nodes()) world.UpsertNode(node);
  for (const auto* entry : objects_.Pods()) world.UpsertPod(entry->pod);
  for (const auto& [type, list] : lists_) list(objects_, world);
}

int Cluster::Watch(Watcher watcher) {
  watchers_.emplace(next_watcher_, std::move(watcher));
  return next_watcher_++;
}

void Cluster::Unwatch(int id) { watchers_.erase(id); }

void Cluster::UpsertNode(model::Node node) {
  const std::string name = node.metadata.name;
  if (node.metadata.uid.empty()) node.metadata.uid = "node-" + std::to_string(++next_uid_);
  if (!node.metadata.creation_timestamp) node.metadata.creation_timestamp = model::Time{Now()};
  node.metadata.resource_version = std::to_string(++node_version_);
  const auto shared = std::make_shared<const model::Node>(std::move(node));
  Publish([shared](cluster::World& world) { world.UpsertNode(shared); });
  if (node_changed) node_changed(name);
}

void Cluster::DeleteNode(const std::string& name) {
  const NodePtr node = objects_.FindNode(name);
  if (node == nullptr) return;
  if (node->metadata.finalizers.empty()) {
    RemoveNode(name);
  } else if (!node->metadata.deletion_timestamp) {
    model::Node marked = *node;
    marked.metadata.deletion_timestamp = model::Time{Now()};
    UpsertNode(std::move(marked));
  }
}

void Cluster::RemoveNode(const std::string& name) {
  std::vector<PodPtr> stranded;
  for (const auto* entry : objects_.BoundTo(name)) stranded.push_back(entry->pod);
  Publish([name](cluster::World& world) { world.DeleteNode(name); });
  for (const PodPtr& pod : stranded) RemovePod(pod->metadata.namespace_, pod->metadata.name);
  if (node_changed) node_changed(name);
}

void Cluster::CreatePod(model::Pod pod) {
  pod.metadata.uid = "pod-" + std::to_string(++next_uid_);
  if (!pod.metadata.creation_timestamp) pod.metadata.creation_timestamp = model::Time{Now()};
  if (pod.metadata.namespace_.empty()) pod.metadata.namespace_ = "default";
  if (pod.spec.scheduler_name.empty()) pod.spec.scheduler_name = "default-scheduler";
  pod.status.phase = pod.spec.node_name.empty() ? "Pending" : "Running";
  UpdatePod(std::move(pod));
}

void Cluster::UpdatePod(model::Pod pod) {
  const auto shared = std::make_shared<const model::Pod>(std::move(pod));
  Publish([shared](cluster::World& world) { world.UpsertPod(shared); });
}

void Cluster::Bind(const model::Pod& pod, const std::string& node) {
  model::Pod bound = pod;
  bound.spec.node_name = node;
  bound.status.phase = "Running";
  bound.status.start_time = model::Time{Now()};
  bound.status.conditions = {{.type = "PodScheduled", .status = "True"},
                             {.type = "Ready", .status = "True"}};
  UpdatePod(bound);
  if (pod_bound) pod_bound(bound);
}

void Cluster::Leaves(const model::Pod& pod) {
  if (pod_leaves) pod_leaves(pod);
}

void Cluster::EndPod(const std::string& namespace_, const std::string& name,
                     int64_t grace_seconds) {
  const PodPtr pod = objects_.FindPod(namespace_, name);
  if (pod == nullptr || pod->metadata.deletion_timestamp) return;
  if (pod->spec.node_name.empty()) {
    RemovePod(namespace_, name);
    return;
  }
  const Duration grace = std::chrono::seconds(grace_seconds);
  const Duration asks = time_to_end ? time_to_end(*pod) : grace;
  model::Pod ending = *pod;
  ending.metadata.deletion_timestamp = model::Time{Now() + grace};
  ending.metadata.deletion_grace_period_seconds = grace_seconds;
  UpdatePod(std::move(ending));
  Leaves(*pod);
  if (asks == Duration::max()) return;  // nobody there to end it
  agenda_.In(std::min(asks, grace), [this, namespace_, name, uid = pod->metadata.uid] {
    const PodPtr still = objects_.FindPod(namespace_, name);
    if (still && still->metadata.uid == uid) RemovePod(namespace_, name);
  });
}

void Cluster::RemovePod(const std::string& namespace_, const std::string& name) {
  const PodPtr pod = objects_.FindPod(namespace_, name);
  if (pod == nullptr) return;
  Publish([namespace_, name](cluster::World& world) { world.DeletePod(namespace_, name); });
  if (!pod->metadata.deletion_timestamp) Leaves(*pod);
}

}  // namespace coppice::sim
