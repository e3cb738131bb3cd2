#include "provision/pod_times.h"

#include <algorithm>

#include "model/pod_kinds.h"
#include "provision/pod_selection.h"

namespace coppice::provision {

namespace {

bool IsOver(const model::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

double SecondsBetween(TimePoint from, const model::PodCondition& until) {
  return until.last_transition_time ? Seconds(until.last_transition_time->at - from) : 0;
}

}  // namespace

const model::PodCondition* ConditionOf(const model::Pod& pod, std::string_view type) {
  const auto found = std::ranges::find(pod.status.conditions, type, &model::PodCondition::type);
  return found == pod.status.conditions.end() ? nullptr : &*found;
}

void PodTimes::Seen(const model::Pod& pod, TimePoint now) {
  Times& times = TimesOf(pod);
  if (!times.seen) times.seen = now;
}

void PodTimes::Decided(const model::Pod& pod, bool has_place, TimePoint now) {
  const bool is_bound = !pod.spec.node_name.empty();  // asked for because its machine leaves
  if (is_bound && has_place) return;
  Times& times = TimesOf(pod);
  if (!has_place) {
    times.schedulable.reset();
  } else if (!times.schedulable) {
    times.schedulable = now;
  }
  if (times.decided) return;
  times.decided = now;
  if (times.seen) {
    context_.Observe("karpenter_pods_scheduling_decision_duration_seconds",
                     "The time from a pod being seen to the first attempt to schedule it.",
                     Seconds(now - *times.seen));
  }
}

void PodTimes::Started(const model::Pod& pod, Times& times) {
  const auto* ready = ConditionOf(pod, "Ready");
  if (ready == nullptr || ready->status != "True") {
    if (IsOver(pod)) times.is_pending = false;  // it will never be ready
    return;
  }
  times.is_pending = false;
  if (pod.metadata.creation_timestamp) {
    context_.parts.metrics
        .GetSummary("karpenter_pods_startup_duration_seconds",
                    "The time from pod creation until the pod is running.")
        .Observe(SecondsBetween(pod.metadata.creation_timestamp->at, *ready));
  }
  if (times.schedulable) {
    context_.Observe("karpenter_pods_provisioning_startup_duration_seconds",
                     "The time from when the pod was first found to have a place until it runs.",
                     SecondsBetween(*times.schedulable, *ready));
  }
}

void PodTimes::Bound(const model::Pod& pod, Times& times) {
  const auto* bound = ConditionOf(pod, "PodScheduled");
  if (bound == nullptr || bound->status != "True") {
    if (IsOver(pod)) times.is_unbound = false;
    return;
  }
  times.is_unbound = false;
  const MetricLabels labels{{"dynamic_resources", HasDeviceClaims(pod) ? "true" : "false"}};
  if (pod.metadata.creation_timestamp) {
    context_.Observe("karpenter_pods_bound_duration_seconds",
                     "The time from pod creation until the pod is bound.",
                     SecondsBetween(pod.metadata.creation_timestamp->at, *bound), labels);
  }
  if (times.schedulable) {
    context_.Observe(
        "karpenter_pods_provisioning_bound_duration_seconds",
        "The time from when the pod was first found to have a place until it is bound.",
        SecondsBetween(*times.schedulable, *bound), labels);
  }
}

PodTimes::Times& PodTimes::TimesOf(const model::Pod& pod) {
  Times& times = times_[pod.metadata.uid];
  times.look = look_;
  if (times.name.empty()) {
    times.namespace_ = pod.metadata.namespace_;
    times.name = pod.metadata.name;
  }
  return times;
}

void PodTimes::Look(const std::vector<PodPtr>& pending) {
  ++look_;
  for (const PodPtr& pod : pending) {
    Times& times = TimesOf(*pod);
    times.is_pending = times.is_unbound = true;
  }
  for (auto& [uid, times] : times_) {
    if (times.look == look_) continue;
    const PodPtr pod = context_.world().FindPod(times.namespace_, times.name);
    if (pod == nullptr || pod->metadata.uid != uid) continue;
    if (times.is_pending) Started(*pod, times);
    if (times.is_unbound) Bound(*pod, times);
    if (times.is_pending || times.is_unbound) times.look = look_;
  }
  std::erase_if(times_, [this](const auto& entry) { return entry.second.look != look_; });
}

}  // namespace coppice::provision
