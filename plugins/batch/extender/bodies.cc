#include "plugins/batch/extender/bodies.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "plugins/batch/extender/go_text.h"
#include "plugins/batch/extender/group_objects.h"
#include "wire/time_text.h"

namespace coppice::batch::extender {
namespace {

// A member of an object that is being written: its comma, its name, its colon.
void Key(std::string& out, std::string_view name) {
  if (out.back() != '{') out += ',';
  out += '"';
  out += name;
  out += "\":";
}

void Text(std::string& out, std::string_view name, std::string_view value) {
  Key(out, name);
  AppendGoText(out, value);
}

void Amount(std::string& out, std::string_view name, const Resource& value) {
  Key(out, name);
  AppendResource(out, value);
}

void Flag(std::string& out, std::string_view name, bool value) {
  Key(out, name);
  out += value ? "true" : "false";
}

void AppendTransaction(std::string& out, const TransactionContext& state) {
  Text(out, "NodeName", state.node_name);
  Flag(out, "EvictionOccurred", state.eviction_occurred);
  Text(out, "JobAllocatedHyperNode", state.job_allocated_hyper_node);
  Key(out, "Status");
  AppendGoInt(out, static_cast<int64_t>(state.status));
}

std::string KeyOf(const Task& task) {
  return std::string(task.namespace_) + "/" + std::string(task.name);
}

// Images are counted as nodes arrive: each shows how many had it up to then.
std::vector<std::string> ImageTexts(const SessionInput& input) {
  struct Image {
    int64_t size;
    int64_t nodes;
  };
  std::map<std::string, Image> seen;
  std::vector<std::string> texts;
  for (const SessionInput::NodeEntry& entry : input.nodes) {
    std::map<std::string_view, Image> own;
    for (const NodeImage& image : entry.images) {
      for (const std::string& name : image.names) {
        Image& known = seen.try_emplace(name, Image{image.size_bytes, 0}).first->second;
        if (!own.contains(name)) ++known.nodes;
        own[name] = known;
      }
    }
    std::string& text = texts.emplace_back("{");
    for (const auto& [name, image] : own) {
      if (text.back() != '{') text += ',';
      AppendGoText(text, name);
      text += R"(:{"Size":)";
      AppendGoInt(text, image.size);
      text += R"(,"NumNodes":)";
      AppendGoInt(text, image.nodes);
      text += R"(,"Nodes":null})";
    }
    text += '}';
  }
  return texts;
}

}  // namespace

Bodies::Bodies(const Session& session, Fragments& fragments, bool compact)
    : session_(session),
      fragments_(fragments),
      texts_(session.input().texts.get()),
      compact_(compact),
      images_(ImageTexts(session.input())) {}

void Bodies::AppendTask(std::string& out, const Task& task, const TransactionContext& state,
                        const std::optional<TransactionContext>& last) const {
  if (compact_) {
    out += '{';
    Text(out, "UID", task.uid);
    AppendTransaction(out, state);
    out += '}';
    return;
  }
  const TaskFragment& fragment = fragments_.Of(task, texts_);
  out += fragment.head;
  AppendTransaction(out, state);
  Key(out, "LastTransaction");
  if (last) {
    out += '{';
    AppendTransaction(out, *last);
    out += '}';
  } else {
    out += "null";
  }
  out += fragment.middle;
  const bool node = !task.pod_node_name.empty();
  if (node) {
    if (!fragment.middle_ends_empty) out += ',';
    out += R"("nodeName":)";
    AppendGoText(out, task.pod_node_name);
  }
  if (fragment.tail_continues && (node || !fragment.middle_ends_empty)) out += ',';
  out += fragment.tail;
}

void Bodies::AppendTask(std::string& out, const Task& task) const {
  AppendTask(out, task, task, task.last_transaction);
}

// As the node was told of it. Upstream's nodes do not learn that somebody had to go for it.
void Bodies::AppendTaskOnNode(std::string& out, const Task& task) const {
  if (!task.node) return AppendTask(out, task);
  TransactionContext state = task;
  state.node_name = task.node->name;
  state.status = task.node_status;
  state.eviction_occurred = false;
  state.job_allocated_hyper_node = {};
  AppendTask(out, task, state, task.node_last_transaction);
}

void Bodies::AppendNode(std::string& out, const NodeInfo& node) const {
  if (compact_) {
    out += '{';
    Text(out, "Name", node.name);
    out += '}';
    return;
  }
  out += WholeNode(node);
}

const std::string& Bodies::WholeNode(const NodeInfo& node) const {
  NodeText& kept = nodes_[&node];
  if (!kept.text.empty() && kept.version == node.version) return kept.text;
  kept.version = node.version;
  std::string& out = kept.text;
  out = "{";
  Text(out, "Name", node.name);
  Key(out, "Node");
  out += fragments_.Of(node, texts_);
  out += R"(,"State":{"Phase":1,"Reason":""})";
  Amount(out, "Releasing", node.releasing);
  Amount(out, "Pipelined", node.pipelined);
  Amount(out, "Idle", node.idle);
  Amount(out, "Used", node.used);
  Amount(out, "Allocatable", node.allocatable);
  Amount(out, "Capacity", node.capacity);
  AppendUsage(out, node);
  out += R"(,"Tasks":{)";
  std::vector<std::pair<std::string, const Task*>> tasks;
  for (const Task* task : node.tasks) tasks.emplace_back(KeyOf(*task), task);
  std::ranges::sort(tasks);
  for (const auto& [key, task] : tasks) {
    if (out.back() != '{') out += ',';
    AppendGoText(out, key);
    out += ':';
    AppendTaskOnNode(out, *task);
  }
  out += R"(},"NumaInfo":null,"UnassignedNumaPods":null,"NumaSchedulerInfo":null)";
  Text(out, "RevocableZone", node.revocable_zone);
  out += R"(,"Others":{})";
  Flag(out, "OversubscriptionNode", node.oversubscription_node);
  Flag(out, "OfflineJobEvicting", node.offline_job_evicting);
  Amount(out, "OversubscriptionResource", node.oversubscription);
  Key(out, "ImageStates");
  out += node.index < images_.size() ? images_[node.index] : "{}";
  out += R"(,"Generation":0,"BindGeneration":0})";
  return out;
}

void Bodies::AppendNodes(std::string& out, std::span<NodeInfo* const> nodes) const {
  if (nodes.empty()) {
    out += "null";
    return;
  }
  out += '[';
  for (const NodeInfo* node : nodes) {
    if (out.back() != '[') out += ',';
    AppendNode(out, *node);
  }
  out += ']';
}

void Bodies::AppendUsage(std::string& out, const NodeInfo& node) const {
  const NodeUsage* usage = session_.UsageOf(node);
  if (!usage) {
    out += R"(,"ResourceUsage":{"MetricsTime":"0001-01-01T00:00:00Z","CPUUsageAvg":{},)"
           R"("MEMUsageAvg":{}})";
    return;
  }
  out += R"(,"ResourceUsage":{"MetricsTime":)";
  AppendGoText(out, wire::FormatRfc3339(usage->taken));
  out += R"(,"CPUUsageAvg":{"10m":)";
  if (!AppendGoFloat(out, usage->cpu)) out += '0';
  out += R"(},"MEMUsageAvg":{"10m":)";
  if (!AppendGoFloat(out, usage->memory)) out += '0';
  out += "}}";
}

void Bodies::AppendQueue(std::string& out, const QueueInfo& queue) const {
  out += '{';
  Text(out, "UID", queue.name);
  if (compact_) {
    out += '}';
    return;
  }
  Text(out, "Name", queue.name);
  Key(out, "Weight");
  AppendGoInt(out, queue.weight);
  Text(out, "Weights", queue.weights);
  Text(out, "Hierarchy", queue.hierarchy);
  Key(out, "Queue");
  AppendQueueObject(out, queue.object);
  out += '}';
}

void Bodies::AppendNamespace(std::string& out, const NamespaceInfo& info) {
  out += R"({"Name":)";
  AppendGoText(out, info.name);
  out += R"(,"QuotaStatus":{)";
  for (const auto& [quota, status] : info.quotas) {
    if (out.back() != '{') out += ',';
    AppendGoText(out, quota);
    out += ":{";
    AppendAmounts(out, "hard", status.hard);
    AppendAmounts(out, "used", status.used);
    out += '}';
  }
  out += "}}";
}

void Bodies::AppendNamespaces(std::string& out) const {
  out += '{';
  for (const auto& [name, info] : session_.namespaces()) {
    if (out.back() != '{') out += ',';
    AppendGoText(out, name);
    out += ':';
    AppendNamespace(out, info);
  }
  out += '}';
}

std::string Bodies::SessionOpen() const {
  std::string out = R"({"Jobs":{)";
  // The opening is what compact bodies refer to.
  const Bodies whole(session_, fragments_, false);
  for (const Job* job : session_.jobs()) {
    if (out.back() != '{') out += ',';
    AppendGoText(out, job->id);
    out += ':';
    whole.AppendJob(out, *job);
  }
  std::vector<NodeInfo*> nodes = session_.nodes();
  std::ranges::sort(nodes, {}, &NodeInfo::name);
  const auto append_nodes = [&](std::string_view name, bool revocable) {
    out += "},\"";
    out += name;
    out += "\":{";
    for (const NodeInfo* node : nodes) {
      if (revocable && node->revocable_zone.empty()) continue;
      if (out.back() != '{') out += ',';
      AppendGoText(out, node->name);
      out += ':';
      whole.AppendNode(out, *node);
    }
  };
  append_nodes("Nodes", false);
  out += R"(},"Queues":{)";
  for (const QueueInfo* queue : session_.queues()) {
    if (out.back() != '{') out += ',';
    AppendGoText(out, queue->name);
    out += ':';
    whole.AppendQueue(out, *queue);
  }
  out += R"(},"NamespaceInfo":)";
  AppendNamespaces(out);
  out.pop_back();  // append_nodes closes what stands before it
  append_nodes("RevocableNodes", true);
  out += R"(},"NodeList":null})";
  return out;
}

std::string Bodies::SessionOpen(Opening& opening) const {
  const Bodies whole(session_, fragments_, false);
  opening.Begin(session_.uid());
  const auto add = [&](Opening::Kind kind, std::string_view name, auto append) {
    std::string text;
    append(text);
    opening.Add(kind, name, std::move(text));
  };
  for (const Job* job : session_.jobs()) {
    add(Opening::Kind::kJobs, job->id, [&](std::string& text) { whole.AppendJob(text, *job); });
  }
  for (const NodeInfo* node : session_.nodes()) {
    add(Opening::Kind::kNodes, node->name,
        [&](std::string& text) { whole.AppendNode(text, *node); });
  }
  for (const QueueInfo* queue : session_.queues()) {
    add(Opening::Kind::kQueues, queue->name,
        [&](std::string& text) { whole.AppendQueue(text, *queue); });
  }
  for (const auto& [name, info] : session_.namespaces()) {
    add(Opening::Kind::kNamespaces, name, [&](std::string& text) { AppendNamespace(text, info); });
  }
  return opening.Take();
}

std::string Bodies::Predicate(const Task& task, const NodeInfo& node) {
  std::string out = R"({"task":)";
  AppendTask(out, task);
  out += R"(,"node":)";
  AppendNode(out, node);
  return out + '}';
}

std::string Bodies::Prioritize(const Task& task, std::span<NodeInfo* const> nodes) {
  std::string out = R"({"task":)";
  AppendTask(out, task);
  if (compact_ && nodes.size() * 2 > session_.nodes().size()) {
    out += R"(,"allNodesBut":[)";
    AppendOthers(out, nodes);
    return out + "]}";
  }
  out += R"(,"nodes":)";
  AppendNodes(out, nodes);
  return out + '}';
}

// The names of all nodes of the session that are not among these.
void Bodies::AppendOthers(std::string& out, std::span<NodeInfo* const> nodes) const {
  std::vector<bool> meant(session_.nodes().size());
  for (const NodeInfo* node : nodes) meant[node->index] = true;
  for (const NodeInfo* node : session_.nodes()) {
    if (meant[node->index]) continue;
    if (out.back() != '[') out += ',';
    AppendGoText(out, node->name);
  }
}

std::string Bodies::Evict(const Task& evictor, std::span<Task* const> evictees) {
  std::string out = R"({"evictor":)";
  AppendTask(out, evictor);
  out += R"(,"evictees":)";
  if (evictees.empty()) return out + "null}";
  out += '[';
  for (const Task* task : evictees) {
    if (out.back() != '[') out += ',';
    AppendTaskOnNode(out, *task);
  }
  return out + "]}";
}

std::string Bodies::OfJob(const Job& job) {
  std::string out = R"({"job":)";
  if (compact_) {
    out += R"({"UID":)";
    AppendGoText(out, job.id);
    out += '}';
  } else {
    AppendJob(out, job);
  }
  return out + '}';
}

std::string Bodies::OfQueue(const QueueInfo& queue) const {
  std::string out = R"({"queue":)";
  AppendQueue(out, queue);
  return out + '}';
}

std::string Bodies::OfTask(const Task& task) {
  std::string out = R"({"task":)";
  AppendTask(out, task);
  return out + '}';
}

}  // namespace coppice::batch::extender
