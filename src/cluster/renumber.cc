// Letting go of what was interned for pods and nodes that are gone: the interner keeps what is
// marked, the snapshot marks what lives and takes over the new ids, the world says when.

#include <utility>

#include "base/check.h"
#include "cluster/snapshot.h"
#include "cluster/world.h"

namespace coppice::cluster {
namespace {

// Keeps the marked entries in their order, and the table with them.
template <class Entries, class HashOf>
void KeepMarked(std::vector<uint32_t>& ids, Entries& entries, IdTable& table, HashOf hash_of) {
  Entries kept;
  IdTable kept_table;
  for (size_t id = 0; id < ids.size(); ++id) {
    if (ids[id] == kNone) continue;
    ids[id] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(entries[id]));
    kept_table.Insert(hash_of(kept.back()), ids[id]);
  }
  entries = std::move(kept);
  table = std::move(kept_table);
}

}  // namespace

KeptIds Interner::NoneKept() const {
  return {.specs = std::vector<uint32_t>(specs_.size(), kNone),
          .labels = std::vector<uint32_t>(label_sets_.size(), kNone),
          .volumes = std::vector<uint32_t>(volume_sets_.size(), kNone),
          .evictions = std::vector<uint32_t>(evictions_.size(), kNone),
          .owners = std::vector<uint32_t>(owners_.size(), kNone),
          .shapes = std::vector<uint32_t>(node_shapes_.size(), kNone)};
}

void Interner::Keep(KeptIds& ids) {
  const auto by_bytes = [](const auto& entry) { return HashBytes(entry.bytes); };
  ids.volumes[0] = 0;  // none at all
  KeepMarked(ids.specs, specs_, spec_table_, by_bytes);
  KeepMarked(ids.labels, label_sets_, label_table_, by_bytes);
  KeepMarked(ids.volumes, volume_sets_, volume_table_, by_bytes);
  KeepMarked(ids.owners, owners_, owner_table_, by_bytes);
  KeepMarked(ids.shapes, node_shapes_, shape_table_, by_bytes);
  KeepMarked(ids.evictions, evictions_, eviction_table_, [&](EvictionKind& kind) {
    if (kind.owner != kNone) kind.owner = ids.owners[kind.owner];
    kind.labels = ids.labels[kind.labels];
    return HashEviction(kind.bytes, kind.owner, kind.labels);
  });
  // These are made of others, or quickly made anew.
  namespaces_.clear();
  namespace_table_ = {};
  for (auto& labels : label_sets_) labels.namespace_id = Namespace(labels.value.namespace_);
  std::deque<std::string> claims = std::exchange(claims_, {});
  claim_table_ = {};
  for (auto& volumes : volume_sets_) {
    // Two sets may name one claim, so that its text is copied.
    for (ClaimId& claim : volumes.value.claims) claim = ClaimOf(claims[claim]);
  }
  raw_specs_.clear();
  raw_table_ = {};
  last_ = nullptr;
  added_for_pods_ = added_shapes_ = 0;
}

void Snapshot::Renumber() {
  CHECK(marks_.empty());  // a revert would bring back what has the old ids
  KeptIds ids = interner_->NoneKept();
  const auto mark = [](std::vector<uint32_t>& of, uint32_t id) { of[id] = id; };
  for (PodIndex pod = 0; pod < pod_bound(); ++pod) {
    const PodRecord& record = pods_[pod];
    if (!record.known) continue;
    mark(ids.specs, record.spec);
    mark(ids.labels, record.labels);
    mark(ids.volumes, record.volumes);
    mark(ids.evictions, record.eviction);
    if (record.owned) mark(ids.owners, identities_[pod].owner);
  }
  for (const NodeIndex node : order_) mark(ids.shapes, shape_of_[node]);
  interner_->Keep(ids);

  for (const NodeIndex node : order_) shape_of_[node] = ids.shapes[shape_of_[node]];
  tainted_shapes_.clear();
  resources_.ForgetSpecs();
  LearnSpecs();
  claim_users_.assign(interner_->claim_count(), 0);
  // Counters, and what filters remember, may be about pods that are gone, too: they come back when
  // they are asked for. Only who keeps others away has to be counted at once.
  for (auto& [id, memory] : memory_) memory = nullptr;
  counters_ = std::make_unique<Counters>(*this);
  for (PodIndex pod = 0; pod < pod_bound(); ++pod) {
    PodRecord& record = pods_[pod];
    if (!record.known) continue;
    record.spec = ids.specs[record.spec];
    record.labels = ids.labels[record.labels];
    record.volumes = ids.volumes[record.volumes];
    record.eviction = ids.evictions[record.eviction];
    if (record.owned) identities_[pod].owner = ids.owners[identities_[pod].owner];
    if (record.node == kNone) continue;
    for (const ClaimId claim : interner_->volume_set(record.volumes).claims) ++claim_users_[claim];
    counters_->OnPod(record.spec, record.labels, record.terminating != 0, record.node, 1);
  }
  retired_pods_ = retired_shapes_ = 0;
  ++id_epoch_;
}

void World::Settle() {
  const bool times_count = snapshot_.interner().taint_times_count();
  if (times_count != taint_times_count_) {
    taint_times_count_ = times_count;
    nodes_.ForEach([this](const NodePtr& node) {
      snapshot_.UpdateNode(snapshot_.FindNode(node->metadata.name), *node);
    });
  }
  if (snapshot_.HasMuchToForget()) snapshot_.Renumber();
}

}  // namespace coppice::cluster
