#include "cluster/facts.h"

namespace coppice::cluster {
namespace {

// The index of `store` by `key_of`, brought up to date if the store has changed.
template <class Index, class T, class KeyOf>
const std::vector<const T*>& Lookup(Index& index, const ObjectStore<T>& store, std::string_view key,
                                    KeyOf key_of) {
  if (index.built_for != store.version()) {
    index.by_key.clear();
    store.ForEachByName(
        [&](const auto& object) { index.by_key[key_of(*object)].push_back(object.get()); });
    index.built_for = store.version();
  }
  static const std::vector<const T*> kNoObjects;
  const auto it = index.by_key.find(key);
  return it == index.by_key.end() ? kNoObjects : it->second;
}

}  // namespace

const std::vector<const model::VolumeAttachment*>& Facts::AttachmentsOf(
    std::string_view node_name) const {
  return Lookup(attachments_, volume_attachments, node_name,
                [](const model::VolumeAttachment& a) { return a.spec.node_name; });
}

const std::vector<const model::PersistentVolume*>& Facts::VolumesOfClass(
    std::string_view storage_class) const {
  return Lookup(volumes_by_class_, volumes, storage_class, [](const model::PersistentVolume& v) {
    // The annotation of the time before the field still wins.
    const std::string* beta =
        v.metadata.annotations.Find("volume.beta.kubernetes.io/storage-class");
    return beta != nullptr ? *beta : v.spec.storage_class_name;
  });
}

const std::vector<const model::CsiStorageCapacity*>& Facts::CapacitiesOfClass(
    std::string_view storage_class) const {
  return Lookup(capacities_, storage_capacities, storage_class,
                [](const model::CsiStorageCapacity& c) { return c.storage_class_name; });
}

void Facts::AddTo(ObjectStores& stores) {
  stores.Adopt(namespaces);
  stores.Adopt(claims);
  stores.Adopt(volumes);
  stores.Adopt(storage_classes);
  stores.Adopt(csi_nodes);
  stores.Adopt(csi_drivers);
  stores.Adopt(storage_capacities);
  stores.Adopt(volume_attachments);
  stores.Adopt(services);
  stores.Adopt(replication_controllers);
  stores.Adopt(replica_sets);
  stores.Adopt(stateful_sets);
}

uint64_t Facts::version() const {
  return namespaces.version() + claims.version() + volumes.version() + storage_classes.version() +
         csi_nodes.version() + csi_drivers.version() + storage_capacities.version() +
         volume_attachments.version() + services.version() + replication_controllers.version() +
         replica_sets.version() + stateful_sets.version();
}

}  // namespace coppice::cluster
