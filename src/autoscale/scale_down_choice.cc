// Of the nodes that are not needed, those that may go now: their time has come, no limit keeps
// them, and a group that goes as a whole goes as a whole.

#include <algorithm>

#include "autoscale/scale_down.h"

namespace coppice::autoscale {

using report::StayReason;

StayReason ScaleDownPlanner::MayGo(const View& view, const Entry& entry, Quotas& minima,
                                   std::map<std::string, SizeLeft>& sizes) {
  if (entry.disabled) return StayReason::kScaleDownDisabledAnnotation;
  if (entry.threshold > Duration::zero() && !(entry.since + entry.threshold < view.now)) {
    return entry.ready ? StayReason::kNotUnneededLongEnough : StayReason::kNotUnreadyLongEnough;
  }
  const std::string& group = entry.removable.group;
  if (group.empty()) return StayReason::kNotAutoscaled;
  const auto size = sizes.find(group);
  if (size == sizes.end()) return StayReason::kUnexpectedError;
  if (size->second.size - view.deleting.InGroup(group) <= size->second.min)
    return StayReason::kNodeGroupMinSizeReached;
  if (!minima.Consume({entry.node.get(), group}, 1).exceeded.empty()) {
    return StayReason::kMinimalResourceLimitExceeded;
  }
  --size->second.size;
  return StayReason::kNoReason;
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
  std::vector<RemovableNode> going;
  std::vector<RemovableNode> atomic;
  for (RemovableNode& node : nodes) {
    if (broken.contains(node.group)) {
      Stays(node.node, StayReason::kAtomicScaleDownFailed, "not every node of the group can go");
    } else if (GroupOptions(node.group).zero_or_max_node_scaling) {
      atomic.push_back(std::move(node));
    } else {
      going.push_back(std::move(node));
    }
  }
  std::ranges::move(atomic, std::back_inserter(going));
  nodes = std::move(going);
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
        split.keep.push_back({.node = node.node, .reason = StayReason::kAtomicScaleDownFailed});
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
    Set::Staying stays{.node = node.node, .reason = StayReason::kUnexpectedError};
    if (!split.ok()) {
      stays.detail = split.status().message();
    } else {
      const auto told = std::ranges::find(split->keep, node.node, &Set::Staying::node);
      if (told != split->keep.end()) stays = *told;
    }
    Stays(stays.node, stays.reason, stays.detail);
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
  Quotas minima = Quotas::ToMinima(parts_.rules.limits, view.all_nodes, parts_.groups.GpuLabel(),
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
      const StayReason reason = MayGo(view, entry, minima, sizes);
      if (reason != StayReason::kNoReason) {
        report::StayingNode staying{.node = name, .reason = reason};
        staying.group = entry.removable.group;
        staying.waited = view.now - entry.since;
        staying.wait = entry.threshold;
        if (const auto size = sizes.find(staying.group); size != sizes.end())
          staying.group_size = size->second.size - view.deleting.InGroup(staying.group);
        AddStaying(parts_.world.snapshot().FindNode(name), std::move(staying));
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
      Stays(node.node, StayReason::kBlockedByOnCompletionPod,
            "waiting for pods to end by themselves");
      continue;
    }
    if (const cluster::NodePtr object = parts_.world.FindNode(node.node)) {
      node.uid = object->metadata.uid;
      node.provider_id = object->spec.provider_id;
    }
    (node.to_reschedule.empty() ? result.empty : result.drain).push_back(std::move(node));
  }
  return result;
}

}  // namespace coppice::autoscale
