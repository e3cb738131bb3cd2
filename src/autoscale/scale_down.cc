#include "autoscale/scale_down.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autoscale/drain_options.h"
#include "autoscale/taints.h"

namespace coppice::autoscale {

namespace {

using report::StayReason;

// Budgets change with pods that become ready, which is no event for the loop.
constexpr Duration kAskBudgets = std::chrono::seconds(10);
// How often a node is tried again because there may be room elsewhere.
constexpr Duration kLookElsewhere = std::chrono::minutes(1);
constexpr Duration kLooksApart = std::chrono::seconds(10);

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
      rules_(drain::DefaultRules(RuleOptionsFrom(parts_.rules.drain))),
      judged_(rules_, traits_),
      alone_(rules_, traits_),
      placer_(parts_.search),
      shortest_interval_(std::max(parts_.rules.unneeded_time, Duration(1))) {}

void ScaleDownPlanner::Adopt(const std::vector<ListedNode>& nodes, bool taints_are_fresh,
                             TimePoint now) {
  // Upstream means to do this for --node-deletion-candidate-ttl, too, but asks for the nodes before
  // its view of them is filled, and finds none: there the timers of a new process start anew.
  if (!parts_.rules.deviations.survive_restarts) return;
  const Duration ttl = parts_.rules.candidate_ttl;
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

// Which pods there are, and what they say about leaving.
uint64_t ScaleDownPlanner::PodsFingerprint(cluster::NodeIndex index) const {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  uint64_t sum = 0;  // order does not matter
  for (const cluster::PodIndex pod : snapshot.pods_on(index)) {
    const uint64_t both = uint64_t{snapshot.eviction_id(pod)} << 32 | pod;
    sum += std::hash<uint64_t>()(both * 0x9E3779B97F4A7C15u + 1);
  }
  return sum;
}

int ScaleDownPlanner::UnneededLimit() const {
  const int n = parts_.rules.most_at_once;
  const int by_growth = static_cast<int>(unneeded_.size()) + 2 * n;
  const Duration unneeded_time = std::max(parts_.rules.unneeded_time, shortest_interval_);
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

bool ScaleDownPlanner::MayBeOtherwise(const Remembered& remembered, cluster::NodeIndex index,
                                      TimePoint now) const {
  if (remembered.content != parts_.world.snapshot().content_version(index) &&
      remembered.pods != PodsFingerprint(index))
    return true;
  if (remembered.why.blocking_reason == drain::ToString(drain::BlockingReason::kNotEnoughPdb))
    return true;
  return remembered.room != parts_.world.room_version() && now - remembered.found >= kLookElsewhere;
}

// Of a verdict that holds for now. Where pods come and go all the time those of many nodes are due,
// one shortly after the other: they are looked at together.
TimePoint ScaleDownPlanner::NextLook(const Remembered& remembered, TimePoint now) const {
  if (!parts_.rules.deviations.unremovable_recheck_on_change ||
      remembered.room == parts_.world.room_version())
    return remembered.until;
  return std::min(remembered.until, std::max(remembered.found + kLookElsewhere, now + kLooksApart));
}

// Of several reasons the last one counts.
void ScaleDownPlanner::AddStaying(cluster::NodeIndex index, report::StayingNode staying) {
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

// Verdicts whose time is over, or that may be others now.
void ScaleDownPlanner::ForgetVerdicts(TimePoint now) {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  budget_keeps_ = false;
  first_forgotten_ = TimePoint::max();
  std::erase_if(recently_unremovable_, [&](const auto& entry) {
    const cluster::NodeIndex index = snapshot.FindNode(entry.first);
    if (index == cluster::kNone || entry.second.until <= now) return true;
    const bool again = parts_.rules.deviations.unremovable_recheck_on_change &&
                       MayBeOtherwise(entry.second, index, now);
    if (!again) first_forgotten_ = std::min(first_forgotten_, NextLook(entry.second, now));
    return again;
  });
}

// By node index: a 1 for those that may take pods of others.
std::vector<uint8_t> ScaleDownPlanner::DestinationsOf(const View& view, const Names& deleting) {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  std::vector<uint8_t> destinations(snapshot.node_bound(), 0);
  for (const ListedNode& of : view.nodes) {
    if (!snapshot.IsLive(of.index)) continue;
    if (deleting.empty() || !deleting.contains(of.node->metadata.name)) destinations[of.index] = 1;
  }
  if (parts_.slots.scale_down_node) NarrowDestinations(view, destinations);
  return destinations;
}

// Those of the candidates that are worth a simulation.
std::vector<const ListedNode*> ScaleDownPlanner::EligibleOf(const View& view,
                                                            const std::vector<uint32_t>& candidates,
                                                            const Names& deleting) {
  std::vector<const ListedNode*> eligible;
  for (const uint32_t place : candidates) {
    const ListedNode& of = view.nodes[place];
    const std::string& name = of.node->metadata.name;
    if (!deleting.empty() && deleting.contains(name)) {
      staying_untold_.push_back(
          {.node = name, .reason = StayReason::kCurrentlyBeingDeleted, .group = of.group});
      continue;
    }
    const StayReason reason = WhyNoCandidate(view, of);
    if (reason == StayReason::kNoReason) {
      eligible.push_back(&of);
    } else {
      report::StayingNode staying{.node = name, .reason = reason};
      DescribeNoCandidate(view, of, staying);
      AddStaying(of.index, std::move(staying));
    }
  }
  return eligible;
}

void ScaleDownPlanner::RememberWhyItStays(const View& view, const ListedNode& of,
                                          const Seen& as_it_was, report::StayingNode staying) {
  staying.group = of.group;
  const TimePoint until = view.now + parts_.rules.looking.unremovable_node_recheck_timeout;
  first_forgotten_ = std::min(first_forgotten_, until);
  budget_keeps_ = budget_keeps_ ||
                  staying.blocking_reason == drain::ToString(drain::BlockingReason::kNotEnoughPdb);
  recently_unremovable_[of.node->metadata.name] = {.until = until,
                                                   .content = as_it_was.content,
                                                   .pods = as_it_was.pods,
                                                   .room = parts_.world.room_version(),
                                                   .found = view.now,
                                                   .why = staying};
  AddStaying(of.index, std::move(staying));
}

// One after the other, each with the pods of those before it moved.
std::vector<ScaleDownPlanner::Removable> ScaleDownPlanner::SimulateAll(
    View& view, const std::vector<const ListedNode*>& eligible, std::vector<uint8_t> destinations) {
  const cluster::Snapshot& snapshot = parts_.world.snapshot();
  const TimePoint deadline =
      parts_.clock.Now() + parts_.rules.looking.scale_down_simulation_timeout;
  std::vector<Removable> removable;
  int atomic = 0;
  size_t looked_at = 0;
  for (const ListedNode* of : eligible) {
    if (parts_.clock.Now() > deadline) break;
    if (!parts_.rules.deviations.scan_all_candidates &&
        static_cast<int>(removable.size()) - atomic >= UnneededLimit()) {
      break;
    }
    ++looked_at;
    if (looked_at < eligible.size() && snapshot.IsLive(eligible[looked_at]->index))
      parts_.world.PrefetchPodsOn(eligible[looked_at]->index);
    const bool live = snapshot.IsLive(of->index);
    const Seen seen =
        live ? Seen{snapshot.content_version(of->index), PodsFingerprint(of->index)} : Seen{};
    Simulated simulated = SimulateRemoval(view, *of, destinations);
    if (!simulated.removable) {
      RememberWhyItStays(view, *of, seen, std::move(simulated.staying));
      continue;
    }
    UseBudgets(view.budgets, *simulated.removable);
    if (live) destinations[of->index] = 0;
    if (GroupOptions(of->group).zero_or_max_node_scaling) ++atomic;
    removable.push_back({of, std::move(*simulated.removable)});
  }
  for (; looked_at < eligible.size(); ++looked_at) {
    staying_untold_.push_back(
        {.node = eligible[looked_at]->node->metadata.name,
         .reason = StayReason::kNextPass,
         .detail = "was not looked at: a pass looks at so many nodes, for so long",
         .group = eligible[looked_at]->group});
  }
  return removable;
}

void ScaleDownPlanner::Evaluate(View& view, const std::vector<uint32_t>& candidates) {
  shortest_interval_ = std::min(shortest_interval_, view.now - last_evaluation_);
  last_evaluation_ = view.now;
  ++evaluation_;
  const auto evaluation =
      parts_.world.snapshot().Fork();  // reverted at the end, whatever was found
  Names deleting(view.deleting.empty.begin(), view.deleting.empty.end());
  deleting.insert(view.deleting.drained.begin(), view.deleting.drained.end());
  if (std::string gpu_label = parts_.groups.GpuLabel(); gpu_label != gpu_label_) {
    gpu_label_ = std::move(gpu_label);
    node_memory_.clear();  // which nodes are judged by their GPUs is part of it
  }
  group_options_.clear();
  std::vector<uint8_t> destinations = DestinationsOf(view, deleting);
  judged_.Forget();
  staying_.clear();
  staying_.reserve(candidates.size());
  ForgetVerdicts(view.now);
  const std::vector<const ListedNode*> eligible = EligibleOf(view, candidates, deleting);
  UpdateUnneeded(view.now, SimulateAll(view, eligible, std::move(destinations)));
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
    return before.node.get() != &node && before.node != nullptr && parts_.rules.deviations.fuses &&
           before.node->metadata.uid != node.metadata.uid;
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

void ScaleDownPlanner::Stays(const std::string& node, StayReason reason, std::string detail) {
  AddStaying(parts_.world.snapshot().FindNode(node),
             {.node = node, .reason = reason, .detail = std::move(detail)});
}

void ScaleDownPlanner::UnneededStay(std::string_view why, Duration wait, TimePoint now) {
  for (const auto& [name, entry] : unneeded_) {
    staying_untold_.push_back({.node = name,
                               .reason = StayReason::kCooldown,
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

}  // namespace coppice::autoscale
