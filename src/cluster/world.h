// World: the objects of a cluster in list order, and the Snapshot that they make.
//
// Long-lived and fed with changes only: a pass starts from it and rebuilds nothing. The order of
// nodes and pods is part of the state, for the answers of peers depend on it: new objects come
// last, an update keeps its place, a deletion closes the gap.
//
// No engine's rules are in here. Which pods count, and which annotations speak of eviction, is said
// by whoever plans on it (WorldOptions); kinds beside nodes and pods are added by naming their type
// (objects<T>()), which no file here has to know.
//
// A pod is on a node in the snapshot if it names one (spec.nodeName, or the node it is nominated
// for) and it counts; one whose node is not there yet waits for it. Pods without a node are known
// to the snapshot, unplaced, so that their shapes are interned.
//
// One thread only. A change of any kind that comes between Hold() and ApplyHeld() waits, and so
// does one that comes while the snapshot has an open fork: whoever plans sees one world from the
// first list to the last decision, however long it waits for others in between, reverts, and then
// lets the news in.
//
// Who counts other pods, or gives the thread up in the middle of a plan, has a World of its own
// that follows this one (Follow): it hears of every change when this one does, holds on its own
// account, and shares the objects, which are most of the memory.

#pragma once

#include <concepts>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/facts.h"
#include "cluster/held_nodes.h"
#include "cluster/object_store.h"
#include "cluster/snapshot.h"
#include "cluster/stable_vector.h"
#include "cluster/unbound_pods.h"
#include "model/objects.h"

