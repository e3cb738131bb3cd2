// The end of a session: phases and conditions of groups, conditions of pods, what queues hold.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "batch/session.h"

namespace coppice::batch {
namespace {

// Times and the ids of sessions aside: they change with every session and say nothing new.
bool StatusChanged(const model::PodGroupStatus& now, const model::PodGroupStatus& before) {
  if (now.phase != before.phase || now.running != before.running ||
      now.succeeded != before.succeeded || now.failed != before.failed ||
      now.conditions.size() != before.conditions.size()) {
    return true;
  }
  return !std::ranges::equal(now.conditions, before.conditions, [](const auto& a, const auto& b) {
    return a.type == b.type && a.status == b.status && a.reason == b.reason &&
           a.message == b.message;
  });
}

}  // namespace

std::string Session::PhaseOf(const Job& job) const {
  const bool unschedulable =
      std::ranges::any_of(job.group.status.conditions, [&](const model::PodGroupCondition& c) {
        return c.type == "Unschedulable" && c.status == "True" && c.transition_id == uid();
      });
  if (unschedulable && job.counts.of(TaskStatus::kRunning) > 0) return "Unknown";
  const int32_t scheduled = job.ScheduledTasks() + job.ReleasingWithNode();
  const int32_t completed =
      job.counts.of(TaskStatus::kFailed) + job.counts.of(TaskStatus::kSucceeded);
  if (scheduled >= job.group.spec.min_member) {
    return scheduled == completed ? "Completed" : "Running";
  }
  return job.group.status.phase == "Inqueue" ? "Inqueue" : "Pending";
}

Outcome Session::Close() {
  // Of two entries of one name the last one is closed, as upstream does.
  std::map<std::string, Plugin*> last;
  for (const auto& [name, plugin] : plugins_) last[name] = plugin.get();
  for (const auto& [name, plugin] : last) {
    const Stopwatch stopwatch(*this);
    plugin->Close(*this);
    stopwatch.StopInto(outcome_.numbers.closed, name.substr(0, name.find('#')));
  }
  for (Job* job : job_list_) CloseJob(*job);
  CloseQueues();
  return std::move(outcome_);
}

void Session::CloseJob(Job& job) {
  model::PodGroupStatus& status = job.group.status;
  status.phase = PhaseOf(job);
  status.running = job.counts.of(TaskStatus::kRunning);
  status.failed = job.counts.of(TaskStatus::kFailed);
  status.succeeded = job.counts.of(TaskStatus::kSucceeded);
  const bool changed = StatusChanged(status, job.old_status);
  outcome_.groups.push_back({.namespace_ = job.namespace_,
                             .name = job.name,
                             .status = status,
                             .changed = changed,
                             .hyper_node = HyperNodeToNote(job)});

  // Nobody asks why a job that has all it wants waits.
  const bool waits = job.counts.of(TaskStatus::kPending) > 0 ||
                     job.counts.of(TaskStatus::kAllocated) > 0 || job.counts.Waiting() > 0 ||
                     status.phase == "Unknown" || status.phase == "Pending" ||
                     status.phase == "Inqueue";
  std::string fit_error = waits ? job.FitErrorText() : "";
  // Upstream says nothing, and nobody takes a gate away of whom nobody knows that it holds a group.
  if (!upstream_exact() && waits && status.phase != "Pending") fit_error += job.GateText();
  if (status.phase == "Unknown" || status.phase == "Pending" || status.phase == "Inqueue") {
    NoteEvent("PodGroup", job.namespace_, job.name, "Warning", "Unschedulable",
              fmt::format("{}/{} tasks in gang unschedulable: {}",
                          job.counts.of(TaskStatus::kPending), job.tasks.size(), fit_error));
  } else if (changed) {
    NoteEvent("PodGroup", job.namespace_, job.name, "Normal", "Scheduled", "pod group is ready");
  }
  NotePodConditions(job, fit_error);
}

// The whole cluster is not worth a word. Upstream keeps it in memory, and after a restart works it out
// from where the pods run, as every session of ours does where nothing is written.
std::optional<std::string> Session::HyperNodeToNote(const Job& job) const {
  if (upstream_exact()) return std::nullopt;
  const std::string* noted = job.group.metadata.annotations.Find(kAllocatedHyperNodeKey);
  const bool real = job.network_topology && job.allocated_hyper_node != kTopHyperNode;
  std::string now = real ? job.allocated_hyper_node : "";
  if (noted == nullptr ? now.empty() : *noted == now) return std::nullopt;
  return now;
}

void Session::NotePodConditions(Job& job, const std::string& fit_error) {
  for (const TaskStatus status :
       {TaskStatus::kAllocated, TaskStatus::kPending, TaskStatus::kPipelined}) {
    if (job.counts.of(status) == 0) continue;
    for (const Task* task : job.tasks) {
      if (task->status != status || task->gated) continue;
      const Job::SchedulingReason reason = job.ReasonOf(*task);
      NotePodCondition(*task, reason, reason.message.empty() ? fit_error : reason.message);
    }
  }
}

void Session::NotePodCondition(const Task& task, const Job::SchedulingReason& reason,
                               std::string message) {
  const model::PodStatus& status = task.pod->status;
  const auto old = std::ranges::find(status.conditions, "PodScheduled", &model::PodCondition::type);
  const bool same_condition = old != status.conditions.end() && old->status == "False" &&
                              old->reason == reason.reason && old->message == message;
  const bool same_node =
      reason.nominated_node.empty() || task.nominated_node() == reason.nominated_node;
  if (same_condition && same_node) return;
  NoteEvent("Pod", task.namespace_, task.name, "Warning", "FailedScheduling", message);
  outcome_.conditions.push_back(
      {.pod = {std::string(task.namespace_), std::string(task.name), std::string(task.uid)},
       .reason = reason.reason,
       .message = std::move(message),
       .nominated_node = std::string(same_node ? "" : reason.nominated_node)});
}

void Session::CloseQueues() {
  std::vector<Resource> held(queue_list_.size());
  const bool has_root = FindQueue(kRootQueue) != nullptr;
  for (const Job* job : job_list_) {
    if (job->counts.Allocated() == 0) continue;
    Resource own;
    if (!job->touched) own = job->allocated;
    for (const Task* task : job->tasks) {
      if (!job->touched) break;
      if (IsAllocated(task->status)) own.Add(task->req());
    }
    held[job->queue->index].Add(own);
    const QueueInfo* queue = job->queue;
    // Up to the root; a chain longer than there are queues goes in circles.
    for (size_t steps = 0; has_root && steps <= queue_list_.size(); ++steps) {
      const std::string_view above = queue->parent();
      const QueueInfo* parent = FindQueue(above);
      if (!parent) {
        if (upstream_exact()) {
          Fail(Internal("queue " + queue->name + " has no parent " + std::string(above)));
        }
        break;
      }
      held[parent->index].Add(own);
      if (above == kRootQueue) break;
      queue = parent;
    }
  }
  for (QueueInfo* queue : queue_list_) {
    model::ResourceList allocated = ToResourceList(held[queue->index]);
    if (allocated == queue->object.status.allocated) continue;
    queue->object.status.allocated = allocated;
    outcome_.queues.push_back({.queue = queue->name, .allocated = std::move(allocated)});
  }
}

}  // namespace coppice::batch
