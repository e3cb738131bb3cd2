#include "cluster/canonical.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace coppice::cluster {

uint64_t HashBytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void Canonical::Grow(size_t bytes) {
  capacity_ = std::max(capacity_ * 2, size_ + bytes + 1024);
  auto larger = std::make_unique<char[]>(capacity_);
  if (size_ > 0) std::memcpy(larger.get(), buffer_.get(), size_);
  buffer_ = std::move(larger);
}

// Nearly all amounts are a whole number of thousandths; printing the others is slower, and exact.
void Canonical::Add(const model::Quantity& quantity) {
  const bool in_millis =
      !quantity.is_big() && quantity == model::Quantity::FromMillis(quantity.MilliValue());
  Add(in_millis);
  if (in_millis) return Add(quantity.MilliValue());
  Add(quantity.is_big());
  Add(quantity.ToString());
}

void Canonical::Add(const model::PodRequests& requests) {
  Add(requests.cpu_millis);
  Add(requests.memory_bytes);
  Add(requests.ephemeral_bytes);
  AddNumber(requests.extended.size());
  for (const auto& [name, amount] : requests.extended) {
    Add(name);
    Add(amount);
  }
}

void Canonical::Add(const model::NodeSelectorRequirement& requirement) {
  Add(requirement.key);
  Add(requirement.operator_);
  Add(requirement.values);
}

void Canonical::Add(const model::NodeSelectorTerm& term) {
  Add(term.match_expressions);
  Add(term.match_fields);
}

void Canonical::Add(const model::PreferredSchedulingTerm& term) {
  Add(term.weight);
  Add(term.preference);
}

void Canonical::Add(const model::NodeAffinity& affinity) {
  Add(affinity.required);
  Add(affinity.preferred);
}

void Canonical::Add(const model::LabelSelectorRequirement& requirement) {
  Add(requirement.key);
  Add(requirement.operator_);
  Add(requirement.values);
}

void Canonical::Add(const model::LabelSelector& selector) {
  Add(selector.match_labels);
  Add(selector.match_expressions);
}

void Canonical::Add(const model::PodAffinityTerm& term) {
  Add(term.label_selector);
  Add(term.namespaces);
  Add(term.topology_key);
  Add(term.namespace_selector);
  Add(term.match_label_keys);
  Add(term.mismatch_label_keys);
}

void Canonical::Add(const model::WeightedPodAffinityTerm& term) {
  Add(term.weight);
  Add(term.pod_affinity_term);
}

void Canonical::Add(const model::PodAffinity& affinity) {
  Add(affinity.required);
  Add(affinity.preferred);
}

void Canonical::Add(const model::Affinity& affinity) {
  Add(affinity.node_affinity);
  Add(affinity.pod_affinity);
  Add(affinity.pod_anti_affinity);
}

void Canonical::Add(const model::Toleration& toleration) {
  Add(toleration.key);
  Add(toleration.operator_);
  Add(toleration.value);
  Add(toleration.effect);
  Add(toleration.toleration_seconds);
}

void Canonical::Add(const model::TopologySpreadConstraint& constraint) {
  Add(constraint.max_skew);
  Add(constraint.topology_key);
  Add(constraint.when_unsatisfiable);
  Add(constraint.label_selector);
  Add(constraint.min_domains);
  Add(constraint.node_affinity_policy);
  Add(constraint.node_taints_policy);
  Add(constraint.match_label_keys);
}

void Canonical::Add(const model::Taint& taint) {
  Add(taint.key);
  Add(taint.value);
  Add(taint.effect);
}

void Canonical::Add(const model::Volume& volume) {
  Add(volume.name);
  Add(volume.claim_name);
  Add(volume.claim_read_only);
  Add(volume.ephemeral);
  const auto disk = [this](const auto& source, auto... fields) {
    Add(source.has_value());
    if (source) (Add((*source).*fields), ...);
  };
  disk(volume.gce_persistent_disk, &model::GcePersistentDisk::pd_name,
       &model::GcePersistentDisk::read_only);
  disk(volume.aws_elastic_block_store, &model::AwsElasticBlockStore::volume_id,
       &model::AwsElasticBlockStore::read_only);
  disk(volume.iscsi, &model::IscsiVolume::target_portal, &model::IscsiVolume::iqn,
       &model::IscsiVolume::lun, &model::IscsiVolume::read_only);
  disk(volume.rbd, &model::RbdVolume::monitors, &model::RbdVolume::image, &model::RbdVolume::pool,
       &model::RbdVolume::read_only);
  disk(volume.cinder, &model::CinderVolume::volume_id, &model::CinderVolume::read_only);
  disk(volume.azure_disk, &model::AzureDisk::disk_name, &model::AzureDisk::disk_uri,
       &model::AzureDisk::kind);
  disk(volume.portworx_volume, &model::PortworxVolume::volume_id,
       &model::PortworxVolume::read_only);
  disk(volume.csi, &model::CsiInlineVolume::driver);
}

}  // namespace coppice::cluster
