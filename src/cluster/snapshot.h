// Snapshot: the cluster as the engines see it, to read and to try things on.
//
// One object for real nodes and imagined ones. Fork() opens a what-if, every change is logged as
// its logical inverse, and revert plays the log back, so that planning leaves no trace; forks nest.
// Reads see plain arrays.
//
// Invariants, after every call:
//   - free(resource)[node] = allocatable - what the pods on the node take, wrapping as Go's int64
//     does;
//   - every counter (counters.h) equals what counting all placed pods from scratch would give, also
//     a counter that was first asked for inside a fork that has been reverted since;
//   - nodes() lists the live nodes in visiting order: as added, a removed one that comes back by
//     revert at its old place; an index that is used again does not inherit a place;
//   - a pod is known and on at most one node. Two pods may have the same name, or no uid: they are
//     two pods.
//
// One thread only. Const calls may build what they answer from (a counter, a remembered plan), so
// even two readers need two threads' worth of care: hand out a copy of the answer instead. Cost is
// given per call; P is the number of pods on the node, C the counters that look at the pod's labels
// (usually 0 to 3), N the number of nodes.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cluster/counters.h"
#include "cluster/facts.h"
#include "cluster/interner.h"
#include "cluster/pod_view.h"
#include "cluster/resource_columns.h"
#include "cluster/shapes.h"
#include "model/node.h"
#include "model/pod.h"

namespace coppice::cluster {

class Snapshot;

// An open what-if: leaving the scope reverts it, unless it was committed.
class [[nodiscard]] ScopedFork {
 public:
  explicit ScopedFork(Snapshot& snapshot);
  ~ScopedFork();
  ScopedFork(const ScopedFork&) = delete;
  ScopedFork& operator=(const ScopedFork&) = delete;
  void Commit();

 private:
  Snapshot* snapshot_;
};

class Snapshot {
 public:
  Snapshot();  // of a cluster without facts
  // `facts` stay the caller's, and outlive this.
  explicit Snapshot(const Facts& facts, Marks marks = {});
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  const Facts& facts() const { return facts_; }

  // ---- Nodes.

  // Last in the visiting order. AlreadyExists if a live node has the name. O(labels + live
  // topologies).
  Result<NodeIndex> AddNode(const model::Node& node);
  // The node and its pods. The pods are removed, too. O(P·C), and 4·N bytes are moved.
  void RemoveNode(NodeIndex node);
  // Another object for the same node; its pods and its place stay. O(labels + live topologies), and
  // O(P) for each topology in which the node changes its domain. The name must be the same.
  void UpdateNode(NodeIndex node, const model::Node& object);
  // The node as it is, with one more taint. O(live topologies) but for the first of its shape.
  void AddTaint(NodeIndex node, const model::Taint& taint);

  NodeIndex FindNode(std::string_view name) const;  // kNone if absent. O(1)
  std::span<const NodeIndex> nodes() const { return order_; }
  NodeIndex node_bound() const {
    return static_cast<NodeIndex>(nodes_.size());
  }  // indexes are below
  bool IsLive(NodeIndex node) const {
    return node < nodes_.size() && nodes_[node].facts != nullptr;
  }
  const NodeFacts& node(NodeIndex node) const { return *nodes_[node].facts; }
  const NodeShape& node_shape(NodeIndex node) const {
    return interner_->node_shape(shape_of_[node]);
  }
  NodeShapeId node_shape_id(NodeIndex node) const { return shape_of_[node]; }
  std::span<const PodIndex> pods_on(NodeIndex node) const { return nodes_[node].pods; }
  // Pods on the node that have host ports, volumes: usually none, so that filters need not look at
  // all pods.
  std::span<const PodIndex> pods_with_ports_on(NodeIndex node) const {
    if (const SpecialPods* special = nodes_[node].special.get()) return special->with_ports;
    return {};
  }
  std::span<const PodIndex> pods_with_volumes_on(NodeIndex node) const {
    if (const SpecialPods* special = nodes_[node].special.get()) return special->with_volumes;
    return {};
  }

  // ---- Pods.

