// backfill: tasks that ask for nothing go wherever the predicates let them.

#include <map>

#include "batch/actions.h"
#include "batch/heap.h"
#include "batch/search.h"
#include "batch/worksheet.h"

namespace coppice::batch {
namespace {

TaskHeap TasksToFill(Session& session, const Job& job) {
  TaskHeap tasks(
      [&session](const Task* l, const Task* r) { return session.ask().TaskBefore(*l, *r); });
  if (job.counts.pending_best_effort == 0 && job.counts.Waiting() == 0) return tasks;
  for (Task* task : job.tasks) {
    if (task->status == TaskStatus::kPending && task->best_effort && !task->gated) {
      tasks.Push(task);
    }
  }
  for (Task* task : job.tasks) {
    if (task->status != TaskStatus::kPipelined || !task->best_effort) continue;
    session.UnPipeline(*task);
    tasks.Push(task);
  }
  return tasks;
}

// All of the first queue, job by job, then those of the next.
std::vector<Task*> PickTasks(Session& session) {
  const Combine& ask = session.ask();
  Heap<QueueInfo*> queues(
      [&](const QueueInfo* l, const QueueInfo* r) { return ask.QueueBefore(*l, *r); });
  std::map<const QueueInfo*, Heap<Job*>> jobs;
  std::map<const Job*, TaskHeap> tasks;
  for (Job* job : session.jobs()) {
    if (job->IsPending() || ask.ValidateJob(*job)) continue;
    TaskHeap heap = TasksToFill(session, *job);
    if (heap.empty()) continue;
    tasks.emplace(job, std::move(heap));
    const auto [entry, added] = jobs.try_emplace(
        job->queue, [&](const Job* l, const Job* r) { return ask.JobBefore(*l, *r); });
    if (added) queues.Push(job->queue);
    entry->second.Push(job);
  }
  std::vector<Task*> picked;
  while (!queues.empty()) {
    Heap<Job*>& of_queue = jobs.at(queues.Pop());
    while (!of_queue.empty()) {
      TaskHeap& of_job = tasks.at(of_queue.Pop());
      while (!of_job.empty()) picked.push_back(of_job.Pop());
    }
  }
  return picked;
}

void FillIn(Session& session, Task& task, bool remembers) {
  Job& job = *task.job;
  const auto& nodes = session.nodes();
  if (const Status prepared = session.ask().PrepareTask(task); !prepared.ok()) {
    auto errors = std::make_shared<FitErrors>();
    const Fit refusal = Refuse(kFitError, prepared.message());
    for (const NodeInfo* node : nodes) errors->Set(*node, refusal);
    job.task_fit_errors[task.index] = std::move(errors);
    return;
  }
  NodeFilter filter(session, remembers);
  auto found = filter.Filter(task, nodes, [&](const Task& t, const NodeInfo& n) {
    return session.CheckForAllocate(t, n);
  });
  if (found.nodes.empty()) {
    job.task_fit_errors[task.index] = std::move(found.errors);
    return;
  }
  NodeInfo* node = found.nodes.front();
  if (found.nodes.size() > 1) node = ChooseByScore(session, task, found.nodes);
  if (!node) {
    // Upstream asks for scores of no nodes at all, and then crashes.
    if (session.upstream_exact()) {
      (void)ChooseByScore(session, task, {});
      session.Fail(Internal("backfill: scoring failed for " + std::string(task.name)));
    }
    return;
  }
  if (const Status placed = session.Place(task, *node); !placed.ok()) {
    auto errors = std::make_shared<FitErrors>();
    errors->Set(*node, Refuse(kFitError, placed.message()));
    job.task_fit_errors[task.index] = std::move(errors);
  }
}

}  // namespace

void Backfill(Session& session) {
  const bool remembers = RemembersRefusals(session, "backfill");
  for (Task* task : PickTasks(session)) {
    if (session.failed()) return;
    FillIn(session, *task, remembers);
  }
}

}  // namespace coppice::batch
