#include "host/dry_run_writer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <vector>

#include "base/strings.h"

namespace coppice::host {
namespace {

// Pods of drains that were given up stay in the list; far more than drains there are at a time.
constexpr size_t kMostEvicted = 10'000;
constexpr size_t kMostSoftMarks = 100'000;
constexpr size_t kMostTold = 100'000;

std::string KeyOf(const std::string& namespace_, const std::string& name, const std::string& uid) {
  return namespace_ + "/" + name + "/" + uid;
}

// When it was decided is another time each time.
std::string WithoutTimes(const std::string& change) {
  static const std::regex kTime("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z");
  return std::regex_replace(change, kTime, "");
}

bool IsSoft(const model::Taint& taint) { return taint.effect == "PreferNoSchedule"; }

}  // namespace

Task<Status> DryRunWriter::ChangeNode(std::string node, cluster::NodeChange change) {
  if (soft_marks_.size() > kMostSoftMarks) soft_marks_.clear();
  std::erase_if(change.add_taints, [&](const model::Taint& taint) {
    return IsSoft(taint) && !soft_marks_.emplace(node, taint.key).second;
  });
  for (const std::string& key : change.remove_taints) soft_marks_.erase({node, key});
  if (change.add_taints.empty() && change.remove_taints.empty() && !change.unschedulable)
    co_return Status::Ok();
  std::vector<std::string> taints;
  for (const model::Taint& taint : change.add_taints) taints.push_back("+" + taint.key);
  for (const std::string& key : change.remove_taints) taints.push_back("-" + key);
  log_.Info("dry run: a node would have been changed",
            {{"node", node},
             {"taints", Join(taints, ",")},
             {"unschedulable", !change.unschedulable   ? "as it is"
                               : *change.unschedulable ? "true"
                                                       : "false"}});
  co_return Status::Ok();
}

Task<Status> DryRunWriter::Evict(cluster::PodName pod, int64_t grace_period_seconds) {
  log_.Info("dry run: a pod would have been evicted",
            {{"pod", pod.namespace_ + "/" + pod.name}, {"grace_seconds", grace_period_seconds}});
  if (evicted_.size() > kMostEvicted) evicted_.clear();
  evicted_.insert(KeyOf(pod.namespace_, pod.name, pod.uid));
  co_return Status::Ok();
}

Task<Status> DryRunWriter::DeletePod(cluster::PodName pod, int64_t grace_period_seconds) {
  log_.Info("dry run: a pod would have been deleted",
            {{"pod", pod.namespace_ + "/" + pod.name}, {"grace_seconds", grace_period_seconds}});
  if (evicted_.size() > kMostEvicted) evicted_.clear();
  evicted_.insert(KeyOf(pod.namespace_, pod.name, pod.uid));
  co_return Status::Ok();
}

Task<Status> DryRunWriter::Bind(cluster::PodName pod, std::string node, Annotations) {
  if (!IsNews("bind " + KeyOf(pod.namespace_, pod.name, pod.uid), node)) co_return Status::Ok();
  log_.Info("dry run: a pod would have been bound",
            {{"pod", pod.namespace_ + "/" + pod.name}, {"node", node}});
  co_return Status::Ok();
}

Task<Status> DryRunWriter::ChangePodStatus(cluster::PodName pod, cluster::PodStatusChange change) {
  std::vector<std::string> conditions;
  for (const model::PodCondition& condition : change.conditions)
    conditions.push_back(condition.type + "=" + condition.status + " " + condition.reason);
  if (!IsNews("status " + KeyOf(pod.namespace_, pod.name, pod.uid),
              Join(conditions, ", ") + change.nominated_node))
    co_return Status::Ok();
  log_.Info("dry run: a pod's status would have been changed",
            {{"pod", pod.namespace_ + "/" + pod.name},
             {"conditions", Join(conditions, ", ")},
             {"nominated_node", change.nominated_node}});
  co_return Status::Ok();
}

Task<Result<std::optional<std::string>>> DryRunWriter::WhereIs(cluster::PodName pod) {
  if (evicted_.contains(KeyOf(pod.namespace_, pod.name, pod.uid)))
    co_return std::optional<std::string>();
  co_return co_await real_.WhereIs(std::move(pod));
}

Task<Result<std::vector<cluster::LivePod>>> DryRunWriter::PodsOn(std::string node) {
  auto pods = co_await real_.PodsOn(std::move(node));
  if (!pods.ok()) co_return pods;
  std::erase_if(*pods, [this](const cluster::LivePod& pod) {
    const model::ObjectMeta& meta = pod->metadata;
    return evicted_.erase(KeyOf(meta.namespace_, meta.name, meta.uid)) > 0;
  });
  co_return pods;
}

Task<Result<cluster::LiveNode>> DryRunWriter::NodeNow(std::string node) {
  return real_.NodeNow(std::move(node));
}

bool DryRunWriter::IsNews(const std::string& about, std::string what) {
  if (told_.size() >= kMostTold) told_.clear();
  auto [there, is_new] = told_.try_emplace(about);
  if (!is_new && there->second == what) return false;
  there->second = std::move(what);
  return true;
}

void DryRunWriter::TellObject(std::string_view what, const cluster::ObjectName& object,
                              const std::string& change) {
  if (!IsNews(fmt::format("{} {} {}/{} {}", what, object.resource, object.namespace_, object.name,
                          object.uid),
              WithoutTimes(change)))
    return;
  const std::string where = object.namespace_.empty() ? "" : object.namespace_ + "/";
  log_.Info("dry run: an object would have been written", {{"verb", what},
                                                           {"resource", object.resource},
                                                           {"object", where + object.name},
                                                           {"change", change}});
}

Task<Result<std::string>> DryRunWriter::CreateObject(cluster::ObjectName object, std::string json) {
  TellObject("create", object, json);
  auto made = nlohmann::json::parse(json, nullptr, false);
  if (!made.is_object()) co_return InvalidArgument("what would be created is no object");
  // Whoever keeps it tells it from others by that.
  made["metadata"]["uid"] = "dry-run-" + std::to_string(++made_up_);
  co_return made.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Task<Result<std::string>> DryRunWriter::UpdateObject(cluster::ObjectName object,
                                                     std::string patch) {
  TellObject("update", object, patch);
  return real_.ObjectNow(std::move(object));
}

Task<Result<std::string>> DryRunWriter::UpdateStatus(cluster::ObjectName object,
                                                     std::string patch) {
  TellObject("update status", object, patch);
  return real_.ObjectNow(std::move(object));
}

Task<Status> DryRunWriter::ChangeFinalizers(cluster::ObjectName object,
                                            cluster::FinalizerChange change) {
  std::vector<std::string> changes;
  for (const std::string& finalizer : change.add) changes.push_back("+" + finalizer);
  for (const std::string& finalizer : change.remove) changes.push_back("-" + finalizer);
  TellObject("change finalizers", object, Join(changes, ","));
  co_return Status::Ok();
}

Task<Status> DryRunWriter::DeleteObject(cluster::ObjectName object) {
  TellObject("delete", object, "");
  co_return Status::Ok();
}

Task<Result<std::string>> DryRunWriter::ObjectNow(cluster::ObjectName object) {
  return real_.ObjectNow(std::move(object));
}

void DryRunWriter::Emit(cluster::Event event) {
  if (!IsNews(fmt::format("event {} {}/{} {} {}", event.kind, event.namespace_, event.name,
                          event.uid, event.reason),
              event.text))
    return;
  log_.Info("dry run: an event would have been written", {{"kind", event.kind},
                                                          {"object", event.name},
                                                          {"reason", event.reason},
                                                          {"text", event.text}});
}

}  // namespace coppice::host
