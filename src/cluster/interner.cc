#include "cluster/interner.h"

#include <algorithm>
#include <utility>

#include "cluster/pod_shape.h"
#include "model/taints.h"

namespace coppice::cluster {
namespace {

// What stands for the time in the value of a timed taint: every one would bring a shape of its own.
// No value that the API server accepts has a space in it.
constexpr std::string_view kSomeTime = "some time";

bool IsTime(std::string_view value) {
  return !value.empty() && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
}

bool Matters(const model::Volume& volume) {
  return volume.claim_name || volume.ephemeral || volume.gce_persistent_disk ||
         volume.aws_elastic_block_store || volume.iscsi || volume.rbd || volume.cinder ||
         volume.azure_disk || volume.portworx_volume || volume.csi;
}

}  // namespace

Marks Together(const Marks& one, const Marks& other) {
  Marks both = one;
  if (both.eviction_annotations && other.eviction_annotations) {
    both.eviction_annotations->insert(both.eviction_annotations->end(),
                                      other.eviction_annotations->begin(),
                                      other.eviction_annotations->end());
  } else {
    both.eviction_annotations = std::nullopt;
  }
  // A time that one of them reads off a taint is a time for all.
  both.timed_taints.insert(both.timed_taints.end(), other.timed_taints.begin(),
                           other.timed_taints.end());
  return both;
}

Interner::Interner(Marks marks) : marks_(std::move(marks)) { volume_sets_.emplace_back(); }

bool Interner::IsTimed(std::string_view taint) const {
  return std::ranges::find(marks_.timed_taints, taint) != marks_.timed_taints.end();
}

// An operator that does not look at the value is Exists; an empty key names every taint.
bool Interner::MayTolerateTimes(const PodSpecShape& shape) const {
  return std::ranges::any_of(shape.tolerations, [this](const model::Toleration& toleration) {
    return (toleration.key.empty() || IsTimed(toleration.key)) &&
           toleration.operator_ != "Exists" && !toleration.value.empty();
  });
}

template <class Entries>
uint32_t Interner::Known(const IdTable& table, const Entries& entries, uint64_t hash) const {
  return table.Find(hash, [&](uint32_t id) { return entries[id].bytes == scratch_.bytes(); });
}

SpecId Interner::Spec(const model::Pod& pod) {
  scratch_.clear();
  AddRaw(scratch_, pod);
  const uint64_t raw_hash = HashBytes(scratch_.bytes());
  const uint32_t raw = Known(raw_table_, raw_specs_, raw_hash);
  if (raw != kNone) return raw_specs_[raw].spec;
  RawSpec seen{std::string(scratch_.bytes()), kNone};

  PodSpecShape shape = ShapeOf(pod);
  scratch_.clear();
  AddShape(scratch_, shape);
  const uint64_t hash = HashBytes(scratch_.bytes());
  seen.spec = Known(spec_table_, specs_, hash);
  if (seen.spec == kNone) {
    seen.spec = spec_count();
    taint_times_count_ = taint_times_count_ || MayTolerateTimes(shape);
    specs_.push_back({std::move(shape), std::string(scratch_.bytes())});
    spec_table_.Insert(hash, seen.spec);
    ++added_for_pods_;
  }
  ++added_for_pods_;
  raw_table_.Insert(raw_hash, static_cast<uint32_t>(raw_specs_.size()));
  raw_specs_.push_back(std::move(seen));
  return raw_specs_.back().spec;
}

LabelSetId Interner::Labels(std::string_view namespace_, const model::Labels& labels) {
  scratch_.clear();
  scratch_.Add(namespace_);
  scratch_.Add(labels);
  const uint64_t hash = HashBytes(scratch_.bytes());
  LabelSetId id = Known(label_table_, label_sets_, hash);
  if (id != kNone) return id;
  id = label_set_count();
  label_sets_.push_back(
      {{std::string(namespace_), labels}, std::string(scratch_.bytes()), Namespace(namespace_)});
  label_table_.Insert(hash, id);
  ++added_for_pods_;
  return id;
}

VolumeSetId Interner::Volumes(const model::Pod& pod) {
  scratch_.clear();
  scratch_.Add(pod.metadata.namespace_);
  const size_t empty = scratch_.bytes().size();
  for (const model::Volume& volume : pod.spec.volumes) {
    if (Matters(volume)) scratch_.Add(volume);
  }
  if (scratch_.bytes().size() == empty) return 0;
  const uint64_t hash = HashBytes(scratch_.bytes());
  VolumeSetId id = Known(volume_table_, volume_sets_, hash);
  if (id != kNone) return id;
  id = static_cast<VolumeSetId>(volume_sets_.size());
  VolumeSet set{.namespace_ = pod.metadata.namespace_};
  for (const model::Volume& volume : pod.spec.volumes) {
    if (!Matters(volume)) continue;
    set.volumes.push_back(volume);
    if (volume.claim_name) set.claims.push_back(Claim(pod.metadata.namespace_, *volume.claim_name));
  }
  volume_sets_.push_back({std::move(set), std::string(scratch_.bytes())});
  volume_table_.Insert(hash, id);
  ++added_for_pods_;
  return id;
}

NodeShapeId Interner::Shape(const model::Node& node) {
  NodeShape shape{.unschedulable = node.spec.unschedulable,
                  .declared_features = node.status.declared_features};
  for (const auto& [key, value] : node.metadata.labels) {
    if (!IsPerNodeLabel(key)) shape.labels[key] = value;
  }
  for (const model::Taint& taint : node.spec.taints) {
    shape.taints.push_back({.key = taint.key, .value = taint.value, .effect = taint.effect});
    std::string& value = shape.taints.back().value;
    if (!model::KeepsOut(taint)) {
      value.clear();
    } else if (!taint_times_count_ && IsTimed(taint.key) && IsTime(value)) {
      value = kSomeTime;
    }
  }
  return Shape(std::move(shape));
}

NodeShapeId Interner::Shape(NodeShape shape) {
  scratch_.clear();
  scratch_.Add(shape.labels);
  scratch_.Add(shape.taints);
  scratch_.Add(shape.unschedulable);
  scratch_.Add(shape.declared_features);
  const uint64_t hash = HashBytes(scratch_.bytes());
  NodeShapeId id = Known(shape_table_, node_shapes_, hash);
  if (id != kNone) return id;
  id = node_shape_count();
  node_shapes_.push_back({std::move(shape), std::string(scratch_.bytes())});
  shape_table_.Insert(hash, id);
  ++added_shapes_;
  return id;
}

namespace {
std::string ClaimKey(std::string_view namespace_, std::string_view name) {
  return std::string(namespace_) + "/" + std::string(name);
}
}  // namespace

ClaimId Interner::FindClaim(std::string_view namespace_, std::string_view name) const {
  const std::string key = ClaimKey(namespace_, name);
  return claim_table_.Find(HashBytes(key), [&](uint32_t id) { return claims_[id] == key; });
}

ClaimId Interner::Claim(std::string_view namespace_, std::string_view name) {
  return ClaimOf(ClaimKey(namespace_, name));
}

ClaimId Interner::ClaimOf(std::string key) {
  const uint64_t hash = HashBytes(key);
  ClaimId id = claim_table_.Find(hash, [&](uint32_t i) { return claims_[i] == key; });
  if (id != kNone) return id;
  id = claim_count();
  claims_.push_back(std::move(key));
  claim_table_.Insert(hash, id);
  return id;
}

OwnerId Interner::Owner(const model::OwnerReference* owner) {
  if (!owner) return kNone;
  scratch_.clear();
  for (const std::string* text : {&owner->uid, &owner->kind, &owner->name, &owner->api_version}) {
    scratch_.Add(*text);
  }
  const uint64_t hash = HashBytes(scratch_.bytes());
  OwnerId id = Known(owner_table_, owners_, hash);
  if (id != kNone) return id;
  id = static_cast<OwnerId>(owners_.size());
  owners_.push_back({*owner, std::string(scratch_.bytes())});
  owner_table_.Insert(hash, id);
  ++added_for_pods_;
  return id;
}

bool Interner::SpeaksOfEviction(std::string_view annotation) const {
  if (!marks_.eviction_annotations) return true;
  const auto is_its_prefix = [&](const std::string& prefix) {
    return annotation.starts_with(prefix);
  };
  // Kubernetes' own: mirror pods and those from a file.
  return annotation.starts_with("kubernetes.io/config.") ||
         std::ranges::any_of(*marks_.eviction_annotations, is_its_prefix);
}

uint64_t Interner::HashEviction(std::string_view bytes, OwnerId owner, LabelSetId labels) {
  // Ids are dense and small; the multiplier spreads them over the bits.
  return HashBytes(bytes) ^ ((uint64_t{owner} << 32) | labels) * 0x9E3779B97F4A7C15u >> 7;
}

EvictionId Interner::Eviction(const model::Pod& pod, OwnerId owner, LabelSetId labels) {
  scratch_.clear();
  for (const auto& [key, value] : pod.metadata.annotations) {
    if (!SpeaksOfEviction(key)) continue;
    scratch_.Add(key);
    scratch_.Add(value);
  }
  scratch_.Add(std::string_view(""));  // no key is empty: ends the list
  scratch_.Add(pod.status.phase);
  scratch_.Add(pod.spec.restart_policy);
  for (const model::Volume& volume : pod.spec.volumes) {
    if (!volume.host_path && !volume.empty_dir) continue;
    scratch_.Add(true);
    scratch_.Add(volume.name);
    scratch_.Add(volume.host_path.has_value());
    scratch_.Add(volume.empty_dir ? std::string_view(volume.empty_dir->medium) : "");
  }
  scratch_.Add(false);
  scratch_.Add(pod.metadata.deletion_timestamp.has_value());
  if (pod.metadata.unreadable) scratch_.Add(pod.metadata.unreadable->what);
  const uint64_t hash = HashEviction(scratch_.bytes(), owner, labels);
  EvictionId id = eviction_table_.Find(hash, [&](uint32_t i) {
    const EvictionKind& kind = evictions_[i];
    return kind.owner == owner && kind.labels == labels && kind.bytes == scratch_.bytes();
  });
  if (id != kNone) return id;
  id = eviction_count();
  evictions_.push_back({owner, labels, std::string(scratch_.bytes())});
  eviction_table_.Insert(hash, id);
  ++added_for_pods_;
  return id;
}

PodIds Interner::Ids(const model::Pod& pod) {
  PodIds ids;
  ids.owner = Owner(model::ControllerOf(pod.metadata));
  ids.labels = Labels(pod.metadata.namespace_, pod.metadata.labels);
  ids.spec = Spec(pod);
  ids.volumes = Volumes(pod);
  ids.eviction = Eviction(pod, ids.owner, ids.labels);
  return ids;
}

PodIds Interner::Ids(const std::shared_ptr<const model::Pod>& pod) {
  if (last_ && HaveSameIds(*last_, *pod)) return last_ids_;
  last_ids_ = Ids(*pod);
  last_ = pod;
  return last_ids_;
}

uint32_t Interner::Namespace(std::string_view name) {
  const uint64_t hash = HashBytes(name);
  uint32_t id = namespace_table_.Find(hash, [&](uint32_t i) { return namespaces_[i] == name; });
  if (id != kNone) return id;
  id = static_cast<uint32_t>(namespaces_.size());
  namespaces_.emplace_back(name);
  namespace_table_.Insert(hash, id);
  return id;
}

}  // namespace coppice::cluster
