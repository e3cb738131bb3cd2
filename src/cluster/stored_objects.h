// StoredObjects: objects of any kind in memory, by the rules of an API server: uids and versions,
// a generation that counts changes of the spec, a status with a door of its own, finalizers that
// keep what is deleted. What custom resources are in the model cluster, and in tests of engines.
//
// Objects are kept as the JSON that was handed in. Decision thread; answers come at once.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cluster/writer.h"

namespace coppice::cluster {

class StoredObjects final : public ObjectWriter {
 public:
  explicit StoredObjects(const Clock& clock) : clock_(clock) {}

  // Told of every change, as a watch would be. `json` is null when the object is gone.
  std::function<void(const ObjectName& object, const std::string* json)> on_change;
  // Not OK: the answer, and nothing happens. `verb`: "create", "update", "status", "finalizers",
  // "delete".
  std::function<Status(std::string_view verb, const ObjectName& object)> before;

  Task<Result<std::string>> CreateObject(ObjectName object, std::string json) override;
  Task<Result<std::string>> UpdateObject(ObjectName object, std::string patch) override;
  Task<Result<std::string>> UpdateStatus(ObjectName object, std::string patch) override;
  Task<Status> ChangeFinalizers(ObjectName object, FinalizerChange change) override;
  Task<Status> DeleteObject(ObjectName object) override;
  Task<Result<std::string>> ObjectNow(ObjectName object) override;

  // Creates it, or replaces the whole of it but for what names it. A status comes along, unless it
  // is new and has none. For whoever sets a scene; nobody is asked (`before`).
  Result<std::string> Put(ObjectName object, std::string_view json);
  // Takes it out, finalizers or not. Likewise.
  void Remove(const ObjectName& object);
  // Stores it as it is and tells nobody: for who keeps such objects elsewhere. "" takes it out.
  void Load(const ObjectName& object, std::string json);

  // Everything of a kind, by namespace and name.
  std::vector<std::string> List(std::string_view api_version, std::string_view resource) const;

 private:
  struct Key {
    std::string api_version, resource, namespace_, name;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static Key KeyOf(const ObjectName& object) {
    return {object.api_version, object.resource, object.namespace_, object.name};
  }
  Status MayDo(std::string_view verb, const ObjectName& object) const;
  Result<std::string> Create(ObjectName object, std::string_view json);
  Result<std::string> Change(std::string_view verb, const ObjectName& object,
                             std::string_view patch);
  Status SetFinalizers(const ObjectName& object, const FinalizerChange& change);
  Status Delete(const ObjectName& object);
  Result<std::string> Find(const ObjectName& object) const;
  std::string NextVersion() { return std::to_string(++version_); }
  void Tell(const ObjectName& object, const std::string* json) const;

  const Clock& clock_;
  int64_t version_ = 0;
  std::map<Key, std::string> objects_;
};

}  // namespace coppice::cluster
