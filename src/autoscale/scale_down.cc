#include "autoscale/scale_down.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autoscale/drain_options.h"
#include "autoscale/taints.h"

namespace coppice::autoscale {

namespace {

using report::Unremovable;

// Budgets change with pods that become ready, which is no event for the loop.
constexpr Duration kAskBudgets = std::chrono::seconds(10);
// How often a node is tried again because there may be room elsewhere.
constexpr Duration kLookElsewhere = std::chrono::minutes(1);

// What a node that is tried carries meanwhile. Upstream's value is the time; one that never changes
// keeps the number of node shapes from growing with every pass.
const model::Taint kGhostTaint{
    .key = std::string(kToBeDeletedTaint), .value = "simulated", .effect = "NoSchedule"};

}  // namespace

bool DeletionsInProgress::Contains(std::string_view node) const {
  return std::ranges::find(empty, node) != empty.end() ||
         std::ranges::find(drained, node) != drained.end();
}

int DeletionsInProgress::InGroup(std::string_view group) const {
  const auto it = by_group.find(group);
  return it == by_group.end() ? 0 : it->second;
}

ScaleDownPlanner::ScaleDownPlanner(Parts parts)
    : parts_(std::move(parts)),
      rules_(drain::DefaultRules(RuleOptionsFrom(parts_.options))),
      judged_(rules_, traits_),
      alone_(rules_, traits_),
      placer_(parts_.search),
      shortest_interval_(
          std::max(parts_.options.group_defaults.scale_down_unneeded_time, Duration(1))) {}

void ScaleDownPlanner::Adopt(const std::vector<ListedNode>& nodes, bool taints_are_fresh,
                             TimePoint now) {
  // Upstream means to do this for --node-deletion-candidate-ttl, too, but asks for the nodes before
  // its view of them is filled, and finds none: there the timers of a new process start anew.
  if (!parts_.options.deviations.survive_restarts) return;
  const Duration ttl = parts_.options.node_deletion_candidate_ttl;
  if (ttl == Duration::zero() && !taints_are_fresh) return;
  for (const ListedNode& of : nodes) {
    const auto since = TaintTime(*of.node, kDeletionCandidateTaint);
    if (!since || *since > now || (!taints_are_fresh && *since + ttl < now)) continue;
    Entry entry;
    entry.removable = {.node = of.node->metadata.name, .group = of.group};
    entry.since = *since;
    entry.node = of.node;
    unneeded_.emplace_back(of.node->metadata.name, std::move(entry));
  }
}

const cloud::ScalingOptions& ScaleDownPlanner::GroupOptions(const std::string& group) const {
  const auto it = group_options_.find(group);
  if (it != group_options_.end()) return it->second;
  return group_options_.emplace(group, parts_.options_of(group)).first->second;
}

ScaleDownPlanner::NodeMemory& ScaleDownPlanner::MemoryOf(cluster::NodeIndex index) {
  if (index >= node_memory_.size()) node_memory_.resize(parts_.world.snapshot().node_bound());
  return node_memory_[index];
}

uint64_t ScaleDownPlanner::PodsFingerprint(cluster::NodeIndex index) const {
  uint64_t sum = 0;  // order does not matter
  for (const cluster::PodIndex pod : parts_.world.snapshot().pods_on(index)) {
    sum += std::hash<uint64_t>()(uint64_t{pod} * 0x9E3779B97F4A7C15u + 1);
  }
  return sum;
}

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
  if (parts_.options.explain_checks >= 0) return;
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
    result.staying.reason = Unremovable::kNoNodeInfo;
    return result;
  }
  parts_.world.PodsInOrder(of.index, pods_);
  drain::IndexesToMove move =
      judged_.Sort(parts_.world, pods_, {view.budgets, view.controllers, view.now});
  if (move.blocking != cluster::kNone) {
    result.staying.reason = Unremovable::kBlockedByPod;
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
  if (!tpus && parts_.options.explain_checks >= 0 &&
      placer_.WouldStopAtOnce(moving.pods, {.allowed = &destinations, .except = of.index})) {
    result.staying.reason = Unremovable::kNoPlaceToMovePods;
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
      result.staying.reason = Unremovable::kNoPlaceToMovePods;
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

int ScaleDownPlanner::UnneededLimit() const {
  const int n = parts_.options.max_scale_down_parallelism;
  const int by_growth = static_cast<int>(unneeded_.size()) + 2 * n;
  const Duration unneeded_time =
      std::max(parts_.options.group_defaults.scale_down_unneeded_time, shortest_interval_);
  const auto loops = unneeded_time.count() / std::max<int64_t>(1, shortest_interval_.count());
  const int64_t by_time = int64_t{n} * loops + n;
  return static_cast<int>(std::min<int64_t>(by_growth, by_time));
}

void ScaleDownPlanner::NarrowDestinations(const View& view, std::vector<uint8_t>& destinations) {
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  std::vector<std::string> standard;
  for (const ListedNode& of : view.nodes) {
    if (snapshot.IsLive(of.index) && destinations[of.index] != 0)
      standard.push_back(of.node->metadata.name);
  }
  const auto narrowed =
      parts_.slots.scale_down_node->Destinations(std::move(standard), view.nodes, *view.pass);
  std::vector<uint8_t> asked(destinations.size(), 0);  // an error: no node takes anything
  if (narrowed.ok()) {
    for (const std::string& name : *narrowed) {
      const cluster::NodeIndex index = snapshot.FindNode(name);
      if (index != cluster::kNone) asked[index] = destinations[index];
    }
  }
  destinations = std::move(asked);
}

// What spoke against it may be gone although its own pods are the same: a budget that was spent for
// a moment, which costs little to look at again; or room elsewhere, which costs a simulation.
void ScaleDownPlanner::NoteDue(Wakeups& wake) const {
  for (const auto& [name, entry] : unneeded_)
    wake.After(entry.since + entry.threshold, "a node has not been needed for long enough");
  if (budget_keeps_) wake.In(kAskBudgets, "a disruption budget keeps a node");
  wake.At(first_forgotten_, "a node that could not be emptied is looked at again");
}

bool ScaleDownPlanner::MayBeOtherwise(const Remembered& remembered, TimePoint now) const {
  if (remembered.why.blocking_reason == drain::ToString(drain::BlockingReason::kNotEnoughPdb))
    return true;
  return remembered.objects != parts_.world.node_count() + parts_.world.pod_count() &&
         now - remembered.found >= kLookElsewhere;
}

// Of several reasons the last one counts.
void ScaleDownPlanner::Keep(cluster::NodeIndex index, report::StayingNode staying) {
  if (const report::Utilization* use = UseOf(index)) staying.utilization = *use;
  if (index == cluster::kNone) {  // rare enough to be looked for
    const auto known = std::ranges::find(staying_, staying.node, &report::StayingNode::node);
    known == staying_.end() ? staying_.push_back(std::move(staying)) : void(*known = staying);
    return;
  }
  NodeMemory& memory = MemoryOf(index);
  if (memory.stays_in == evaluation_) {
    staying_[memory.staying] = std::move(staying);
    return;
  }
  memory.stays_in = evaluation_;
  memory.staying = static_cast<uint32_t>(staying_.size());
  staying_.push_back(std::move(staying));
}

void ScaleDownPlanner::Evaluate(View& view, const std::vector<uint32_t>& candidates) {
  shortest_interval_ = std::min(shortest_interval_, view.now - last_evaluation_);
  last_evaluation_ = view.now;
  ++evaluation_;
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  const auto evaluation = snapshot.Fork();  // reverted at the end, whatever was found

  std::unordered_set<std::string_view> deleting(view.deleting.empty.begin(),
                                                view.deleting.empty.end());
  deleting.insert(view.deleting.drained.begin(), view.deleting.drained.end());
  const auto being_deleted = [&](const ListedNode& of) {
    return !deleting.empty() && deleting.contains(of.node->metadata.name);
  };
  std::vector<uint8_t> destinations(snapshot.node_bound(), 0);
  for (const ListedNode& of : view.nodes) {
    if (snapshot.IsLive(of.index) && !being_deleted(of)) destinations[of.index] = 1;
  }
  if (std::string gpu_label = parts_.groups.GpuLabel(); gpu_label != gpu_label_) {
    gpu_label_ = std::move(gpu_label);
    node_memory_.clear();  // which nodes are judged by their GPUs is part of it
  }
  group_options_.clear();
  if (parts_.slots.scale_down_node) NarrowDestinations(view, destinations);

  judged_.Forget();
  staying_.clear();
  staying_.reserve(candidates.size());
  budget_keeps_ = false;
  first_forgotten_ = TimePoint::max();
  std::erase_if(recently_unremovable_, [&](const auto& entry) {
    const cluster::NodeIndex index = snapshot.FindNode(entry.first);
    if (index == cluster::kNone || entry.second.until <= view.now) return true;
    const bool again =
        parts_.options.deviations.unremovable_recheck_on_change &&
        (entry.second.pods != PodsFingerprint(index) || MayBeOtherwise(entry.second, view.now));
    if (!again) first_forgotten_ = std::min(first_forgotten_, entry.second.until);
    return again;
  });

  std::vector<const ListedNode*> eligible;
  for (const uint32_t place : candidates) {
    const ListedNode& of = view.nodes[place];
    const std::string& name = of.node->metadata.name;
    if (being_deleted(of)) {
      held_.push_back(
          {.node = name, .reason = Unremovable::kCurrentlyBeingDeleted, .group = of.group});
      continue;
    }
    const Unremovable reason = Ineligible(view, of);
    if (reason == Unremovable::kNoReason) {
      eligible.push_back(&of);
    } else {
      report::StayingNode staying{.node = name, .reason = reason};
      DescribeIneligible(view, of, staying);
      Keep(of.index, std::move(staying));
    }
  }

  const TimePoint deadline = parts_.clock.Now() + parts_.options.scale_down_simulation_timeout;
  std::vector<Removable> removable;
  int atomic = 0;
  size_t looked_at = 0;
  for (const ListedNode* of : eligible) {
    if (parts_.clock.Now() > deadline) break;
    if (!parts_.options.deviations.scan_all_candidates &&
        static_cast<int>(removable.size()) - atomic >= UnneededLimit()) {
      break;
    }
    ++looked_at;
    if (looked_at < eligible.size() && snapshot.IsLive(eligible[looked_at]->index))
      parts_.world.PrefetchPodsOn(eligible[looked_at]->index);
    const bool live = snapshot.IsLive(of->index);
    const uint64_t fingerprint = live ? PodsFingerprint(of->index) : 0;
    Simulated simulated = SimulateRemoval(view, *of, destinations);
    if (!simulated.removable) {
      simulated.staying.group = of->group;
      const TimePoint until = view.now + parts_.options.unremovable_node_recheck_timeout;
      first_forgotten_ = std::min(first_forgotten_, until);
      budget_keeps_ = budget_keeps_ || simulated.staying.blocking_reason ==
                                           drain::ToString(drain::BlockingReason::kNotEnoughPdb);
      recently_unremovable_[of->node->metadata.name] = {
          until, fingerprint, parts_.world.node_count() + parts_.world.pod_count(), view.now,
          simulated.staying};
      Keep(of->index, std::move(simulated.staying));
      continue;
    }
    UseBudgets(view.budgets, *simulated.removable);
    if (live) destinations[of->index] = 0;
    if (GroupOptions(of->group).zero_or_max_node_scaling) ++atomic;
    removable.push_back({of, std::move(*simulated.removable)});
  }
  for (; looked_at < eligible.size(); ++looked_at) {
    held_.push_back({.node = eligible[looked_at]->node->metadata.name,
                     .reason = Unremovable::kNextPass,
                     .detail = "was not looked at: a pass looks at so many nodes, for so long",
                     .group = eligible[looked_at]->group});
  }
  UpdateUnneeded(view.now, std::move(removable));
  placer_.NextRun();
}

void ScaleDownPlanner::UseBudgets(drain::PdbTracker& budgets, RemovableNode& node) const {
  if (budgets.empty()) return;
  std::vector<const model::Pod*> moving;
  moving.reserve(node.to_reschedule.size());
  for (const cluster::PodIndex pod : node.to_reschedule) moving.push_back(&ObjectOf(pod));
  node.risky = !budgets.CanRemove(moving).in_parallel;
  budgets.Remove(moving);
}

void ScaleDownPlanner::UpdateUnneeded(TimePoint now, std::vector<Removable> removable) {
  std::unordered_map<std::string_view, const Entry*> before_of;
  for (const auto& [name, entry] : unneeded_) before_of[name] = &entry;
  // A machine that has come under the name of one that went is as new as any; upstream goes by the
  // name.
  const auto is_other = [&](const Entry& before, const model::Node& node) {
    return before.node.get() != &node && before.node != nullptr &&
           parts_.options.deviations.fuses && before.node->metadata.uid != node.metadata.uid;
  };
  std::vector<std::pair<std::string, Entry>> updated;
  updated.reserve(removable.size());
  for (Removable& found : removable) {
    const std::string& name = found.of->node->metadata.name;
    const auto before = before_of.find(name);
    const cloud::ScalingOptions& options = GroupOptions(found.of->group);
    Entry entry;
    const bool known = before != before_of.end() && !is_other(*before->second, *found.of->node);
    entry.since = known ? before->second->since : now;
    entry.node = found.of->node;
    const NodeMemory& read = Read(*found.of);
    entry.ready = read.ready;
    entry.disabled = read.disabled;
    entry.threshold =
        entry.ready ? options.scale_down_unneeded_time : options.scale_down_unready_time;
    entry.removable = std::move(found.node);
    entry.drained = !entry.removable.to_reschedule.empty();
    updated.emplace_back(name, std::move(entry));
  }
  unneeded_ = std::move(updated);
  forgotten_.clear();
}

void ScaleDownPlanner::Stays(const std::string& node, Unremovable reason, std::string detail) {
  Keep(parts_.world.snapshot().FindNode(node),
       {.node = node, .reason = reason, .detail = std::move(detail)});
}

void ScaleDownPlanner::HoldUnneeded(std::string_view why, Duration wait, TimePoint now) {
  for (const auto& [name, entry] : unneeded_) {
    held_.push_back({.node = name,
                     .reason = Unremovable::kCooldown,
                     .detail = std::string(why),
                     .group = entry.removable.group,
                     .waited = now - entry.since,
                     .wait = wait});
  }
}

std::vector<std::string> ScaleDownPlanner::Unneeded() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : unneeded_) names.push_back(name);
  return names;
}

std::optional<TimePoint> ScaleDownPlanner::UnneededSince(std::string_view node) const {
  for (const auto& [name, entry] : unneeded_) {
    if (name == node) return entry.since;
  }
  return std::nullopt;
}

}  // namespace coppice::autoscale
