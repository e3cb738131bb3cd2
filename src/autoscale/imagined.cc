#include "autoscale/imagined.h"

#include <utility>

namespace coppice::autoscale {

bool Imagined::Add(std::string group, pack::NodeTemplate node) {
  if (!pack::AddTo(world_.snapshot(), node).ok()) return false;
  stand_ins_.push_back({std::move(group), std::move(node)});
  return true;
}

void Imagined::Replace(const std::string& node) {
  replaced_.push_back(node);
  const cluster::NodeIndex index = world_.snapshot().FindNode(node);
  if (index != cluster::kNone) world_.snapshot().RemoveNode(index);
}

void Imagined::Place(const fit::PendingPod& pod, cluster::NodeIndex node) {
  placed_.push_back({pod.pod, world_.snapshot().node(node).name, OriginOf(pod)});
  world_.snapshot().Place(pod.index, node);
}

void Imagined::Keep(const Pods& pods) {
  const cluster::Snapshot& snapshot = world_.snapshot();
  std::vector<uint32_t> places(snapshot.pod_bound(), cluster::kNone);  // in `pods`, by index
  std::vector<uint8_t> listed(snapshot.node_bound(), 0);
  std::vector<cluster::NodeIndex> homes;
  for (uint32_t i = 0; i < pods.size(); ++i) {
    const cluster::NodeIndex home = snapshot.node_of(pods[i].index);
    if (home == cluster::kNone) continue;
    places[pods[i].index] = i;
    if (std::exchange(listed[home], uint8_t{1}) == 0) homes.push_back(home);
  }
  for (const cluster::NodeIndex home : homes) {
    for (const cluster::PodIndex index : snapshot.pods_on(home)) {
      if (places[index] == cluster::kNone) continue;
      const fit::PendingPod& pod = pods[places[index]];
      placed_.push_back({pod.pod, snapshot.node(home).name, OriginOf(pod)});
    }
  }
}

Imagined::Origin Imagined::OriginOf(const fit::PendingPod& pod) const {
  if (world_.EntryOf(pod.index) != nullptr) return Origin::kWaiting;
  const cluster::World::PodEntry* entry =
      world_.FindEntry(pod.pod->metadata.namespace_, pod.pod->metadata.name);
  if (entry == nullptr || entry->pod != pod.pod) return Origin::kMadeUp;
  const bool has_node = world_.snapshot().node_of(entry->index) != cluster::kNone;
  return has_node ? Origin::kLeaving : Origin::kWaiting;
}

cluster::PodIndex Imagined::IndexOf(const cluster::PodPtr& pod, Origin origin) {
  cluster::Snapshot& snapshot = world_.snapshot();
  Pods one;
  if (origin == Origin::kMadeUp) {
    one.push_back({pod, snapshot.AddPod(pod, cluster::kNone)});
  } else {
    const cluster::World::PodEntry* entry =
        world_.FindEntry(pod->metadata.namespace_, pod->metadata.name);
    if (entry == nullptr || entry->pod->metadata.uid != pod->metadata.uid ||
        entry->index == cluster::kNone || !snapshot.IsKnown(entry->index)) {
      return cluster::kNone;
    }
    const bool has_node = snapshot.node_of(entry->index) != cluster::kNone;
    if (has_node != (origin == Origin::kLeaving)) return cluster::kNone;
    one.push_back({pod, has_node ? snapshot.CopyPod(entry->index) : entry->index});
  }
  tpus_.Forget(one, snapshot);
  return one.front().index;
}

void Imagined::Repeat() {
  cluster::Snapshot& snapshot = world_.snapshot();
  for (const StandIn& stand_in : stand_ins_) {
    const auto added = pack::AddTo(snapshot, stand_in.node);
    (void)added;  // a node of that very name has come: then it stands for itself
  }
  for (const std::string& name : replaced_) {
    const cluster::NodeIndex node = snapshot.FindNode(name);
    if (node != cluster::kNone) snapshot.RemoveNode(node);
  }
  for (const Placed& placed : placed_) {
    const cluster::NodeIndex node = snapshot.FindNode(placed.node);
    if (node == cluster::kNone) continue;
    const cluster::PodIndex pod = IndexOf(placed.pod, placed.origin);
    if (pod != cluster::kNone) snapshot.Place(pod, node);
  }
}

}  // namespace coppice::autoscale
