#include "cluster/world.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace coppice::cluster {

namespace {

std::string Key(std::string_view namespace_, std::string_view name) {
  std::string key(namespace_);
  key += '/';
  key += name;
  return key;
}

}  // namespace

World::World(Counts counts) : counts_(std::move(counts)) {}

std::string_view World::NodeNamed(const model::Pod& pod) {
  if (!pod.spec.node_name.empty()) return pod.spec.node_name;
  // A pod that is going away gives up the node it was nominated for.
  if (pod.metadata.deletion_timestamp) return {};
  return pod.status.nominated_node_name;
}

bool World::Hold(std::function<void()> change) {
  if (snapshot_.forks() == 0) return false;
  held_.push_back(std::move(change));
  return true;
}

void World::ApplyHeld() {
  CHECK(snapshot_.forks() == 0);
  for (auto& change : std::exchange(held_, {})) change();
}

void World::UpsertNode(NodePtr node) {
  if (Hold([this, node] { UpsertNode(node); })) return;
  const std::string name = node->metadata.name;
  const NodeIndex known = snapshot_.FindNode(name);
  if (known != kNone) {
    snapshot_.UpdateNode(known, *node);
    nodes_.Upsert(std::move(node));
    return;
  }
  const auto added = snapshot_.AddNode(*node);
  CHECK(added.ok());  // it was not there a moment ago
  nodes_.Upsert(std::move(node));
  const auto waiting = waiting_.find(name);
  if (waiting == waiting_.end()) return;
  const auto pods = std::move(waiting->second);
  waiting_.erase(waiting);
  for (const auto& [place, entry] : pods) PlaceIfPossible(*entry);
}

void World::DeleteNode(std::string_view name) {
  if (Hold([this, name = std::string(name)] { DeleteNode(name); })) return;
  const NodeIndex node = snapshot_.FindNode(name);
  if (node == kNone) return;
  // Its pods stay known until their own deletion arrives, and wait for a node of that name.
  const std::vector<PodIndex> pods(snapshot_.pods_on(node).begin(), snapshot_.pods_on(node).end());
  for (const PodIndex pod : pods) {
    snapshot_.Unplace(pod);
    PodEntry* entry = by_index_[pod];
    waiting_[std::string(name)].emplace(entry->place, entry);
  }
  snapshot_.RemoveNode(node);
  nodes_.Erase("", name);
}

void World::PlaceIfPossible(PodEntry& entry) {
  if (entry.index == kNone) return;
  const std::string_view name = NodeNamed(*entry.pod);
  if (name.empty()) return;
  const NodeIndex node = snapshot_.FindNode(name);
  if (node == kNone) {
    waiting_[std::string(name)].emplace(entry.place, &entry);
    return;
  }
  snapshot_.Place(entry.index, node);
  // Where it is bound is where it stands, and not a wish: a plan that moves it may try other nodes.
  snapshot_.UpdatePod(entry.index, *entry.pod);
}

void World::Withdraw(PodEntry& entry) {
  unbound_.erase(entry.place);
  const auto bound = bound_.find(entry.pod->spec.node_name);
  if (bound != bound_.end()) {
    bound->second.erase(entry.place);
    if (bound->second.empty()) bound_.erase(bound);
  }
  const auto waiting = waiting_.find(std::string(NodeNamed(*entry.pod)));
  if (waiting != waiting_.end()) {
    waiting->second.erase(entry.place);
    if (waiting->second.empty()) waiting_.erase(waiting);
  }
}

