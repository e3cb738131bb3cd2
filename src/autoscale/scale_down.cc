#include "autoscale/scale_down.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autoscale/readiness.h"
#include "autoscale/taints.h"
#include "autoscale/templates.h"
#include "autoscale/utilization.h"
#include "pack/pod_kinds.h"

namespace coppice::autoscale {

namespace {

using report::Unremovable;

constexpr std::string_view kDisabledAnnotation =
    "cluster-autoscaler.kubernetes.io/scale-down-disabled";
// A deletion that has not happened by then is not happening: the node counts as a node again.
constexpr Duration kDeletionTakesAtMost = std::chrono::minutes(5);
// How often a node is tried again because there may be room elsewhere.
constexpr Duration kLookElsewhere = std::chrono::minutes(1);

bool ScaleDownDisabled(const model::Node& node) {
  const std::string* value = node.metadata.annotations.Find(kDisabledAnnotation);
  return value != nullptr && *value == "true";
}

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
      rules_(DefaultDrainRules(DrainOptions::From(parts_.options))),
      judged_(rules_, traits_),
      alone_(rules_, traits_),
      placer_(parts_.search),
      shortest_interval_(
          std::max(parts_.options.group_defaults.scale_down_unneeded_time, Duration(1))) {}

void ScaleDownPlanner::Adopt(const std::vector<ListedNode>& nodes, bool taints_are_fresh,
                             TimePoint now) {
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

// Without budgets and controllers, as upstream's order of candidates has it. What depends on the
// clock is not remembered: pods that are going, and the system's pods.
ScaleDownPlanner::Emptiness ScaleDownPlanner::EmptinessOf(cluster::NodeIndex index, TimePoint now) {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  NodeMemory& memory = MemoryOf(index);
  const uint64_t version = snapshot.content_version(index);
  if (memory.emptiness_version == version) return memory.emptiness;
  const PdbTracker no_budgets;
  parts_.world.PodsInOrder(index, pods_);
  const IndexesToMove move = alone_.Sort(parts_.world, pods_, {no_budgets, nullptr, now});
  Emptiness found;
  found.empty = move.blocking == cluster::kNone && move.movable.empty();
  found.waits = found.empty && !move.on_completion.empty();
  const bool lasting = std::ranges::none_of(pods_, [&](cluster::PodIndex pod) {
    const cluster::World::PodEntry* entry = parts_.world.EntryOf(pod);
    if (entry == nullptr) return false;
    const PodTraits::Traits& traits = traits_.Of(snapshot, pod, *entry->pod);
    return snapshot.terminating(pod) || (traits.system && !traits.daemon_set && !traits.mirror);
  });
  if (lasting) {
    memory.emptiness_version = version;
    memory.emptiness = found;
  }
  return found;
}

const std::optional<report::Utilization>& ScaleDownPlanner::ReckonUse(
    const model::Node& node, cluster::NodeIndex index, const UtilizationRules& rules) {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  NodeMemory& memory = MemoryOf(index);
  const uint64_t version = snapshot.content_version(index);
  if (memory.use_version == version && memory.without_daemons == rules.ignore_daemon_sets)
    return memory.use;
  memory.use = UtilizationOf(parts_.world, index, node, rules);
  memory.without_daemons = rules.ignore_daemon_sets;
  // Pods that are going stop counting by the clock.
  const bool lasting = std::ranges::none_of(
      snapshot.pods_on(index), [&](cluster::PodIndex pod) { return snapshot.terminating(pod); });
  memory.use_version = lasting ? version : 0;
  return memory.use;
}

const report::Utilization* ScaleDownPlanner::UseOf(cluster::NodeIndex index) const {
  if (index >= node_memory_.size()) return nullptr;
  const NodeMemory& memory = node_memory_[index];
  return memory.judged_by_use == evaluation_ && memory.use ? &*memory.use : nullptr;
}

std::vector<uint32_t> ScaleDownPlanner::Candidates(View& view,
                                                   const std::set<std::string>& delayed_groups) {
  held_.clear();
  alone_.Forget();
  struct Group {
    bool known = false;  // the provider says how large it is
    int size = 0;
    int min = 0;
    bool delayed = false;
  };
  std::unordered_map<std::string_view, Group> groups;
  const std::vector<cloud::GroupInfo> infos = parts_.groups.Groups();
  for (const cloud::GroupInfo& group : infos) {
    const auto target = parts_.groups.TargetSize(group.id);
    if (!target.ok()) continue;
    groups[group.id] = {true, *target, group.min_size, delayed_groups.contains(group.id)};
  }
  // Empty nodes before others, among them those that need not be waited for; then what was unneeded
  // before.
  struct Ranked {
    uint32_t place;  // in view.nodes
    int rank;        // the smaller the earlier
  };
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  std::vector<uint8_t> unneeded_before(snapshot.node_bound(), 0);
  for (const auto& [name, entry] : unneeded_) {
    const cluster::NodeIndex index = snapshot.FindNode(name);
    if (index != cluster::kNone) unneeded_before[index] = 1;
  }
  std::vector<Ranked> ranked;
  ranked.reserve(view.nodes.size());
  for (uint32_t place = 0; place < view.nodes.size(); ++place) {
    const ListedNode& of = view.nodes[place];
    const auto found = groups.find(of.group);
    const Group group = found == groups.end() ? Group{} : found->second;
    if (!group.known || group.size <= group.min || group.delayed) {
      report::StayingNode held{.node = of.node->metadata.name, .group = of.group};
      held.reason = of.group.empty()          ? Unremovable::kNotAutoscaled
                    : !group.known            ? Unremovable::kUnexpectedError
                    : group.size <= group.min ? Unremovable::kNodeGroupMinSizeReached
                                              : Unremovable::kGroupDelayed;
      if (group.known) {
        held.group_size = group.size;
        held.group_min = group.min;
      }
      held_.push_back(std::move(held));
      continue;
    }
    Emptiness emptiness;
    bool before = false;
    if (snapshot.IsLive(of.index)) {
      emptiness = EmptinessOf(of.index, view.now);
      before = unneeded_before[of.index] != 0;
    }
    ranked.push_back(
        {place, (emptiness.empty ? 0 : 4) + (emptiness.waits ? 2 : 0) + (before ? 0 : 1)});
  }
  for (const auto& comparer : parts_.slots.scale_down_order) comparer->ResetState();
  std::ranges::stable_sort(ranked, [&](const Ranked& a, const Ranked& b) {
    for (const auto& comparer : parts_.slots.scale_down_order) {
      const std::string& left = view.nodes[a.place].node->metadata.name;
      const std::string& right = view.nodes[b.place].node->metadata.name;
      if (comparer->EarlierThan(left, right)) return true;
      if (comparer->EarlierThan(right, left)) return false;
    }
    return a.rank < b.rank;
  });
  std::vector<uint32_t> places;
  places.reserve(ranked.size());
  for (const Ranked& candidate : ranked) places.push_back(candidate.place);
  return places;
}

const ScaleDownPlanner::NodeMemory& ScaleDownPlanner::Read(const ListedNode& of) {
  NodeMemory& memory = MemoryOf(of.index);
  const uint64_t version = parts_.world.snapshot().content_version(of.index);
  if (memory.read_version == version && memory.read_from == of.node.get()) return memory;
  memory.read_version = version;
  memory.read_from = of.node.get();
  memory.ready = ReadinessOf(*of.node).ready;
  memory.disabled = ScaleDownDisabled(*of.node);
  memory.going_since = TaintTime(*of.node, kToBeDeletedTaint);
  memory.has_gpu = !gpu_label_.empty() && of.node->metadata.labels.contains(gpu_label_);
  return memory;
}

Unremovable ScaleDownPlanner::Ineligible(const View& view, const ListedNode& of) {
  if (!parts_.world.snapshot().IsLive(of.index)) return Unremovable::kUnexpectedError;
  if (!recently_unremovable_.empty() && recently_unremovable_.contains(of.node->metadata.name)) {
    return Unremovable::kRecentlyUnremovable;
  }
  const NodeMemory& read = Read(of);
  if (read.going_since && view.now - *read.going_since < kDeletionTakesAtMost)
    return Unremovable::kCurrentlyBeingDeleted;
  if (read.disabled) return Unremovable::kScaleDownDisabledAnnotation;
  if (of.group.empty()) return Unremovable::kNotAutoscaled;
  const cloud::ScalingOptions& options = GroupOptions(of.group);
  const auto& use = ReckonUse(*of.node, of.index,
                              {.ignore_daemon_sets = options.ignore_daemon_sets_utilization,
                               .ignore_mirror_pods = parts_.options.ignore_mirror_pods_utilization,
                               .gpu_label = gpu_label_,
                               .now = view.now});
  if (!use) return Unremovable::kUnexpectedError;
  if (!parts_.options.scale_down_unready_enabled && !read.ready)
    return Unremovable::kScaleDownUnreadyDisabled;
  // Upstream keeps the number only of nodes that get this far.
  MemoryOf(of.index).judged_by_use = evaluation_;
  const double threshold = read.has_gpu ? options.scale_down_gpu_utilization_threshold
                                        : options.scale_down_utilization_threshold;
  return use->value > threshold ? Unremovable::kNotUnderutilized : Unremovable::kNoReason;
}

void ScaleDownPlanner::DescribeIneligible(const View& view, const ListedNode& of,
                                          report::StayingNode& staying) {
  staying.group = of.group;
  if (staying.reason == Unremovable::kNotUnderutilized) {
    const cloud::ScalingOptions& options = GroupOptions(of.group);
    staying.threshold = Read(of).has_gpu ? options.scale_down_gpu_utilization_threshold
                                         : options.scale_down_utilization_threshold;
  } else if (staying.reason == Unremovable::kRecentlyUnremovable) {
    const Remembered& remembered = recently_unremovable_.at(staying.node);
    staying.earlier = remembered.why.reason;
    staying.ago = view.now - remembered.found;
    staying.stuck_pod =
        remembered.why.stuck_pod ? remembered.why.stuck_pod : remembered.why.blocking_pod;
    staying.detail = remembered.why.detail;
  }
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
  const pack::Placement placement = placer_.Place(
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
void ScaleDownPlanner::DescribeStuck(const Moving& moving, const pack::Placement& placement,
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
  IndexesToMove move =
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
bool ScaleDownPlanner::MayBeOtherwise(const Remembered& remembered, TimePoint now) const {
  if (remembered.why.blocking_reason == ToString(BlockingReason::kNotEnoughPdb)) return true;
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
  std::erase_if(recently_unremovable_, [&](const auto& entry) {
    const cluster::NodeIndex index = snapshot.FindNode(entry.first);
    if (index == cluster::kNone || entry.second.until <= view.now) return true;
    return parts_.options.deviations.unremovable_recheck_on_change &&
           (entry.second.pods != PodsFingerprint(index) || MayBeOtherwise(entry.second, view.now));
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
    const bool live = snapshot.IsLive(of->index);
    const uint64_t fingerprint = live ? PodsFingerprint(of->index) : 0;
    Simulated simulated = SimulateRemoval(view, *of, destinations);
    if (!simulated.removable) {
      simulated.staying.group = of->group;
      recently_unremovable_[of->node->metadata.name] = {
          view.now + parts_.options.unremovable_node_recheck_timeout, fingerprint,
          parts_.world.node_count() + parts_.world.pod_count(), view.now, simulated.staying};
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

void ScaleDownPlanner::UseBudgets(PdbTracker& budgets, RemovableNode& node) const {
  if (budgets.empty()) return;
  std::vector<const model::Pod*> moving;
  moving.reserve(node.to_reschedule.size());
  for (const cluster::PodIndex pod : node.to_reschedule) moving.push_back(&ObjectOf(pod));
  node.risky = !budgets.CanRemove(moving).in_parallel;
  budgets.Remove(moving);
}

void ScaleDownPlanner::UpdateUnneeded(TimePoint now, std::vector<Removable> removable) {
  std::unordered_map<std::string_view, TimePoint> since;
  for (const auto& [name, entry] : unneeded_) since[name] = entry.since;
  std::vector<std::pair<std::string, Entry>> updated;
  updated.reserve(removable.size());
  for (Removable& found : removable) {
    const std::string& name = found.of->node->metadata.name;
    const auto before = since.find(name);
    const cloud::ScalingOptions& options = GroupOptions(found.of->group);
    Entry entry;
    entry.since = before == since.end() ? now : before->second;
    entry.node = found.of->node;
    entry.ready = Read(*found.of).ready;
    entry.threshold =
        entry.ready ? options.scale_down_unneeded_time : options.scale_down_unready_time;
    entry.removable = std::move(found.node);
    entry.drained = !entry.removable.to_reschedule.empty();
    updated.emplace_back(name, std::move(entry));
  }
  unneeded_ = std::move(updated);
}

Unremovable ScaleDownPlanner::MayGo(const View& view, const Entry& entry, Quotas& minima,
                                    std::map<std::string, SizeLeft>& sizes) {
  if (ScaleDownDisabled(*entry.node)) return Unremovable::kScaleDownDisabledAnnotation;
  if (entry.threshold > Duration::zero() && !(entry.since + entry.threshold < view.now)) {
    return entry.ready ? Unremovable::kNotUnneededLongEnough : Unremovable::kNotUnreadyLongEnough;
  }
  const std::string& group = entry.removable.group;
  if (group.empty()) return Unremovable::kNotAutoscaled;
  const auto size = sizes.find(group);
  if (size == sizes.end()) return Unremovable::kUnexpectedError;
  if (size->second.size - view.deleting.InGroup(group) <= size->second.min)
    return Unremovable::kNodeGroupMinSizeReached;
  if (!minima.Consume({entry.node.get(), group}, 1).exceeded.empty()) {
    return Unremovable::kMinimalResourceLimitExceeded;
  }
  --size->second.size;
  return Unremovable::kNoReason;
}

void ScaleDownPlanner::KeepAtomicGroupsWhole(const View& view, std::vector<RemovableNode>& nodes) {
  std::map<std::string, int> listed;
  for (const RemovableNode& node : nodes) ++listed[node.group];
  std::set<std::string> broken;
  for (const auto& [group, count] : listed) {
    if (!parts_.options_of(group).zero_or_max_node_scaling) continue;
    const auto target = parts_.groups.TargetSize(group);
    if (target.ok() && *target == count) continue;
    const auto instances = parts_.groups.Instances(group);
    int registered = 0;
    if (instances.ok()) {
      std::set<std::string_view> ids;
      for (const auto& instance : *instances) ids.insert(instance.id);
      for (const ListedNode& of : view.nodes)
        registered += ids.contains(of.node->spec.provider_id) ? 1 : 0;
    }
    if (registered != count) broken.insert(group);
  }
  std::vector<RemovableNode> kept;
  std::vector<RemovableNode> atomic;
  for (RemovableNode& node : nodes) {
    if (broken.contains(node.group)) {
      Stays(node.node, Unremovable::kAtomicScaleDownFailed, "not every node of the group can go");
    } else if (GroupOptions(node.group).zero_or_max_node_scaling) {
      atomic.push_back(std::move(node));
    } else {
      kept.push_back(std::move(node));
    }
  }
  std::ranges::move(atomic, std::back_inserter(kept));
  nodes = std::move(kept);
}

// A processor has the last word on the set; what it forgets to mention stays.
void ScaleDownPlanner::AskProcessor(const View& view, std::vector<RemovableNode>& nodes) {
  using Set = ScaleDownSetProcessor;
  const auto standard = [&](const std::vector<Set::Due>& due) {
    Set::Split split;
    std::vector<RemovableNode> whole;
    for (const RemovableNode& node : nodes) {
      if (std::ranges::find(due, node.node, &Set::Due::node) != due.end()) whole.push_back(node);
    }
    KeepAtomicGroupsWhole(view, whole);
    for (const RemovableNode& node : whole) split.remove.push_back(node.node);
    for (const Set::Due& node : due) {
      if (std::ranges::find(split.remove, node.node) == split.remove.end())
        split.keep.push_back({.node = node.node, .reason = Unremovable::kAtomicScaleDownFailed});
    }
    return split;
  };
  std::vector<Set::Due> due;
  for (const RemovableNode& node : nodes)
    due.push_back({node.node, node.group, node.to_reschedule.empty()});
  const auto split = parts_.slots.scale_down_set->Filter(due, standard, *view.pass);
  std::set<std::string_view> remove;
  if (split.ok()) remove.insert(split->remove.begin(), split->remove.end());
  std::erase_if(nodes, [&](const RemovableNode& node) {
    if (remove.contains(node.node)) return false;
    Set::Kept kept{.node = node.node, .reason = Unremovable::kUnexpectedError};
    if (!split.ok()) {
      kept.detail = split.status().message();
    } else {
      const auto told = std::ranges::find(split->keep, node.node, &Set::Kept::node);
      if (told != split->keep.end()) kept = *told;
    }
    Stays(kept.node, kept.reason, kept.detail);
    return true;
  });
}

namespace {

// The node with its lists of pods; what stays behind is its name.
RemovableNode TakeOut(RemovableNode& node) {
  RemovableNode taken = std::move(node);
  node.node = taken.node;
  node.group = taken.group;
  return taken;
}

}  // namespace

NodesToDelete ScaleDownPlanner::Choose(const View& view) {
  Quotas minima = Quotas::ToMinima(parts_.options, view.all_nodes, parts_.groups.GpuLabel(),
                                   DevicesFrom(parts_.slots, parts_.groups.GpuLabel()));
  std::map<std::string, SizeLeft> sizes;
  for (const cloud::GroupInfo& group : parts_.groups.Groups()) {
    const auto target = parts_.groups.TargetSize(group.id);
    if (target.ok()) sizes[group.id] = {*target, group.min_size};
  }
  std::vector<RemovableNode> empty;
  std::vector<RemovableNode> safe;
  std::vector<RemovableNode> risky;
  for (const bool drained : {false, true}) {
    for (auto& [name, entry] : unneeded_) {
      if (entry.drained != drained) continue;
      const Unremovable reason = MayGo(view, entry, minima, sizes);
      if (reason != Unremovable::kNoReason) {
        report::StayingNode staying{.node = name, .reason = reason};
        staying.group = entry.removable.group;
        staying.waited = view.now - entry.since;
        staying.wait = entry.threshold;
        if (const auto size = sizes.find(staying.group); size != sizes.end())
          staying.group_size = size->second.size - view.deleting.InGroup(staying.group);
        Keep(parts_.world.snapshot().FindNode(name), std::move(staying));
      } else {
        (!drained                ? empty
         : entry.removable.risky ? risky
                                 : safe)
            .push_back(TakeOut(entry.removable));
      }
    }
  }
  std::vector<RemovableNode> chosen = std::move(empty);
  std::ranges::move(safe, std::back_inserter(chosen));
  std::ranges::move(risky, std::back_inserter(chosen));
  if (parts_.slots.scale_down_set) {
    AskProcessor(view, chosen);
  } else {
    KeepAtomicGroupsWhole(view, chosen);
  }

  NodesToDelete result;
  for (RemovableNode& node : chosen) {
    if (!node.on_completion.empty()) {
      Stays(node.node, Unremovable::kBlockedByOnCompletionPod,
            "waiting for pods to end by themselves");
    } else {
      (node.to_reschedule.empty() ? result.empty : result.drain).push_back(std::move(node));
    }
  }
  return result;
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
