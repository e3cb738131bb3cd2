// gang: a job starts as a whole or not at all, and is not torn apart by evictions.

#include <fmt/format.h>

#include <map>

#include "batch/plugin.h"
#include "batch/session.h"

namespace coppice::batch::gang {
namespace {

// Groups whose tasks are only on their way out do not miss anything.
bool OnlyReleasing(const Job& job) {
  const int32_t releasing = job.ReleasingWithNode();
  return releasing > 0 && job.counts.of(TaskStatus::kPending) == 0 &&
         job.counts.of(TaskStatus::kPipelined) == 0 &&
         job.ScheduledTasks() + releasing >= job.min_available;
}

int ReadyLast(bool l, bool r) { return l == r ? 0 : (l ? 1 : -1); }

class Gang final : public Plugin,
                   public JobValid,
                   public Preemptable,
                   public Reclaimable,
                   public UnifiedEvictable,
                   public JobOrder,
                   public SubJobOrder,
                   public JobReady,
                   public SubJobReady,
                   public JobPipelined,
                   public SubJobPipelined,
                   public JobStarving {
 public:
  Status Open(Session&, Slots& slots) override {
    slots.job_valid = this;
    slots.preemptable = this;
    slots.reclaimable = this;
    slots.unified_evictable = this;
    slots.job_order = this;
    slots.sub_job_order = this;
    slots.job_ready = this;
    slots.sub_job_ready = this;
    slots.job_pipelined = this;
    slots.sub_job_pipelined = this;
    slots.job_starving = this;
    return Status::Ok();
  }

  std::optional<Invalid> ValidateJob(const Job& job) override {
    if (!job.RolesValid()) {
      return Invalid{"NotEnoughPodsOfTask",
                     "Not enough valid pods of each task for gang-scheduling"};
    }
    if (!job.SubJobsValid()) {
      return Invalid{"NotEnoughPodsOfTask",
                     "Not enough valid subGroups of each task for gang-scheduling"};
    }
    const int32_t valid = job.ValidTasks();
    if (valid >= job.min_available) return std::nullopt;
    return Invalid{"NotEnoughTasks",
                   fmt::format("Not enough valid tasks for gang-scheduling, valid: {}, min: {}",
                               valid, job.min_available)};
  }

  // Of each job only what it has beyond its minimum.
  Victims PreemptVictims(const Task&, std::span<Task* const> candidates) override {
    std::map<const Job*, int32_t> ready;
    Victims victims;
    for (Task* task : candidates) {
      if (!task->job) continue;
      int32_t& left = ready.try_emplace(task->job, task->job->counts.Ready()).first->second;
      if (left <= task->job->min_available) continue;
      --left;
      victims.tasks.push_back(task);
    }
    return victims;
  }
  Victims ReclaimVictims(const Task& reclaimer, std::span<Task* const> candidates) override {
    return PreemptVictims(reclaimer, candidates);
  }
  Victims UnifiedVictims(const EvictionContext&, std::span<Task* const> candidates) override {
    return {.tasks = {candidates.begin(), candidates.end()}};
  }

  int CompareJobs(const Job& l, const Job& r) override {
    return ReadyLast(l.IsReady(), r.IsReady());
  }
  int CompareSubJobs(const SubJob& l, const SubJob& r) override {
    return ReadyLast(l.IsReady(), r.IsReady());
  }
  bool IsJobReady(const Job& job) override {
    return job.RolesReady() && job.SubJobsReady() && job.IsReady();
  }
  bool IsSubJobReady(const SubJob& sub_job) override { return sub_job.IsReady(); }
  int JobPipelinedVote(const Job& job) override {
    return job.RolesPipelined() && job.SubJobsPipelined() && job.IsPipelined() ? 1 : -1;
  }
  int SubJobPipelinedVote(const SubJob& sub_job) override { return sub_job.IsPipelined() ? 1 : -1; }
  bool IsJobStarving(const Job& job) override { return job.IsStarving(); }

  void Close(Session& session) override {
    for (Job* job : session.jobs()) {
      if (job->tasks.empty()) continue;
      model::PodGroupCondition condition{.status = "True",
                                         .transition_id = session.uid(),
                                         .last_transition_time = model::Time{session.now()}};
      if (job->IsReady()) {
        condition.type = "Scheduled";
        condition.reason = "tasks in gang are ready to be scheduled";
      } else if (OnlyReleasing(*job)) {
        continue;
      } else {
        condition.type = "Unschedulable";
        condition.reason = "NotEnoughResources";
        condition.message = fmt::format("{}/{} tasks in gang unschedulable: {}",
                                        job->min_available - Schedulable(*job), job->tasks.size(),
                                        job->FitErrorText());
      }
      session.SetGroupCondition(*job, std::move(condition));
    }
  }

 private:
  // Placed, or would be if the gang were complete.
  static int32_t Schedulable(const Job& job) {
    int32_t count = job.counts.Ready();
    for (const Task* task : job.tasks) {
      if (task->status != TaskStatus::kPending) continue;
      if (task->last_transaction && IsAllocated(task->last_transaction->status)) ++count;
    }
    return count;
  }
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("gang", FactoryOf<Gang>()); }

}  // namespace coppice::batch::gang
