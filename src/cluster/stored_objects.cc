#include "cluster/stored_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

namespace coppice::cluster {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string MemberText(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string TimeText(TimePoint at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(seconds - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     time.hours().count(), time.minutes().count(), time.seconds().count());
}

Result<Json> ParseObject(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("this is no JSON object");
  if (!json.contains("metadata")) json["metadata"] = Json::object();
  if (!json["metadata"].is_object()) return InvalidArgument("metadata are no object");
  return json;
}

bool HasFinalizers(const Json& object) {
  const Json& metadata = object.at("metadata");
  return metadata.contains("finalizers") && !metadata.at("finalizers").empty();
}

// What a patch of an object may not touch.
void KeepIdentity(const Json& before, Json& after) {
  for (const char* key : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"}) {
    const Json& metadata = before.at("metadata");
    if (metadata.contains(key)) {
      after["metadata"][key] = metadata.at(key);
    } else {
      after["metadata"].erase(key);
    }
  }
}

Status Gone(const ObjectName& object) {
  return NotFound("there is no " + object.resource + "/" + object.name);
}

}  // namespace

Status StoredObjects::MayDo(std::string_view verb, const ObjectName& object) const {
  return before ? before(verb, object) : Status::Ok();
}

void StoredObjects::Tell(const ObjectName& object, const std::string* json) const {
  if (on_change) on_change(object, json);
}

Result<std::string> StoredObjects::Find(const ObjectName& object) const {
  const auto it = objects_.find(KeyOf(object));
  if (it == objects_.end()) return Gone(object);
  if (!object.uid.empty() &&
      MemberText(Json::parse(it->second).at("metadata"), "uid") != object.uid)
    return NotFound(object.resource + "/" + object.name + " is gone; another one has its name");
  return it->second;
}

Result<std::string> StoredObjects::Create(ObjectName object, std::string_view json) {
  TRY(MayDo("create", object));
  Json made = TRY(ParseObject(json));
  Json& metadata = made["metadata"];
  if (object.name.empty()) object.name = MemberText(metadata, "name");
  const std::string version = NextVersion();
  if (object.name.empty()) {
    const std::string stem = MemberText(metadata, "generateName");
    if (stem.empty()) return InvalidArgument("neither a name nor a generateName");
    object.name = stem + version;
  }
  if (objects_.contains(KeyOf(object)))
    return Status(Code::kAlreadyExists, object.resource + "/" + object.name + " exists");
  metadata["name"] = object.name;
  if (!object.namespace_.empty()) metadata["namespace"] = object.namespace_;
  object.uid = "uid-" + version;
  metadata["uid"] = object.uid;
  metadata["resourceVersion"] = version;
  metadata["generation"] = 1;
  metadata["creationTimestamp"] = TimeText(clock_.Now());
  made["apiVersion"] = object.api_version;
  made.erase("status");
  const std::string& stored = objects_[KeyOf(object)] = Dump(made);
  Tell(object, &stored);
  return stored;
}

Result<std::string> StoredObjects::Change(std::string_view verb, const ObjectName& object,
                                          std::string_view patch) {
  TRY(MayDo(verb, object));
  const Json before_it = Json::parse(TRY(Find(object)));
  Json wanted = TRY(ParseObject(patch));
  const std::string version = MemberText(wanted["metadata"], "resourceVersion");
  if (!version.empty() && version != MemberText(before_it.at("metadata"), "resourceVersion"))
    return Status(Code::kAborted, object.resource + "/" + object.name + " has changed since");
  Json now = before_it;
  if (verb == "status") {
    if (wanted.contains("status")) now["status"].merge_patch(wanted["status"]);
  } else {
    wanted.erase("status");
    now.merge_patch(wanted);
    if (!now.contains("metadata") || !now["metadata"].is_object())
      return InvalidArgument("the patch takes the metadata away");
    KeepIdentity(before_it, now);
  }
  now["metadata"]["resourceVersion"] = MemberText(before_it.at("metadata"), "resourceVersion");
  if (now == before_it) return Dump(now);  // nothing to write, as the server sees it
  if (now.value("spec", Json()) != before_it.value("spec", Json()))
    now["metadata"]["generation"] = before_it.at("metadata").value("generation", int64_t{1}) + 1;
  now["metadata"]["resourceVersion"] = NextVersion();
  if (now["metadata"].contains("deletionTimestamp") && !HasFinalizers(now)) {
    objects_.erase(KeyOf(object));
    Tell(object, nullptr);
    return Dump(now);
  }
  const std::string& stored = objects_[KeyOf(object)] = Dump(now);
  Tell(object, &stored);
  return stored;
}

Status StoredObjects::SetFinalizers(const ObjectName& object, const FinalizerChange& change) {
  const Json now = Json::parse(TRY(Find(object)));
  std::vector<std::string> finalizers;
  if (HasFinalizers(now)) {
    for (const Json& finalizer : now.at("metadata").at("finalizers"))
      if (finalizer.is_string()) finalizers.push_back(finalizer.get<std::string>());
  }
  std::erase_if(finalizers, [&](const std::string& finalizer) {
    return std::ranges::find(change.remove, finalizer) != change.remove.end();
  });
  for (const std::string& finalizer : change.add) {
    if (std::ranges::find(finalizers, finalizer) == finalizers.end())
      finalizers.push_back(finalizer);
  }
  Json patch;
  patch["metadata"]["finalizers"] = finalizers;
  if (finalizers.empty()) patch["metadata"]["finalizers"] = nullptr;
  return Change("finalizers", object, Dump(patch)).status();
}

Status StoredObjects::Delete(const ObjectName& object) {
  TRY(MayDo("delete", object));
  Json now = Json::parse(TRY(Find(object)));
  if (!HasFinalizers(now)) {
    objects_.erase(KeyOf(object));
    Tell(object, nullptr);
    return Status::Ok();
  }
  if (now["metadata"].contains("deletionTimestamp")) return Status::Ok();
  now["metadata"]["deletionTimestamp"] = TimeText(clock_.Now());
  now["metadata"]["resourceVersion"] = NextVersion();
  const std::string& stored = objects_[KeyOf(object)] = Dump(now);
  Tell(object, &stored);
  return Status::Ok();
}

Result<std::string> StoredObjects::Put(ObjectName object, std::string_view json) {
  Json wanted = TRY(ParseObject(json));
  const auto ask = std::exchange(before, nullptr);  // the scene is set, whoever else is refused
  if (!objects_.contains(KeyOf(object))) {
    const auto created = Create(object, json);
    before = ask;
    if (!created.ok() || !wanted.contains("status")) return created;
  }
  before = ask;
  const Json now = Json::parse(objects_.at(KeyOf(object)));
  const Json& known = now.at("metadata");
  for (const char* key : {"name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"}) {
    if (known.contains(key)) wanted["metadata"][key] = known.at(key);
  }
  wanted["apiVersion"] = object.api_version;
  wanted["metadata"]["generation"] =
      known.value("generation", int64_t{1}) +
      (wanted.value("spec", Json()) == now.value("spec", Json()) ? 0 : 1);
  wanted["metadata"]["resourceVersion"] = NextVersion();
  const std::string& stored = objects_[KeyOf(object)] = Dump(wanted);
  Tell(object, &stored);
  return stored;
}

void StoredObjects::Remove(const ObjectName& object) {
  if (objects_.erase(KeyOf(object)) > 0) Tell(object, nullptr);
}

void StoredObjects::Load(const ObjectName& object, std::string json) {
  if (json.empty()) {
    objects_.erase(KeyOf(object));
  } else {
    objects_[KeyOf(object)] = std::move(json);
  }
}

std::vector<std::string> StoredObjects::List(std::string_view api_version,
                                             std::string_view resource) const {
  std::vector<std::string> all;
  for (const auto& [key, json] : objects_) {
    if (key.api_version == api_version && key.resource == resource) all.push_back(json);
  }
  return all;
}

Task<Result<std::string>> StoredObjects::CreateObject(ObjectName object, std::string json) {
  co_return Create(std::move(object), json);
}
Task<Result<std::string>> StoredObjects::UpdateObject(ObjectName object, std::string patch) {
  co_return Change("update", object, patch);
}
Task<Result<std::string>> StoredObjects::UpdateStatus(ObjectName object, std::string patch) {
  co_return Change("status", object, patch);
}
Task<Status> StoredObjects::ChangeFinalizers(ObjectName object, FinalizerChange change) {
  co_return SetFinalizers(object, change);
}
Task<Status> StoredObjects::DeleteObject(ObjectName object) { co_return Delete(object); }
Task<Result<std::string>> StoredObjects::ObjectNow(ObjectName object) { co_return Find(object); }

}  // namespace coppice::cluster
