#include "plugins/filters/volume_limits/attach_memory.h"

#include <algorithm>

#include "plugins/filters/volume_limits/attachable.h"

namespace coppice::filters::volume_limits {
namespace {

constexpr uint64_t kMemoryId = 0x766f6c6c696d;  // "vollim"

void MakeSet(std::vector<VolumeId>& ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

AttachMemory& AttachMemory::Of(const cluster::Snapshot& snapshot) {
  std::shared_ptr<void>& slot = snapshot.Memory(kMemoryId);
  if (slot == nullptr) slot = std::make_shared<AttachMemory>();
  auto& memory = *static_cast<AttachMemory*>(slot.get());
  const uint64_t version = snapshot.facts().version();
  if (memory.version_ != version) {
    memory = AttachMemory();
    memory.ReadNodes(snapshot.facts());
    memory.version_ = version;
  }
  return memory;
}

void AttachMemory::ReadNodes(const cluster::Facts& facts) {
  facts.csi_nodes.ForEachByName([&](const auto& csi_node) {
    NodeLimits& node = nodes_[csi_node->metadata.name];
    for (const model::CsiNodeDriver& driver : csi_node->spec.drivers) {
      if (!driver.allocatable || !driver.allocatable->count) continue;
      const DriverId id = InternDriver(driver.name);
      std::erase_if(node.limits, [&](const auto& earlier) { return earlier.first == id; });
      node.limits.emplace_back(id, *driver.allocatable->count);
    }
    for (const model::VolumeAttachment* attachment : facts.AttachmentsOf(csi_node->metadata.name)) {
      const auto& name = attachment->spec.source.persistent_volume_name;
      if (attachment->spec.attacher.empty() || !name) continue;
      const model::PersistentVolume* volume = facts.volumes.Find(*name);
      if (volume == nullptr || !volume->spec.csi) continue;
      node.attached.push_back(
          Intern(fit::CsiVolume{attachment->spec.attacher, volume->spec.csi->volume_handle}));
    }
    MakeSet(node.attached);
  });
}

const NodeLimits* AttachMemory::OfNode(std::string_view node_name) const {
  const auto it = nodes_.find(node_name);
  return it == nodes_.end() ? nullptr : &it->second;
}

const PodVolumes& AttachMemory::OfPod(const cluster::PodView& pod, const cluster::Facts& facts) {
  // Whether an ephemeral volume's claim is the pod's own depends on the pod, not on its volumes
  // alone.
  const bool ephemeral = std::ranges::any_of(
      pod.volumes.volumes, [](const model::Volume& v) { return !v.claim_name && v.ephemeral; });
  const auto resolve = [&] {
    const AttachableVolumes found = Attachable(pod, facts, CsiOnNode::kYes, Asking::kNo);
    return PodVolumes{.volumes = Intern(found.volumes), .problem = found.problem};
  };
  if (ephemeral) {
    uncached_ = resolve();
    return uncached_;
  }
  if (by_volume_set_.size() <= pod.volume_set_id) by_volume_set_.resize(pod.volume_set_id + 1);
  auto& kept = by_volume_set_[pod.volume_set_id];
  if (!kept) kept = resolve();
  return *kept;
}

std::vector<VolumeId> AttachMemory::Intern(const std::vector<fit::CsiVolume>& volumes) {
  std::vector<VolumeId> ids;
  ids.reserve(volumes.size());
  for (const fit::CsiVolume& volume : volumes) ids.push_back(Intern(volume));
  MakeSet(ids);
  return ids;
}

VolumeId AttachMemory::Intern(const fit::CsiVolume& volume) {
  const auto [it, added] =
      volume_ids_.try_emplace(volume, static_cast<VolumeId>(driver_of_.size()));
  if (added) driver_of_.push_back(InternDriver(volume.driver));
  return it->second;
}

DriverId AttachMemory::InternDriver(std::string_view name) {  // a cluster has a handful
  const auto it = std::ranges::find(driver_names_, name);
  if (it != driver_names_.end()) return static_cast<DriverId>(it - driver_names_.begin());
  driver_names_.emplace_back(name);
  return static_cast<DriverId>(driver_names_.size() - 1);
}

}  // namespace coppice::filters::volume_limits
