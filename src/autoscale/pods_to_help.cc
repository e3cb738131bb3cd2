#include "autoscale/pods_to_help.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "autoscale/gpu.h"
#include "base/go_duration.h"
#include "model/pod_kinds.h"

namespace coppice::autoscale {

namespace {

constexpr Duration kNewPod = std::chrono::seconds(2);
constexpr Duration kNewGpuPod = std::chrono::seconds(30);
constexpr std::string_view kPodDelayAnnotation =
    "cluster-autoscaler.kubernetes.io/pod-scale-up-delay";

TimePoint PodCreatedAt(const model::Pod& pod) {
  return pod.metadata.creation_timestamp ? pod.metadata.creation_timestamp->at : TimePoint();
}

// Pods may ask for a longer wait than the option, never for a shorter one.
Duration ScaleUpDelayOf(const model::Pod& pod, Duration at_least) {
  const std::string* text = pod.metadata.annotations.Find(kPodDelayAnnotation);
  if (text == nullptr) return at_least;
  const auto asked = ParseGoDuration(*text);
  return asked.ok() ? std::max(*asked, at_least) : at_least;
}

}  // namespace

PodsToHelp::List PodsToHelp::Sort(Pass& pass, Pods pending, const Around& around,
                                  Imagined& imagined) {
  List list;
  const auto standard = [&](Pods pods) {
    return HelpByExisting(pass, std::move(pods), around, imagined, list);
  };
  if (!parts_.slots.pod_list) {
    list.pods = standard(std::move(pending));
  } else {
    auto listed = parts_.slots.pod_list->Process(std::move(pending), standard, pass.View());
    if (!listed.ok()) {
      parts_.log.Warning("the list of pods could not be processed; nothing is bought in this pass",
                         {{"error", listed.status()}});
    }
    if (listed.ok()) list.pods = std::move(*listed);
  }
  DropYoung(pass, list);
  return list;
}

void PodsToHelp::DropYoung(Pass& pass, List& list) const {
  std::erase_if(list.pods, [&](const fit::PendingPod& pending) {
    const TimePoint created = PodCreatedAt(*pending.pod);
    const Duration delay =
        ScaleUpDelayOf(*pending.pod, parts_.options.buying.new_pod_scale_up_delay);
    // The server's clock may be ahead of ours. That a pod is of the future does not make it one to
    // wait for: when it came we have seen ourselves.
    const bool from_the_future = created > pass.now && parts_.options.deviations.debounce_new_pods;
    if (from_the_future && delay == Duration::zero()) {
      list.oldest = TimePoint::min();
      return false;
    }
    if (pass.now - created <= delay) {
      pass.wake.After(created + delay, "a pod waits for its scale-up delay");
      return true;
    }
    list.oldest = std::min(list.oldest, created);
    list.youngest = std::max(list.youngest, created);
    return false;
  });
}

// What is being evicted right now will come back as pending pods: reckon with it.
void PodsToHelp::AddLeaving(Pods& pods, const Around& around, Imagined& imagined) const {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  for (const std::string& name : around.drained) {
    const cluster::NodeIndex node = snapshot.FindNode(name);
    if (node == cluster::kNone) continue;
    for (const cluster::PodIndex pod : parts_.world.PodsInOrder(node)) {
      const cluster::World::PodEntry* entry = parts_.world.EntryOf(pod);
      if (entry == nullptr || entry->pod->metadata.deletion_timestamp ||
          model::IsMirrorPod(*entry->pod) || model::IsStaticPod(*entry->pod) ||
          model::IsDaemonSetPod(*entry->pod)) {
        continue;
      }
      pods.push_back(imagined.Successor(entry->pod, pod));
    }
  }
}

void PodsToHelp::Tell(const fit::PendingPod& pod, List& list) const {
  if (!parts_.options.explains_all) return;
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  list.fitting.push_back({pod.pod, snapshot.node(snapshot.node_of(pod.index)).name});
}

// Leaves the others.
void PodsToHelp::PlaceOrdered(Pods& pods, const Around& around, Imagined& imagined, List& list) {
  const std::vector<uint8_t> placed =
      ordered_.Place(pods, imagined.stand_ins(), around.nodes, search_);
  if (std::ranges::find(placed, 1) == placed.end()) return;
  imagined.Keep(pods);
  Pods others;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (placed[i] == 0) {
      others.push_back(std::move(pods[i]));
    } else {
      Tell(pods[i], list);
    }
  }
  pods = std::move(others);
}

Pods PodsToHelp::HelpByExisting(Pass& pass, Pods pods, const Around& around, Imagined& imagined,
                                List& list) {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  imagined.ForgetTpus(pods);
  AddLeaving(pods, around, imagined);
  const bool larger_first = parts_.options.deviations.larger_pods_first;
  if (larger_first) LargerFirst(pods, imagined.stand_ins(), snapshot);
  const auto priority_of = [&](const fit::PendingPod& p) {
    return snapshot.spec(p.index).priority;
  };
  if (!std::ranges::is_sorted(pods, std::greater<>(), priority_of))
    std::ranges::stable_sort(pods, std::greater<>(), priority_of);
  if (larger_first) PlaceOrdered(pods, around, imagined, list);
  fit::PlaceOptions options;
  if (parts_.options.repair.enable_graceful_degradation) {
    const TimePoint deadline =
        parts_.executor.clock().Now() + parts_.options.repair.pending_pods_batching_timeout;
    options.out_of_time = [this, deadline] { return parts_.executor.clock().Now() > deadline; };
  }
  const fit::Placement placement = placer_.Place(pods, options);
  placer_.NextRun();
  imagined.Keep(pods);
  pass.report->overflowing_controllers = placement.overflowing_controllers;
  Pods left;
  left.reserve(pods.size());
  bool unprocessed = false;
  for (size_t i = 0; i < pods.size(); ++i) {
    unprocessed = unprocessed || placement.unprocessed[i] != 0;
    pass.report->unprocessed_pods += placement.unprocessed[i] != 0 ? 1 : 0;
    if (placement.placed[i] != 0) Tell(pods[i], list);
    if (placement.placed[i] != 0 || placement.unprocessed[i] != 0 ||
        traits_.Of(snapshot, pods[i].index, *pods[i].pod).daemon_set) {
      continue;
    }
    left.push_back(std::move(pods[i]));
  }
  if (parts_.options.repair.enable_graceful_degradation)
    degraded_passes_ = unprocessed ? degraded_passes_ + 1 : 0;
  return left;
}

bool PodsToHelp::AllNew(const List& list, TimePoint now) const {
  if (parts_.options.deviations.debounce_new_pods) {
    const Deviations& d = parts_.options.deviations;
    return list.youngest + d.new_pod_quiet > now && list.oldest + d.new_pod_wait > now;
  }
  if (list.oldest + kNewPod > now) return true;
  // Pods that ask for GPUs are waited for longer: if there are any, and all of them are new. In
  // most passes no pod is that new, and none needs to be looked at.
  if (list.youngest + kNewGpuPod <= now) return false;
  bool new_one = false;
  for (const auto& pending : list.pods) {
    if (!RequestsGpu(*pending.pod)) continue;
    if (PodCreatedAt(*pending.pod) + kNewGpuPod <= now) return false;
    new_one = true;
  }
  return new_one;
}

}  // namespace coppice::autoscale