  // Makes the pod known, on no node; spec.nodeName becomes its wanted_node. O(size of the pod) for
  // the first of its kind and for hashing.
  PodIndex AddPod(const model::Pod& pod);
  PodIndex AddPod(const model::Pod& pod, NodeIndex node);  // and places it
  // The same without copying any text, for the object is kept. kNone: on no node.
  PodIndex AddPod(std::shared_ptr<const model::Pod> pod, NodeIndex node);
  void ReservePods(size_t more);  // so many are about to come
  void Prefetch(PodIndex pod) const { __builtin_prefetch(&pods_[pod]); }
  PodIndex CopyPod(PodIndex pod);  // one more of the same shape, without name, uid and node. O(1)
  // Another object for the same pod; stays where it is placed. O(size of the pod + C).
  void UpdatePod(PodIndex pod, const model::Pod& object);
  void UpdatePod(PodIndex pod, std::shared_ptr<const model::Pod> object);
  void RemovePod(PodIndex pod);  // takes it off its node first. O(C)

  void Place(PodIndex pod, NodeIndex node);  // must be on no node. Whether it fits or not. O(C)
  void Unplace(PodIndex pod);                // known, but on no node any more. O(C)

  bool IsKnown(PodIndex pod) const { return pod < pods_.size() && pods_[pod].known; }
  PodView pod(PodIndex pod) const;
  NodeIndex node_of(PodIndex pod) const { return pods_[pod].node; }
  PodIndex pod_bound() const { return static_cast<PodIndex>(pods_.size()); }
  size_t pod_count() const { return known_pods_; }
  SpecId spec_id(PodIndex pod) const { return pods_[pod].spec; }
  LabelSetId label_set_id(PodIndex pod) const { return pods_[pod].labels; }
  EvictionId eviction_id(PodIndex pod) const { return pods_[pod].eviction; }
  const PodSpecShape& spec(PodIndex pod) const { return interner_->spec(pods_[pod].spec); }
  bool terminating(PodIndex pod) const { return pods_[pod].terminating != 0; }
  bool owned(PodIndex pod) const { return pods_[pod].owned != 0; }  // by a controller
  // Of its uid, or of namespace and name if it has none; a copy has that of the original.
  uint64_t identity_hash(PodIndex pod) const { return pods_[pod].identity_hash; }
  // Nothing tells it from other pods of its spec shape and labels: no volumes that a filter looks
  // at, no node of its own in mind.
  bool IsPlain(PodIndex pod) const { return pods_[pod].volumes == 0 && !pods_[pod].wants_node; }
  // All known pods with this name, by index. O(pods): for tests and tools, there is no index.
  std::vector<PodIndex> FindPods(std::string_view namespace_, std::string_view name) const;

  // ---- What-ifs. All O(changes since the fork); opening one is O(1).

  [[nodiscard]] ScopedFork Fork() { return ScopedFork(*this); }
  void OpenFork();
  void RevertFork();  // drops all changes since the last fork
  void CommitFork();  // keeps them, and they now belong to the fork outside
  size_t forks() const { return marks_.size(); }

  // ---- What filters read.

  const Interner& interner() const { return *interner_; }
  const ResourceColumns& resources() const { return resources_; }
  std::span<const NodeShapeId> node_shape_ids() const { return shape_of_; }
  Counters& counters() const { return *counters_; }
  // How many volumes of placed pods name the claim (persistentVolumeClaim volumes only).
  uint32_t ClaimUsers(std::string_view namespace_, std::string_view claim) const;

  // Another one when anything about the node or the pods on it changes: what was worked out about a
  // node carries it. It comes back to an old value only with what it stood for, by reverting a
  // fork.
  uint64_t content_version(NodeIndex node) const { return content_[node]; }

  // ---- What searches remember by.

  // Every node has a slot for life; slots are in visiting order, with holes where nodes were. A new
  // epoch means that the slots have been given out anew.
  std::span<const NodeIndex> slots() const { return slots_; }
  std::span<const uint64_t> live_slots() const { return live_slots_; }  // a bit each
  uint32_t slot_of(NodeIndex node) const { return nodes_[node].slot; }
  uint64_t slot_epoch() const { return slot_epoch_; }
  size_t position_of(NodeIndex node) const;  // in nodes(). O(log N)
  // A log of slots whose node may have more room than before, or is another one. Entries are
  // numbered; those below eased_begin() are forgotten.
  uint64_t eased_begin() const { return eased_base_; }
  uint64_t eased_end() const {
    eased_read_ = true;
    return eased_base_ + eased_.size();
  }
  uint32_t eased(uint64_t number) const { return eased_[number - eased_base_]; }

