// World: the objects of a cluster in list order, and the Snapshot that they make.
//
// Long-lived and fed with changes only: a pass starts from it and rebuilds nothing. The order of
// nodes and pods is part of the state, for the answers of peers depend on it: new objects come
// last, an update keeps its place, a deletion closes the gap.
//
// A pod is on a node in the snapshot if it names one (spec.nodeName, or the node it is nominated
// for) and the policy lets it count; one whose node is not there yet waits for it. Pods without a
// node are known to the snapshot, unplaced, so that their shapes are interned.
//
// One thread only. A change that comes between Hold() and ApplyHeld() waits, and so does one that
// comes while the snapshot has an open fork: whoever plans sees one world from the first list to
// the last decision, however long it waits for others in between, reverts, and then lets the news
// in.

#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/held_nodes.h"
#include "cluster/snapshot.h"
#include "cluster/stable_vector.h"
#include "model/objects.h"

namespace coppice::cluster {

using NodePtr = std::shared_ptr<const model::Node>;
using PodPtr = std::shared_ptr<const model::Pod>;

// Objects of one kind by name, in list order. O(1) per change but for the compaction now and then.
template <class T>
class OrderedObjects {
 public:
  struct Entry {
    std::shared_ptr<const T> object;  // null: deleted
  };

  // The slot of the object; an existing one keeps its slot.
  size_t Upsert(std::shared_ptr<const T> object) {
    const auto [it, added] = slots_.try_emplace(KeyOf(*object), entries_.size());
    if (added) {
      entries_.push_back({std::move(object)});
    } else {
      entries_[it->second].object = std::move(object);
    }
    return it->second;
  }
  bool Erase(std::string_view namespace_, std::string_view name) {
    const auto it = slots_.find(Key(namespace_, name));
    if (it == slots_.end()) return false;
    entries_[it->second].object = nullptr;
    slots_.erase(it);
    if (entries_.size() > 64 && slots_.size() * 2 < entries_.size()) Compact();
    return true;
  }
  std::shared_ptr<const T> Find(std::string_view namespace_, std::string_view name) const {
    const auto it = slots_.find(Key(namespace_, name));
    return it == slots_.end() ? nullptr : entries_[it->second].object;
  }
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const Entry& entry : entries_) {
      if (entry.object) visit(entry.object);
    }
  }
  std::vector<std::shared_ptr<const T>> List() const {
    std::vector<std::shared_ptr<const T>> all;
    all.reserve(slots_.size());
    ForEach([&](const auto& object) { all.push_back(object); });
    return all;
  }
  size_t size() const { return slots_.size(); }

 private:
  static std::string Key(std::string_view namespace_, std::string_view name) {
    std::string key(namespace_);
    key += '/';
    key += name;
    return key;
  }
  static std::string KeyOf(const T& object) {
    return Key(object.metadata.namespace_, object.metadata.name);
  }
  void Compact() {
    std::erase_if(entries_, [](const Entry& e) { return e.object == nullptr; });
    slots_.clear();
    for (size_t i = 0; i < entries_.size(); ++i) slots_.emplace(KeyOf(*entries_[i].object), i);
  }

  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> slots_;
};

class World {
 public:
  // Whether a pod counts at all (an expendable one, or one of a foreign scheduler, does not).
  using Counts = std::function<bool(const model::Pod&)>;
  explicit World(Counts counts = nullptr);

  Snapshot& snapshot() { return snapshot_; }
  const Snapshot& snapshot() const { return snapshot_; }

  // Which engine is taking which node down.
  HeldNodes& held_nodes() { return held_nodes_; }
  const HeldNodes& held_nodes() const { return held_nodes_; }

  // From here on changes wait.
  void Hold() { holds_ = true; }
  // Ends that, and makes the changes that have waited. Call without a fork.
  void ApplyHeld();
  // Whether anything waits: then this is not the newest that is known.
  bool behind() const { return !held_.empty(); }
  // Calls `then` once, at the end of the next ApplyHeld(): for who waits for the news.
  void WhenApplied(std::function<void()> then) { when_applied_.push_back(std::move(then)); }

  void UpsertNode(NodePtr node);
  void DeleteNode(std::string_view name);
  void UpsertPod(PodPtr pod);
  void UpsertPods(std::span<const PodPtr> pods);  // a whole list; faster than one by one
  void DeletePod(std::string_view namespace_, std::string_view name);

  std::vector<NodePtr> Nodes() const { return nodes_.List(); }
  template <class Visit>
  void ForEachNode(Visit visit) const {  // in list order
    nodes_.ForEach(visit);
  }
  // Grows when a node comes or goes, and not when one is updated.
  uint64_t node_set_version() const { return node_set_version_; }
  NodePtr FindNode(std::string_view name) const { return nodes_.Find("", name); }
  PodPtr FindPod(std::string_view namespace_, std::string_view name) const;
  size_t node_count() const { return nodes_.size(); }
  size_t pod_count() const { return names_.size(); }

