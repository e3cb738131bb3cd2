#include "autoscale/imagined.h"

#include <utility>

namespace coppice::autoscale {

namespace {

bool IsSamePod(const model::Pod& a, const model::Pod& b) {
  return a.metadata.uid == b.metadata.uid && a.metadata.name == b.metadata.name &&
         a.metadata.namespace_ == b.metadata.namespace_;
}

}  // namespace

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

fit::PendingPod Imagined::Successor(const cluster::PodPtr& pod, cluster::PodIndex index) {
  const cluster::PodIndex copy = world_.snapshot().CopyPod(index);
  sources_[copy] = {Origin::kLeaving, index};
  return {pod, copy};
}

void Imagined::ForgetTpus(Pods& pods) {
  std::vector<cluster::PodIndex> before;
  before.reserve(pods.size());
  for (const fit::PendingPod& pod : pods) before.push_back(pod.index);
  tpus_.Forget(pods, world_.snapshot());
  for (size_t i = 0; i < pods.size(); ++i) {
    if (pods[i].index == before[i]) continue;
    sources_[pods[i].index] = SourceOf({pods[i].pod, before[i]});
  }
}

void Imagined::Place(const fit::PendingPod& pod, cluster::NodeIndex node) {
  placed_.push_back({pod.pod, world_.snapshot().node(node).name, SourceOf(pod)});
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
      placed_.push_back({pod.pod, snapshot.node(home).name, SourceOf(pod)});
    }
  }
}

Imagined::Source Imagined::SourceOf(const fit::PendingPod& pod) const {
  if (world_.EntryOf(pod.index) != nullptr) return {Origin::kWaiting, pod.index};
  const auto known = sources_.find(pod.index);
  return known == sources_.end() ? Source{} : known->second;
}

cluster::PodIndex Imagined::IndexOf(const cluster::PodPtr& pod, const Source& source) {
  cluster::Snapshot& snapshot = world_.snapshot();
  Pods one;
  if (source.origin == Origin::kMadeUp) {
    one.push_back({pod, snapshot.AddPod(pod, cluster::kNone)});
  } else {
    const cluster::World::PodEntry* entry = world_.EntryOf(source.index);
    if (entry == nullptr || !snapshot.IsKnown(source.index) || !IsSamePod(*entry->pod, *pod))
      return cluster::kNone;
    const bool has_node = snapshot.node_of(source.index) != cluster::kNone;
    if (has_node != (source.origin == Origin::kLeaving)) return cluster::kNone;
    one.push_back(has_node ? Successor(pod, source.index) : fit::PendingPod{pod, source.index});
  }
  ForgetTpus(one);
  return one.front().index;
}

void Imagined::Repeat() {
  sources_.clear();  // those of another fork
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
    const cluster::PodIndex pod = IndexOf(placed.pod, placed.source);
    if (pod != cluster::kNone) snapshot.Place(pod, node);
  }
}

}  // namespace coppice::autoscale
