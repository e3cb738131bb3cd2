// priority: what is more important comes first, and may take the place of what is less so.

#include "batch/plugin.h"
#include "batch/session.h"

namespace coppice::batch::priority {
namespace {

int HigherFirst(int32_t l, int32_t r) { return l == r ? 0 : (l > r ? -1 : 1); }

class Priority final : public Plugin,
                       public TaskOrder,
                       public JobOrder,
                       public SubJobOrder,
                       public Preemptable,
                       public UnifiedEvictable,
                       public JobStarving {
 public:
  Status Open(Session&, Slots& slots) override {
    slots.task_order = this;
    slots.job_order = this;
    slots.sub_job_order = this;
    slots.preemptable = this;
    slots.unified_evictable = this;
    slots.job_starving = this;
    return Status::Ok();
  }

  int CompareTasks(const Task& l, const Task& r) override {
    return HigherFirst(l.priority, r.priority);
  }
  int CompareJobs(const Job& l, const Job& r) override {
    return HigherFirst(l.priority, r.priority);
  }
  int CompareSubJobs(const SubJob& l, const SubJob& r) override {
    return HigherFirst(l.priority, r.priority);
  }

  // Between jobs the jobs' priorities count, within one those of the tasks.
  Victims PreemptVictims(const Task& preemptor, std::span<Task* const> candidates) override {
    Victims victims;
    if (!preemptor.job) return victims;
    for (Task* task : candidates) {
      if (!task->job) continue;
      const bool lower = task->job == preemptor.job ? task->priority < preemptor.priority
                                                    : task->job->priority < preemptor.job->priority;
      if (lower) victims.tasks.push_back(task);
    }
    return victims;
  }

  Victims UnifiedVictims(const EvictionContext& context,
                         std::span<Task* const> candidates) override {
    Victims victims;
    for (Task* task : candidates) {
      if (context.kind == EvictionContext::Kind::kGangReclaim ||
          task->job->priority < context.job.priority) {
        victims.tasks.push_back(task);
      }
    }
    return victims;
  }

  // Any task that has no place makes it starve, also above the minimum.
  bool IsJobStarving(const Job& job) override {
    return job.counts.Ready() + job.counts.Waiting() < static_cast<int32_t>(job.tasks.size());
  }
};

}  // namespace

void Register(PluginRegistry& registry) { registry.Add("priority", FactoryOf<Priority>()); }

}  // namespace coppice::batch::priority
