#include "sim/objects.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "model/api.h"
#include "model/batch.h"
#include "model/node_class.h"
#include "model/node_pool.h"

namespace coppice::sim {

Objects::Objects(Cluster& cluster) : cluster_(cluster), stored_(cluster.agenda().clock()) {
  stored_.before = [this](std::string_view verb, const cluster::ObjectName& object) {
    return before ? before(verb, object) : Status::Ok();
  };
  stored_.on_change = [this](const cluster::ObjectName& object, const std::string* json) {
    Changed(object, json);
  };
  Keep<model::NodePool>();
  Keep<model::NodeClaim>();
  Keep<model::NodeClass>();
  Keep<model::PodGroup>();
  Keep<model::Queue>();
  KeepNodes();
  KeepPods();
}

// Without the kind: it is the one of whoever it belongs to.
Result<model::ObjectMeta> Objects::MetadataOf(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("metadata"))
    return InvalidArgument("an object without metadata");
  const nlohmann::json alone = {{"metadata", parsed["metadata"]}};
  auto read = wire::FromJson<model::PartialObjectMetadata>(alone.dump());
  if (!read.ok()) return read.status();
  return std::move(read->metadata);
}

void Objects::KeepNodes() {
  doors_[KeyOf("v1", "nodes")] = {
      .show =
          [this](const std::string& json) {
            auto node = wire::FromJson<model::Node>(json);
            if (!node.ok()) return node.status();
            cluster_.UpsertNode(*std::move(node));
            return Status::Ok();
          },
      .gone = [this](const cluster::ObjectName& object) { cluster_.RemoveNode(object.name); },
      .fetch =
          [this](const cluster::ObjectName& object) {
            const NodePtr node = cluster_.objects().FindNode(object.name);
            return node == nullptr ? std::string() : wire::ToJson(*node);
          }};
}

void Objects::KeepPods() {
  doors_[KeyOf("v1", "pods")] = {
      .show =
          [this](const std::string& json) {
            auto pod = wire::FromJson<model::Pod>(json);
            if (!pod.ok()) return pod.status();
            const bool known =
                cluster_.objects().FindPod(pod->metadata.namespace_, pod->metadata.name) != nullptr;
            if (known) {
              cluster_.UpdatePod(*std::move(pod));
            } else {
              cluster_.CreatePod(*std::move(pod));
            }
            return Status::Ok();
          },
      .gone = [](const cluster::ObjectName&) {},
      .fetch =
          [this](const cluster::ObjectName& object) {
            const PodPtr pod = cluster_.objects().FindPod(object.namespace_, object.name);
            return pod == nullptr ? std::string() : wire::ToJson(*pod);
          },
      .end =
          [this](const cluster::ObjectName& object) {
            const PodPtr pod = cluster_.objects().FindPod(object.namespace_, object.name);
            constexpr int64_t kGrace = 30;
            cluster_.EndPod(object.namespace_, object.name,
                            pod->spec.termination_grace_period_seconds.value_or(kGrace));
          }};
}

const Objects::Door* Objects::DoorOf(const cluster::ObjectName& object) const {
  const auto door = doors_.find(KeyOf(object.api_version, object.resource));
  return door == doors_.end() ? nullptr : &door->second;
}

void Objects::Fetch(const cluster::ObjectName& object) {
  const Door* door = DoorOf(object);
  if (door != nullptr && door->fetch) stored_.Load(object, door->fetch(object));
}

Result<std::string> Objects::Answer(const cluster::ObjectName& object,
                                    Result<std::string> stored) const {
  const Door* door = DoorOf(object);
  if (!stored.ok() || door == nullptr || !door->fetch) return stored;
  std::string now = door->fetch(object);
  if (now.empty()) return stored;
  return now;
}

void Objects::Changed(const cluster::ObjectName& object, const std::string* json) {
  last_changed_ = object;
  const Door* door = DoorOf(object);
  if (door == nullptr) return;
  if (!door->fetch) ++changes_;
  if (json == nullptr) {
    door->gone(object);
  } else if (!door->show(*json).ok()) {
    ++unreadable_;
  }
}

Task<Result<std::string>> Objects::CreateObject(cluster::ObjectName object, std::string json) {
  Fetch(object);
  auto created = co_await stored_.CreateObject(object, json);
  if (!created.ok()) co_return created.status();
  object = last_changed_;  // with its name, if one was made up
  // A kubelet creates its Node with what it has to offer. No other kind comes with a status.
  if (object.api_version == "v1" && object.resource == "nodes") {
    Fetch(object);
    created = co_await stored_.UpdateStatus(object, std::move(json));
    if (!created.ok()) co_return created.status();
  }
  co_return Answer(object, std::move(created));
}

Task<Result<std::string>> Objects::UpdateObject(cluster::ObjectName object, std::string patch) {
  Fetch(object);
  co_return Answer(object, co_await stored_.UpdateObject(object, std::move(patch)));
}

Task<Result<std::string>> Objects::UpdateStatus(cluster::ObjectName object, std::string patch) {
  Fetch(object);
  co_return Answer(object, co_await stored_.UpdateStatus(object, std::move(patch)));
}

Task<Status> Objects::ChangeFinalizers(cluster::ObjectName object,
                                       cluster::FinalizerChange change) {
  Fetch(object);
  co_return co_await stored_.ChangeFinalizers(std::move(object), std::move(change));
}

Task<Status> Objects::DeleteObject(cluster::ObjectName object) {
  Fetch(object);
  const Door* door = DoorOf(object);
  if (door == nullptr || !door->end) co_return co_await stored_.DeleteObject(std::move(object));
  if (before) {
    const Status refused = before("delete", object);
    if (!refused.ok()) co_return refused;
  }
  const auto found = co_await stored_.ObjectNow(object);
  if (!found.ok()) co_return found.status();
  door->end(object);
  co_return Status::Ok();
}

Task<Result<std::string>> Objects::ObjectNow(cluster::ObjectName object) {
  Fetch(object);
  co_return co_await stored_.ObjectNow(std::move(object));
}

Status Objects::PutJson(cluster::ObjectName object, const std::string& json) {
  Fetch(object);
  auto put = stored_.Put(object, json);
  return put.ok() ? Status::Ok() : put.status();
}

}  // namespace coppice::sim
