// Why a job waits: what its tasks were told, in one text.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "batch/job.h"

namespace coppice::batch {
namespace {

std::string SortedHistogram(const std::map<std::string, int>& counts) {
  std::vector<std::string> lines;
  for (const auto& [what, count] : counts) lines.push_back(fmt::format("{} {}", count, what));
  std::ranges::sort(lines);
  return Join(lines, ", ");
}

}  // namespace

bool Job::RoleHasFitErrors(const Task& task) const {
  if (task.role.empty() || task_fit_errors.empty()) return false;
  return std::ranges::any_of(tasks, [&](const Task* other) {
    return other->role == task.role && other->sub_job == task.sub_job &&
           task_fit_errors.contains(other->index);
  });
}

bool Job::WorthContinuing(const SubJob& sub_job) const {
  if (static_cast<size_t>(std::max(min_available, 0)) == tasks.size() && min_available >= 0) {
    return false;
  }
  if (sub_job.min_available >= static_cast<int32_t>(sub_job.tasks.size())) return false;
  if (HasSubJobPolicy()) return true;
  const auto failed = [&](const Role& role) {
    return std::ranges::any_of(tasks, [&](const Task* task) {
      return task->role == role.name && task->sub_job == &sub_job &&
             task_fit_errors.contains(task->index);
    });
  };
  if (min_available < role_min_total) {
    int32_t left = 0;
    for (const Role& role : roles) {
      if (!failed(role)) left += role.counts.of(TaskStatus::kPending);
    }
    return counts.Ready() + left >= min_available;
  }
  return std::ranges::none_of(roles, [&](const Role& role) {
    const int32_t least = role.min_available.value_or(0);
    return least != 0 && role.counts.Ready() + role.counts.pending_best_effort < least &&
           failed(role);
  });
}

std::string Job::FitErrorText() const {
  std::map<std::string, int> statuses;
  for (size_t i = 0; i < kStatuses; ++i) {
    const auto status = static_cast<TaskStatus>(1 << i);
    if (counts.of(status) > 0) statuses[std::string(ToString(status))] = counts.of(status);
  }
  statuses["minAvailable"] = min_available;
  std::string text =
      fmt::format("{}, {}", IsReady() ? "pod group is ready" : "pod group is not ready",
                  SortedHistogram(statuses));
  std::map<std::string, int> reasons;
  for (const Task* task : tasks) {
    if (task->status == TaskStatus::kPending) ++reasons[ReasonOf(*task).reason];
  }
  if (!reasons.empty()) text += "; Pending: " + SortedHistogram(reasons);
  if (!fit_errors.empty()) return text + ". Origin reason is: " + fit_errors;
  for (const Task* task : tasks) {
    const auto found = task_fit_errors.find(task->index);
    if (found == task_fit_errors.end()) continue;
    return text + fmt::format(". Origin reason is {}: {}", task->name, found->second->Text());
  }
  return text;
}

std::string Job::GateText() const {
  if (!fit_errors.empty() || !task_fit_errors.empty()) return "";
  const auto held = std::ranges::find_if(
      tasks, [](const Task* task) { return task->gated && task->status == TaskStatus::kPending; });
  if (held == tasks.end()) return "";
  return fmt::format(". Origin reason is: task {} is held by scheduling gate {}", (*held)->name,
                     (*held)->pod->spec.scheduling_gates.front().name);
}

Job::SchedulingReason Job::ReasonOf(const Task& task) const {
  const TransactionContext& context =
      task.last_transaction ? *task.last_transaction : static_cast<const TransactionContext&>(task);
  const auto possible = [&](std::string_view when) {
    return fmt::format("Pod {}/{} can possibly be assigned to {}, once {}", task.namespace_,
                       task.name, context.node_name, when);
  };
  switch (context.status) {
    case TaskStatus::kAllocated:
      return {.reason = "Schedulable", .message = possible("minAvailable is satisfied")};
    case TaskStatus::kPipelined:
      return {.reason = "Unschedulable",
              .message = possible("resource is released and minAvailable is satisfied"),
              .nominated_node = context.eviction_occurred ? context.node_name : ""};
    case TaskStatus::kPending: {
      const auto found = task_fit_errors.find(task.index);
      return {.reason = "Unschedulable",
              .message = found == task_fit_errors.end() ? fit_errors : found->second->Text()};
    }
    default:
      return {.reason = std::string(ToString(context.status)), .message = fit_errors};
  }
}

}  // namespace coppice::batch
