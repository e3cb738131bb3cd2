#include "cluster/interner.h"

#include <algorithm>
#include <utility>

#include "model/declared_features.h"
#include "model/resources.h"

namespace coppice::cluster {
namespace {

bool HasHostPort(const model::Container& container) {
  return std::ranges::any_of(container.ports,
                             [](const model::ContainerPort& port) { return port.host_port > 0; });
}

void AddContainers(Canonical& bytes, const std::vector<model::Container>& containers) {
  bytes.Add(static_cast<int64_t>(containers.size()));
  for (const model::Container& container : containers) {
    bytes.Add(container.name);               // statuses of an in-place resize are found by it
    bytes.AddRequests(container.resources);  // limits count for nothing
    const bool plain = !container.restart_policy && container.restart_policy_rules.empty() &&
                       !HasHostPort(container);
    bytes.Add(plain);
    if (plain) continue;
    bytes.Add(container.restart_policy);
    bytes.Add(static_cast<int64_t>(container.restart_policy_rules.size()));
    for (const auto& rule : container.restart_policy_rules) bytes.Add(rule.action);
    for (const model::ContainerPort& port : container.ports) {
      if (port.host_port <= 0) continue;
      bytes.Add(port.host_port);
      bytes.Add(port.protocol);
      bytes.Add(port.host_ip);
    }
    bytes.Add(int32_t{0});  // no host port is 0: ends the list
  }
}

void AddStatuses(Canonical& bytes, const std::vector<model::ContainerStatus>& statuses) {
  bytes.Add(static_cast<int64_t>(statuses.size()));
  for (const model::ContainerStatus& status : statuses) {
    bytes.Add(status.name);
    bytes.Add(status.allocated_resources);
    bytes.Add(status.resources.has_value());
    if (status.resources) bytes.AddRequests(*status.resources);
  }
}

bool IsOfResize(const model::PodCondition& condition) {
  return condition.type.starts_with("PodResize");
}

// Nothing of what most pods do not have: then a word says so, instead of twenty that are empty.
bool IsPlain(const model::Pod& pod) {
  const model::PodSpec& spec = pod.spec;
  const model::PodStatus& status = pod.status;
  return spec.init_containers.empty() && !spec.resources && spec.overhead.empty() &&
         spec.node_selector.empty() && !spec.affinity && spec.tolerations.empty() &&
         spec.topology_spread_constraints.empty() && !spec.host_network && !spec.host_users &&
         spec.resource_claims.empty() && status.container_statuses.empty() &&
         status.init_container_statuses.empty() && status.allocated_resources.empty() &&
         !status.resources && status.resize.empty() &&
         std::ranges::none_of(status.conditions, IsOfResize);
}

// Everything that ShapeOf reads. What is missing here would make two different shapes one.
void AddRaw(Canonical& bytes, const model::Pod& pod) {
  const model::PodSpec& spec = pod.spec;
  AddContainers(bytes, spec.containers);
  bytes.Add(spec.priority);
  bytes.Add(spec.scheduler_name);
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  bytes.Add(owner ? std::string_view(owner->kind) : std::string_view(""));  // never null bytes
  const bool plain = IsPlain(pod);
  bytes.Add(plain);
  if (plain) return;
  AddContainers(bytes, spec.init_containers);
  bytes.Add(spec.resources.has_value());
  if (spec.resources) bytes.AddRequests(*spec.resources);
  bytes.Add(spec.overhead);
  bytes.Add(spec.node_selector);
  bytes.Add(spec.affinity);
  bytes.Add(spec.tolerations);
  bytes.Add(spec.topology_spread_constraints);
  bytes.Add(spec.host_network);
  bytes.Add(spec.host_users);
  bytes.Add(!spec.resource_claims.empty());
  AddStatuses(bytes, pod.status.container_statuses);
  AddStatuses(bytes, pod.status.init_container_statuses);
  bytes.Add(pod.status.allocated_resources);
  bytes.Add(pod.status.resources.has_value());
  if (pod.status.resources) bytes.AddRequests(*pod.status.resources);
  bytes.Add(pod.status.resize);
  for (const model::PodCondition& condition : pod.status.conditions) {
    if (!IsOfResize(condition)) continue;
    bytes.Add(condition.type);
    bytes.Add(condition.status);
    bytes.Add(condition.reason);
  }
}

void AddHostPorts(std::vector<HostPort>& out, const model::Container& container) {
  for (const model::ContainerPort& port : container.ports) {
    if (port.host_port <= 0) continue;
    out.push_back({.ip = port.host_ip.empty() ? "0.0.0.0" : port.host_ip,
                   .protocol = port.protocol.empty() ? "TCP" : port.protocol,
                   .port = port.host_port});
  }
}

PodSpecShape ShapeOf(const model::Pod& pod) {
  PodSpecShape shape{.requests = model::IncomingRequests(pod),
                     .placed = model::PlacedRequests(pod),
                     .node_selector = pod.spec.node_selector,
                     .affinity = pod.spec.affinity,
                     .tolerations = pod.spec.tolerations,
                     .spread = pod.spec.topology_spread_constraints,
                     .priority = model::PriorityOf(pod),
                     .scheduler_name = pod.spec.scheduler_name,
                     .has_resource_claims = !pod.spec.resource_claims.empty(),
                     .needed_features = model::NeededFeatures(pod.spec)};
  // Ports of plain init containers are free again before the pod runs.
  for (const model::Container& container : pod.spec.init_containers) {
    if (container.restart_policy == "Always") AddHostPorts(shape.host_ports, container);
  }
  for (const model::Container& container : pod.spec.containers)
    AddHostPorts(shape.host_ports, container);
  if (const model::OwnerReference* owner = model::ControllerOf(pod.metadata))
    shape.owner_kind = owner->kind;
  return shape;
}

void AddShape(Canonical& bytes, const PodSpecShape& shape) {
  bytes.Add(shape.requests);
  bytes.Add(shape.placed);
  bytes.Add(shape.node_selector);
  bytes.Add(shape.affinity);
  bytes.Add(shape.tolerations);
  bytes.Add(shape.spread);
  bytes.Add(static_cast<int64_t>(shape.host_ports.size()));
  for (const HostPort& port : shape.host_ports) {
    bytes.Add(port.ip);
    bytes.Add(port.protocol);
    bytes.Add(port.port);
  }
  bytes.Add(shape.priority);
  bytes.Add(shape.scheduler_name);
  bytes.Add(shape.owner_kind);
  bytes.Add(shape.has_resource_claims);
  bytes.Add(shape.needed_features);
}

bool Matters(const model::Volume& volume) {
  return volume.claim_name || volume.ephemeral || volume.gce_persistent_disk ||
         volume.aws_elastic_block_store || volume.iscsi || volume.rbd || volume.cinder ||
         volume.azure_disk || volume.portworx_volume || volume.csi;
}

}  // namespace

Interner::Interner() { volume_sets_.emplace_back(); }

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
    specs_.push_back({std::move(shape), std::string(scratch_.bytes())});
    spec_table_.Insert(hash, seen.spec);
  }
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
  ClaimId id = FindClaim(namespace_, name);
  if (id != kNone) return id;
  id = claim_count();
  claims_.push_back(ClaimKey(namespace_, name));
  claim_table_.Insert(HashBytes(claims_.back()), id);
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
  return id;
}

