// AttachMemory: what volumes pods make their nodes attach and what nodes can attach, kept with the
// snapshot in small numbers until the facts change.
//
// Without it every ask would look up the claims of all pods of a node again. Volumes and drivers
// get dense ids, so that counting on a node is merging short lists of integers. One thread, as the
// snapshot.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/snapshot.h"
#include "fit/csi_migration.h"
#include "model/verdict.h"

namespace coppice::filters::volume_limits {

using VolumeId = uint32_t;
using DriverId = uint32_t;

struct PodVolumes {
  std::vector<VolumeId> volumes;                   // sorted, each once
  model::Verdict problem = model::Verdict::Yes();  // kube-scheduler gives up on the node over this
};

struct NodeLimits {
  std::vector<std::pair<DriverId, int64_t>> limits;
  std::vector<VolumeId> attached;  // by VolumeAttachments; sorted, each once
};

class AttachMemory {
 public:
  // The memory of this snapshot, emptied if facts have changed: ids of before are void then.
  static AttachMemory& Of(const cluster::Snapshot& snapshot);

  // Null: the node has no CSINode object.
  const NodeLimits* OfNode(std::string_view node_name) const;
  // Of a pod that is on a node with a CSINode. Valid until the next call.
  const PodVolumes& OfPod(const cluster::PodView& pod, const cluster::Facts& facts);

  std::vector<VolumeId> Intern(const std::vector<fit::CsiVolume>& volumes);
  DriverId driver(VolumeId volume) const { return driver_of_[volume]; }
  const std::string& driver_name(DriverId driver) const { return driver_names_[driver]; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void ReadNodes(const cluster::Facts& facts);
  DriverId InternDriver(std::string_view name);
  VolumeId Intern(const fit::CsiVolume& volume);

  std::optional<uint64_t> version_;
  std::unordered_map<std::string, NodeLimits, Hash, std::equal_to<>> nodes_;
  std::map<fit::CsiVolume, VolumeId> volume_ids_;
  std::vector<DriverId> driver_of_;  // by VolumeId
  std::vector<std::string> driver_names_;
  std::vector<std::optional<PodVolumes>> by_volume_set_;  // by cluster::VolumeSetId
  PodVolumes uncached_;
};

}  // namespace coppice::filters::volume_limits
