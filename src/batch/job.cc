#include "batch/job.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/go_duration.h"
#include "batch/arguments.h"
#include "model/resources.h"
#include "model/selector.h"

namespace coppice::batch {
namespace {

constexpr std::string_view kWaitingTimeKey = "volcano.sh/sla-waiting-time";
constexpr std::string_view kOldWaitingTimeKey = "sla-waiting-time";

std::optional<Duration> WaitingTimeIn(const model::ObjectMeta& meta, std::string_view key) {
  const std::string* text = meta.annotations.Find(key);
  if (!text) return std::nullopt;
  const auto duration = ParseGoDuration(*text);
  if (!duration.ok() || *duration <= Duration::zero()) return std::nullopt;
  return *duration;
}

std::string RevocableZoneOf(const model::ObjectMeta& meta) {
  if (const std::string* zone = meta.annotations.Find(kRevocableZoneKey)) {
    return *zone == "*" ? "*" : "";
  }
  const std::string* text = meta.annotations.Find(kPreemptableKey);
  return text && ParseGoBool(*text).value_or(false) ? "*" : "";
}

JobDisruptionBudget BudgetOf(const model::ObjectMeta& meta) {
  if (const std::string* text = meta.annotations.Find("volcano.sh/jdb-min-available")) {
    return {.min_available = *text};
  }
  if (const std::string* text = meta.annotations.Find("volcano.sh/jdb-max-unavailable")) {
    return {.max_unavailable = *text};
  }
  return {};
}

// The values of the labels that the policy groups by; empty: the pod is none of its.
std::vector<std::string> MatchValues(const model::SubGroupPolicy& policy,
                                     const model::Labels& labels) {
  if (policy.label_selector) {
    const auto selector = model::Selector::From(*policy.label_selector);
    if (!selector.ok() || !selector->Matches(labels)) return {};
  }
  std::vector<std::string> values;
  for (const std::string& key : policy.match_label_keys) {
    const std::string* value = labels.Find(key);
    if (!value || value->empty()) return {};
    values.push_back(*value);
  }
  return values;
}

std::optional<int64_t> AsNumber(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (text.empty() || problem != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

void TaskCounts::Count(const Task& task, int32_t sign) {
  by_status[IndexOf(task.status)] += sign;
  if (task.status == TaskStatus::kPending && task.best_effort) pending_best_effort += sign;
}

int32_t TaskCounts::Allocated() const {
  return of(TaskStatus::kBound) + of(TaskStatus::kBinding) + of(TaskStatus::kRunning) +
         of(TaskStatus::kAllocated);
}

int32_t TaskCounts::Ready() const { return Allocated() + of(TaskStatus::kSucceeded); }

Job::Job(const model::PodGroup& pod_group)
    : name(pod_group.metadata.name),
      namespace_(pod_group.metadata.namespace_),
      queue_name(pod_group.spec.queue),
      min_available(pod_group.spec.min_member),
      revocable_zone(RevocableZoneOf(pod_group.metadata)),
      budget(BudgetOf(pod_group.metadata)),
      group(pod_group),
      old_status(pod_group.status),
      network_topology(pod_group.spec.network_topology),
      min_resources_(Resource::From(pod_group.spec.min_resources.value_or(model::ResourceList()))) {
  id = namespace_ + "/" + name;
  if (group.metadata.creation_timestamp) created = group.metadata.creation_timestamp->at;
  waiting_time = WaitingTimeIn(group.metadata, kWaitingTimeKey);
  if (!waiting_time) waiting_time = WaitingTimeIn(group.metadata, kOldWaitingTimeKey);
  const std::string* text = AnnotationOrLabel(group.metadata, kPreemptableKey);
  preemptable = text && ParseGoBool(*text).value_or(false);
  for (const auto& [role, member] : group.spec.min_task_member) {
    RoleOf(role).min_available = member;
    role_min_total += member;
  }
  for (const model::SubGroupPolicy& policy : group.spec.sub_group_policy) {
    min_sub_jobs[id + "/" + policy.name] = policy.min_sub_groups.value_or(0);
    asks_topology_ |= policy.network_topology.has_value();
  }
}

Role& Job::RoleOf(std::string_view role) {
  const auto found = role_index_.find(role);
  if (found != role_index_.end()) return roles[found->second];
  role_index_.emplace(std::string(role), roles.size());
  return roles.emplace_back(Role{.name = std::string(role)});
}

SubJob& Job::FindOrAddSubJob(std::string group_id, std::string sub_id) {
  for (const auto& sub_job : sub_jobs) {
    if (sub_job->id == sub_id) return *sub_job;
  }
  auto& added = *sub_jobs.emplace_back(std::make_unique<SubJob>());
  added.group_id = std::move(group_id);
  added.id = std::move(sub_id);
  added.job = this;
  return added;
}

SubJob& Job::SubJobOf(const Task& task) {
  for (const model::SubGroupPolicy& policy : group.spec.sub_group_policy) {
    const auto values = MatchValues(policy, task.pod->metadata.labels);
    if (values.empty()) continue;
    std::string sub_id = id + "/" + policy.name;
    for (const std::string& value : values) sub_id += "-" + value;
    SubJob& sub_job = FindOrAddSubJob(id + "/" + policy.name, std::move(sub_id));
    sub_job.min_available = policy.sub_group_size.value_or(1);
    sub_job.network_topology = policy.network_topology;
    sub_job.match_index = AsNumber(values[0]).value_or(0);
    return sub_job;
  }
  SubJob& sub_job = FindOrAddSubJob(id, id);
  sub_job.min_available = HasSubJobPolicy() ? 1 : min_available;
  sub_job.network_topology = group.spec.network_topology;
  return sub_job;
}

void Job::AddTask(Task& task) {
  task.job = this;
  tasks.push_back(&task);
  total_request.Add(task.req());
  gated += task.gated && !task.only_our_gate;
  prefer_pods += task.prefers_pods;
  if (IsAllocated(task.status)) allocated.Add(task.req());
  counts.Count(task, 1);
  RoleOf(task.role).counts.Count(task, 1);
  SubJob& sub_job = SubJobOf(task);
  task.sub_job = &sub_job;
  sub_job.tasks.push_back(&task);
  sub_job.counts.Count(task, 1);
  sub_job.priority = std::max(sub_job.priority, task.priority);
}

void Job::Finish() {
  const auto by_uid = [](const Task* a, const Task* b) { return a->uid < b->uid; };
  std::ranges::sort(tasks, by_uid);
  std::ranges::sort(sub_jobs, {}, [](const auto& sub_job) { return sub_job->id; });
  for (const auto& sub_job : sub_jobs) std::ranges::sort(sub_job->tasks, by_uid);
}

void Job::BetweenSessions() {
  queue = nullptr;
  schedule_start.reset();
  kept_out_by_promises = false;
  group.status = old_status;
  fit_errors.clear();
  task_fit_errors.clear();
}

void Job::SetStatus(Task& task, TaskStatus status) {
  touched = true;
  Role& role = RoleOf(task.role);
  counts.Count(task, -1);
  role.counts.Count(task, -1);
  task.sub_job->counts.Count(task, -1);
  const bool was = IsAllocated(task.status);
  task.status = status;
  if (was && !IsAllocated(status)) (void)allocated.Sub(task.req());
  if (!was && IsAllocated(status)) allocated.Add(task.req());
  counts.Count(task, 1);
  role.counts.Count(task, 1);
  // Of one task the index holds one of a status: what was kept gives way, and has been counted.
  const bool counted = std::erase_if(task.sub_job->stale, [&](const StaleTask& stale) {
    return stale.task == &task && stale.was.status == status;
  });
  if (!counted) task.sub_job->counts.Count(task, 1);
}

Resource Job::Requested() const {
  Resource requested = allocated;
  if (counts.of(TaskStatus::kPending) == 0) return requested;
  for (const Task* task : tasks) {
    if (task->status == TaskStatus::kPending) requested.Add(task->req());
  }
  return requested;
}

Resource Job::WithoutGated(const Resource& resource) const {
  if (gated == 0) return resource;
  Resource kept_back;
  for (const Task* task : tasks) {
    if (task->gated && !task->only_our_gate) kept_back.Add(task->req());
  }
  if (kept_back.IsEmpty()) return resource;
  Resource result = resource;
  result.cpu = std::max(result.cpu - kept_back.cpu, 0.0);
  result.memory = std::max(result.memory - kept_back.memory, 0.0);
  for (const auto& [key, value] : resource.scalars()) {
    if (const double* held = kept_back.Find(key)) result.Set(key, std::max(value - *held, 0.0));
  }
  return result;
}

Resource Job::Elastic() const { return ExceededPart(allocated, min_resources_); }

Resource Job::InqueueResource() const {
  Resource inqueue;
  if (!group.spec.min_resources) return inqueue;
  for (const auto& [resource, amount] : *group.spec.min_resources) {
    if (resource == model::kCpu) {
      inqueue.cpu = std::max(min_resources_.cpu - allocated.cpu, 0.0);
    } else if (resource == model::kMemory) {
      inqueue.memory = std::max(min_resources_.memory - allocated.memory, 0.0);
    } else if (resource == model::kPods) {
      const double left = min_resources_.Get(kPodsScalar) - allocated.Get(kPodsScalar);
      if (left > 0) inqueue.Set(kPodsScalar, left);
    } else if (!resource.starts_with("count/") && model::IsScalarResource(resource)) {
      // Not ephemeral-storage, whose minimum is left out here, as upstream does.
      const ScalarKey key = InternScalar(resource);
      const double wanted = min_resources_.Get(key);
      inqueue.MakeScalars();
      const double* held = allocated.Find(key);
      if (!held) {
        inqueue.Set(key, wanted);
      } else if (wanted - *held > 0) {
        inqueue.Set(key, wanted - *held);
      }
    }
  }
  return inqueue;
}

int32_t Job::ValidTasks() const {
  return counts.Ready() + counts.of(TaskStatus::kPipelined) + counts.of(TaskStatus::kPending);
}

int32_t Job::ScheduledTasks() const {
  return counts.of(TaskStatus::kRunning) + counts.of(TaskStatus::kBound) +
         counts.of(TaskStatus::kFailed) + counts.of(TaskStatus::kSucceeded);
}

int32_t Job::ReleasingWithNode() const {
  if (counts.of(TaskStatus::kReleasing) == 0) return 0;
  return static_cast<int32_t>(std::ranges::count_if(tasks, [](const Task* task) {
    return task->status == TaskStatus::kReleasing && !task->node_name.empty();
  }));
}

bool Job::RolesHold(int32_t (*count)(const TaskCounts&)) const {
  if (min_available < role_min_total) return true;
  return std::ranges::all_of(roles, [&](const Role& role) {
    return !role.min_available || count(role.counts) >= *role.min_available;
  });
}

bool Job::RolesValid() const {
  return RolesHold([](const TaskCounts& c) {
    return c.Ready() + c.of(TaskStatus::kPipelined) + c.of(TaskStatus::kPending);
  });
}

bool Job::RolesReady() const {
  return RolesHold([](const TaskCounts& c) { return c.Ready() + c.pending_best_effort; });
}

bool Job::RolesPipelined() const {
  return RolesHold(
      [](const TaskCounts& c) { return c.Ready() + c.Waiting() + c.pending_best_effort; });
}

namespace {

template <class Holds>
bool EnoughSubJobs(const Job& job, Holds holds) {
  return std::ranges::all_of(job.min_sub_jobs, [&](const auto& entry) {
    const auto count = std::ranges::count_if(job.sub_jobs, [&](const auto& sub_job) {
      return sub_job->group_id == entry.first && holds(*sub_job);
    });
    return count >= entry.second;
  });
}

}  // namespace

bool Job::SubJobsValid() const {
  return EnoughSubJobs(*this, [](const SubJob&) { return true; });
}
bool Job::SubJobsReady() const {
  return EnoughSubJobs(*this, [](const SubJob& sub_job) { return sub_job.IsReady(); });
}
bool Job::SubJobsPipelined() const {
  return EnoughSubJobs(*this, [](const SubJob& sub_job) { return sub_job.IsPipelined(); });
}

SubJob* Job::DefaultSubJob() const {
  for (const auto& sub_job : sub_jobs) {
    if (sub_job->id == id) return sub_job.get();
  }
  return nullptr;
}

}  // namespace coppice::batch
