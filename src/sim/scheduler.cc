#include "sim/scheduler.h"

#include <algorithm>
#include <set>

#include "sim/pending.h"

namespace coppice::sim {

namespace {

bool SaysRatherNot(const cluster::NodeShape& node) {
  return std::ranges::any_of(
      node.taints, [](const model::Taint& taint) { return taint.effect == "PreferNoSchedule"; });
}

}  // namespace

std::string Scheduler::FindNode(cluster::PodIndex pod) {
  const cluster::Snapshot& snapshot = cluster_.objects().snapshot();
  const fit::NodeSet takers = search_.FindAll(pod, {.cordoned = true});
  const auto* free = snapshot.resources().free(cluster::kCpuColumn);
  const auto* all = snapshot.resources().allocatable(cluster::kCpuColumn);
  cluster::NodeIndex best = cluster::kNone;
  double best_score = 0;
  for (const cluster::NodeIndex node : snapshot.nodes()) {
    if (!takers.Has(node)) continue;
    // Between 0 and 1 how empty it is; a node that would rather not comes after all others.
    const double empty =
        all[node] > 0 ? static_cast<double>(free[node]) / static_cast<double>(all[node]) : 0;
    const double score = (SaysRatherNot(snapshot.node_shape(node)) ? 0 : 2) + empty;
    if (best == cluster::kNone || score > best_score) {
      best = node;
      best_score = score;
    }
  }
  return best == cluster::kNone ? std::string() : snapshot.node(best).name;
}

void Scheduler::Refuse(const model::Pod& pod) {
  model::Pod refused = pod;
  std::erase_if(refused.status.conditions,
                [](const auto& condition) { return condition.type == "PodScheduled"; });
  refused.status.conditions.push_back(Unschedulable(
      cluster_.Now(),
      "0/" + std::to_string(cluster_.objects().node_count()) + " nodes are available"));
  cluster_.UpdatePod(std::move(refused));
}

bool Scheduler::Round() {
  const std::vector<Waiting> waiting = WaitingPods(cluster_.objects(), [](const model::Pod& pod) {
    return pod.spec.scheduler_name == "default-scheduler";
  });
  bool changed = false;
  std::set<std::string> hopeless;  // controllers whose pods are all alike: one answer for all
  for (const Waiting& w : waiting) {
    const model::OwnerReference* owner = model::ControllerOf(w.pod->metadata);
    const bool known = owner != nullptr && hopeless.contains(owner->uid);
    const std::string node = known ? "" : FindNode(w.index);
    if (node.empty()) {
      if (owner != nullptr) hopeless.insert(owner->uid);
      if (!IsRefused(*w.pod)) {
        Refuse(*w.pod);
        changed = true;
      }
      continue;
    }
    const Duration wait = cluster_.Now() - w.pod->metadata.creation_timestamp->at;
    if (wait > longest_wait_) {
      longest_wait_ = wait;
      longest_waiter_ = w.pod->metadata.name;
    }
    ++bound_;
    cluster_.Bind(*w.pod, node);
    changed = true;
  }
  return changed;
}

}  // namespace coppice::sim
