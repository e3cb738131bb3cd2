#include "cluster/world.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cluster/canonical.h"

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

void World::UnboundPods::Insert(PodEntry* entry) {
  ++live_;
  const Item item{entry->place, entry};
  if (items_.empty() || items_.back().place < entry->place) {
    items_.push_back(item);
    return;
  }
  const auto at = std::ranges::lower_bound(items_, entry->place, {}, &Item::place);
  if (at->place == entry->place) {
    *at = item;  // its own hole
  } else {
    items_.insert(at, item);
  }
}

void World::UnboundPods::Erase(const PodEntry* entry) {
  const auto at = std::ranges::lower_bound(items_, entry->place, {}, &Item::place);
  at->entry = nullptr;
  --live_;
  if (items_.size() > 16 && live_ * 2 < items_.size()) {
    std::erase_if(items_, [](const Item& item) { return item.entry == nullptr; });
  }
}

std::vector<const World::PodEntry*> World::UnboundPods::List() const {
  std::vector<const PodEntry*> all;
  all.reserve(live_);
  for (const Item& item : items_) {
    if (item.entry != nullptr) all.push_back(item.entry);
  }
  return all;
}

World::World(Counts counts) : counts_(std::move(counts)) { lists_.emplace_back(); }

std::string_view World::NodeNamed(const model::Pod& pod) {
  if (!pod.spec.node_name.empty()) return pod.spec.node_name;
  // A pod that is going away gives up the node it was nominated for.
  if (pod.metadata.deletion_timestamp) return {};
  return pod.status.nominated_node_name;
}

void World::ApplyHeld() {
  CHECK(snapshot_.forks() == 0);
  holds_ = false;
  for (auto& change : std::exchange(held_, {})) change();
  for (auto& then : std::exchange(when_applied_, {})) then();
}

void World::UpsertNode(NodePtr node) {
  if (holds()) {
    held_.push_back([this, node = std::move(node)] { UpsertNode(node); });
    return;
  }
  const std::string name = node->metadata.name;
  const NodeIndex known = snapshot_.FindNode(name);
  if (known != kNone) {
    snapshot_.UpdateNode(known, *node);
    nodes_.Upsert(std::move(node));
    Settle();
    return;
  }
  const auto added = snapshot_.AddNode(*node);
  CHECK(added.ok());  // it was not there a moment ago
  lists_[ListOf(name)].index = *added;
  ++node_set_version_;
  nodes_.Upsert(std::move(node));
  if (const auto waiting = waiting_.find(name); waiting != waiting_.end()) {
    const auto pods = std::move(waiting->second);
    waiting_.erase(waiting);
    for (const auto& [place, entry] : pods) {
      entry->waits = false;
      PlaceIfPossible(*entry);
    }
  }
  Settle();
}

