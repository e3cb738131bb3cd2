#include "batch/statuses.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "batch/hyper_nodes.h"
#include "model/batch.h"
#include "model/kinds.h"
#include "wire/time_text.h"

namespace coppice::batch {
namespace {

using Json = nlohmann::json;

constexpr Duration kSameTextAgain = std::chrono::minutes(5);

Json StatusJson(const model::PodGroupStatus& status) {
  Json conditions = Json::array();
  for (const model::PodGroupCondition& condition : status.conditions) {
    Json one = {{"type", condition.type}, {"status", condition.status}};
    if (!condition.transition_id.empty()) one["transitionID"] = condition.transition_id;
    if (condition.last_transition_time)
      one["lastTransitionTime"] = wire::FormatRfc3339(condition.last_transition_time->at);
    if (!condition.reason.empty()) one["reason"] = condition.reason;
    if (!condition.message.empty()) one["message"] = condition.message;
    conditions.push_back(std::move(one));
  }
  return {{"phase", status.phase},
          {"conditions", std::move(conditions)},
          {"running", status.running},
          {"succeeded", status.succeeded},
          {"failed", status.failed}};
}

template <class T>
cluster::ObjectName NamedObject(const model::ObjectMeta& meta) {
  constexpr model::Kind kind = model::kKind<T>;
  return {std::string(kind.api_version), std::string(kind.resource), meta.namespace_, meta.name,
          meta.uid};
}

// "kind namespace/name": what a write is about.
std::string WriteKey(std::string_view kind, const std::string& namespace_,
                     const std::string& name) {
  return std::string(kind) + " " + namespace_ + "/" + name;
}

coppice::Task<Status> PutNote(cluster::Writer& writer, cluster::ObjectName object,
                              std::string patch) {
  const auto written = co_await writer.UpdateObject(object, patch);
  co_return written.status();
}

}  // namespace

coppice::Task<Status> PutStatus(cluster::ObjectWriter& writer, cluster::ObjectName object,
                                std::string patch) {
  const auto written = co_await writer.UpdateStatus(object, patch);
  if (written.code() != Code::kNotFound) co_return written.status();
  const auto whole = co_await writer.UpdateObject(object, patch);
  co_return whole.status();
}

void Statuses::Put(const Outcome& outcome, TimePoint now) {
  for (const Outcome::GroupStatus& group : outcome.groups) {
    if (group.changed) PutGroup(group);
    if (group.hyper_node) PutHyperNode(group);
  }
  for (const Outcome::QueueAllocated& queue : outcome.queues) PutQueue(queue);
  for (const Outcome::PodCondition& condition : outcome.conditions) PutCondition(condition, now);
  for (const Outcome::EventNote& note : outcome.events) {
    cluster::Event event{.kind = note.kind,
                         .namespace_ = note.namespace_,
                         .name = note.name,
                         .uid = "",
                         .type = note.type,
                         .reason = note.reason,
                         .text = note.message};
    if (note.kind == "Pod") {
      const cluster::PodPtr pod = parts_.own.FindPod(note.namespace_, note.name);
      if (pod != nullptr) event.uid = pod->metadata.uid;
    } else if (const auto* group =
                   parts_.own.objects<model::PodGroup>().Find(note.namespace_, note.name)) {
      event.uid = group->metadata.uid;
    }
    Tell(std::move(event), now);
  }
}

void Statuses::PutGroup(const Outcome::GroupStatus& group) {
  const auto before = parts_.own.objects<model::PodGroup>().Get(group.namespace_, group.name);
  if (before == nullptr) return;
  auto after = std::make_shared<model::PodGroup>(*before);
  after->status = group.status;
  parts_.own.Upsert<model::PodGroup>(after);
  const cluster::ObjectName object = NamedObject<model::PodGroup>(before->metadata);
  const std::string patch = Json({{"status", StatusJson(group.status)}}).dump();
  Enqueue(WriteKey("PodGroup", group.namespace_, group.name),
          [this, object, patch] { return PutStatus(parts_.writer, object, patch); });
}

// Beside the status: what is newer there does not overtake it.
void Statuses::PutHyperNode(const Outcome::GroupStatus& group) {
  const auto before = parts_.own.objects<model::PodGroup>().Get(group.namespace_, group.name);
  if (before == nullptr) return;
  const std::string key(kAllocatedHyperNodeKey);
  auto after = std::make_shared<model::PodGroup>(*before);
  Json value;  // null: it goes
  if (group.hyper_node->empty()) {
    after->metadata.annotations.erase(key);
  } else {
    after->metadata.annotations[key] = *group.hyper_node;
    value = *group.hyper_node;
  }
  parts_.own.Upsert<model::PodGroup>(after);
  const cluster::ObjectName object = NamedObject<model::PodGroup>(before->metadata);
  const std::string patch = Json({{"metadata", {{"annotations", {{key, value}}}}}}).dump();
  Enqueue(WriteKey("PodGroupNote", group.namespace_, group.name),
          [this, object, patch] { return PutNote(parts_.writer, object, patch); });
}

void Statuses::PutQueue(const Outcome::QueueAllocated& queue) {
  const auto before = parts_.own.objects<model::Queue>().Get("", queue.queue);
  if (before == nullptr) return;
  auto after = std::make_shared<model::Queue>(*before);
  after->status.allocated = queue.allocated;
  parts_.own.Upsert<model::Queue>(after);
  Json allocated = Json::object();
  for (const auto& [name, amount] : before->status.allocated) allocated[name] = nullptr;
  for (const auto& [name, amount] : queue.allocated) allocated[name] = amount.ToString();
  const cluster::ObjectName object = NamedObject<model::Queue>(before->metadata);
  const std::string patch = Json({{"status", {{"allocated", std::move(allocated)}}}}).dump();
  Enqueue(WriteKey("Queue", "", queue.queue),
          [this, object, patch] { return PutStatus(parts_.writer, object, patch); });
}

void Statuses::PutCondition(const Outcome::PodCondition& note, TimePoint now) {
  const cluster::PodPtr before = parts_.own.FindPod(note.pod.namespace_, note.pod.name);
  if (before == nullptr || before->metadata.uid != note.pod.uid) return;
  if (!before->spec.node_name.empty()) return;  // bound meanwhile: it is scheduled
  model::PodCondition condition{.type = "PodScheduled",
                                .status = "False",
                                .last_probe_time = std::nullopt,
                                .last_transition_time = model::Time{now},
                                .reason = note.reason,
                                .message = note.message};
  auto after = std::make_shared<model::Pod>(*before);
  auto& all = after->status.conditions;
  const auto same = std::ranges::find(all, condition.type, &model::PodCondition::type);
  if (same == all.end()) {
    all.push_back(condition);
  } else {
    if (same->status == condition.status)
      condition.last_transition_time = same->last_transition_time;
    *same = condition;
  }
  if (!note.nominated_node.empty()) after->status.nominated_node_name = note.nominated_node;
  parts_.own.UpsertPod(after);
  const cluster::PodName name{note.pod.namespace_, note.pod.name, note.pod.uid};
  const cluster::PodStatusChange change{.conditions = {condition},
                                        .nominated_node = note.nominated_node};
  Enqueue(WriteKey("Pod", name.namespace_, name.name),
          [this, name, change] { return parts_.writer.ChangePodStatus(name, change); });
}

void Statuses::BindFailed(const model::Pod& pod, const Status& why, TimePoint now) {
  const model::ObjectMeta& meta = pod.metadata;
  const cluster::PodName name{meta.namespace_, meta.name, meta.uid};
  model::PodCondition condition{.type = "PodScheduled",
                                .status = "False",
                                .last_probe_time = std::nullopt,
                                .last_transition_time = model::Time{now},
                                .reason = "SchedulerError",
                                .message = why.message()};
  const cluster::PodStatusChange change{.conditions = {std::move(condition)}};
  Enqueue(WriteKey("Pod", name.namespace_, name.name),
          [this, name, change] { return parts_.writer.ChangePodStatus(name, change); });
  Tell({.kind = "Pod",
        .namespace_ = meta.namespace_,
        .name = meta.name,
        .uid = meta.uid,
        .type = "Warning",
        .reason = "FailedScheduling",
        .text = "binding rejected: " + why.message()},
       now);
}

void Statuses::Enqueue(std::string key, Write write) {
  auto shared = std::make_shared<Write>(std::move(write));
  const auto [slot, is_new] = writes_.try_emplace(key);
  if (is_new) {
    parts_.executor.Spawn(Run(std::move(key), std::move(shared)));
  } else {
    slot->second.next = std::move(shared);
  }
}

coppice::Task<void> Statuses::Run(std::string key, std::shared_ptr<Write> write) {
  while (write != nullptr) {
    Status status;
    {
      const Turnstile::Inside inside = co_await doors_.Enter();
      // What came while we stood in line is newer.
      if (writes_[key].next != nullptr) write = std::move(writes_[key].next);
      status = co_await (*write)();
    }
    if (!status.ok() && status.code() != Code::kNotFound) {
      failed_.insert(key);
      parts_.log.Warning("a status could not be written", {{"object", key}, {"error", status}});
    } else {
      failed_.erase(key);
    }
    write = std::exchange(writes_[key].next, nullptr);
  }
  writes_.erase(key);
}

void Statuses::Settle(TimePoint now) {
  ForgetOldTexts(now);
  for (const std::string& key : failed_) {
    const size_t space = key.find(' ');
    const size_t slash = key.find('/', space);
    const std::string_view kind = std::string_view(key).substr(0, space);
    const std::string namespace_ = key.substr(space + 1, slash - space - 1);
    const std::string name = key.substr(slash + 1);
    if (kind == "PodGroup" || kind == "PodGroupNote") {
      const auto real = parts_.shared.objects<model::PodGroup>().Get(namespace_, name);
      if (real != nullptr && parts_.own.objects<model::PodGroup>().Find(namespace_, name))
        parts_.own.Upsert<model::PodGroup>(real);
    } else if (kind == "Queue") {
      const auto real = parts_.shared.objects<model::Queue>().Get("", name);
      if (real != nullptr && parts_.own.objects<model::Queue>().Find(name))
        parts_.own.Upsert<model::Queue>(real);
    } else {
      const cluster::PodPtr real = parts_.shared.FindPod(namespace_, name);
      const cluster::PodPtr ours = parts_.own.FindPod(namespace_, name);
      if (real != nullptr && ours != nullptr && ours->spec.node_name.empty() &&
          !ours->metadata.deletion_timestamp) {
        parts_.own.UpsertPod(real);
      }
    }
  }
  failed_.clear();
}

void Statuses::Tell(cluster::Event event, TimePoint now) {
  // Several things may be said of one object under one reason, in every session.
  const std::string key = event.kind + " " + event.namespace_ + "/" + event.name + " " +
                          event.reason + " " + event.type + " " +
                          std::to_string(std::hash<std::string>()(event.text));
  const auto [told, is_new] = told_.try_emplace(key, now);
  if (!is_new) {
    if (now < Later(told->second, kSameTextAgain)) return;
    told->second = now;
  }
  parts_.writer.Emit(std::move(event));
}

void Statuses::ForgetOldTexts(TimePoint now) {
  if (now < Later(told_since_, kSameTextAgain)) return;
  told_since_ = now;
  std::erase_if(told_,
                [&](const auto& entry) { return Later(entry.second, kSameTextAgain) < now; });
}

}  // namespace coppice::batch
