// Job: a PodGroup and its tasks, with counts by status, role and sub-group that are kept up to
// date.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "batch/fit_errors.h"
#include "batch/queue.h"
#include "batch/stale.h"
#include "batch/task.h"
#include "model/batch.h"

namespace coppice::batch {

class HyperNodeTree;

// How high up the tree its tasks may spread; absent: anywhere.
std::optional<int64_t> HardTier(const std::optional<model::NetworkTopology>& topology);

using StatusCounts = std::array<int32_t, kStatuses>;

// Tasks of one job that are counted together.
struct TaskCounts {
  StatusCounts by_status{};
  int32_t pending_best_effort = 0;

  int32_t of(TaskStatus status) const { return by_status[IndexOf(status)]; }
  void Count(const Task& task, int32_t sign);
  int32_t Ready() const;  // Bound, Binding, Running, Allocated, Succeeded
  int32_t Waiting() const { return of(TaskStatus::kPipelined); }
  int32_t Allocated() const;  // Bound, Binding, Running, Allocated
};

struct Role {
  std::string name;
  std::optional<int32_t> min_available;  // as the group demands
  TaskCounts counts;
};

struct SubJob {
  std::string group_id;  // of all sub-jobs of one policy
  std::string id;
  Job* job = nullptr;
  int32_t min_available = 1;
  int32_t priority = 0;     // the highest of its tasks
  int64_t match_index = 0;  // the first matched label, if it is a number
  std::optional<model::NetworkTopology> network_topology;  // as the job's
  std::string allocated_hyper_node;                        // that its tasks have been placed in
  std::string nominated_hyper_node;                        // that room is being made in
  std::vector<Task*> tasks;                                // by uid
  TaskCounts counts;                                       // of `stale`, too
  std::vector<StaleTask> stale;  // at most one of a task and a status; only under upstream_exact

  bool IsReady() const { return counts.Ready() + counts.pending_best_effort >= min_available; }
  bool IsPipelined() const {
    return counts.Waiting() + counts.Ready() + counts.pending_best_effort >= min_available;
  }
};

struct JobDisruptionBudget {
  std::string min_available;
  std::string max_unavailable;
};

class Job {
 public:
  explicit Job(const model::PodGroup& group);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  uint32_t index = 0;  // dense within the session, by id
  std::string id;      // "namespace/name"
  std::string name;
  std::string namespace_;
  std::string queue_name;
  QueueInfo* queue = nullptr;  // of the session; never null in one
  int32_t priority = 0;
  int32_t min_available = 0;
  std::optional<Duration> waiting_time;
  TimePoint created;
  std::optional<TimePoint> schedule_start;
  bool preemptable = false;
  std::string revocable_zone;
  std::string hold_value;  // what nodes that are held for it are marked with; set if any are held
  JobDisruptionBudget budget;

  model::PodGroup group;  // status.phase and conditions are what the session makes of them
  model::PodGroupStatus old_status;

  std::vector<Task*> tasks;  // by uid
  TaskCounts counts;
  std::vector<Role> roles;                        // by name
  int32_t role_min_total = 0;                     // of all demanded minimums
  std::vector<std::unique_ptr<SubJob>> sub_jobs;  // by id
  std::map<std::string, int32_t> min_sub_jobs;    // by group id
  Resource allocated;
  Resource total_request;
  int32_t prefer_pods = 0;  // tasks that like or dislike other pods
  int32_t gated = 0;        // tasks with a scheduling gate that is not ours
  bool touched = false;     // some task has had another status since Finish()
  // Its queue would let it in, were it not for those that it has let in before.
  bool kept_out_by_promises = false;
  bool empty_minimum_counts = false;  // as upstream: minResources without content is one

  // What the group asks for, in the session's terms: tier names are numbers, and a soft wish is a
  // hard one for the highest tier there is.
  std::optional<model::NetworkTopology> network_topology;
  std::string allocated_hyper_node;

  std::string fit_errors;                                          // of the job as a whole
  std::map<uint32_t, std::shared_ptr<FitErrors>> task_fit_errors;  // by Task::index

  // ---- Making one.
  void AddTask(Task& task);
  void Finish();  // all tasks are there

  // As it was, but for tasks: what a session has said about it.
  void BetweenSessions();

  // ---- Changing one.
  void SetStatus(Task& task, TaskStatus status);  // of a task of this job
  // The sub-job's index keeps the task as `stale` says, beside what becomes of it.
  static void KeepStale(StaleTask stale);
  // Goes on with what the index has kept of a pending task: what has become of the task meanwhile
  // is left behind, in the index and on its node.
  void Adopt(Task& task);

  // ---- Asking.
  bool IsPending() const {  // not admitted
    return group.status.phase.empty() || group.status.phase == "Pending";
  }
  bool HasMinResources() const {
    return group.spec.min_resources && (empty_minimum_counts || !group.spec.min_resources->empty());
  }
  const Resource& MinResources() const { return min_resources_; }
  Resource WithoutGated(const Resource& resource) const;  // minus what gated tasks ask for
  Resource Elastic() const;                               // allocated beyond the minimum
  Resource InqueueResource() const;  // of the minimum what is not allocated yet
  Resource Requested() const;        // allocated, or pending

  bool IsReady() const { return counts.Ready() + counts.pending_best_effort >= min_available; }
  bool IsPipelined() const {
    return counts.Waiting() + counts.Ready() + counts.pending_best_effort >= min_available;
  }
  bool IsStarving() const { return counts.Waiting() + counts.Ready() < min_available; }
  int32_t ValidTasks() const;
  int32_t ScheduledTasks() const;
  int32_t ReleasingWithNode() const;

  // Of the roles' minimums; true where they add up to more than the job's own.
  bool RolesValid() const;
  bool RolesReady() const;
  bool RolesPipelined() const;
  bool SubJobsValid() const;
  bool SubJobsReady() const;
  bool SubJobsPipelined() const;

  bool HasSubJobPolicy() const { return !group.spec.sub_group_policy.empty(); }
  bool HasNetworkTopology() const;
  bool HasHardTopology() const;
  // At the beginning of a session: what is asked for, and where the job is.
  void SettleTopology(const HyperNodeTree& tree, bool upstream_exact);
  SubJob* DefaultSubJob() const;  // null if all tasks matched a policy

  // Some task of the same role and sub-job fits nowhere, so this one will not either.
  bool RoleHasFitErrors(const Task& task) const;
  // After a task has failed: is there any use in trying the others?
  bool WorthContinuing(const SubJob& sub_job) const;

  std::string FitErrorText() const;
  // To be added to it: the scheduling gate that holds a task of it, if nothing else is known.
  std::string GateText() const;
  struct SchedulingReason {
    std::string reason;
    std::string message;
    std::string_view nominated_node;
  };
  SchedulingReason ReasonOf(const Task& task) const;

 private:
  Role& RoleOf(std::string_view name);
  SubJob& SubJobOf(const Task& task);
  SubJob& FindOrAddSubJob(std::string group_id, std::string id);
  bool RolesHold(int32_t (*count)(const TaskCounts&)) const;

  void LocateTasks(const HyperNodeTree& tree, bool upstream_exact);

  Resource min_resources_;
  std::map<std::string, size_t, std::less<>> role_index_;
  bool asks_topology_ = false;  // it, or a policy
};

}  // namespace coppice::batch
