// Facts: the objects beside nodes and pods that filters read, with the indexes they read them by.
//
// Owned by the World, which lets changes in when nobody plans, and read through the Snapshot. Facts
// are not part of fork and revert: no what-if changes a claim or a namespace. Pointers stay valid
// until the object is replaced or erased.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/object_store.h"
#include "model/objects.h"

namespace coppice::cluster {

class Facts {
 public:
  ObjectStore<model::Namespace> namespaces;
  ObjectStore<model::PersistentVolumeClaim> claims;
  ObjectStore<model::PersistentVolume> volumes;
  ObjectStore<model::StorageClass> storage_classes;
  ObjectStore<model::CsiNode> csi_nodes;
  ObjectStore<model::CsiDriver> csi_drivers;
  ObjectStore<model::CsiStorageCapacity> storage_capacities;
  ObjectStore<model::VolumeAttachment> volume_attachments;

  // For default topology spread constraints (their selector is that of the pod's services and
  // owner).
  ObjectStore<model::Service> services;
  ObjectStore<model::ReplicationController> replication_controllers;
  ObjectStore<model::ReplicaSet> replica_sets;
  ObjectStore<model::StatefulSet> stateful_sets;

  // Indexes, rebuilt when the store behind them has changed since they were last asked.
  const std::vector<const model::VolumeAttachment*>& AttachmentsOf(
      std::string_view node_name) const;
  const std::vector<const model::PersistentVolume*>& VolumesOfClass(
      std::string_view storage_class) const;
  const std::vector<const model::CsiStorageCapacity*>& CapacitiesOfClass(
      std::string_view storage_class) const;

  // These are the stores of their kinds.
  void AddTo(ObjectStores& stores);

  // Grows with every change of any kind: what was remembered about facts is void when it differs.
  uint64_t version() const;

 private:
  template <class T>
  struct Index {
    uint64_t built_for = 0;
    std::map<std::string, std::vector<const T*>, std::less<>> by_key;
  };
  mutable Index<model::VolumeAttachment> attachments_;
  mutable Index<model::PersistentVolume> volumes_by_class_;
  mutable Index<model::CsiStorageCapacity> capacities_;
};

}  // namespace coppice::cluster
