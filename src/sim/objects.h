// Objects: the API server's door for objects of any kind in a model, as JSON (cluster::ObjectWriter):
// create, merge patch, status, finalizers, delete.
//
// Custom resources live here (cluster/stored_objects.h); those that an engine has a type for are
// shown to whoever watches the Cluster as values of that type. Nodes and pods live in the Cluster,
// where kubelets and controllers change them, too: they are fetched from there before a call, and
// what the call changes goes back. A Node with finalizers that is deleted stays until they are
// taken off.
//
// An engine that brings a kind of its own adds it with Keep<T>() before the first object comes.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/stored_objects.h"
#include "model/kinds.h"
#include "model/meta.h"
#include "sim/cluster.h"
#include "wire/wire.h"

namespace coppice::sim {

class Objects final : public cluster::ObjectWriter {
 public:
  // Knows NodePool, NodeClaim, NodeClass, PodGroup and Queue from the start.
  explicit Objects(Cluster& cluster);

  // Objects of this kind are shown as values. One that cannot be read is not shown, as by a feed
  // that tells of it; `unreadable` counts them.
  template <class T>
  void Keep() {
    doors_[KeyOf(model::kKind<T>.api_version, model::kKind<T>.resource)] = {
        .show =
            [this](const std::string& json) {
              auto object = wire::FromJson<T>(json);
              if (!object.ok()) return object.status();
              cluster_.Upsert(*std::move(object));
              return Status::Ok();
            },
        .gone =
            [this](const cluster::ObjectName& object) {
              cluster_.Erase<T>(object.namespace_, object.name);
            }};
  }

  // The same of a kind that the wire has no table for. `read` fills in all but the metadata.
  template <class T>
  void KeepAs(std::string_view api_version, std::string_view resource,
              std::function<Result<T>(std::string_view json)> read) {
    doors_[KeyOf(api_version, resource)] = {
        .show =
            [this, read = std::move(read)](const std::string& json) {
              auto metadata = MetadataOf(json);
              if (!metadata.ok()) return metadata.status();
              auto object = read(json);
              if (!object.ok()) return object.status();
              object->metadata = *std::move(metadata);
              cluster_.Upsert(*std::move(object));
              return Status::Ok();
            },
        .gone =
            [this](const cluster::ObjectName& object) {
              cluster_.Erase<T>(object.namespace_, object.name);
            }};
  }

  // Creates it, or replaces its spec, labels, annotations and finalizers; a status, too, if it comes
  // with one. For whoever sets a scene: an operator, a controller of somebody else's.
  template <class T>
  Status Put(const T& object) {
    return PutJson({std::string(model::kKind<T>.api_version), std::string(model::kKind<T>.resource),
                    object.metadata.namespace_, object.metadata.name},
                   wire::ToJson(object));
  }
  Status PutJson(cluster::ObjectName object, const std::string& json);
  // Takes it out at once, finalizers or not. Likewise.
  void Remove(const cluster::ObjectName& object) { stored_.Remove(object); }

  // Not OK: the answer, and nothing happens (cluster/stored_objects.h).
  std::function<Status(std::string_view verb, const cluster::ObjectName& object)> before;
  size_t unreadable() const { return unreadable_; }
  uint64_t changes() const { return changes_; }  // of objects that are shown as values

  Task<Result<std::string>> CreateObject(cluster::ObjectName object, std::string json) override;
  Task<Result<std::string>> UpdateObject(cluster::ObjectName object, std::string patch) override;
  Task<Result<std::string>> UpdateStatus(cluster::ObjectName object, std::string patch) override;
  Task<Status> ChangeFinalizers(cluster::ObjectName object,
                                cluster::FinalizerChange change) override;
  Task<Status> DeleteObject(cluster::ObjectName object) override;
  Task<Result<std::string>> ObjectNow(cluster::ObjectName object) override;

  std::vector<std::string> List(std::string_view api_version, std::string_view resource) const {
    return stored_.List(api_version, resource);
  }

 private:
  // How objects of one kind get into the Cluster. With `fetch` the Cluster has them, and what is
  // stored here is a copy that is good for one call.
  struct Door {
    std::function<Status(const std::string& json)> show;
    std::function<void(const cluster::ObjectName& object)> gone;
    std::function<std::string(const cluster::ObjectName& object)> fetch = nullptr;  // "": none
    // Instead of deleting it from here; the Cluster knows how such a thing ends.
    std::function<void(const cluster::ObjectName& object)> end = nullptr;
  };
  static std::string KeyOf(std::string_view api_version, std::string_view resource) {
    return std::string(api_version) + "/" + std::string(resource);
  }
  // Of an object of any kind.
  static Result<model::ObjectMeta> MetadataOf(const std::string& json);
  void KeepNodes();
  void KeepPods();
  const Door* DoorOf(const cluster::ObjectName& object) const;
  void Fetch(const cluster::ObjectName& object);
  // The answer of a call: of what the Cluster has, as it is there now.
  Result<std::string> Answer(const cluster::ObjectName& object, Result<std::string> stored) const;
  void Changed(const cluster::ObjectName& object, const std::string* json);

  Cluster& cluster_;
  cluster::StoredObjects stored_;
  std::map<std::string, Door> doors_;
  cluster::ObjectName last_changed_;
  size_t unreadable_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace coppice::sim
