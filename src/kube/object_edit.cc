#include "kube/object_edit.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace coppice::kube {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string MemberText(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

// An object with an object for metadata, or what is wrong with it.
Result<Json> ParseObject(std::string_view text, const char* what) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument(std::string(what) + " is no JSON object");
  if (!json.contains("metadata")) json["metadata"] = Json::object();
  if (!json["metadata"].is_object())
    return InvalidArgument(std::string(what) + " has metadata that are no object");
  return json;
}

}  // namespace

std::string ObjectPath(const cluster::ObjectName& object) {
  const bool core = object.api_version.find('/') == std::string::npos;
  std::string path = (core ? "/api/" : "/apis/") + object.api_version;
  if (!object.namespace_.empty()) path += "/namespaces/" + net::PercentEncode(object.namespace_);
  path += "/" + net::PercentEncode(object.resource);
  if (!object.name.empty()) path += "/" + net::PercentEncode(object.name);
  return path;
}

Request DeleteRequest(std::string path, const std::string& uid, int64_t grace_period_seconds) {
  Json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (grace_period_seconds >= 0) body["gracePeriodSeconds"] = grace_period_seconds;
  if (!uid.empty()) body["preconditions"]["uid"] = uid;
  Request request;
  request.method = "DELETE";
  request.path = std::move(path);
  request.body = Dump(body);
  // Done twice it could hit the successor of what was meant.
  request.repeatable = !uid.empty();
  return request;
}

Request BindingRequest(const cluster::PodName& pod, const std::string& node,
                       const cluster::PodWriter::Annotations& annotations) {
  Json metadata = {{"name", pod.name}, {"namespace", pod.namespace_}};
  if (!pod.uid.empty()) metadata["uid"] = pod.uid;
  if (!annotations.empty()) metadata["annotations"] = annotations;
  const Json body = {{"apiVersion", "v1"},
                     {"kind", "Binding"},
                     {"metadata", std::move(metadata)},
                     {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  Request request;
  request.method = "POST";
  request.path = ObjectPath({"v1", "pods", pod.namespace_, pod.name}) + "/binding";
  request.body = Dump(body);
  request.repeatable = false;
  return request;
}

Result<std::string> WithName(std::string_view object_json, const cluster::ObjectName& object) {
  Json json = TRY(ParseObject(object_json, "the object to create"));
  Json& metadata = json["metadata"];
  if (!object.name.empty()) metadata["name"] = object.name;
  if (!object.namespace_.empty()) metadata["namespace"] = object.namespace_;
  if (MemberText(metadata, "name").empty() && MemberText(metadata, "generateName").empty())
    return InvalidArgument("the object to create has neither a name nor a generateName");
  if (MemberText(json, "kind").empty())
    return InvalidArgument("the object to create does not say its kind");
  json["apiVersion"] = object.api_version;
  return Dump(json);
}

Result<Patch> WithUid(std::string_view patch_json, const std::string& uid) {
  Json json = TRY(ParseObject(patch_json, "the patch"));
  if (!uid.empty()) json["metadata"]["uid"] = uid;
  const bool versioned = !MemberText(json["metadata"], "resourceVersion").empty();
  if (json["metadata"].empty()) json.erase("metadata");
  return Patch{.body = Dump(json), .versioned = versioned};
}

Result<std::optional<std::string>> EditFinalizers(std::string_view object_json,
                                                  const cluster::FinalizerChange& change,
                                                  const std::string& uid) {
  const Json object = TRY(ParseObject(object_json, "the answer"));
  const Json& metadata = object.at("metadata");
  if (!uid.empty() && MemberText(metadata, "uid") != uid)
    return NotFound("the object is gone; another one has its name");
  Json finalizers = Json::array();
  bool changed = false;
  if (const auto it = metadata.find("finalizers"); it != metadata.end() && it->is_array()) {
    for (const Json& finalizer : *it) {
      const bool goes = finalizer.is_string() &&
                        std::ranges::find(change.remove, finalizer.get_ref<const std::string&>()) !=
                            change.remove.end();
      changed |= goes;
      if (!goes) finalizers.push_back(finalizer);
    }
  }
  for (const std::string& finalizer : change.add) {
    if (std::ranges::find(finalizers, Json(finalizer)) != finalizers.end()) continue;
    finalizers.push_back(finalizer);
    changed = true;
  }
  if (!changed) return std::optional<std::string>();
  // A merge patch replaces lists as a whole: only with the version that was read is it the change
  // that was meant, and not the end of somebody else's finalizer.
  Json patch = {{"metadata",
                 {{"resourceVersion", MemberText(metadata, "resourceVersion")},
                  {"finalizers", std::move(finalizers)}}}};
  return std::optional<std::string>(Dump(patch));
}

bool MeansOtherUid(const Answer& answer) {
  if (answer.status != 409 && answer.status != 422) return false;
  const std::string message = answer.Error().message;
  // Deletes, binds and PUTs have preconditions; a patch is refused for what it would change.
  return message.find("UID in precondition") != std::string::npos ||
         message.find("metadata.uid") != std::string::npos;
}

}  // namespace coppice::kube
