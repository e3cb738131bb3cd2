#include "autoscale/pod_lists.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "model/pod_kinds.h"

namespace coppice::autoscale {

namespace {

bool Lists(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// "" stands for the default scheduler wherever that is listed.
bool ListsScheduler(const std::vector<std::string>& names, std::string_view scheduler) {
  return Lists(names, scheduler) || (scheduler.empty() && Lists(names, "default-scheduler"));
}

const model::PodCondition* ScheduledCondition(const model::Pod& pod) {
  const auto it =
      std::ranges::find(pod.status.conditions, "PodScheduled", &model::PodCondition::type);
  return it == pod.status.conditions.end() ? nullptr : &*it;
}

bool IsUnschedulable(const model::Pod& pod) {
  const model::PodCondition* condition = ScheduledCondition(pod);
  return condition != nullptr && condition->status == "False" &&
         condition->reason == "Unschedulable";
}

// A scheduler that does not say "Unschedulable" is taken at its silence.
bool IsUnprocessed(const model::Pod& pod) {
  const model::PodCondition* condition = ScheduledCondition(pod);
  return condition == nullptr || (condition->status == "False" && condition->reason.empty());
}

}  // namespace

bool CountsAsPod(const Options& options, const model::Pod& pod) {
  if (pod.status.phase == "Succeeded" || pod.status.phase == "Failed") return false;
  if (pod.metadata.unreadable) return true;  // whose it is, and how important, is not certain
  if (!options.allowed_scheduler_names.empty() &&
      !ListsScheduler(options.allowed_scheduler_names, pod.spec.scheduler_name)) {
    return false;
  }
  return !model::IsExpendable(pod, options.expendable_pods_priority_cutoff);
}

Pods ListPending(const Options& options, const cluster::World& world) {
  Pods pending;
  Pods unprocessed;
  const std::vector<const cluster::World::PodEntry*> unbound = world.Unbound();
  pending.reserve(unbound.size());
  for (const cluster::World::PodEntry* entry : unbound) {
    const model::Pod& pod = *entry->pod;
    if (entry->index == cluster::kNone || pod.metadata.deletion_timestamp ||
        pod.metadata.unreadable ||  // what it asks for is not known: nothing is bought for it
        !pod.status.nominated_node_name.empty()) {
      continue;
    }
    if (Lists(options.gang_scheduler_names, pod.spec.scheduler_name)) continue;
    if (IsUnschedulable(pod)) {
      pending.push_back({entry->pod, entry->index});
    } else if (ListsScheduler(options.bypassed_scheduler_names, pod.spec.scheduler_name) &&
               IsUnprocessed(pod)) {
      unprocessed.push_back({entry->pod, entry->index});
    }
  }
  std::ranges::move(unprocessed, std::back_inserter(pending));
  return pending;
}

}  // namespace coppice::autoscale
