#include "kube/object_edit.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "wire/time_text.h"

namespace coppice::kube {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string Dump(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string MemberText(const OrderedJson& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

// An object with an object for metadata, or what is wrong with it.
Result<OrderedJson> ParseObject(std::string_view text, const char* what) {
  OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument(std::string(what) + " is no JSON object");
  if (!json.contains("metadata")) json["metadata"] = OrderedJson::object();
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
  OrderedJson body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
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
  OrderedJson metadata = {{"name", pod.name}, {"namespace", pod.namespace_}};
  if (!pod.uid.empty()) metadata["uid"] = pod.uid;
  if (!annotations.empty()) metadata["annotations"] = annotations;
  const OrderedJson body = {{"apiVersion", "v1"},
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

Request PodStatusRequest(const cluster::PodName& pod, const cluster::PodStatusChange& change) {
  OrderedJson conditions = OrderedJson::array();
  for (const model::PodCondition& condition : change.conditions) {
    OrderedJson one = {{"type", condition.type},
                       {"status", condition.status},
                       {"reason", condition.reason},
                       {"message", condition.message}};
    if (condition.last_transition_time)
      one["lastTransitionTime"] = wire::FormatRfc3339(condition.last_transition_time->at);
    conditions.push_back(std::move(one));
  }
  OrderedJson status = OrderedJson::object();
  if (!conditions.empty()) status["conditions"] = std::move(conditions);
  if (!change.nominated_node.empty()) status["nominatedNodeName"] = change.nominated_node;
  OrderedJson body = OrderedJson::object();
  if (!pod.uid.empty()) body["metadata"] = {{"uid", pod.uid}};
  body["status"] = std::move(status);
  Request request;
  request.method = "PATCH";
  request.path = ObjectPath({"v1", "pods", pod.namespace_, pod.name}) + "/status";
  request.content_type = "application/strategic-merge-patch+json";
  request.body = Dump(body);
  return request;
}

Result<std::string> WithName(std::string_view object_json, const cluster::ObjectName& object) {
  OrderedJson json = TRY(ParseObject(object_json, "the object to create"));
  OrderedJson& metadata = json["metadata"];
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
  OrderedJson json = TRY(ParseObject(patch_json, "the patch"));
  if (!uid.empty()) json["metadata"]["uid"] = uid;
  const bool versioned = !MemberText(json["metadata"], "resourceVersion").empty();
  if (json["metadata"].empty()) json.erase("metadata");
  return Patch{.body = Dump(json), .versioned = versioned};
}

Result<std::optional<std::string>> EditFinalizers(std::string_view object_json,
                                                  const cluster::FinalizerChange& change,
                                                  const std::string& uid) {
  const OrderedJson object = TRY(ParseObject(object_json, "the answer"));
  const OrderedJson& metadata = object.at("metadata");
  if (!uid.empty() && MemberText(metadata, "uid") != uid)
    return NotFound("the object is gone; another one has its name");
  OrderedJson finalizers = OrderedJson::array();
  bool changed = false;
  if (const auto it = metadata.find("finalizers"); it != metadata.end() && it->is_array()) {
    for (const OrderedJson& finalizer : *it) {
      const bool goes = finalizer.is_string() &&
                        std::ranges::find(change.remove, finalizer.get_ref<const std::string&>()) !=
                            change.remove.end();
      changed |= goes;
      if (!goes) finalizers.push_back(finalizer);
    }
  }
  for (const std::string& finalizer : change.add) {
    if (std::ranges::find(finalizers, OrderedJson(finalizer)) != finalizers.end()) continue;
    finalizers.push_back(finalizer);
    changed = true;
  }
  if (!changed) return std::optional<std::string>();
  // A merge patch replaces lists as a whole: only with the version that was read is it the change
  // that was meant, and not the end of somebody else's finalizer.
  OrderedJson patch = {{"metadata",
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
