#include "sim/pending.h"

#include <algorithm>
#include <utility>

#include "model/resources.h"

namespace coppice::sim {

bool WaitsForANode(const model::Pod& pod) {
  return pod.spec.node_name.empty() && pod.spec.scheduling_gates.empty() &&
         !pod.metadata.deletion_timestamp;
}

std::vector<Waiting> WaitingPods(const cluster::World& world,
                                 const std::function<bool(const model::Pod&)>& ours) {
  std::vector<Waiting> waiting;
  for (const cluster::World::PodEntry* entry : world.Unbound()) {
    if (entry->index != cluster::kNone && WaitsForANode(*entry->pod) && ours(*entry->pod))
      waiting.push_back({entry->pod, entry->index});
  }
  std::ranges::stable_sort(waiting, std::greater<>(),
                           [](const Waiting& one) { return model::PriorityOf(*one.pod); });
  return waiting;
}

model::PodCondition Unschedulable(TimePoint now, std::string message) {
  return {.type = "PodScheduled",
          .status = "False",
          .last_transition_time = model::Time{now},
          .reason = "Unschedulable",
          .message = std::move(message)};
}

bool IsRefused(const model::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions, [](const model::PodCondition& condition) {
    return condition.type == "PodScheduled" && condition.reason == "Unschedulable";
  });
}

model::Pod AsRefused(model::Pod pod, TimePoint now) {
  pod.spec.node_name.clear();
  pod.status = {};
  pod.status.phase = "Pending";
  pod.status.conditions = {Unschedulable(now)};
  return pod;
}

}  // namespace coppice::sim