  struct PodEntry {
    PodPtr pod;
    uint64_t place = 0;      // in list order
    PodIndex index = kNone;  // in the snapshot; kNone: does not count
    NodeIndex home = kNone;  // where it is bound to or nominated for, once that node is there

   private:
    friend class World;
    uint32_t list = kNone;  // of lists_: with whom it is listed
    bool waits = false;     // for a node of that name
  };
  // Pods without spec.nodeName, in list order.
  std::vector<const PodEntry*> Unbound() const;
  // All of them, in list order.
  std::vector<const PodEntry*> Pods() const;
  // Pods with this spec.nodeName, in list order, whether they count or not.
  std::vector<const PodEntry*> BoundTo(std::string_view node_name) const;
  // The object behind a pod of the snapshot; null for one that a plan made up.
  const PodEntry* EntryOf(PodIndex index) const {
    if (index >= ranks_.size() || ranks_[index].entry == kNone) return nullptr;
    return &entries_[ranks_[index].entry];
  }
  // What is on a node now, in the order in which peers list it: bound pods in list order, nominated
  // ones in list order, then pods that a plan has placed, as placed.
  std::vector<PodIndex> PodsInOrder(NodeIndex node) const;
  void PodsInOrder(NodeIndex node, std::vector<PodIndex>& pods) const;  // into memory used before

  // Brings close what a plan reads of the pods on a node: for who knows which node comes next.
  void PrefetchPodsOn(NodeIndex node) const;

  // Objects that decisions read beside nodes and pods.
  OrderedObjects<model::DaemonSet> daemon_sets;
  OrderedObjects<model::ReplicaSet> replica_sets;
  OrderedObjects<model::ReplicationController> replication_controllers;
  OrderedObjects<model::StatefulSet> stateful_sets;
  OrderedObjects<model::Job> jobs;
  OrderedObjects<model::PodDisruptionBudget> budgets;
  OrderedObjects<model::ConfigMap> config_maps;

 private:
  // The pods without a node in list order: many come and go, so that a deletion leaves a hole
  // until there are many.
  class UnboundPods {
   public:
    void Insert(PodEntry* entry);
    void Erase(const PodEntry* entry);
    std::vector<const PodEntry*> List() const;

   private:
    struct Item {
      uint64_t place;
      PodEntry* entry;  // null: a hole
    };
    std::vector<Item> items_;
    size_t live_ = 0;
  };
  // What there is under one node's name: the node, or pods that name it, or both.
  struct NamedList {
    std::string node;  // spec.nodeName of its pods
    NodeIndex index = kNone;
    std::vector<uint32_t> pods;  // of entries_, in list order
    uint64_t last_place = 0;     // of the last of them, or of one that has been there
  };
  // What plans ask of a pod of the snapshot, by PodIndex: all that PodsInOrder has to look at.
  struct Rank {
    uint64_t rank = 0;  // place in list order, nominated pods behind bound ones
    NodeIndex home = kNone;
    uint32_t entry = kNone;  // of entries_; kNone: a pod that a plan made up
  };

  static std::string_view NodeNamed(const model::Pod& pod);  // bound to, else nominated for
  bool holds() const { return holds_ || snapshot_.forks() != 0; }
  // `hash` is that of the two.
  uint32_t FindPodId(uint64_t hash, std::string_view namespace_, std::string_view name) const;
  void UpsertPod(PodPtr pod, uint64_t name_hash);
  uint32_t FindList(std::string_view node) const;
  uint32_t ListOf(std::string_view node);  // a new one if there is none
  void FreeIfEmpty(uint32_t list);
  NodeIndex FindNodeOf(const PodEntry& entry) const;  // that it names, if it is there
  void Enlist(uint32_t id);  // with the pods of its node, or with those without one
  void Unlist(uint32_t id);
  void SetHome(PodEntry& entry, NodeIndex node);
  void RemoveFromSnapshot(PodEntry& entry);
  void PlaceIfPossible(PodEntry& entry);
  void StopWaiting(PodEntry& entry);
  // Between changes: forgets what is long gone, and looks at nodes anew if they mean more now.
  void Settle();

  Counts counts_;
  Snapshot snapshot_;
  HeldNodes held_nodes_;
  OrderedObjects<model::Node> nodes_;
  StableVector<PodEntry> entries_;  // without a pod: free
  std::vector<uint32_t> free_entries_;
  IdTable names_;  // to entries_
  UnboundPods unbound_;
  std::deque<NamedList> lists_;  // the first is nobody's: it stands for unbound_
  std::vector<uint32_t> free_lists_;
  IdTable list_names_;
  std::vector<Rank> ranks_;  // by PodIndex
  std::unordered_map<std::string, std::map<uint64_t, PodEntry*>>
      waiting_;  // by the name of an absent node
  uint64_t next_place_ = 0;
  uint64_t node_set_version_ = 1;
  bool taint_times_count_ = false;  // as the snapshot's shapes have it
  bool holds_ = false;
  std::vector<std::function<void()>> held_;
  std::vector<std::function<void()>> when_applied_;
};

}  // namespace coppice::cluster
