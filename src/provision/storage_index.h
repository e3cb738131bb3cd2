// StorageIndex: claims, volumes, classes and CSI nodes by name, and what a pod's volumes are.
//
// Holds pointers into StorageFacts, which is to outlive it. Pure lookups.

#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "model/pod.h"
#include "model/requirements.h"
#include "model/storage.h"

namespace coppice::provision {

struct StorageFacts {
  std::vector<std::shared_ptr<const model::PersistentVolumeClaim>> claims;
  std::vector<std::shared_ptr<const model::PersistentVolume>> volumes;
  std::vector<std::shared_ptr<const model::StorageClass>> classes;
  std::vector<std::shared_ptr<const model::CsiNode>> csi_nodes;
  // Volumes are there, but where they can be reached is not to be had (recorded answers of a peer
  // whose client did not find them).
  bool volume_places_unreadable = false;
};

// Distinct volumes by CSI driver.
using VolumesByDriver = std::map<std::string, std::set<std::string>>;

class StorageIndex {
 public:
  explicit StorageIndex(const StorageFacts& facts);

  const model::PersistentVolume* Volume(std::string_view name) const;
  const model::StorageClass* Class(std::string_view name) const;
  const model::CsiNode* CsiNodeOf(std::string_view node) const;

  // The claim behind a pod's volume; null if the volume needs none, NotFound if it should be there.
  Result<const model::PersistentVolumeClaim*> ClaimOf(const model::Pod& pod,
                                                      const model::Volume& volume) const;
  // The driver that will attach it, "" if there is none that counts.
  Result<std::string> DriverOf(const model::PersistentVolumeClaim& claim) const;

  // What counts against a node's attach limits. What cannot be looked up does not count, apart from
  // a bound volume that is gone.
  Result<VolumesByDriver> VolumesOf(const model::Pod& pod) const;

  // Where the pod's volumes can be reached: alternatives of which one has to hold. None: anywhere.
  Result<std::vector<model::NodeRequirements>> TopologyOf(const model::Pod& pod,
                                                          const model::LabelRules& rules) const;

 private:
  Result<std::vector<model::NodeRequirements>> TopologyOf(const model::PersistentVolumeClaim& claim,
                                                          const model::LabelRules& rules) const;

  std::unordered_map<std::string, const model::PersistentVolumeClaim*> claims_;  // namespace/name
  std::unordered_map<std::string, const model::PersistentVolume*> volumes_;
  std::unordered_map<std::string, const model::StorageClass*> classes_;
  std::unordered_map<std::string, const model::CsiNode*> csi_nodes_;
  bool volume_places_unreadable_ = false;
};

}  // namespace coppice::provision