void World::UpsertPod(PodPtr pod) {
  if (Hold([this, pod] { UpsertPod(pod); })) return;
  auto& slot = pods_[Key(pod->metadata.namespace_, pod->metadata.name)];
  if (!slot.entry) {
    slot.entry = std::make_unique<PodEntry>();
    slot.entry->place = next_place_++;
  } else {
    Withdraw(*slot.entry);
  }
  PodEntry& entry = *slot.entry;
  const bool counts = !counts_ || counts_(*pod);
  const std::string_view node_before = entry.pod ? NodeNamed(*entry.pod) : std::string_view();
  const bool moved = entry.index != kNone && node_before != NodeNamed(*pod);
  entry.pod = std::move(pod);
  if (!counts) {
    if (entry.index != kNone) {
      by_index_[entry.index] = nullptr;
      snapshot_.RemovePod(entry.index);
      entry.index = kNone;
    }
  } else if (entry.index == kNone) {
    const NodeIndex node = snapshot_.FindNode(NodeNamed(*entry.pod));
    entry.index = node == kNone ? snapshot_.AddPod(*entry.pod) : snapshot_.AddPod(*entry.pod, node);
    if (by_index_.size() <= entry.index) by_index_.resize(entry.index + 1);
    by_index_[entry.index] = &entry;
    if (node == kNone) PlaceIfPossible(entry);
  } else {
    snapshot_.UpdatePod(entry.index, *entry.pod);
    if (moved && snapshot_.node_of(entry.index) != kNone) snapshot_.Unplace(entry.index);
    if (snapshot_.node_of(entry.index) == kNone) PlaceIfPossible(entry);
  }
  if (entry.pod->spec.node_name.empty()) {
    unbound_.emplace(entry.place, &entry);
  } else {
    bound_[entry.pod->spec.node_name].emplace(entry.place, &entry);
  }
}

void World::DeletePod(std::string_view namespace_, std::string_view name) {
  if (Hold([this, ns = std::string(namespace_), n = std::string(name)] { DeletePod(ns, n); }))
    return;
  const auto it = pods_.find(Key(namespace_, name));
  if (it == pods_.end()) return;
  PodEntry& entry = *it->second.entry;
  Withdraw(entry);
  if (entry.index != kNone) {
    by_index_[entry.index] = nullptr;
    snapshot_.RemovePod(entry.index);
  }
  pods_.erase(it);
}

PodPtr World::FindPod(std::string_view namespace_, std::string_view name) const {
  const auto it = pods_.find(Key(namespace_, name));
  return it == pods_.end() ? nullptr : it->second.entry->pod;
}

std::vector<const World::PodEntry*> World::Unbound() const {
  std::vector<const PodEntry*> all;
  all.reserve(unbound_.size());
  for (const auto& [place, entry] : unbound_) all.push_back(entry);
  return all;
}

std::vector<const World::PodEntry*> World::Pods() const {
  std::vector<const PodEntry*> all;
  all.reserve(pods_.size());
  for (const auto& [key, slot] : pods_) all.push_back(slot.entry.get());
  std::ranges::sort(all, {}, &PodEntry::place);
  return all;
}

std::vector<const World::PodEntry*> World::BoundTo(std::string_view node_name) const {
  std::vector<const PodEntry*> all;
  const auto bound = bound_.find(std::string(node_name));
  if (bound == bound_.end()) return all;
  for (const auto& [place, entry] : bound->second) all.push_back(entry);
  return all;
}

const World::PodEntry* World::EntryOf(PodIndex index) const {
  return index < by_index_.size() ? by_index_[index] : nullptr;
}

std::vector<PodIndex> World::PodsInOrder(NodeIndex node) const {
  struct Ranked {
    int group;
    uint64_t rank;
    PodIndex pod;
  };
  std::vector<Ranked> ranked;
  const std::string& name = snapshot_.node(node).name;
  for (const PodIndex pod : snapshot_.pods_on(node)) {
    const PodEntry* entry = EntryOf(pod);
    if (entry != nullptr && entry->pod->spec.node_name == name) {
      ranked.push_back({0, entry->place, pod});
    } else if (entry != nullptr && entry->pod->spec.node_name.empty() &&
               NodeNamed(*entry->pod) == name) {
      ranked.push_back({1, entry->place, pod});
    } else {
      ranked.push_back({2, ranked.size(), pod});
    }
  }
  std::ranges::sort(ranked, [](const Ranked& a, const Ranked& b) {
    return std::tie(a.group, a.rank) < std::tie(b.group, b.rank);
  });
  std::vector<PodIndex> pods;
  pods.reserve(ranked.size());
  for (const Ranked& r : ranked) pods.push_back(r.pod);
  return pods;
}

}  // namespace coppice::cluster
