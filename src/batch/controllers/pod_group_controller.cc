#include "batch/controllers/pod_group_controller.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "batch/task.h"
#include "model/kinds.h"
#include "model/objects.h"
#include "model/resources.h"

namespace coppice::batch {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kQueueNameKey = "scheduling.volcano.sh/queue-name";
constexpr std::string_view kMinMemberKey = "scheduling.volcano.sh/group-min-member";
// What a group takes over from its pods.
constexpr std::array<std::string_view, 5> kCopied = {
    kPreemptableKey, "volcano.sh/cooldown-time", kRevocableZoneKey, "volcano.sh/jdb-min-available",
    "volcano.sh/jdb-max-unavailable"};

const std::string* KeyIn(const model::ObjectMeta* owner, const model::ObjectMeta& pod,
                         std::string_view key) {
  if (const std::string* text = AnnotationOrLabel(pod, key)) return text;
  return owner == nullptr ? nullptr : AnnotationOrLabel(*owner, key);
}

int32_t MinMember(const model::ObjectMeta* owner, const model::ObjectMeta& pod) {
  const std::string* text = KeyIn(owner, pod, kMinMemberKey);
  int32_t number = 1;
  if (text == nullptr) return number;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  return error == std::errc() && stop == end && number > 0 ? number : 1;
}

}  // namespace

std::string GroupNameFor(const model::Pod& pod) {
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  return "podgroup-" + (owner == nullptr ? pod.metadata.uid : owner->uid);
}

const model::ObjectMeta* PodGroupController::OwnerMeta(const model::Pod& pod) const {
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  if (owner == nullptr) return nullptr;
  const auto find = [&]<class T>(const T*) -> const model::ObjectMeta* {
    const T* found = parts_.world.objects<T>().Find(pod.metadata.namespace_, owner->name);
    return found == nullptr || found->metadata.uid != owner->uid ? nullptr : &found->metadata;
  };
  if (owner->kind == "ReplicaSet") return find(static_cast<const model::ReplicaSet*>(nullptr));
  if (owner->kind == "StatefulSet") return find(static_cast<const model::StatefulSet*>(nullptr));
  if (owner->kind == "Job") return find(static_cast<const model::Job*>(nullptr));
  return nullptr;
}

std::string PodGroupController::GroupJson(const model::Pod& pod, const std::string& name) const {
  const model::ObjectMeta& meta = pod.metadata;
  const model::ObjectMeta* owner = OwnerMeta(pod);
  const int32_t least = MinMember(owner, meta);
  Json resources = Json::object();
  for (const auto& [resource, amount] : ToResourceList(PodRequest(pod))) {
    model::Quantity sum;
    for (int32_t i = 0; i < least; ++i) sum.Add(amount);
    resources[resource] = sum.ToString();
  }
  Json annotations = Json::object();
  for (const std::string_view key : kCopied) {
    if (const std::string* text = KeyIn(owner, meta, key)) annotations[std::string(key)] = *text;
  }
  const std::string* queue = KeyIn(owner, meta, kQueueNameKey);
  Json spec = {{"minMember", least},
               {"queue", queue == nullptr || queue->empty() ? parts_.default_queue : *queue},
               {"minResources", std::move(resources)}};
  if (!pod.spec.priority_class_name.empty())
    spec["priorityClassName"] = pod.spec.priority_class_name;
  const model::OwnerReference* controller = model::ControllerOf(meta);
  Json by = {{"controller", true}, {"blockOwnerDeletion", true}};
  by["apiVersion"] = controller == nullptr ? "v1" : controller->api_version;
  by["kind"] = controller == nullptr ? "Pod" : controller->kind;
  by["name"] = controller == nullptr ? meta.name : controller->name;
  by["uid"] = controller == nullptr ? meta.uid : controller->uid;
  return Json({{"apiVersion", model::kKind<model::PodGroup>.api_version},
               {"kind", "PodGroup"},
               {"metadata",
                {{"name", name},
                 {"namespace", meta.namespace_},
                 {"annotations", std::move(annotations)},
                 {"ownerReferences", Json::array({std::move(by)})}}},
               {"spec", std::move(spec)}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

void PodGroupController::Sync() {
  for (const cluster::World::PodEntry* entry : parts_.world.Unbound()) {
    const model::Pod& pod = *entry->pod;
    if (pod.metadata.deletion_timestamp || pod.metadata.unreadable || !JobIdOf(pod).empty())
      continue;
    const auto& names = parts_.scheduler_names;
    if (std::ranges::find(names, pod.spec.scheduler_name) == names.end()) continue;
    if (!busy_.insert(pod.metadata.uid).second) continue;
    std::string group = GroupNameFor(pod);
    const bool make = !parts_.world.objects<model::PodGroup>().Find(pod.metadata.namespace_, group);
    parts_.executor.Spawn(GiveGroup(entry->pod, std::move(group), make));
  }
}

coppice::Task<void> PodGroupController::GiveGroup(cluster::PodPtr pod, std::string group,
                                                  bool make) {
  const model::ObjectMeta& meta = pod->metadata;
  Status status;
  {
    const Turnstile::Inside inside = co_await doors_.Enter();
    if (make) {
      constexpr model::Kind kind = model::kKind<model::PodGroup>;
      cluster::ObjectName object{std::string(kind.api_version), std::string(kind.resource),
                                 meta.namespace_, group};
      std::string json = GroupJson(*pod, group);
      const auto made = co_await parts_.writer.CreateObject(std::move(object), std::move(json));
      if (made.code() != Code::kAlreadyExists) status = made.status();
    }
    if (status.ok()) {
      const Json patch = {{"metadata", {{"annotations", {{std::string(kGroupNameKey), group}}}}}};
      cluster::ObjectName object{"v1", "pods", meta.namespace_, meta.name, meta.uid};
      const auto told = co_await parts_.writer.UpdateObject(std::move(object), patch.dump());
      status = told.status();
    }
  }
  if (!status.ok() && status.code() != Code::kNotFound) {
    parts_.log.Warning("a pod could not be given a group",
                       {{"pod", meta.namespace_ + "/" + meta.name}, {"error", status}});
  }
  // Seen by then, else once more: both writes are as good twice as once.
  co_await parts_.executor.Sleep(kAgain);
  busy_.erase(meta.uid);
  parts_.wake();
}

}  // namespace coppice::batch
