#include "autoscale/described_removals.h"

#include <algorithm>
#include <charconv>

namespace coppice::autoscale {

namespace {

// As Go's %v prints a float: the shortest digits that read back the same.
std::string GoFloat(double value) {
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  return error == std::errc() ? std::string(buffer, end) : std::to_string(value);
}

}  // namespace

std::string PrintUtilization(const report::Utilization& use) {
  return "{" + GoFloat(use.cpu) + " " + GoFloat(use.memory) + " " + GoFloat(use.gpu) + " 0 " +
         use.resource + " " + GoFloat(use.value) + "}";
}

DescribedRemoval DescribeRemoval(const RemovableNode& node, bool drain, const cluster::World& world,
                                 ScaleDownPlanner& planner) {
  DescribedRemoval described;
  report::RemovedNode& removed = described.removed;
  removed.node = node.node;
  removed.group = node.group;
  const cluster::Snapshot& snapshot = world.snapshot();
  const cluster::NodeIndex index = snapshot.FindNode(node.node);
  if (index == cluster::kNone) return described;
  if (const report::Utilization* use = planner.UseOf(index)) removed.utilization = *use;
  if (!drain) return described;
  const std::vector<cluster::PodIndex> pods = world.PodsInOrder(index);
  // The report shares the objects, and the counts of their owners are in as many places of memory:
  // asked for together, they come together.
  for (const auto* list : {&node.to_reschedule, &pods}) {
    for (const cluster::PodIndex pod : *list) {
      if (const auto* entry = world.EntryOf(pod)) __builtin_prefetch(entry->pod.get(), 1);
    }
  }
  const size_t moves = std::min(node.to_reschedule.size(), node.destinations.size());
  removed.moves.reserve(moves);
  for (size_t i = 0; i < moves; ++i) {
    const cluster::NodeIndex to = node.destinations[i];
    removed.moves.push_back({world.EntryOf(node.to_reschedule[i])->pod,
                             snapshot.IsLive(to) ? snapshot.node(to).name : ""});
  }
  removed.evicted.reserve(pods.size());
  for (const cluster::PodIndex pod : pods) {
    const cluster::World::PodEntry* entry = world.EntryOf(pod);
    if (entry == nullptr) continue;
    const drain::PodTraits::Traits& traits = planner.traits().Of(snapshot, pod, *entry->pod);
    if (traits.mirror || traits.daemon_set) continue;
    removed.evicted.push_back(entry->pod);
    if (!described.pods.empty()) described.pods += ',';
    described.pods += entry->pod->metadata.name;
  }
  return described;
}

}  // namespace coppice::autoscale
