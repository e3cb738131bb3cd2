#include "plugins/filters/volume_binding/claims.h"

#include <algorithm>
#include <numeric>

#include "fit/csi_migration.h"
#include "fit/volume_claims.h"

namespace coppice::filters::volume_binding {
namespace {

using model::PersistentVolume;
using model::PersistentVolumeClaim;
using model::Quantity;

constexpr uint64_t kMemoryId = 0x766f6c62696e64;  // "volbind"
constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr std::string_view kStorage = "storage";

Quantity Amount(const model::ResourceList& list) {  // absent is zero
  const Quantity* amount = list.Find(kStorage);
  return amount == nullptr ? Quantity() : *amount;
}

bool IsReservedFor(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto& ref = volume.spec.claim_ref;
  return ref && ref->name == claim.metadata.name && ref->namespace_ == claim.metadata.namespace_ &&
         (ref->uid.empty() || ref->uid == claim.metadata.uid);
}

bool SameMode(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.spec.volume_mode.value_or("Filesystem") ==
         claim.spec.volume_mode.value_or("Filesystem");
}

bool SameAttributesClass(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.spec.volume_attributes_class_name.value_or("") ==
         claim.spec.volume_attributes_class_name.value_or("");
}

bool HasModes(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return std::ranges::all_of(claim.spec.access_modes, [&](const std::string& mode) {
    const auto& modes = volume.spec.access_modes;
    return std::ranges::find(modes, mode) != modes.end();
  });
}

void FindCandidates(WaitingClaim& waiting, const std::optional<model::Selector>& selector,
                    const cluster::Snapshot& snapshot) {
  const PersistentVolumeClaim& claim = *waiting.claim;
  const Quantity requested = Amount(claim.spec.resources.requests);
  AffinityMemory& memory = AffinityMemory::Of(snapshot);
  for (const PersistentVolume* volume : snapshot.facts().VolumesOfClass(fit::ClassOf(claim))) {
    const bool reserved = IsReservedFor(*volume, claim);
    if (volume->spec.claim_ref && !reserved) continue;
    if (Amount(volume->spec.capacity).Compare(requested) < 0) continue;
    if (!SameMode(*volume, claim) || !SameAttributesClass(*volume, claim)) continue;
    if (volume->metadata.deletion_timestamp) continue;
    if (reserved) {
      waiting.reserved.push_back({volume, memory.Affinity(*volume)});
      continue;
    }
    if (volume->status.phase != "Available") continue;
    if (selector && !selector->Matches(volume->metadata.labels)) continue;
    if (!HasModes(*volume, claim)) continue;
    waiting.free.push_back({volume, memory.Affinity(*volume)});
  }
  // Among equals kube-scheduler takes whichever its cache lists first; ours is the first by name.
  std::ranges::sort(waiting.free, [](const Candidate& a, const Candidate& b) {
    const int order = Amount(a.volume->spec.capacity).Compare(Amount(b.volume->spec.capacity));
    return order != 0 ? order < 0 : a.volume->metadata.name < b.volume->metadata.name;
  });
}

// A term of conditions on labels, all of which have to hold. A malformed or empty term holds
// nowhere.
std::optional<std::vector<model::Requirement>> Compile(const model::TopologySelectorTerm& term) {
  std::vector<model::Requirement> conditions;
  for (const auto& expression : term.match_label_expressions) {
    auto condition = model::Requirement::Create(expression.key, model::Requirement::Operator::kIn,
                                                expression.values);
    if (!condition.ok()) return std::nullopt;
    conditions.push_back(*std::move(condition));
  }
  if (conditions.empty()) return std::nullopt;
  return conditions;
}

// Which nodes reach enough room for the claim, if its driver says how much there is.
void FindRoom(Provisioning& provisioning, const PersistentVolumeClaim& claim,
              const model::StorageClass& storage_class, const cluster::Facts& facts) {
  const Quantity* size = claim.spec.resources.requests.Find(kStorage);
  const model::CsiDriver* driver = facts.csi_drivers.Find(storage_class.provisioner);
  provisioning.tracked =
      size != nullptr && driver != nullptr && driver->spec.storage_capacity.value_or(false);
  if (!provisioning.tracked) return;
  const int64_t bytes = size->Value();
  for (const model::CsiStorageCapacity* room :
       facts.CapacitiesOfClass(storage_class.metadata.name)) {
    const auto& limit = room->maximum_volume_size ? room->maximum_volume_size : room->capacity;
    if (!limit || limit->Value() < bytes || !room->node_topology) continue;
    auto selector = model::Selector::From(*room->node_topology);
    if (selector.ok()) provisioning.with_room.push_back(*std::move(selector));
  }
}

Provisioning MakeProvisioning(const PersistentVolumeClaim& claim,
                              const model::StorageClass& storage_class,
                              const cluster::Facts& facts) {
  Provisioning provisioning;
  provisioning.possible =
      !storage_class.provisioner.empty() && storage_class.provisioner != kNoProvisioner;
  provisioning.anywhere = storage_class.allowed_topologies.empty();
  for (const auto& term : storage_class.allowed_topologies) {
    if (auto conditions = Compile(term)) provisioning.allowed.push_back(*std::move(conditions));
  }
  FindRoom(provisioning, claim, storage_class, facts);
  return provisioning;
}

}  // namespace

AffinityMemory& AffinityMemory::Of(const cluster::Snapshot& snapshot) {
  std::shared_ptr<void>& slot = snapshot.Memory(kMemoryId);
  if (slot == nullptr) slot = std::make_shared<AffinityMemory>();
  auto& memory = *static_cast<AffinityMemory*>(slot.get());
  const uint64_t version = snapshot.facts().volumes.version();
  if (memory.version_ != version) {
    memory.compiled_.clear();
    memory.version_ = version;
  }
  return memory;
}

const model::CompiledNodeSelector* AffinityMemory::Affinity(const PersistentVolume& volume) {
  if (!volume.spec.node_affinity) return nullptr;
  auto& compiled = compiled_[&volume];
  if (compiled == nullptr) {
    compiled = std::make_unique<model::CompiledNodeSelector>(*volume.spec.node_affinity);
  }
  return compiled.get();
}

bool Reaches(const model::CompiledNodeSelector* affinity, const model::Labels& node_labels) {
  return affinity == nullptr || affinity->Matches(node_labels, "");
}

BoundClaim MakeBound(const PersistentVolumeClaim& claim, const cluster::Snapshot& snapshot) {
  BoundClaim bound;
  bound.volume = snapshot.facts().volumes.Find(claim.spec.volume_name);
  if (bound.volume == nullptr) return bound;
  bound.affinity = AffinityMemory::Of(snapshot).Affinity(*bound.volume);
  bound.in_tree_plugin = fit::InTreePlugin(*bound.volume);
  if (bound.in_tree_plugin.empty()) return bound;
  bound.migration = fit::ToCsi(*bound.volume).status();
  if (const auto affinity = fit::MigratedAffinity(*bound.volume)) {
    bound.migrated_affinity.emplace(*affinity);
  }
  return bound;
}

WaitingClaim MakeWaiting(const PersistentVolumeClaim& claim,
                         const model::StorageClass& storage_class,
                         const cluster::Snapshot& snapshot) {
  WaitingClaim waiting{.claim = &claim};
  waiting.selected_node = claim.metadata.annotations.Find(kSelectedNode);
  waiting.provisioning = MakeProvisioning(claim, storage_class, snapshot.facts());
  if (waiting.selected_node != nullptr) return waiting;  // no volume is looked for any more

  std::optional<model::Selector> selector;
  if (claim.spec.selector) {
    auto compiled = model::Selector::From(*claim.spec.selector);
    waiting.selector = compiled.status();
    if (!compiled.ok()) return waiting;
    selector = *std::move(compiled);
  }
  FindCandidates(waiting, selector, snapshot);
  return waiting;
}

void Order(std::vector<WaitingClaim>& claims) {
  std::vector<size_t> places(claims.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::ranges::sort(places, [&](size_t a, size_t b) {
    const bool a_selected = claims[a].selected_node != nullptr;
    const bool b_selected = claims[b].selected_node != nullptr;
    if (a_selected != b_selected) return a_selected;
    if (a_selected) return a < b;
    const int order = Amount(claims[a].claim->spec.resources.requests)
                          .Compare(Amount(claims[b].claim->spec.resources.requests));
    return order != 0 ? order < 0 : a < b;
  });
  std::vector<WaitingClaim> ordered;
  for (const size_t place : places) ordered.push_back(std::move(claims[place]));
  claims = std::move(ordered);
}

}  // namespace coppice::filters::volume_binding
