#include "cluster/world.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cluster/canonical.h"

namespace coppice::cluster {

World::World(WorldOptions options)
    : options_(std::move(options)),
      stores_(std::make_unique<ObjectStores>()),
      snapshot_(facts_, options_.marks) {
  facts_.AddTo(*stores_);
  lists_.emplace_back();
}

World::~World() {
  if (leader_ != nullptr) std::erase(leader_->followers_, this);
  for (World* follower : followers_) follower->leader_ = nullptr;
}

void World::ApplyHeld() {
  CHECK(snapshot_.forks() == 0);
  holds_ = false;
  for (const Change& change : std::exchange(held_, {})) change(*this);
  for (auto& then : std::exchange(when_applied_, {})) then();
}

void World::Follow(World& leader) {
  CHECK(leader_ == nullptr && &leader != this);
  CHECK(nodes_.size() == 0 && pod_count() == 0 && !holds());
  leader.stores_->CopyInto(*stores_);
  leader.nodes_.ForEach([this](const NodePtr& node) { PutNode(node); });
  std::vector<PodPtr> pods;
  pods.reserve(leader.pod_count());
  for (const PodEntry* entry : leader.Pods()) pods.push_back(entry->pod);
  PutPods(pods);
  for (const Change& change : leader.held_) change(*this);
  held_nodes_ = leader.held_nodes_;
  leader_ = &leader;
  leader.followers_.push_back(this);
}

void World::UpsertNode(NodePtr node) {
  Make([node = std::move(node)](World& world) { world.PutNode(node); });
}

void World::DeleteNode(std::string_view name) {
  Make([name = std::string(name)](World& world) { world.RemoveNode(name); });
}

void World::PutNode(NodePtr node) {
  const std::string name = node->metadata.name;
  const NodeIndex known = snapshot_.FindNode(name);
  if (known != kNone) {
    const NodeShapeId before = snapshot_.node_shape_id(known);
    snapshot_.UpdateNode(known, *node);
    if (snapshot_.node_shape_id(known) != before) ++room_version_;
    nodes_.Upsert(std::move(node));
    Settle();
    return;
  }
  const auto added = snapshot_.AddNode(*node);
  CHECK(added.ok());  // it was not there a moment ago
  lists_[ListOf(name)].index = *added;
  ++node_set_version_;
  ++room_version_;
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

void World::RemoveNode(std::string_view name) {
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
  if (leader_ == nullptr) held_nodes_->NodeGone(name, nodes_.Find(name)->metadata.uid);
  nodes_.Erase("", name);
  ++node_set_version_;
  ++room_version_;
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

uint64_t World::pods_version(std::string_view node_name) const {
  const uint32_t list = node_name.empty() ? kNone : FindList(node_name);
  return list == kNone ? 0 : lists_[list].version;
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
