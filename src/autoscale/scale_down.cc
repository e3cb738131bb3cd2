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

bool ScaleDownDisabled(const model::Node& node) {
  const std::string* value = node.metadata.annotations.Find(kDisabledAnnotation);
  return value != nullptr && *value == "true";
}

bool BeingDeleted(const model::Node& node, TimePoint now) {
  const auto since = TaintTime(node, kToBeDeletedTaint);
  return since && now - *since < kDeletionTakesAtMost;
}

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
      judged_(rules_),
      placer_(parts_.search),
      shortest_interval_(
          std::max(parts_.options.group_defaults.scale_down_unneeded_time, Duration(1))) {}

void ScaleDownPlanner::Adopt(const std::vector<NodeOf>& nodes, bool taints_are_fresh,
                             TimePoint now) {
  const Duration ttl = parts_.options.node_deletion_candidate_ttl;
  if (ttl == Duration::zero() && !taints_are_fresh) return;
  for (const NodeOf& of : nodes) {
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
  bool lasting = true;
  std::vector<const model::Pod*> pods;
  for (const cluster::PodIndex pod : parts_.world.PodsInOrder(index)) {
    const cluster::World::PodEntry* entry = parts_.world.EntryOf(pod);
    if (entry == nullptr) continue;
    const model::ObjectMeta& meta = entry->pod->metadata;
    lasting = lasting && !meta.deletion_timestamp &&
              (meta.namespace_ != "kube-system" || pack::IsDaemonSetPod(*entry->pod) ||
               pack::IsMirrorPod(*entry->pod));
    pods.push_back(entry->pod.get());
  }
  const PodsToMove move = FindPodsToMove(rules_, pods, {no_budgets, nullptr, now});
  Emptiness found;
  found.empty = move.blocking == nullptr && move.movable.empty();
  found.waits = found.empty && !move.on_completion.empty();
  if (lasting) {
    memory.emptiness_version = version;
    memory.emptiness = found;
  }
  return found;
}

std::optional<report::Utilization> ScaleDownPlanner::UseOf(const model::Node& node,
                                                           cluster::NodeIndex index,
                                                           const UtilizationRules& rules) {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  NodeMemory& memory = MemoryOf(index);
  const uint64_t version = snapshot.content_version(index);
  if (memory.use_version == version && memory.without_daemons == rules.ignore_daemon_sets)
    return memory.use;
  const auto use = UtilizationOf(parts_.world, index, node, rules);
  // Pods that are going stop counting by the clock.
  const bool lasting = std::ranges::none_of(snapshot.pods_on(index), [&](cluster::PodIndex pod) {
    return snapshot.pod(pod).terminating;
  });
  if (lasting) {
    memory.use_version = version;
    memory.without_daemons = rules.ignore_daemon_sets;
    memory.use = use;
  }
  return use;
}

std::vector<std::string> ScaleDownPlanner::Candidates(View& view,
                                                      const std::set<std::string>& delayed_groups) {
  held_.clear();
  std::map<std::string, int> sizes;
  std::map<std::string, int> minima;
  for (const cloud::GroupInfo& group : parts_.groups.Groups()) {
    const auto target = parts_.groups.TargetSize(group.id);
    if (!target.ok()) continue;
    sizes[group.id] = *target;
    minima[group.id] = group.min_size;
  }
  // Empty nodes before others, among them those that need not be waited for; then what was unneeded
  // before.
  struct Ranked {
    std::string name;
    bool empty;
    bool waits;
    bool before;
  };
  std::set<std::string_view> unneeded_before;
  for (const auto& [name, entry] : unneeded_) unneeded_before.insert(name);
  std::vector<Ranked> ranked;
  for (const NodeOf& of : view.nodes) {
    const auto size = sizes.find(of.group);
    const bool known = size != sizes.end();
    if (!known || size->second <= minima[of.group] || delayed_groups.contains(of.group)) {
      report::StayingNode held{.node = of.node->metadata.name, .group = of.group};
      held.reason = of.group.empty()                   ? Unremovable::kNotAutoscaled
                    : !known                           ? Unremovable::kUnexpectedError
                    : size->second <= minima[of.group] ? Unremovable::kNodeGroupMinSizeReached
                                                       : Unremovable::kGroupDelayed;
      if (known) {
        held.group_size = size->second;
        held.group_min = minima[of.group];
      }
      held_.push_back(std::move(held));
      continue;
    }
    Ranked candidate{of.node->metadata.name, false, false,
                     unneeded_before.contains(of.node->metadata.name)};
    const cluster::NodeIndex index = parts_.world.snapshot().FindNode(candidate.name);
    if (index != cluster::kNone) {
      const Emptiness found = EmptinessOf(index, view.now);
      candidate.empty = found.empty;
      candidate.waits = found.waits;
    }
    ranked.push_back(std::move(candidate));
  }
  for (const auto& comparer : parts_.slots.scale_down_order) comparer->ResetState();
  std::ranges::stable_sort(ranked, [this](const Ranked& a, const Ranked& b) {
    for (const auto& comparer : parts_.slots.scale_down_order) {
      if (comparer->EarlierThan(a.name, b.name)) return true;
      if (comparer->EarlierThan(b.name, a.name)) return false;
    }
    if (a.empty != b.empty) return a.empty;
    if (a.waits != b.waits) return !a.waits;
    return a.before && !b.before;
  });
  std::vector<std::string> names;
  for (Ranked& candidate : ranked) names.push_back(std::move(candidate.name));
  return names;
}

Unremovable ScaleDownPlanner::Ineligible(const View& view, const NodeOf& of,
                                         std::optional<report::Utilization>& use) {
  const model::Node& node = *of.node;
  const cluster::NodeIndex index = parts_.world.snapshot().FindNode(node.metadata.name);
  if (index == cluster::kNone) return Unremovable::kUnexpectedError;
  if (recently_unremovable_.contains(node.metadata.name)) return Unremovable::kRecentlyUnremovable;
  if (BeingDeleted(node, view.now)) return Unremovable::kCurrentlyBeingDeleted;
  if (ScaleDownDisabled(node)) return Unremovable::kScaleDownDisabledAnnotation;
  if (of.group.empty()) return Unremovable::kNotAutoscaled;
  const cloud::ScalingOptions& options = GroupOptions(of.group);
  const std::string& gpu_label = gpu_label_;
  use = UseOf(node, index,
              {.ignore_daemon_sets = options.ignore_daemon_sets_utilization,
               .ignore_mirror_pods = parts_.options.ignore_mirror_pods_utilization,
               .gpu_label = gpu_label,
               .now = view.now});
  if (!use) return Unremovable::kUnexpectedError;
  const auto known = use;
  use.reset();  // upstream keeps the number only of nodes that get this far
  if (!parts_.options.scale_down_unready_enabled && !ReadinessOf(node).ready) {
    return Unremovable::kScaleDownUnreadyDisabled;
  }
  use = known;
  const bool has_gpu = !gpu_label.empty() && node.metadata.labels.contains(gpu_label);
  const double threshold = has_gpu ? options.scale_down_gpu_utilization_threshold
                                   : options.scale_down_utilization_threshold;
  return use->value > threshold ? Unremovable::kNotUnderutilized : Unremovable::kNoReason;
}

void ScaleDownPlanner::DescribeIneligible(const View& view, const NodeOf& of,
                                          report::StayingNode& staying) const {
  staying.group = of.group;
  if (staying.reason == Unremovable::kNotUnderutilized) {
    const cloud::ScalingOptions& options = GroupOptions(of.group);
    const std::string& gpu_label = gpu_label_;
    const bool has_gpu = !gpu_label.empty() && of.node->metadata.labels.contains(gpu_label);
    staying.threshold = has_gpu ? options.scale_down_gpu_utilization_threshold
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

bool ScaleDownPlanner::FindPlaces(const NodeOf& of, cluster::NodeIndex index,
                                  const std::vector<pack::PendingPod>& pods,
                                  const std::vector<uint8_t>& destinations, TimePoint now,
                                  Simulated& result) {
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  if (pods.empty()) {
    snapshot.RemoveNode(index);
    return true;
  }
  for (const auto& pod : pods) {
    if (snapshot.node_of(pod.index) != cluster::kNone) snapshot.Unplace(pod.index);
  }
  // Empty and tainted, but still there: spread constraints count its domain.
  model::Node ghost = *of.node;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  ghost.spec.taints.push_back({.key = std::string(kToBeDeletedTaint),
                               .value = std::to_string(seconds),
                               .effect = "NoSchedule"});
  // What else runs on it goes with the machine and is not counted any more.
  const std::vector<cluster::PodIndex> rest(snapshot.pods_on(index).begin(),
                                            snapshot.pods_on(index).end());
  for (const cluster::PodIndex pod : rest) snapshot.Unplace(pod);
  snapshot.UpdateNode(index, ghost);
  const pack::Placement placement = placer_.Place(
      pods, {.accept = {.allowed = &destinations, .except = index}, .stop_at_first_failure = true});
  if (!placement.all()) {
    DescribeStuck(pods, placement, destinations, index, result.staying);
    return false;
  }
  result.removable.emplace();
  for (const auto& pod : pods)
    result.removable->destinations.push_back(snapshot.node_of(pod.index));
  snapshot.RemoveNode(index);
  return true;
}

// The first of the highest priority is the one that failed; what comes behind it was not tried.
void ScaleDownPlanner::DescribeStuck(const std::vector<pack::PendingPod>& pods,
                                     const pack::Placement& placement,
                                     const std::vector<uint8_t>& destinations,
                                     cluster::NodeIndex except, report::StayingNode& staying) {
  const pack::PendingPod* stuck = nullptr;
  for (size_t i = 0; i < pods.size(); ++i) {
    if (placement.placed[i] == 0 &&
        (stuck == nullptr || model::PriorityOf(*pods[i].pod) > model::PriorityOf(*stuck->pod)))
      stuck = &pods[i];
  }
  if (stuck == nullptr) return;
  staying.stuck_pod = stuck->pod;
  if (parts_.options.explain_checks >= 0) return;
  std::map<std::string, int> counts;
  for (const cluster::NodeIndex node : parts_.world.snapshot().nodes()) {
    if (node == except || node >= destinations.size() || destinations[node] == 0) continue;
    const model::Verdict verdict = parts_.search.Check(stuck->index, node);
    for (const std::string& reason : verdict.reasons()) ++counts[reason];
  }
  staying.stuck_reasons.assign(counts.begin(), counts.end());
  std::ranges::stable_sort(staying.stuck_reasons, std::greater<>(),
                           &std::pair<std::string, int>::second);
}

ScaleDownPlanner::Simulated ScaleDownPlanner::SimulateRemoval(View& view, const NodeOf& of,
                                                              std::vector<uint8_t>& destinations) {
  Simulated result;
  result.staying.node = of.node->metadata.name;
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  const cluster::NodeIndex index = snapshot.FindNode(of.node->metadata.name);
  if (index == cluster::kNone) {
    result.staying.reason = Unremovable::kNoNodeInfo;
    return result;
  }
  const IndexesToMove move = judged_.Sort(parts_.world, parts_.world.PodsInOrder(index),
                                          {view.budgets, view.controllers, view.now});
  const auto object = [this](cluster::PodIndex pod) -> const cluster::PodPtr& {
    return parts_.world.EntryOf(pod)->pod;
  };
  if (move.blocking != cluster::kNone) {
    result.staying.reason = Unremovable::kBlockedByPod;
    result.staying.blocking_pod = object(move.blocking);
    result.staying.blocking_reason = ToString(move.blocked_by.reason);
    result.staying.detail = move.blocked_by.text;
    return result;
  }
  std::vector<pack::PendingPod> moving;
  moving.reserve(move.movable.size());
  for (const cluster::PodIndex pod : move.movable) moving.push_back({object(pod), pod});
  {
    auto fork = snapshot.Fork();
    if (tpus_.Any(moving, snapshot)) {
      for (const auto& pod : moving) snapshot.Unplace(pod.index);
      tpus_.Forget(moving, snapshot);
    }
    if (!FindPlaces(of, index, moving, destinations, view.now, result)) {
      result.staying.reason = Unremovable::kNoPlaceToMovePods;
      return result;
    }
    fork.Commit();  // later candidates see the moved pods and the missing node
  }
  RemovableNode removable{.node = of.node->metadata.name, .group = of.group};
  if (result.removable) removable.destinations = std::move(result.removable->destinations);
  removable.to_reschedule.reserve(moving.size());
  for (auto& pod : moving) removable.to_reschedule.push_back(std::move(pod.pod));
  for (const cluster::PodIndex pod : move.daemon_set) removable.daemon_set.push_back(object(pod));
  for (const cluster::PodIndex pod : move.on_completion)
    removable.on_completion.push_back(object(pod));
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
  for (const NodeOf& of : view.nodes) {
    const cluster::NodeIndex index = snapshot.FindNode(of.node->metadata.name);
    if (index != cluster::kNone && destinations[index] != 0)
      standard.push_back(of.node->metadata.name);
  }
  const auto narrowed =
      parts_.slots.scale_down_node->Destinations(std::move(standard), view.listed, *view.pass);
  std::vector<uint8_t> asked(destinations.size(), 0);  // an error: no node takes anything
  if (narrowed.ok()) {
    for (const std::string& name : *narrowed) {
      const cluster::NodeIndex index = snapshot.FindNode(name);
      if (index != cluster::kNone) asked[index] = destinations[index];
    }
  }
  destinations = std::move(asked);
}

void ScaleDownPlanner::Evaluate(View& view, const std::vector<std::string>& candidates) {
  shortest_interval_ = std::min(shortest_interval_, view.now - last_evaluation_);
  last_evaluation_ = view.now;
  cluster::Snapshot& snapshot = parts_.world.snapshot();
  const auto evaluation = snapshot.Fork();  // reverted at the end, whatever was found

  std::vector<uint8_t> destinations(snapshot.node_bound(), 0);
  std::unordered_map<std::string_view, const NodeOf*> by_name;
  by_name.reserve(view.nodes.size());
  std::unordered_set<std::string_view> deleting(view.deleting.empty.begin(),
                                                view.deleting.empty.end());
  deleting.insert(view.deleting.drained.begin(), view.deleting.drained.end());
  for (const NodeOf& of : view.nodes) {
    by_name.emplace(of.node->metadata.name, &of);
    const cluster::NodeIndex index = snapshot.FindNode(of.node->metadata.name);
    if (index != cluster::kNone && !deleting.contains(of.node->metadata.name))
      destinations[index] = 1;
  }
  gpu_label_ = parts_.groups.GpuLabel();
  group_options_.clear();
  if (parts_.slots.scale_down_node) NarrowDestinations(view, destinations);

  judged_.Forget();
  staying_.clear();
  utilization_.clear();
  std::erase_if(recently_unremovable_, [&](const auto& entry) {
    const cluster::NodeIndex index = snapshot.FindNode(entry.first);
    if (index == cluster::kNone || entry.second.until <= view.now) return true;
    return parts_.options.deviations.unremovable_recheck_on_change &&
           entry.second.pods != PodsFingerprint(index);
  });

  std::vector<const NodeOf*> eligible;
  for (const std::string& name : candidates) {
    const NodeOf& of = *by_name.at(name);
    if (deleting.contains(name)) {
      held_.push_back(
          {.node = name, .reason = Unremovable::kCurrentlyBeingDeleted, .group = of.group});
      continue;
    }
    std::optional<report::Utilization> use;
    const Unremovable reason = Ineligible(view, of, use);
    if (use) utilization_[name] = *use;
    if (reason == Unremovable::kNoReason) {
      eligible.push_back(&of);
    } else {
      report::StayingNode& staying = staying_[name];
      staying.node = name;
      staying.reason = reason;
      DescribeIneligible(view, of, staying);
    }
  }

  const TimePoint deadline = parts_.clock.Now() + parts_.options.scale_down_simulation_timeout;
  std::vector<RemovableNode> removable;
  int atomic = 0;
  size_t looked_at = 0;
  for (const NodeOf* of : eligible) {
    if (parts_.clock.Now() > deadline) break;
    if (!parts_.options.deviations.scan_all_candidates &&
        static_cast<int>(removable.size()) - atomic >= UnneededLimit()) {
      break;
    }
    ++looked_at;
    const cluster::NodeIndex index = snapshot.FindNode(of->node->metadata.name);
    const uint64_t fingerprint = index == cluster::kNone ? 0 : PodsFingerprint(index);
    Simulated simulated = SimulateRemoval(view, *of, destinations);
    if (!simulated.removable) {
      simulated.staying.group = of->group;
      recently_unremovable_[of->node->metadata.name] = {
          view.now + parts_.options.unremovable_node_recheck_timeout, fingerprint, view.now,
          simulated.staying};
      staying_[of->node->metadata.name] = std::move(simulated.staying);
      continue;
    }
    std::vector<const model::Pod*> moving;
    for (const auto& pod : simulated.removable->to_reschedule) moving.push_back(pod.get());
    simulated.removable->risky = !view.budgets.CanRemove(moving).in_parallel;
    view.budgets.Remove(moving);
    if (index != cluster::kNone) destinations[index] = 0;
    if (parts_.options_of(of->group).zero_or_max_node_scaling) ++atomic;
    removable.push_back(std::move(*simulated.removable));
  }
  for (; looked_at < eligible.size(); ++looked_at) {
    held_.push_back({.node = eligible[looked_at]->node->metadata.name,
                     .reason = Unremovable::kNextPass,
                     .detail = "was not looked at: a pass looks at so many nodes, for so long",
                     .group = eligible[looked_at]->group});
  }
  UpdateUnneeded(view, std::move(removable));
  placer_.NextRun();
}

void ScaleDownPlanner::UpdateUnneeded(const View& view, std::vector<RemovableNode> removable) {
  std::map<std::string, TimePoint> since;
  for (const auto& [name, entry] : unneeded_) since[name] = entry.since;
  std::unordered_map<std::string_view, const NodeOf*> by_name;
  for (const NodeOf& of : view.nodes) by_name.emplace(of.node->metadata.name, &of);
  std::vector<std::pair<std::string, Entry>> updated;
  for (RemovableNode& node : removable) {
    const std::string name = node.node;
    const auto before = since.find(name);
    const cloud::ScalingOptions options = parts_.options_of(node.group);
    Entry entry;
    entry.since = before == since.end() ? view.now : before->second;
    entry.node = by_name.at(name)->node;
    entry.ready = ReadinessOf(*entry.node).ready;
    entry.threshold =
        entry.ready ? options.scale_down_unneeded_time : options.scale_down_unready_time;
    entry.removable = std::move(node);
    updated.emplace_back(name, std::move(entry));
  }
  unneeded_ = std::move(updated);
}

Unremovable ScaleDownPlanner::MayGo(const View& view, const Entry& entry, Quotas& minima,
                                    std::map<std::string, int>& sizes) {
  if (ScaleDownDisabled(*entry.node)) return Unremovable::kScaleDownDisabledAnnotation;
  if (entry.threshold > Duration::zero() && !(entry.since + entry.threshold < view.now)) {
    return entry.ready ? Unremovable::kNotUnneededLongEnough : Unremovable::kNotUnreadyLongEnough;
  }
  const std::string& group = entry.removable.group;
  if (group.empty()) return Unremovable::kNotAutoscaled;
  const auto size = sizes.find(group);
  if (size == sizes.end()) return Unremovable::kUnexpectedError;
  const auto groups = parts_.groups.Groups();
  const auto info = std::ranges::find(groups, group, &cloud::GroupInfo::id);
  if (info == groups.end()) return Unremovable::kNotAutoscaled;
  if (size->second - view.deleting.InGroup(group) <= info->min_size) {
    return Unremovable::kNodeGroupMinSizeReached;
  }
  if (!minima.Consume({entry.node.get(), group}, 1).exceeded.empty()) {
    return Unremovable::kMinimalResourceLimitExceeded;
  }
  --size->second;
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
      for (const NodeOf& of : view.nodes)
        registered += ids.contains(of.node->spec.provider_id) ? 1 : 0;
    }
    if (registered != count) broken.insert(group);
  }
  std::vector<RemovableNode> kept;
  std::vector<RemovableNode> atomic;
  for (RemovableNode& node : nodes) {
    if (broken.contains(node.group)) {
      Stays(node.node, Unremovable::kAtomicScaleDownFailed, "not every node of the group can go");
    } else if (parts_.options_of(node.group).zero_or_max_node_scaling) {
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

NodesToDelete ScaleDownPlanner::Choose(const View& view) {
  Quotas minima = Quotas::ToMinima(parts_.options, view.all_nodes, parts_.groups.GpuLabel(),
                                   DevicesFrom(parts_.slots, parts_.groups.GpuLabel()));
  std::map<std::string, int> sizes;
  for (const cloud::GroupInfo& group : parts_.groups.Groups()) {
    const auto target = parts_.groups.TargetSize(group.id);
    if (target.ok()) sizes[group.id] = *target;
  }
  std::vector<RemovableNode> empty;
  std::vector<RemovableNode> safe;
  std::vector<RemovableNode> risky;
  for (const bool drained : {false, true}) {
    for (const auto& [name, entry] : unneeded_) {
      if (entry.removable.to_reschedule.empty() == drained) continue;
      const Unremovable reason = MayGo(view, entry, minima, sizes);
      if (reason != Unremovable::kNoReason) {
        Stays(name, reason, "");
        report::StayingNode& staying = staying_[name];
        staying.group = entry.removable.group;
        staying.waited = view.now - entry.since;
        staying.wait = entry.threshold;
        if (const auto size = sizes.find(staying.group); size != sizes.end())
          staying.group_size = size->second - view.deleting.InGroup(staying.group);
      } else {
        (!drained ? empty : entry.removable.risky ? risky : safe).push_back(entry.removable);
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
  staying_[node] = {.node = node, .reason = reason, .detail = std::move(detail)};
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

std::vector<report::StayingNode> ScaleDownPlanner::Staying() const {
  std::vector<report::StayingNode> all;
  for (const auto& [name, staying] : staying_) {
    all.push_back(staying);
    const auto use = utilization_.find(name);
    if (use != utilization_.end()) all.back().utilization = use->second;
  }
  return all;
}

std::optional<TimePoint> ScaleDownPlanner::UnneededSince(std::string_view node) const {
  for (const auto& [name, entry] : unneeded_) {
    if (name == node) return entry.since;
  }
  return std::nullopt;
}

}  // namespace coppice::autoscale
