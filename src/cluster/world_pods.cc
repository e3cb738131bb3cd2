// World: pods, with whom they are listed, and where they are in the snapshot.

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "cluster/canonical.h"
#include "cluster/world.h"

namespace coppice::cluster {

namespace {

uint64_t NameHash(std::string_view namespace_, std::string_view name) {
  return HashBytes(namespace_) * 31 + HashBytes(name);
}

void Prefetch(const model::Pod& pod) {
  constexpr size_t kLine = 64;
  const char* bytes = reinterpret_cast<const char*>(&pod);
  for (size_t at = 0; at < sizeof(pod); at += kLine) __builtin_prefetch(bytes + at);
}

}  // namespace

std::string_view World::NodeNamed(const model::Pod& pod) {
  if (!pod.spec.node_name.empty()) return pod.spec.node_name;
  // A pod that is going away gives up the node it was nominated for.
  if (pod.metadata.deletion_timestamp) return {};
  return pod.status.nominated_node_name;
}

void World::UpsertPod(PodPtr pod) {
  Make([pod = std::move(pod)](World& world) {
    world.PutPod(pod, NameHash(pod->metadata.namespace_, pod->metadata.name));
  });
}

void World::UpsertPods(std::span<const PodPtr> pods) {
  for (World* follower : followers_) follower->UpsertPods(pods);
  if (!holds()) return PutPods(pods);
  for (const PodPtr& pod : pods) {
    held_.push_back([pod](World& world) {
      world.PutPod(pod, NameHash(pod->metadata.namespace_, pod->metadata.name));
    });
  }
}

void World::DeletePod(std::string_view namespace_, std::string_view name) {
  Make([ns = std::string(namespace_), n = std::string(name)](World& world) {
    world.RemovePod(ns, n);
  });
}

void World::PlaceIfPossible(PodEntry& entry) {
  if (entry.index == kNone) return;
  const std::string_view name = NodeNamed(*entry.pod);
  if (name.empty()) return;
  const NodeIndex node = FindNodeOf(entry);
  if (node == kNone) {
    entry.waits = true;
    waiting_[std::string(name)].emplace(entry.place, &entry);
    return;
  }
  SetHome(entry, node);
  snapshot_.Place(entry.index, node);
  // Where it is bound is where it stands, and not a wish: a plan that moves it may try other nodes.
  snapshot_.UpdatePod(entry.index, entry.pod);
}

void World::StopWaiting(PodEntry& entry) {
  if (!entry.waits) return;
  entry.waits = false;
  const auto waiting = waiting_.find(std::string(NodeNamed(*entry.pod)));
  if (waiting == waiting_.end()) return;
  waiting->second.erase(entry.place);
  if (waiting->second.empty()) waiting_.erase(waiting);
}

uint32_t World::FindPodId(uint64_t hash, std::string_view namespace_, std::string_view name) const {
  return names_.Find(hash, [&](uint32_t id) {
    const model::ObjectMeta& meta = entries_[id].pod->metadata;
    return meta.name == name && meta.namespace_ == namespace_;
  });
}

void World::Enlist(uint32_t id) {
  PodEntry& entry = entries_[id];
  const std::string& node = entry.pod->spec.node_name;
  entry.list = node.empty() ? 0 : ListOf(node);
  if (entry.list == 0) {
    unbound_.Insert(&entry);
    return;
  }
  NamedList& named = lists_[entry.list];
  if (named.pods.capacity() == 0) named.pods.reserve(32);  // a node seldom has fewer than some
  if (named.pods.empty() || named.last_place < entry.place) {
    named.pods.push_back(id);
    named.last_place = entry.place;
    return;
  }
  const auto place = [this](uint32_t other) { return entries_[other].place; };
  named.pods.insert(std::ranges::lower_bound(named.pods, entry.place, {}, place), id);
}

void World::Unlist(uint32_t id) {
  PodEntry& entry = entries_[id];
  if (entry.list == 0) {
    unbound_.Erase(&entry);
  } else {
    std::erase(lists_[entry.list].pods, id);
    lists_[entry.list].version = ++pods_version_;
    FreeIfEmpty(entry.list);
  }
  entry.list = kNone;
}

NodeIndex World::FindNodeOf(const PodEntry& entry) const {
  if (entry.list != 0) return lists_[entry.list].index;  // bound: listed under the node's name
  const std::string_view nominated = NodeNamed(*entry.pod);
  return nominated.empty() ? kNone : snapshot_.FindNode(nominated);
}

void World::SetHome(PodEntry& entry, NodeIndex node) {
  constexpr uint64_t kNominated = uint64_t{1} << 62;
  if (entry.home != node) ++room_version_;
  entry.home = node;
  if (ranks_.size() <= entry.index) ranks_.resize(entry.index + 1);
  Rank& rank = ranks_[entry.index];
  rank.rank = entry.place | (entry.list == 0 ? kNominated : 0);
  rank.home = node;
}

void World::RemoveFromSnapshot(PodEntry& entry) {
  ranks_[entry.index] = {};
  snapshot_.RemovePod(entry.index);
  if (entry.home != kNone) ++room_version_;
  entry.index = entry.home = kNone;
}

uint32_t World::NewEntry() {
  if (free_entries_.empty()) {
    free_entries_.push_back(static_cast<uint32_t>(entries_.size()));
    entries_.Grow();
  }
  const uint32_t id = free_entries_.back();
  free_entries_.pop_back();
  entries_[id].place = next_place_++;
  return id;
}

void World::PutPod(PodPtr pod, uint64_t name_hash) {
  uint32_t id = FindPodId(name_hash, pod->metadata.namespace_, pod->metadata.name);
  const bool is_new = id == kNone;
  if (is_new) {
    id = NewEntry();
  } else {
    StopWaiting(entries_[id]);
  }
  PodEntry& entry = entries_[id];
  const bool counts = !options_.counts || options_.counts(*pod);
  const bool moved = !is_new && NodeNamed(*entry.pod) != NodeNamed(*pod);
  const bool relisted = is_new || entry.pod->spec.node_name != pod->spec.node_name;
  if (relisted && !is_new) Unlist(id);
  if (pod_watch_) pod_watch_(entry.pod, pod);
  entry.pod = std::move(pod);
  if (is_new) names_.Insert(name_hash, id);
  if (relisted) Enlist(id);
  if (entry.list != 0) lists_[entry.list].version = ++pods_version_;
  if (!counts) {
    if (entry.index != kNone) RemoveFromSnapshot(entry);
  } else if (entry.index == kNone) {
    const NodeIndex node = FindNodeOf(entry);
    entry.index = snapshot_.AddPod(entry.pod, node);
    SetHome(entry, node);
    ranks_[entry.index].entry = id;
    if (node == kNone) PlaceIfPossible(entry);
  } else {
    snapshot_.UpdatePod(entry.index, entry.pod);
    NodeIndex home = entry.home;
    if (moved && snapshot_.node_of(entry.index) != kNone) {
      snapshot_.Unplace(entry.index);
      home = kNone;
    }
    SetHome(entry, home);  // its rank has changed if it was nominated and is now bound
    if (snapshot_.node_of(entry.index) == kNone) PlaceIfPossible(entry);
  }
  Settle();
}

void World::PutPods(std::span<const PodPtr> pods) {
  ranks_.reserve(ranks_.size() + pods.size());
  names_.Reserve(names_.size() + pods.size());
  snapshot_.ReservePods(pods.size());
  // What is asked for a few pods ahead comes while others are looked at: an object, which is some
  // twenty cache lines of which most are read, then the place of its name.
  constexpr size_t kObject = 6;
  constexpr size_t kName = 3;
  std::array<uint64_t, kName> hashes{};  // of the pods that come next, round and round
  const auto look_ahead = [&](size_t i) {
    if (i + kObject - kName < pods.size()) Prefetch(*pods[i + kObject - kName]);
    if (i >= pods.size()) return;
    const model::ObjectMeta& meta = pods[i]->metadata;
    hashes[i % kName] = NameHash(meta.namespace_, meta.name);
    names_.Prefetch(hashes[i % kName]);
  };
  for (size_t i = 0; i < kName; ++i) look_ahead(i);
  for (size_t i = 0; i < pods.size(); ++i) {
    const uint64_t hash = hashes[i % kName];
    look_ahead(i + kName);
    PutPod(pods[i], hash);
  }
}

void World::RemovePod(std::string_view namespace_, std::string_view name) {
  const uint64_t hash = NameHash(namespace_, name);
  const uint32_t id = FindPodId(hash, namespace_, name);
  if (id == kNone) return;
  PodEntry& entry = entries_[id];
  if (pod_watch_) pod_watch_(entry.pod, nullptr);
  names_.Erase(hash, id);
  StopWaiting(entry);
  Unlist(id);
  if (entry.index != kNone) RemoveFromSnapshot(entry);
  entry = {};
  free_entries_.push_back(id);
}

PodPtr World::FindPod(std::string_view namespace_, std::string_view name) const {
  const uint32_t id = FindPodId(NameHash(namespace_, name), namespace_, name);
  return id == kNone ? nullptr : entries_[id].pod;
}

const World::PodEntry* World::FindEntry(std::string_view namespace_, std::string_view name) const {
  const uint32_t id = FindPodId(NameHash(namespace_, name), namespace_, name);
  return id == kNone ? nullptr : &entries_[id];
}

std::vector<const World::PodEntry*> World::Pods() const {
  // Entries lie in list order, but for those that were another pod's before: from the end, these are
  // the ones that come later than something behind them. They alone are sorted.
  std::vector<const PodEntry*> in_order;
  std::vector<const PodEntry*> late;
  in_order.reserve(names_.size());
  for (size_t id = entries_.size(); id-- > 0;) {
    const PodEntry& entry = entries_[id];
    if (!entry.pod) continue;
    const bool later = !in_order.empty() && in_order.back()->place < entry.place;
    (later ? late : in_order).push_back(&entry);
  }
  std::ranges::reverse(in_order);
  if (late.empty()) return in_order;
  std::ranges::sort(late, {}, &PodEntry::place);
  std::vector<const PodEntry*> all;
  all.reserve(names_.size());
  std::ranges::merge(in_order, late, std::back_inserter(all), {}, &PodEntry::place,
                     &PodEntry::place);
  return all;
}

}  // namespace coppice::cluster
