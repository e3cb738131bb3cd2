// Interner: gives equal shapes equal ids.
//
// A pod is looked up twice. First by the raw bytes of what its shape is worked out from, so that
// the many pods of one controller cost a hash and a comparison; on a miss the shape is computed and
// looked up by its own canonical bytes, because different spellings ("1", "1000m") are one shape.
// Ids are dense from 0 and are never reused; references stay valid as long as the interner.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
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

class Interner {
 public:
  Interner();

  SpecId Spec(const model::Pod& pod);
  LabelSetId Labels(std::string_view namespace_, const model::Labels& labels);
  VolumeSetId Volumes(const model::Pod& pod);  // 0: none that matter
  NodeShapeId Shape(const model::Node& node);
  NodeShapeId Shape(NodeShape shape);
  OwnerId Owner(const model::OwnerReference* owner);  // kNone for none
  // Everything that decides whether and how a pod may leave its node: the ids it has already, what
  // its annotations say about eviction, phase, local volumes, and its times where they count. Pods
  // with one id are the same to every drain rule.
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

  uint32_t Namespace(std::string_view name);
  // The id of the entry whose canonical bytes are in scratch_, or kNone.
  template <class Entries>
  uint32_t Known(const IdTable& table, const Entries& entries, uint64_t hash) const;

  std::deque<Entry<PodSpecShape>> specs_;
  std::deque<Entry<LabelSet>> label_sets_;
  std::deque<Entry<VolumeSet>> volume_sets_;
  std::deque<Entry<NodeShape>> node_shapes_;
  std::deque<Entry<model::OwnerReference>> owners_;
  std::deque<std::string> claims_;
  std::deque<std::string> evictions_;  // canonical bytes
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
};

}  // namespace coppice::cluster
