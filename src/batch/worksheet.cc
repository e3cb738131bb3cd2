#include "batch/worksheet.h"

#include <algorithm>
#include <memory>
#include <set>

namespace coppice::batch {
namespace {

// Sub-jobs that are not ready and that the minimum of their policy still needs.
std::set<const SubJob*> RequiredSubJobs(const Session& session, const Job& job) {
  std::map<std::string_view, int32_t> ready;
  std::vector<const SubJob*> unready;
  for (const auto& sub_job : job.sub_jobs) {
    if (session.ask().IsSubJobReady(job, *sub_job)) {
      ++ready[sub_job->group_id];
    } else {
      unready.push_back(sub_job.get());
    }
  }
  std::ranges::sort(unready, [&](const SubJob* l, const SubJob* r) {
    return session.ask().SubJobBefore(*l, *r);
  });
  std::set<const SubJob*> required;
  for (const SubJob* sub_job : unready) {
    const auto least = job.min_sub_jobs.find(sub_job->group_id);
    if (least == job.min_sub_jobs.end() || ready[sub_job->group_id] >= least->second) continue;
    required.insert(sub_job);
    ++ready[sub_job->group_id];
  }
  return required;
}

}  // namespace

Worksheet::Worksheet(Session& session, const Job& job, bool our_gate_counts)
    : sub_jobs_(
          [&session, required = RequiredSubJobs(session, job)](const SubJob* l, const SubJob* r) {
            const bool left = required.contains(l);
            const bool right = required.contains(r);
            return left != right ? left : session.ask().SubJobBefore(*l, *r);
          }) {
  for (const auto& sub_job : job.sub_jobs) {
    if (sub_job->counts.of(TaskStatus::kPending) == 0) continue;
    TaskHeap tasks(
        [&session](const Task* l, const Task* r) { return session.ask().TaskBefore(*l, *r); });
    for (Task* task : sub_job->tasks) {
      const bool pending = task->status == TaskStatus::kPending || KeptPending(*task);
      if (!pending || task->best_effort) continue;
      if (task->gated && (our_gate_counts || !task->only_our_gate)) continue;
      tasks.Push(task);
    }
    if (tasks.empty()) continue;
    tasks_.emplace(sub_job.get(), std::move(tasks));
    sub_jobs_.Push(sub_job.get());
  }
}

Worksheet Worksheet::ForAllocate(Session& session, const Job& job) {
  return Worksheet(session, job, false);
}

Worksheet Worksheet::ForEviction(Session& session, const Job& job) {
  return Worksheet(session, job, true);
}

}  // namespace coppice::batch
