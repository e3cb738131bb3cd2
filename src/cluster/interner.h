// Interner: gives equal shapes equal ids.
//
// A pod is looked up twice. First by the raw bytes of what its shape is worked out from, so that
// the many pods of one controller cost a hash and a comparison; on a miss the shape is computed and
// looked up by its own canonical bytes, because different spellings ("1", "1000m") are one shape.
// Ids are dense from 0. They and references stay good until Keep(), which lets go of what nobody
// has any more and gives the rest new ids: Jobs bring an owner and labels of their own each, for
// ever.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/canonical.h"
#include "cluster/id_table.h"
#include "cluster/shapes.h"

namespace coppice::cluster {

// What a pod is made of, as far as decisions look at it.
struct PodIds {
  SpecId spec = kNone;
  LabelSetId labels = kNone;
  VolumeSetId volumes = 0;
  EvictionId eviction = kNone;
  OwnerId owner = kNone;
};

// By id, of each kind: first whether it is to be kept (not kNone), then its new id (kNone: gone).
struct KeptIds {
  std::vector<uint32_t> specs;
  std::vector<uint32_t> labels;
  std::vector<uint32_t> volumes;
  std::vector<uint32_t> evictions;
  std::vector<uint32_t> owners;
  std::vector<uint32_t> shapes;
};

// What engines know of annotations and taints, and nobody else does. The default is right for all
// of them and slow for some: each thing said here lets more pods or nodes be the same.
struct Marks {
  // Prefixes of annotations that are about leaving a node, or say what kind of pod it is; the rest
  // does not tell pods apart. Absent: every annotation does. Kubernetes' own ones always do.
  std::optional<std::vector<std::string>> eviction_annotations;
  // Keys of taints whose value is the time at which they were set. It is left out of a node's
  // shape, which would be each node's own, until some pod tolerates such a taint by a value.
  std::vector<std::string> timed_taints;
};

// Of engines that read one snapshot: what tells pods apart for one of them does so for all. An engine
// that reads neither hands in empty ones.
Marks Together(const Marks& one, const Marks& other);

class Interner {
 public:
  explicit Interner(Marks marks = {});

  SpecId Spec(const model::Pod& pod);
  LabelSetId Labels(std::string_view namespace_, const model::Labels& labels);
  VolumeSetId Volumes(const model::Pod& pod);  // 0: none that matter
  NodeShapeId Shape(const model::Node& node);
  NodeShapeId Shape(NodeShape shape);
  OwnerId Owner(const model::OwnerReference* owner);  // kNone for none
  // Everything that decides whether and how a pod may leave its node: the ids it has already, what
  // its annotations say about eviction, phase, local volumes, whether it is going. Pods with one id
  // are the same to every drain rule, but for times: those of pods that are going and of the
  // system's count, and would make each its own kind.
  EvictionId Eviction(const model::Pod& pod, OwnerId owner, LabelSetId labels);
  // All of a pod's ids at once. Lists bring the pods of a controller one after the other: one that
  // is as the last one was gets its ids by comparison alone.
  PodIds Ids(const model::Pod& pod);
  PodIds Ids(const std::shared_ptr<const model::Pod>& pod);
  ClaimId Claim(std::string_view namespace_, std::string_view name);
  ClaimId FindClaim(std::string_view namespace_,
                    std::string_view name) const;  // kNone if never seen

  const PodSpecShape& spec(SpecId id) const { return specs_[id].value; }
  const LabelSet& label_set(LabelSetId id) const { return label_sets_[id].value; }
  uint32_t namespace_of(LabelSetId id) const { return label_sets_[id].namespace_id; }
  const VolumeSet& volume_set(VolumeSetId id) const { return volume_sets_[id].value; }
  const NodeShape& node_shape(NodeShapeId id) const { return node_shapes_[id].value; }

  const model::OwnerReference& owner(OwnerId id) const { return owners_[id].value; }

  SpecId spec_count() const { return static_cast<SpecId>(specs_.size()); }
  LabelSetId label_set_count() const { return static_cast<LabelSetId>(label_sets_.size()); }
  NodeShapeId node_shape_count() const { return static_cast<NodeShapeId>(node_shapes_.size()); }
  ClaimId claim_count() const { return static_cast<ClaimId>(claims_.size()); }
  EvictionId eviction_count() const { return static_cast<EvictionId>(evictions_.size()); }

  // What has been interned since the last Keep(): for pods, of all kinds; and shapes of nodes.
  size_t added_for_pods() const { return added_for_pods_; }
  size_t added_shapes() const { return added_shapes_; }
  KeptIds NoneKept() const;  // for the caller to mark
  // Lets go of all that is not marked and tells the new ids. What a marked one is made of (the
  // owner in an eviction, claims of volumes) must be marked too.
  void Keep(KeptIds& ids);

  // Some pod tolerates a taint by a value that may be the time in a timed taint. Until there is one
  // the time is not part of a node's shape; whoever has the nodes' objects brings them again when
  // this becomes true.
  bool taint_times_count() const { return taint_times_count_; }

 private:
  template <class T>
  struct Entry {
    T value;
    std::string bytes;          // canonical
    uint32_t namespace_id = 0;  // of label sets
  };
  struct RawSpec {
    std::string bytes;
    SpecId spec;
  };
  struct EvictionKind {
    OwnerId owner;
    LabelSetId labels;
    std::string bytes;  // of the rest
  };

  bool SpeaksOfEviction(std::string_view annotation) const;
  bool IsTimed(std::string_view taint) const;
  bool MayTolerateTimes(const PodSpecShape& shape) const;
  static uint64_t HashEviction(std::string_view bytes, OwnerId owner, LabelSetId labels);
  uint32_t Namespace(std::string_view name);
  ClaimId ClaimOf(std::string key);
  // The id of the entry whose canonical bytes are in scratch_, or kNone.
  template <class Entries>
  uint32_t Known(const IdTable& table, const Entries& entries, uint64_t hash) const;

  Marks marks_;
  std::deque<Entry<PodSpecShape>> specs_;
  std::deque<Entry<LabelSet>> label_sets_;
  std::deque<Entry<VolumeSet>> volume_sets_;
  std::deque<Entry<NodeShape>> node_shapes_;
  std::deque<Entry<model::OwnerReference>> owners_;
  std::deque<std::string> claims_;
  std::deque<EvictionKind> evictions_;
  std::deque<std::string> namespaces_;
  std::deque<RawSpec> raw_specs_;
  IdTable spec_table_;
  IdTable label_table_;
  IdTable volume_table_;
  IdTable shape_table_;
  IdTable owner_table_;
  IdTable claim_table_;
  IdTable eviction_table_;
  IdTable namespace_table_;
  IdTable raw_table_;
  Canonical scratch_;
  std::shared_ptr<const model::Pod> last_;
  PodIds last_ids_;
  size_t added_for_pods_ = 0;
  size_t added_shapes_ = 0;
  bool taint_times_count_ = false;
};

}  // namespace coppice::cluster
