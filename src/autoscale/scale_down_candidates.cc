// Which nodes are worth a simulation, in which order, and why the others are not.

#include <algorithm>
#include <unordered_map>

#include "autoscale/hold_nodes.h"
#include "autoscale/readiness.h"
#include "autoscale/scale_down.h"
#include "autoscale/taints.h"

namespace coppice::autoscale {

namespace {

using report::StayReason;

constexpr std::string_view kDisabledAnnotation =
    "cluster-autoscaler.kubernetes.io/scale-down-disabled";
// A deletion that has not happened by then is not happening: the node counts as a node again.
constexpr Duration kDeletionTakesAtMost = std::chrono::minutes(5);

bool ScaleDownDisabled(const model::Node& node) {
  const std::string* value = node.metadata.annotations.Find(kDisabledAnnotation);
  return value != nullptr && *value == "true";
}

// The other engine that takes the node down, or "".
std::string_view AnotherHolder(const cluster::World& world, const model::Node& node) {
  const cluster::HeldNodes& held = world.held_nodes();
  if (held.size() == 0) return "";
  const std::string_view holder = held.HolderOf(node.metadata.name, node.metadata.uid);
  return holder == kHolder ? "" : holder;
}

}  // namespace

// Without budgets and controllers, as upstream's order of candidates has it. What depends on the
// clock is not remembered: pods that are going, and the system's pods.
ScaleDownPlanner::Emptiness ScaleDownPlanner::EmptinessOf(cluster::NodeIndex index, TimePoint now) {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  NodeMemory& memory = MemoryOf(index);
  const uint64_t version = snapshot.content_version(index);
  if (memory.emptiness_version == version) return memory.emptiness;
  const drain::PdbTracker no_budgets;
  parts_.world.PodsInOrder(index, pods_);
  const drain::IndexesToMove move = alone_.Sort(parts_.world, pods_, {no_budgets, nullptr, now});
  Emptiness found;
  found.empty = move.blocking == cluster::kNone && move.movable.empty();
  found.waits = found.empty && !move.on_completion.empty();
  const bool lasting = std::ranges::none_of(pods_, [&](cluster::PodIndex pod) {
    const cluster::World::PodEntry* entry = parts_.world.EntryOf(pod);
    if (entry == nullptr) return false;
    const drain::PodTraits::Traits& traits = traits_.Of(snapshot, pod, *entry->pod);
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

void ScaleDownPlanner::ForgetUnneeded() {
  for (auto& [name, entry] : unneeded_)
    forgotten_.push_back({std::move(name), std::move(entry.removable.group)});
  unneeded_.clear();
}

std::map<std::string, int> ScaleDownPlanner::CandidatesByGroup() const {
  std::map<std::string, int> counts;
  for (const auto& [name, entry] : unneeded_) ++counts[entry.removable.group];
  for (const Candidate& candidate : forgotten_) ++counts[candidate.group];
  return counts;
}

std::vector<uint32_t> ScaleDownPlanner::Candidates(View& view,
                                                   const std::set<std::string>& delayed_groups) {
  staying_untold_.clear();
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
  const auto was_unneeded = [&](const std::string& name) {
    const cluster::NodeIndex index = snapshot.FindNode(name);
    if (index != cluster::kNone) unneeded_before[index] = 1;
  };
  for (const auto& [name, entry] : unneeded_) was_unneeded(name);
  for (const Candidate& candidate : forgotten_) was_unneeded(candidate.node);
  std::vector<Ranked> ranked;
  ranked.reserve(view.nodes.size());
  for (uint32_t place = 0; place < view.nodes.size(); ++place) {
    const ListedNode& of = view.nodes[place];
    const auto found = groups.find(of.group);
    const Group group = found == groups.end() ? Group{} : found->second;
    if (!group.known || group.size <= group.min || group.delayed) {
      report::StayingNode stays{.node = of.node->metadata.name, .group = of.group};
      stays.reason = !of.group_known           ? StayReason::kUnexpectedError
                     : of.group.empty()        ? StayReason::kNotAutoscaled
                     : !group.known            ? StayReason::kUnexpectedError
                     : group.size <= group.min ? StayReason::kNodeGroupMinSizeReached
                                               : StayReason::kGroupDelayed;
      if (!of.group_known) stays.detail = "its provider has not said yet whose it is";
      if (group.known) {
        stays.group_size = group.size;
        stays.group_min = group.min;
      }
      staying_untold_.push_back(std::move(stays));
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
  // Stable, other than upstream's: its nodes come out of a hash map, so that there ties have no
  // order that could be followed.
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
  memory.unreadable = of.node->metadata.unreadable.has_value();
  memory.going_since = TaintTime(*of.node, kToBeDeletedTaint);
  memory.has_gpu = !gpu_label_.empty() && of.node->metadata.labels.contains(gpu_label_);
  return memory;
}

StayReason ScaleDownPlanner::WhyNoCandidate(const View& view, const ListedNode& of) {
  if (!parts_.world.snapshot().IsLive(of.index)) return StayReason::kUnexpectedError;
  if (!recently_unremovable_.empty() && recently_unremovable_.contains(of.node->metadata.name)) {
    return StayReason::kRecentlyUnremovable;
  }
  const NodeMemory& read = Read(of);
  if (read.going_since && view.now - *read.going_since < kDeletionTakesAtMost)
    return StayReason::kCurrentlyBeingDeleted;
  if (!AnotherHolder(parts_.world, *of.node).empty()) return StayReason::kCurrentlyBeingDeleted;
  if (read.unreadable) return StayReason::kUnexpectedError;
  if (read.disabled) return StayReason::kScaleDownDisabledAnnotation;
  if (of.group.empty()) return StayReason::kNotAutoscaled;
  const cloud::ScalingOptions& options = GroupOptions(of.group);
  const auto& use =
      ReckonUse(*of.node, of.index,
                {.ignore_daemon_sets = options.ignore_daemon_sets_utilization,
                 .ignore_mirror_pods = parts_.rules.looking.ignore_mirror_pods_utilization,
                 .gpu_label = gpu_label_,
                 .now = view.now});
  if (!use) return StayReason::kUnexpectedError;
  if (!parts_.rules.looking.scale_down_unready_enabled && !read.ready)
    return StayReason::kScaleDownUnreadyDisabled;
  // Upstream keeps the number only of nodes that get this far.
  MemoryOf(of.index).judged_by_use = evaluation_;
  const double threshold = read.has_gpu ? options.scale_down_gpu_utilization_threshold
                                        : options.scale_down_utilization_threshold;
  return use->value > threshold ? StayReason::kNotUnderutilized : StayReason::kNoReason;
}

void ScaleDownPlanner::DescribeNoCandidate(const View& view, const ListedNode& of,
                                           report::StayingNode& staying) {
  staying.group = of.group;
  if (staying.reason == StayReason::kNotUnderutilized) {
    const cloud::ScalingOptions& options = GroupOptions(of.group);
    staying.threshold = Read(of).has_gpu ? options.scale_down_gpu_utilization_threshold
                                         : options.scale_down_utilization_threshold;
  } else if (staying.reason == StayReason::kRecentlyUnremovable) {
    const Remembered& remembered = recently_unremovable_.at(staying.node);
    staying.earlier = remembered.why.reason;
    staying.ago = view.now - remembered.found;
    staying.stuck_pod =
        remembered.why.stuck_pod ? remembered.why.stuck_pod : remembered.why.blocking_pod;
    staying.detail = remembered.why.detail;
  } else if (staying.reason == StayReason::kCurrentlyBeingDeleted) {
    staying.detail = AnotherHolder(parts_.world, *of.node);
  } else if (of.node->metadata.unreadable) {
    staying.detail = "cannot be read: " + of.node->metadata.unreadable->what;
  }
}

}  // namespace coppice::autoscale
