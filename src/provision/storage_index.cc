#include "provision/storage_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fit/csi_migration.h"

namespace coppice::provision {
namespace {

constexpr std::string_view kEbsDriver = "ebs.csi.aws.com";

template <class Map>
auto FindIn(const Map& map, std::string_view name) -> typename Map::mapped_type {
  const auto it = map.find(std::string(name));
  return it == map.end() ? nullptr : it->second;
}

using Alternatives = std::vector<model::NodeRequirements>;

// Both have to hold; combinations that cannot are left out, unless none is left.
Alternatives Combined(const Alternatives& a, const Alternatives& b) {
  if (a.empty()) return b;
  Alternatives compatible;
  Alternatives all;
  for (const model::NodeRequirements& first : a) {
    for (const model::NodeRequirements& second : b) {
      model::NodeRequirements both = first;
      both.Add(second);
      if (first.Intersects(second)) compatible.push_back(both);
      all.push_back(std::move(both));
    }
  }
  return compatible.empty() ? all : compatible;
}

}  // namespace

StorageIndex::StorageIndex(const StorageFacts& facts)
    : volume_places_unreadable_(facts.volume_places_unreadable) {
  for (const auto& claim : facts.claims)
    claims_[claim->metadata.namespace_ + "/" + claim->metadata.name] = claim.get();
  for (const auto& volume : facts.volumes) volumes_[volume->metadata.name] = volume.get();
  for (const auto& of : facts.classes) classes_[of->metadata.name] = of.get();
  for (const auto& node : facts.csi_nodes) csi_nodes_[node->metadata.name] = node.get();
}

const model::PersistentVolume* StorageIndex::Volume(std::string_view name) const {
  return FindIn(volumes_, name);
}
const model::StorageClass* StorageIndex::Class(std::string_view name) const {
  return FindIn(classes_, name);
}
const model::CsiNode* StorageIndex::CsiNodeOf(std::string_view node) const {
  return FindIn(csi_nodes_, node);
}

Result<const model::PersistentVolumeClaim*> StorageIndex::ClaimOf(
    const model::Pod& pod, const model::Volume& volume) const {
  std::string name;
  if (volume.claim_name) {
    name = *volume.claim_name;
  } else if (volume.ephemeral) {
    name = pod.metadata.name + "-" + volume.name;
  } else {
    return nullptr;
  }
  const auto* claim = FindIn(claims_, pod.metadata.namespace_ + "/" + name);
  if (claim == nullptr) {
    return NotFound(
        fmt::format("getting persistent volume claim, persistentvolumeclaims \"{}\" not "
                    "found (PersistentVolumeClaim={})",
                    name, name));
  }
  return claim;
}

Result<std::string> StorageIndex::DriverOf(const model::PersistentVolumeClaim& claim) const {
  if (!claim.spec.volume_name.empty()) {
    const model::PersistentVolume* volume = Volume(claim.spec.volume_name);
    if (volume == nullptr)
      return NotFound(fmt::format("persistentvolumes \"{}\" not found", claim.spec.volume_name));
    if (volume->spec.csi) return volume->spec.csi->driver;
    return std::string(volume->spec.aws_elastic_block_store ? kEbsDriver : "");
  }
  const std::string name = claim.spec.storage_class_name.value_or("");
  const model::StorageClass* of = name.empty() ? nullptr : Class(name);
  if (of == nullptr) return std::string();
  const std::string_view migrated = fit::MigratedDriver(of->provisioner);
  return migrated.empty() ? of->provisioner : std::string(migrated);
}

Result<VolumesByDriver> StorageIndex::VolumesOf(const model::Pod& pod) const {
  VolumesByDriver volumes;
  for (const model::Volume& volume : pod.spec.volumes) {
    const auto claim = ClaimOf(pod, volume);
    if (!claim.ok() || *claim == nullptr) continue;
    auto driver = DriverOf(**claim);
    if (!driver.ok()) return driver.status();
    if (!driver->empty()) {
      const model::ObjectMeta& meta = (*claim)->metadata;
      volumes[*driver].insert(meta.namespace_ + "/" + meta.name);
    }
  }
  return volumes;
}

Result<Alternatives> StorageIndex::TopologyOf(const model::PersistentVolumeClaim& claim,
                                              const model::LabelRules& rules) const {
  Alternatives alternatives;
  if (!claim.spec.volume_name.empty()) {
    const model::PersistentVolume* volume = Volume(claim.spec.volume_name);
    if (volume == nullptr || volume_places_unreadable_)
      return NotFound(fmt::format("persistentvolumes \"{}\" not found", claim.spec.volume_name));
    if (!volume->spec.node_affinity) return alternatives;
    // A local volume does not bind its pod to the host it was on: moving means leaving it.
    const bool is_local = volume->spec.local || volume->spec.host_path;
    for (const model::NodeSelectorTerm& term : volume->spec.node_affinity->node_selector_terms) {
      auto expressions = term.match_expressions;
      if (is_local) {
        std::erase_if(expressions, [](const model::NodeSelectorRequirement& expression) {
          return expression.key == model::kHostnameLabel;
        });
      }
      if (term.match_expressions.empty()) continue;
      if (!expressions.empty() || is_local)
        alternatives.push_back(model::NodeRequirements::From(expressions, rules));
    }
    return alternatives;
  }
  const std::string name = claim.spec.storage_class_name.value_or("");
  if (name.empty()) return alternatives;
  const model::StorageClass* of = Class(name);
  if (of == nullptr)
    return NotFound(fmt::format("storageclasses.storage.k8s.io \"{}\" not found", name));
  for (const model::TopologySelectorTerm& term : of->allowed_topologies) {
    std::vector<model::NodeSelectorRequirement> expressions;
    for (const auto& expression : term.match_label_expressions)
      expressions.push_back(
          {.key = expression.key, .operator_ = "In", .values = expression.values});
    if (!expressions.empty())
      alternatives.push_back(model::NodeRequirements::From(expressions, rules));
  }
  return alternatives;
}

Result<Alternatives> StorageIndex::TopologyOf(const model::Pod& pod,
                                              const model::LabelRules& rules) const {
  Alternatives alternatives;
  for (const model::Volume& volume : pod.spec.volumes) {
    const auto claim = ClaimOf(pod, volume);
    if (!claim.ok()) return claim.status();
    if (*claim == nullptr) continue;
    const auto more = TopologyOf(**claim, rules);
    if (!more.ok()) return more.status();
    if (!more->empty()) alternatives = Combined(alternatives, *more);
  }
  return alternatives;
}

}  // namespace coppice::provision
