#include "autoscale/pod_lists.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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

// The controller that made it and the shape that it asks for. Pods that are equal in both get the
// same answer from a scheduler.
using Kin = std::pair<std::string_view, const cluster::PodSpecShape*>;

std::optional<Kin> KinOf(const cluster::World& world, const fit::PendingPod& pod) {
  const model::OwnerReference* owner = model::ControllerOf(pod.pod->metadata);
  if (owner == nullptr || owner->uid.empty()) return std::nullopt;
  return Kin(owner->uid, &world.snapshot().spec(pod.index));
}

// Of `unmarked`, those that have kin in `pending`, behind them.
void AddKin(const cluster::World& world, Pods unmarked, Pods& pending) {
  if (unmarked.empty() || pending.empty()) return;
  std::set<Kin> marked;
  for (const fit::PendingPod& pod : pending) {
    if (const auto kin = KinOf(world, pod)) marked.insert(*kin);
  }
  std::erase_if(unmarked, [&](const fit::PendingPod& pod) {
    const auto kin = KinOf(world, pod);
    return !kin || !marked.contains(*kin);
  });
  std::ranges::move(unmarked, std::back_inserter(pending));
}

}  // namespace

bool CountsAsPod(const PodOptions& options, const model::Pod& pod) {
  if (pod.status.phase == "Succeeded" || pod.status.phase == "Failed") return false;
  if (pod.metadata.unreadable) return true;  // whose it is, and how important, is not certain
  if (!options.allowed_scheduler_names.empty() &&
      !ListsScheduler(options.allowed_scheduler_names, pod.spec.scheduler_name)) {
    return false;
  }
  return !model::IsExpendable(pod, options.expendable_pods_priority_cutoff);
}

Pods ListPending(const PodOptions& options, const Deviations& deviations,
                 const cluster::World& world) {
  Pods pending;
  Pods unprocessed;
  Pods unmarked;
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
    } else if (deviations.unmarked_kin && ScheduledCondition(pod) == nullptr) {
      unmarked.push_back({entry->pod, entry->index});
    }
  }
  AddKin(world, std::move(unmarked), pending);
  std::ranges::move(unprocessed, std::back_inserter(pending));
  return pending;
}

}  // namespace coppice::autoscale
