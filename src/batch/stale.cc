#include "batch/stale.h"

#include <algorithm>
#include <utility>

#include "batch/job.h"
#include "batch/node.h"

namespace coppice::batch {
namespace {

StaleTask AsItIs(Task& task) {
  return {.task = &task,
          .was = static_cast<const TransactionContext&>(task),
          .last_transaction = task.last_transaction};
}

void MakeLike(Task& task, const StaleTask& other) {
  static_cast<TransactionContext&>(task) = other.was;
  task.last_transaction = other.last_transaction;
}

}  // namespace

const StaleTask* KeptPending(const Task& task) {
  if (!task.sub_job) return nullptr;
  const auto& all = task.sub_job->stale;
  const auto kept = std::ranges::find_if(all, [&](const StaleTask& stale) {
    return stale.task == &task && stale.was.status == TaskStatus::kPending;
  });
  return kept == all.end() ? nullptr : &*kept;
}

AsKept::AsKept(Task& task) : task_(task) {
  const StaleTask* kept = KeptPending(task);
  if (!kept) return;
  now_ = AsItIs(task);
  MakeLike(task, *kept);
}

AsKept::~AsKept() {
  if (now_) MakeLike(task_, *now_);
}

void Job::KeepStale(StaleTask stale) {
  SubJob& sub_job = *stale.task->sub_job;
  const TaskStatus status = stale.was.status;
  ++sub_job.counts.by_status[IndexOf(status)];
  if (status == TaskStatus::kPending && stale.task->best_effort) {
    ++sub_job.counts.pending_best_effort;
  }
  sub_job.stale.push_back(std::move(stale));
}

void Job::Adopt(Task& task) {
  const StaleTask* kept = KeptPending(task);
  if (!kept) return;
  const StaleTask before = *kept;
  KeepStale(AsItIs(task));
  SetStatus(task, TaskStatus::kPending);
  if (task.node) task.node->LeaveBehind(task);
  MakeLike(task, before);
}

}  // namespace coppice::batch
