#include "batch/actions.h"

namespace coppice::batch {

void RunAction(std::string_view name, Session& session) {
  if (name == "enqueue") return Enqueue(session);
  if (name == "allocate") return Allocate(session);
  if (name == "backfill") return Backfill(session);
  if (name == "preempt") return Preempt(session);
  if (name == "reclaim") return Reclaim(session);
  if (name == "gangpreempt") return GangPreempt(session);
  if (name == "gangreclaim") return GangReclaim(session);
  if (name == "shuffle") return Shuffle(session);
}

void Shuffle(Session& session) {
  std::vector<Task*> running;
  for (const Job* job : session.jobs()) {
    for (Task* task : job->tasks) {
      if (task->status == TaskStatus::kRunning && !task->pod->metadata.unreadable)
        running.push_back(task);
    }
  }
  for (Task* task : session.ask().TasksToMove(running)) (void)session.EvictNow(*task, "shuffle");
}

}  // namespace coppice::batch