namespace {

// Annotations that are about leaving a node, or say what kind of pod it is; the rest is for others.
bool SpeaksOfEviction(std::string_view annotation) {
  return annotation.starts_with("cluster-autoscaler.kubernetes.io/") ||
         annotation.starts_with("kubernetes.io/config.");
}

void AddTime(Canonical& bytes, const std::optional<model::Time>& time) {
  bytes.Add(time.has_value());
  if (time) bytes.Add(int64_t{time->at.time_since_epoch().count()});
}

}  // namespace

EvictionId Interner::Eviction(const model::Pod& pod, OwnerId owner, LabelSetId labels) {
  scratch_.clear();
  scratch_.Add(int64_t{owner});
  scratch_.Add(int64_t{labels});  // with the namespace
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
  // Pods that are going, and the system's, are judged by the clock; of others no time counts.
  AddTime(scratch_, pod.metadata.deletion_timestamp);
  if (pod.metadata.deletion_timestamp) scratch_.Add(pod.spec.termination_grace_period_seconds);
  if (pod.metadata.namespace_ == "kube-system") AddTime(scratch_, pod.metadata.creation_timestamp);
  if (pod.metadata.unreadable) scratch_.Add(pod.metadata.unreadable->what);
  const uint64_t hash = HashBytes(scratch_.bytes());
  EvictionId id =
      eviction_table_.Find(hash, [&](uint32_t i) { return evictions_[i] == scratch_.bytes(); });
  if (id != kNone) return id;
  id = eviction_count();
  evictions_.emplace_back(scratch_.bytes());
  eviction_table_.Insert(hash, id);
  return id;
}

namespace {

// Every id of b is a's. Stricter than need be where a whole member is compared, never laxer: what
// AddRaw, Volumes and Eviction read is here.
bool HaveSameIds(const model::Pod& a, const model::Pod& b) {
  const model::PodSpec& one = a.spec;
  const model::PodSpec& other = b.spec;
  if (a.metadata.namespace_ != b.metadata.namespace_ || a.metadata.labels != b.metadata.labels ||
      a.metadata.annotations != b.metadata.annotations ||
      a.metadata.owner_references != b.metadata.owner_references ||
      one.containers != other.containers || a.status.phase != b.status.phase)
    return false;
  // By the clock: seldom the same, and seldom met.
  if (a.metadata.deletion_timestamp || b.metadata.deletion_timestamp ||
      a.metadata.namespace_ == "kube-system" || a.metadata.unreadable || b.metadata.unreadable)
    return false;
  if (!IsPlain(a) || !IsPlain(b)) {
    if (one.init_containers != other.init_containers || one.resources != other.resources ||
        one.overhead != other.overhead || one.node_selector != other.node_selector ||
        one.affinity != other.affinity || one.tolerations != other.tolerations ||
        one.topology_spread_constraints != other.topology_spread_constraints ||
        one.host_network != other.host_network || one.host_users != other.host_users ||
        one.resource_claims != other.resource_claims ||
        a.status.container_statuses != b.status.container_statuses ||
        a.status.init_container_statuses != b.status.init_container_statuses ||
        a.status.allocated_resources != b.status.allocated_resources ||
        a.status.resources != b.status.resources || a.status.resize != b.status.resize ||
        std::ranges::any_of(a.status.conditions, IsOfResize) ||
        std::ranges::any_of(b.status.conditions, IsOfResize))
      return false;
  }
  return one.priority == other.priority && one.scheduler_name == other.scheduler_name &&
         one.restart_policy == other.restart_policy && one.volumes == other.volumes;
}

}  // namespace

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