  // ---- What is interned, and forgotten again. Pods come and go, and some bring what nobody had
  // before (a Job's pods its uid, their labels, their counters).

  // So much has been interned, and so much has gone, that forgetting would give back about as much
  // memory as what lives takes of it. O(1).
  bool HasMuchToForget() const {
    return Past(retired_pods_, interner_->added_for_pods(), known_pods_, kFewPods) ||
           Past(retired_shapes_, interner_->added_shapes(), order_.size(), kFewShapes);
  }
  // Forgets what no pod and no node has, and all counters and memories of filters; what is left
  // gets other ids. Indexes of pods and nodes, their order and versions stay. Not inside a fork.
  // O(pods + interned), then counters are built as they are asked for again.
  void Renumber();
  // Whoever keeps an id that is interned, a reference to such a value, a counter or a question
  // asked of a filter from one pass to the next keeps this number with it: another one voids them.
  uint64_t id_epoch() const { return id_epoch_; }

  // A place where a filter (by its id) remembers what it worked out about this snapshot, as it
  // likes: dies with the snapshot, and by Renumber(). What depends on facts must remember their
  // version.
  std::shared_ptr<void>& Memory(uint64_t filter_id) const;

 private:
  friend class SnapshotInspector;  // tests compare the whole state

  struct SpecialPods {
    std::vector<PodIndex> with_ports;
    std::vector<PodIndex> with_volumes;
  };
  struct alignas(64) NodeRecord {  // one cache line: placing a pod somewhere touches one
    std::vector<PodIndex> pods;
    std::shared_ptr<const NodeFacts> facts;  // null: the index is free, or the node is removed
    std::unique_ptr<SpecialPods> special;    // null on most nodes
    uint32_t slot = 0;                       // place in the visiting order
  };
  // What is kept of an object that nobody else keeps: a whole Pod for three texts would be a
  // thousand bytes each.
  struct OwnNames {
    std::string name;
    std::string uid;
    std::string node_name;
  };
  // What tells a pod from others of its shapes.
  struct PodIdentity {
    // Where its texts are, a model::Pod or OwnNames; null for a copy, without any.
    std::shared_ptr<const void> names;
    uint64_t unkept_hash = 0;
    OwnerId owner = kNone;
    bool own_names = false;
  };
  struct alignas(32) PodRecord {  // half a cache line: plans touch many pods, and little of each
    SpecId spec = 0;
    LabelSetId labels = 0;
    VolumeSetId volumes = 0;
    EvictionId eviction = 0;
    NodeIndex node = kNone;
    uint32_t slot : 27 = 0;    // in its node's pods
    uint32_t special : 1 = 0;  // has host ports or volumes
    uint32_t known : 1 = 0;
    uint32_t terminating : 1 = 0;
    uint32_t wants_node : 1 = 0;
    uint32_t owned : 1 = 0;  // has a controller
    uint64_t identity_hash = 0;
  };
  struct PodState {  // what UpdatePod replaces
    SpecId spec;
    LabelSetId labels;
    VolumeSetId volumes;
    EvictionId eviction;
    uint64_t identity_hash;
    bool terminating;
    bool wants_node;
    PodIdentity identity;
  };
  enum class Step : uint8_t {
    kPlaced,
    kUnplaced,
    kAddedPod,
    kRemovedPod,
    kUpdatedPod,
    kAddedNode,
    kRemovedNode,
    kUpdatedNode,
    kReshapedNode
  };
  struct LogEntry {
    Step step;
    uint32_t subject;
    uint32_t node = kNone;  // that was changed
    uint32_t slot = 0;      // of the pod on it; of changes of a node: its shape before
    uint64_t content = 0;   // its version before
  };