namespace coppice::cluster {

using NodePtr = std::shared_ptr<const model::Node>;
using PodPtr = std::shared_ptr<const model::Pod>;

// Nodes and pods have doors of their own, for they are the snapshot, too: in a store beside it
// nobody would see them.
template <class T>
concept OtherKind = !std::same_as<T, model::Node> && !std::same_as<T, model::Pod>;

// How the engines that plan on a World look at pods.
struct WorldOptions {
  // Whether a pod counts at all (an expendable one, or one of a foreign scheduler, may not). Null:
  // every pod does.
  std::function<bool(const model::Pod&)> counts;
  Marks marks;
};

class World {
 public:
  explicit World(WorldOptions options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Snapshot& snapshot() { return snapshot_; }
  const Snapshot& snapshot() const { return snapshot_; }
  const Facts& facts() const { return facts_; }
  // False: there may be pods that the snapshot does not know.
  bool counts_all() const { return !options_.counts; }

  // Which engine is taking which node down. One for this World and all that follow it.
  HeldNodes& held_nodes() { return *held_nodes_; }
  const HeldNodes& held_nodes() const { return *held_nodes_; }

  // ---- Time.

  // From here on changes wait.
  void Hold() { holds_ = true; }
  // Ends that, and makes the changes that have waited. Call without a fork.
  void ApplyHeld();
  // Whether anything waits: then this is not the newest that is known.
  bool behind() const { return !held_.empty(); }
  // Told of every pod that comes (no `before`), changes or goes (no `after`), when this World lets it
  // in: for who keeps something per pod. Changes nothing here.
  using PodWatch = std::function<void(const PodPtr& before, const PodPtr& after)>;
  void WatchPods(PodWatch watch) { pod_watch_ = std::move(watch); }
  // Calls `then` once, at the end of the next ApplyHeld(): for who waits for the news.
  void WhenApplied(std::function<void()> then) { when_applied_.push_back(std::move(then)); }

  // Takes over everything that `leader` has heard of, also what waits there, and from now on hears
  // whatever it hears. This one is new, and follows one only; either may go first.
  void Follow(World& leader);

  // ---- Changes.

  void UpsertNode(NodePtr node);
  void DeleteNode(std::string_view name);
  void UpsertPod(PodPtr pod);
  void UpsertPods(std::span<const PodPtr> pods);  // a whole list; faster than one by one
  void DeletePod(std::string_view namespace_, std::string_view name);
  // Of any other kind.
  template <OtherKind T>
  void Upsert(std::shared_ptr<const T> object) {
    Make([object = std::move(object)](World& world) { world.stores_->Of<T>().Upsert(object); });
  }
  template <OtherKind T>
  void Erase(std::string_view namespace_, std::string_view name) {
    Make([ns = std::string(namespace_), n = std::string(name)](World& world) {
      world.stores_->Of<T>().Erase(ns, n);
    });
  }

  // ---- Objects.

  template <OtherKind T>
  const ObjectStore<T>& objects() const {
    return stores_->Of<T>();
  }

  std::vector<NodePtr> Nodes() const { return nodes_.List(); }
  template <class Visit>
  void ForEachNode(Visit visit) const {  // in list order
    nodes_.ForEach(visit);
  }
  // Grows when a node comes or goes, and not when one is updated.
  uint64_t node_set_version() const { return node_set_version_; }
  // Grows with every change of a node.
  uint64_t nodes_version() const { return nodes_.version(); }
  // Another one whenever a pod with this spec.nodeName has come, changed or gone; 0: there is none,
  // and there was none since the node is known. Never the same again.
  uint64_t pods_version(std::string_view node_name) const;
  uint64_t pods_version() const { return pods_version_; }  // of all that have a node
  // Grows when a pod takes or leaves a place on a node, and when a node comes, goes or is of another
  // shape: what found no room before may find some now. Plans do not change it.
  uint64_t room_version() const { return room_version_; }
  NodePtr FindNode(std::string_view name) const { return nodes_.Get("", name); }
  struct PodEntry;
  PodPtr FindPod(std::string_view namespace_, std::string_view name) const;
  // Good until the next change.
  const PodEntry* FindEntry(std::string_view namespace_, std::string_view name) const;
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
  std::vector<const PodEntry*> Unbound() const { return unbound_.List(); }
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

 private:
  // As it travels: to those who follow, and into the queue of who holds.
  using Change = std::function<void(World&)>;

  // What there is under one node's name: the node, or pods that name it, or both.
  struct NamedList {
    std::string node;  // spec.nodeName of its pods
    NodeIndex index = kNone;
    std::vector<uint32_t> pods;  // of entries_, in list order
    uint64_t last_place = 0;     // of the last of them, or of one that has been there
    uint64_t version = 0;        // of what they are
  };
  // What plans ask of a pod of the snapshot, by PodIndex: all that PodsInOrder has to look at.
  struct Rank {
    uint64_t rank = 0;  // place in list order, nominated pods behind bound ones
    NodeIndex home = kNone;
    uint32_t entry = kNone;  // of entries_; kNone: a pod that a plan made up
  };

  static std::string_view NodeNamed(const model::Pod& pod);  // bound to, else nominated for
  bool holds() const { return holds_ || snapshot_.forks() != 0; }
  // Now, or when this World and each that follows lets it in. A template, for most changes are made
  // at once and need no std::function.
  template <class Do>
  void Make(Do&& change) {
    for (World* follower : followers_) follower->Make(change);
    if (holds()) {
      held_.push_back(Change(std::forward<Do>(change)));
    } else {
      change(*this);
    }
  }

  // The changes themselves.
  void PutNode(NodePtr node);
  void RemoveNode(std::string_view name);
  void PutPod(PodPtr pod, uint64_t name_hash);
  void PutPods(std::span<const PodPtr> pods);
  void RemovePod(std::string_view namespace_, std::string_view name);

  // `hash` is that of the two.
  uint32_t FindPodId(uint64_t hash, std::string_view namespace_, std::string_view name) const;
  uint32_t NewEntry();
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

  WorldOptions options_;
  Facts facts_;
  std::unique_ptr<ObjectStores> stores_;  // with those of the facts; a const World makes them, too
  Snapshot snapshot_;
  std::shared_ptr<HeldNodes> held_nodes_ = std::make_shared<HeldNodes>();
  ObjectStore<model::Node> nodes_;
  StableVector<PodEntry> entries_;  // without a pod: free
  std::vector<uint32_t> free_entries_;
  IdTable names_;  // to entries_
  UnboundPods<PodEntry> unbound_;
  std::deque<NamedList> lists_;  // the first is nobody's: it stands for unbound_
  std::vector<uint32_t> free_lists_;
  IdTable list_names_;
  std::vector<Rank> ranks_;  // by PodIndex
  std::unordered_map<std::string, std::map<uint64_t, PodEntry*>>
      waiting_;  // by the name of an absent node
  uint64_t next_place_ = 0;
  uint64_t node_set_version_ = 1;
  uint64_t pods_version_ = 0;  // the last that was given to a list
  uint64_t room_version_ = 1;
  bool taint_times_count_ = false;  // as the snapshot's shapes have it
  bool holds_ = false;
  std::vector<Change> held_;
  std::vector<std::function<void()>> when_applied_;
  PodWatch pod_watch_;
  World* leader_ = nullptr;
  std::vector<World*> followers_;
};

}  // namespace coppice::cluster
