// Whether a node can go: its pods are taken off it in thought, and places are looked for.

#include <algorithm>

#include "autoscale/scale_down.h"
#include "autoscale/taints.h"

namespace coppice::autoscale {

using report::StayReason;

namespace {

// What a node that is tried carries meanwhile. Upstream's value is the time; one that never changes
// keeps the number of node shapes from growing with every pass.
const model::Taint kGhostTaint{
    .key = std::string(kToBeDeletedTaint), .value = "simulated", .effect = "NoSchedule"};

}  // namespace

bool ScaleDownPlanner::FindPlaces(cluster::NodeIndex index, const Moving& moving,
                                  const std::vector<uint8_t>& destinations, Simulated& result) {
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  if (moving.pods.empty()) {
    snapshot.RemoveNode(index);
    return true;
  }
  for (const cluster::PodIndex pod : moving.pods) {
    if (snapshot.node_of(pod) != cluster::kNone) snapshot.Unplace(pod);
  }
  // What else runs on it goes with the machine and is not counted any more.
  const std::vector<cluster::PodIndex> rest(snapshot.pods_on(index).begin(),
                                            snapshot.pods_on(index).end());
  for (const cluster::PodIndex pod : rest) snapshot.Unplace(pod);
  // Empty and tainted, but still there: spread constraints count its domain.
  snapshot.AddTaint(index, kGhostTaint);
  const fit::Placement placement = placer_.Place(
      moving.pods, [&](size_t i) -> const model::Pod& { return ObjectOf(moving.objects[i]); },
      {.accept = {.allowed = &destinations, .except = index}, .stop_at_first_failure = true});
  if (!placement.all()) {
    DescribeStuck(moving, placement, destinations, index, result.staying);
    return false;
  }
  result.removable.emplace();
  result.removable->destinations.reserve(moving.pods.size());
  for (const cluster::PodIndex pod : moving.pods)
    result.removable->destinations.push_back(snapshot.node_of(pod));
  snapshot.RemoveNode(index);
  return true;
}

// The first of the highest priority is the one that failed; what comes behind it was not tried.
void ScaleDownPlanner::DescribeStuck(const Moving& moving, const fit::Placement& placement,
                                     const std::vector<uint8_t>& destinations,
                                     cluster::NodeIndex except, report::StayingNode& staying) {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  const auto priority_of = [&](size_t i) { return snapshot.spec(moving.pods[i]).priority; };
  std::optional<size_t> stuck;
  for (size_t i = 0; i < moving.pods.size(); ++i) {
    if (placement.placed[i] == 0 && (!stuck || priority_of(i) > priority_of(*stuck))) stuck = i;
  }
  if (!stuck) return;
  staying.stuck_pod = parts_.world.EntryOf(moving.objects[*stuck])->pod;
  if (!parts_.rules.explains_all) return;
  std::map<std::string, int> counts;
  for (const cluster::NodeIndex node : snapshot.nodes()) {
    if (node == except || node >= destinations.size() || destinations[node] == 0) continue;
    const model::Verdict verdict = parts_.search.Check(moving.pods[*stuck], node);
    for (const std::string& reason : verdict.reasons()) ++counts[reason];
  }
  staying.stuck_reasons.assign(counts.begin(), counts.end());
  std::ranges::stable_sort(staying.stuck_reasons, std::greater<>(),
                           &std::pair<std::string, int>::second);
}

ScaleDownPlanner::Simulated ScaleDownPlanner::SimulateRemoval(View& view, const ListedNode& of,
                                                              std::vector<uint8_t>& destinations) {
  Simulated result;
  result.staying.node = of.node->metadata.name;
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  if (!snapshot.IsLive(of.index)) {
    result.staying.reason = StayReason::kNoNodeInfo;
    return result;
  }
  parts_.world.PodsInOrder(of.index, pods_);
  drain::IndexesToMove move =
      judged_.Sort(parts_.world, pods_, {view.budgets, view.controllers, view.now});
  if (move.blocking != cluster::kNone) {
    result.staying.reason = StayReason::kBlockedByPod;
    result.staying.blocking_pod = parts_.world.EntryOf(move.blocking)->pod;
    result.staying.blocking_reason = ToString(move.blocked_by.reason);
    result.staying.detail = move.blocked_by.text;
    return result;
  }
  Moving moving{move.movable, std::move(move.movable)};
  const auto object_of = [this](cluster::PodIndex pod) -> const model::Pod& {
    return ObjectOf(pod);
  };
  const bool tpus = tpus_.Any(moving.pods, snapshot, object_of);
  // In a full cluster most nodes fail at their first pod: then nothing has to be moved to find out.
  if (!tpus && !parts_.rules.explains_all &&
      placer_.WouldStopAtOnce(moving.pods, {.allowed = &destinations, .except = of.index})) {
    result.staying.reason = StayReason::kNoPlaceToMovePods;
    result.staying.stuck_pod = parts_.world.EntryOf(moving.objects.front())->pod;
    return result;
  }
  {
    auto fork = snapshot.Fork();
    if (tpus) {
      for (const cluster::PodIndex pod : moving.pods) snapshot.Unplace(pod);
      tpus_.Forget(moving.pods, snapshot, object_of);
    }
    if (!FindPlaces(of.index, moving, destinations, result)) {
      result.staying.reason = StayReason::kNoPlaceToMovePods;
      return result;
    }
    fork.Commit();  // later candidates see the moved pods and the missing node
  }
  RemovableNode removable{.node = of.node->metadata.name,
                          .group = of.group,
                          .to_reschedule = std::move(moving.objects),
                          .daemon_set = std::move(move.daemon_set),
                          .on_completion = std::move(move.on_completion)};
  if (result.removable) removable.destinations = std::move(result.removable->destinations);
  result.removable = std::move(removable);
  return result;
}

}  // namespace coppice::autoscale
