// The beginning of a session: nodes, queues, groups and pods as it works on them.

#include <algorithm>
#include <tuple>
#include <utility>

#include "batch/session.h"
#include "market/intent.h"

namespace coppice::batch {

void Session::TakeOver(Roster& roster) {
  roster_ = &roster;
  node_list_ = roster.nodes();
  view_->SetNodes(node_list_.size());
  node_by_name_.reserve(node_list_.size());
  for (uint32_t i = 0; i < node_list_.size(); ++i) {
    NodeInfo& node = *node_list_[i];
    node.index = i;
    node.changed = &changed_nodes_;
    node_by_name_.emplace(node.name, &node);
    total_.Add(node.allocatable);
    view_->SetScoring(node);
    node.held_for = {};
    if (!upstream_exact()) ReadHold(node);
  }
  if (!upstream_exact()) total_.Add(Resource::From(input_.stock));
  const Priorities priorities = ReadPriorities();
  for (const auto& [id, job] : roster.jobs()) {
    job->queue = QueueOf(*job);
    if (job->queue == nullptr) {
      roster.PutAside(*job);
      continue;
    }
    const auto priority = priorities.by_name.find(job->group.spec.priority_class_name);
    job->priority = priority == priorities.by_name.end() ? priorities.by_default : priority->second;
    job->empty_minimum_counts = upstream_exact();
    job->hold_value = holders_.empty() ? std::string() : market::HoldValue(job->id);
    job_by_id_.emplace_hint(job_by_id_.end(), id, job);
  }
  ListJobs();
}

void Session::ReadNodes() {
  view_->SetNodes(input_.nodes.size());
  for (const SessionInput::NodeEntry& entry : input_.nodes) {
    NodeInfo& node = nodes_.emplace_back(entry.object);
    node.index = static_cast<uint32_t>(node_list_.size());
    node.snapshot_index = entry.index;
    node_list_.push_back(&node);
    node_by_name_.emplace(node.name, &node);
    total_.Add(node.allocatable);
    if (!upstream_exact()) ReadHold(node);
  }
  if (!upstream_exact()) total_.Add(Resource::From(input_.stock));
}

void Session::ReadQueues() {
  for (const model::Queue& object : input_.queues) {
    QueueInfo& queue = queues_.emplace_back();
    queue.name = object.metadata.name;
    queue.weight = object.spec.weight;
    const auto annotation = [&](std::string_view key) {
      const std::string* text = object.metadata.annotations.Find(key);
      return text ? *text : std::string();
    };
    queue.weights = annotation("volcano.sh/hierarchy-weights");
    queue.hierarchy = annotation("volcano.sh/hierarchy");
    queue.object = object;
    queue_list_.push_back(&queue);
  }
  std::ranges::sort(queue_list_, {}, &QueueInfo::name);
  for (uint32_t i = 0; i < queue_list_.size(); ++i) queue_list_[i]->index = i;
  for (const model::ResourceQuota& quota : input_.quotas) {
    NamespaceInfo& info = namespaces_[quota.metadata.namespace_];
    info.name = quota.metadata.namespace_;
    info.quotas[quota.metadata.name] = quota.status;
  }
}

Session::Priorities Session::ReadPriorities() const {
  Priorities priorities;
  for (const model::PriorityClass& priority : input_.priority_classes) {
    if (priority.global_default) priorities.by_default = priority.value;
    priorities.by_name[priority.metadata.name] = priority.value;
  }
  return priorities;
}

// Null: of a queue that is not there, as if it were not there either.
QueueInfo* Session::QueueOf(Job& job) const {
  const std::string& named = job.group.spec.queue;
  job.queue_name = named.empty() ? options_.default_queue : named;
  return FindQueue(job.queue_name);
}

void Session::ReadGroups() {
  const Priorities priorities = ReadPriorities();
  for (const model::PodGroup& group : input_.groups) {
    Job& job = jobs_.emplace_back(group);
    job.queue = QueueOf(job);
    if (!job.queue) {
      jobs_.pop_back();
      continue;
    }
    const auto priority = priorities.by_name.find(group.spec.priority_class_name);
    job.priority = priority == priorities.by_name.end() ? priorities.by_default : priority->second;
    job.empty_minimum_counts = upstream_exact();
    if (!holders_.empty()) job.hold_value = market::HoldValue(job.id);
    job_by_id_.emplace(job.id, &job);
  }
  ListJobs();
}

void Session::ListJobs() {
  for (const auto& [id, job] : job_by_id_) {
    job->index = static_cast<uint32_t>(job_list_.size());
    job_list_.push_back(job);
  }
}

void Session::ReadPods() {
  // Who asks for the same shares one amount: a gang has one for all of its tasks.
  std::map<std::tuple<double, double, std::vector<std::pair<ScalarKey, double>>>,
           std::shared_ptr<const Resource>>
      requests;
  for (const SessionInput::PodEntry& entry : input_.pods) {
    const model::Pod& pod = *entry.object;
    const bool ours = std::ranges::find(options_.scheduler_names, pod.spec.scheduler_name) !=
                      options_.scheduler_names.end();
    if (!ours && pod.spec.node_name.empty()) continue;
    Task& task = tasks_.emplace_back(MakeTask(entry.object));
    task.index = static_cast<uint32_t>(tasks_.size() - 1);
    task.pod_index = entry.index;
    Resource request = PodRequest(pod);
    std::vector<std::pair<ScalarKey, double>> scalars;
    for (const auto& [key, value] : request.scalars()) scalars.emplace_back(key, value);
    auto& shared = requests[{request.cpu, request.memory, std::move(scalars)}];
    if (!shared) shared = std::make_shared<const Resource>(std::move(request));
    task.request = shared;
    task.best_effort = shared->IsEmpty();
    PutOnNode(task);
    const std::string job_id = JobIdOf(pod);
    if (job_id.empty()) continue;
    if (Job* job = FindJob(job_id)) {
      task.job_id = job->id;
      job->AddTask(task);
    } else {
      task.job_id = orphan_job_ids_.emplace(job_id, 0).first->first;
    }
  }
  for (Job* job : job_list_) job->Finish();
  for (NodeInfo* node : node_list_) {
    node->changed = &changed_nodes_;
    view_->SetScoring(*node);
  }
}

void Session::PutOnNode(Task& task) {
  if (task.node_name.empty() || IsCompleted(task.status)) return;
  NodeInfo* node = FindNode(task.node_name);
  if (!node || !node->Add(task).ok()) return;
  (void)node->unbound_idle.Sub(task.req());
  node->CountScoring(task, 1);
}

}  // namespace coppice::batch