  // The changes themselves, without logging; each one's inverse is another one.
  void Attach(PodIndex pod, NodeIndex node, uint32_t slot);
  uint32_t Detach(PodIndex pod);  // answers the slot
  bool IsSpecial(const PodRecord& record) const {
    return record.volumes != 0 || !interner_->spec(record.spec).host_ports.empty();
  }
  void Count(PodIndex pod, NodeIndex node, int sign);
  void CountSpecial(PodIndex pod, NodeIndex node, int sign);
  PodIndex NewPod(PodState state);
  PodIndex NewPodOn(PodState state, NodeIndex node);
  void ShowNode(NodeIndex node, std::shared_ptr<const NodeFacts> facts, NodeShapeId shape);
  void HideNode(NodeIndex node);
  void SwapNodeFacts(NodeIndex node, std::shared_ptr<const NodeFacts> facts, NodeShapeId shape);
  void Reshape(NodeIndex node, NodeShapeId shape);
  void ShowPod(PodIndex pod);
  void HidePod(PodIndex pod);
  void SwapPodState(PodIndex pod, PodState& state);
  void LearnSpecs();  // those that the columns do not know yet
  PodState Interned(const model::Pod& object, const PodIds& ids);  // with no names yet
  PodState StateOf(const model::Pod& object);
  PodState StateOf(std::shared_ptr<const model::Pod> object);
  void Update(PodIndex pod, PodState state);
  void Undo(const LogEntry& entry);
  void PrefetchUndo(const LogEntry& entry) const;
  void Forget(const LogEntry& entry);  // the change is final: free what only its undoing needed
  void Log(LogEntry entry);
  static std::shared_ptr<const NodeFacts> MakeNodeFacts(const model::Node& object);
  std::vector<NodeIndex>::iterator OrderPlace(uint32_t slot);
  void SetLive(uint32_t slot, NodeIndex node);  // kNone: not any more
  void CompactSlots();
  void Touch(NodeIndex node) { content_[node] = ++next_content_; }
  void Ease(NodeIndex node);

  static bool Past(size_t retired, size_t added, size_t live, size_t few) {
    return std::min(retired, added) >= std::max(few, live / 2);
  }
  // Below these the tables are too small for anybody to mind.
  static constexpr size_t kFewPods = 2048;
  static constexpr size_t kFewShapes = 256;

  const Facts& facts_;
  std::unique_ptr<Interner> interner_;
  ResourceColumns resources_;
  std::unique_ptr<Counters> counters_;

  std::vector<NodeRecord> nodes_;
  std::vector<NodeShapeId> shape_of_;  // by node index
  std::vector<NodeIndex> order_;
  std::vector<NodeIndex> free_nodes_;
  std::vector<NodeIndex> slots_;  // kNone: a hole
  std::vector<uint64_t> live_slots_;
  uint64_t slot_epoch_ = 1;
  std::vector<uint32_t> eased_;
  uint64_t eased_base_ = 0;
  mutable bool eased_read_ = false;  // somebody may have read the last entry
  std::vector<uint64_t> content_;    // by node index
  uint64_t next_content_ = 0;
  IdTable node_names_;

  std::vector<PodRecord> pods_;
  std::vector<PodIdentity>
      identities_;  // by pod index; apart, for scans over records do not need them
  std::vector<PodIndex> free_pods_;
  size_t known_pods_ = 0;
  std::vector<uint32_t> claim_users_;  // by ClaimId

  struct Tainted {  // shapes with one more taint, as AddTaint has found them
    NodeShapeId shape;
    model::Taint taint;
    NodeShapeId with_taint;
  };
  std::vector<Tainted> tainted_shapes_;

  std::vector<LogEntry> log_;
  std::vector<size_t> marks_;
  std::vector<std::shared_ptr<const NodeFacts>>
      old_nodes_;                   // of kRemovedNode and kUpdatedNode, in log order
  std::vector<PodState> old_pods_;  // of kUpdatedPod, in log order
  // Since the last Renumber(): pods that are gone or are others now, nodes likewise.
  size_t retired_pods_ = 0;
  size_t retired_shapes_ = 0;
  uint64_t id_epoch_ = 1;

  mutable std::deque<std::pair<uint64_t, std::shared_ptr<void>>> memory_;  // references stay good
};

}  // namespace coppice::cluster