void World::DeleteNode(std::string_view name) {
  if (holds()) {
    held_.push_back([this, name = std::string(name)] { DeleteNode(name); });
    return;
  }
  const NodeIndex node = snapshot_.FindNode(name);
  if (node == kNone) return;
  // Its pods stay known until their own deletion arrives, and wait for a node of that name.
  const std::vector<PodIndex> pods(snapshot_.pods_on(node).begin(), snapshot_.pods_on(node).end());
  for (const PodIndex pod : pods) {
    snapshot_.Unplace(pod);
    PodEntry* entry = &entries_[ranks_[pod].entry];
    SetHome(*entry, kNone);
    entry->waits = true;
    waiting_[std::string(name)].emplace(entry->place, entry);
  }
  snapshot_.RemoveNode(node);
  const uint32_t list = FindList(name);
  lists_[list].index = kNone;
  FreeIfEmpty(list);
  if (const NodePtr object = nodes_.Find("", name))
    held_nodes_.NodeGone(name, object->metadata.uid);
  nodes_.Erase("", name);
  ++node_set_version_;
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

uint32_t World::FindList(std::string_view node) const {
  return list_names_.Find(HashBytes(node), [&](uint32_t id) { return lists_[id].node == node; });
}

uint32_t World::ListOf(std::string_view node) {
  uint32_t list = FindList(node);
  if (list != kNone) return list;
  if (free_lists_.empty()) {
    free_lists_.push_back(static_cast<uint32_t>(lists_.size()));
    lists_.emplace_back();
  }
  list = free_lists_.back();
  free_lists_.pop_back();
  lists_[list].node = node;
  list_names_.Insert(HashBytes(node), list);
  return list;
}

void World::FreeIfEmpty(uint32_t list) {
  NamedList& named = lists_[list];
  if (list == 0 || named.index != kNone || !named.pods.empty()) return;
  list_names_.Erase(HashBytes(named.node), list);
  free_lists_.push_back(list);
  named = {};
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
  entry.home = node;
  if (ranks_.size() <= entry.index) ranks_.resize(entry.index + 1);
  Rank& rank = ranks_[entry.index];
  rank.rank = entry.place | (entry.list == 0 ? kNominated : 0);
  rank.home = node;
}

void World::RemoveFromSnapshot(PodEntry& entry) {
  ranks_[entry.index] = {};
  snapshot_.RemovePod(entry.index);
  entry.index = entry.home = kNone;
}

void World::UpsertPod(PodPtr pod) {
  if (holds()) {
    held_.push_back([this, pod = std::move(pod)] { UpsertPod(pod); });
    return;
  }
  const uint64_t hash = NameHash(pod->metadata.namespace_, pod->metadata.name);
  UpsertPod(std::move(pod), hash);
}

void World::UpsertPod(PodPtr pod, uint64_t name_hash) {
  uint32_t id = FindPodId(name_hash, pod->metadata.namespace_, pod->metadata.name);
  const bool is_new = id == kNone;
  if (is_new) {
    if (free_entries_.empty()) {
      free_entries_.push_back(static_cast<uint32_t>(entries_.size()));
      entries_.Grow();
    }
    id = free_entries_.back();
    free_entries_.pop_back();
    entries_[id].place = next_place_++;
  } else {
    StopWaiting(entries_[id]);
  }
  PodEntry& entry = entries_[id];
  const bool counts = !counts_ || counts_(*pod);
  const bool moved = !is_new && NodeNamed(*entry.pod) != NodeNamed(*pod);
  const bool relisted = is_new || entry.pod->spec.node_name != pod->spec.node_name;
  if (relisted && !is_new) Unlist(id);
  entry.pod = std::move(pod);
  if (is_new) names_.Insert(name_hash, id);
  if (relisted) Enlist(id);
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

void World::UpsertPods(std::span<const PodPtr> pods) {
  if (holds()) {
    for (const PodPtr& pod : pods) UpsertPod(pod);
    return;
  }
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
    UpsertPod(pods[i], hash);
  }
}

void World::DeletePod(std::string_view namespace_, std::string_view name) {
  if (holds()) {
    held_.push_back(
        [this, ns = std::string(namespace_), n = std::string(name)] { DeletePod(ns, n); });
    return;
  }
  const uint64_t hash = NameHash(namespace_, name);
  const uint32_t id = FindPodId(hash, namespace_, name);
  if (id == kNone) return;
  PodEntry& entry = entries_[id];
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

std::vector<const World::PodEntry*> World::Unbound() const { return unbound_.List(); }

std::vector<const World::PodEntry*> World::Pods() const {
  std::vector<const PodEntry*> all;
  all.reserve(names_.size());
  for (size_t id = 0; id < entries_.size(); ++id) {
    if (entries_[id].pod) all.push_back(&entries_[id]);
  }
  std::ranges::sort(all, {}, &PodEntry::place);
  return all;
}

std::vector<const World::PodEntry*> World::BoundTo(std::string_view node_name) const {
  std::vector<const PodEntry*> all;
  const uint32_t list = node_name.empty() ? kNone : FindList(node_name);
  if (list == kNone) return all;
  all.reserve(lists_[list].pods.size());
  for (const uint32_t id : lists_[list].pods) all.push_back(&entries_[id]);
  return all;
}

std::vector<PodIndex> World::PodsInOrder(NodeIndex node) const {
  std::vector<PodIndex> pods;
  PodsInOrder(node, pods);
  return pods;
}

void World::PrefetchPodsOn(NodeIndex node) const {
  for (const PodIndex pod : snapshot_.pods_on(node)) {
    snapshot_.Prefetch(pod);
    if (pod < ranks_.size()) __builtin_prefetch(&ranks_[pod]);  // else a plan's own
  }
}

void World::PodsInOrder(NodeIndex node, std::vector<PodIndex>& pods) const {
  constexpr uint64_t kPlanned = uint64_t{2} << 62;
  const auto on_it = snapshot_.pods_on(node);
  const auto rank_of = [&](size_t i) {
    const PodIndex pod = on_it[i];
    return pod < ranks_.size() && ranks_[pod].home == node ? ranks_[pod].rank : kPlanned | i;
  };
  pods.assign(on_it.begin(), on_it.end());
  bool sorted = true;  // mostly they are
  uint64_t last = 0;
  for (size_t i = 0; i < pods.size() && sorted; ++i) {
    const uint64_t rank = rank_of(i);
    sorted = last <= rank;
    last = rank;
  }
  if (sorted) return;
  std::vector<std::pair<uint64_t, PodIndex>> ranked;
  ranked.reserve(pods.size());
  for (size_t i = 0; i < pods.size(); ++i) ranked.emplace_back(rank_of(i), pods[i]);
  std::ranges::sort(ranked);
  for (size_t i = 0; i < pods.size(); ++i) pods[i] = ranked[i].second;
}

}  // namespace coppice::cluster
