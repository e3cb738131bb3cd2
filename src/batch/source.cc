#include "batch/source.h"

#include <algorithm>
#include <utility>

namespace coppice::batch {

SessionInput InputFrom(const cluster::World& world, const SourceOptions& options, std::string uid,
                       TimePoint now) {
  SessionInput input;
  input.uid = std::move(uid);
  input.now = now;
  const cluster::Snapshot& snapshot = world.snapshot();
  input.nodes.reserve(world.node_count());
  world.ForEachNode([&](const cluster::NodePtr& node) {
    input.nodes.push_back({.object = node, .index = snapshot.FindNode(node->metadata.name)});
  });
  const auto ours = [&](const model::Pod& pod) {
    return std::ranges::find(options.scheduler_names, pod.spec.scheduler_name) !=
           options.scheduler_names.end();
  };
  input.pods.reserve(world.pod_count());
  for (const cluster::World::PodEntry* entry : world.Pods()) {
    const model::Pod& pod = *entry->pod;
    if (entry->index == cluster::kNone || pod.metadata.unreadable) continue;
    if (pod.spec.node_name.empty()) {
      if (!ours(pod)) continue;
      if (options.hidden && options.hidden(pod)) continue;
    }
    input.pods.push_back({.object = entry->pod, .index = entry->index});
  }
  world.objects<EndedPod>().ForEach([&](const std::shared_ptr<const EndedPod>& pod) {
    input.pods.push_back({.object = pod, .index = cluster::kNone});
  });
  world.objects<model::PodGroup>().ForEach([&](const auto& group) {
    if (!group->metadata.unreadable) input.groups.push_back(*group);
  });
  world.objects<model::Queue>().ForEach([&](const auto& queue) {
    if (!queue->metadata.unreadable) input.queues.push_back(*queue);
  });
  world.objects<model::PriorityClass>().ForEach(
      [&](const auto& priority) { input.priority_classes.push_back(*priority); });
  world.objects<model::ResourceQuota>().ForEach(
      [&](const auto& quota) { input.quotas.push_back(*quota); });
  world.objects<model::PodDisruptionBudget>().ForEach(
      [&](const auto& budget) { input.budgets.push_back(*budget); });
  return input;
}

}  // namespace coppice::batch
