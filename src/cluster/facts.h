// Facts: the objects beside nodes and pods that filters read, with the indexes they read them by.
//
// Owned by the Snapshot, fed by whoever watches the API server. Facts are not part of fork and
// revert: no what-if changes a claim or a namespace. Pointers stay valid until the object is
// replaced or erased.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/objects.h"

namespace coppice::cluster {

// Objects of one kind by namespace and name (cluster-scoped ones: the empty namespace). O(log n)
// per call.
template <class T>
class ObjectTable {
 public:
  // Puts `object` in, or replaces the one of the same name.
  const T& Upsert(T object) {
    ++version_;
    auto& slot = objects_[Key(object.metadata.namespace_, object.metadata.name)];
    slot = std::make_shared<const T>(std::move(object));
    return *slot;
  }
  bool Erase(std::string_view namespace_, std::string_view name) {
    ++version_;
    return objects_.erase(Key(namespace_, name)) != 0;
  }
  const T* Find(std::string_view namespace_, std::string_view name) const {  // null if absent
    const auto it = objects_.find(Key(namespace_, name));
    return it == objects_.end() ? nullptr : it->second.get();
  }
  const T* Find(std::string_view name) const { return Find("", name); }

  template <class Visit>
  void ForEach(Visit visit) const {  // in order of namespace and name
    for (const auto& [key, object] : objects_) visit(*object);
  }
  template <class Visit>
  void ForEachIn(std::string_view namespace_, Visit visit) const {
    for (auto it = objects_.lower_bound(Key(namespace_, "")); it != objects_.end(); ++it) {
      if (it->first.first != namespace_) return;
      visit(*it->second);
    }
  }
  std::vector<std::shared_ptr<const T>> List() const {  // in that order
    std::vector<std::shared_ptr<const T>> all;
    all.reserve(objects_.size());
    for (const auto& [key, object] : objects_) all.push_back(object);
    return all;
  }
  size_t size() const { return objects_.size(); }
  uint64_t version() const { return version_; }  // grows with every change

 private:
  using Key = std::pair<std::string, std::string>;
  std::map<Key, std::shared_ptr<const T>> objects_;
  uint64_t version_ = 0;
};

class Facts {
 public:
  ObjectTable<model::Namespace> namespaces;
  ObjectTable<model::PersistentVolumeClaim> claims;
  ObjectTable<model::PersistentVolume> volumes;
  ObjectTable<model::StorageClass> storage_classes;
  ObjectTable<model::CsiNode> csi_nodes;
  ObjectTable<model::CsiDriver> csi_drivers;
  ObjectTable<model::CsiStorageCapacity> storage_capacities;
  ObjectTable<model::VolumeAttachment> volume_attachments;

  // For default topology spread constraints (their selector is that of the pod's services and
  // owner).
  ObjectTable<model::Service> services;
  ObjectTable<model::ReplicationController> replication_controllers;
  ObjectTable<model::ReplicaSet> replica_sets;
  ObjectTable<model::StatefulSet> stateful_sets;

  // Indexes, rebuilt when the table behind them has changed since they were last asked.
  const std::vector<const model::VolumeAttachment*>& AttachmentsOf(
      std::string_view node_name) const;
  const std::vector<const model::PersistentVolume*>& VolumesOfClass(
      std::string_view storage_class) const;
  const std::vector<const model::CsiStorageCapacity*>& CapacitiesOfClass(
      std::string_view storage_class) const;

  // Grows with every change of any table: what was remembered about facts is void when it differs.
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
