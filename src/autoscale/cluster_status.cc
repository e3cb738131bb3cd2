#include "autoscale/cluster_status.h"

#include <utility>

namespace coppice::autoscale {

namespace {

report::NodeCounts CountsOf(const ReadinessClasses& classes) {
  const auto size = [](const auto& list) { return static_cast<int>(list.size()); };
  return {size(classes.registered),       size(classes.ready),
          size(classes.not_started),      size(classes.suspended),
          size(classes.deleted),          size(classes.unready),
          size(classes.resource_unready), size(classes.long_unregistered),
          size(classes.unregistered)};
}

void SetActivity(report::GroupStatus& group, const GroupStates& state, TimePoint now) {
  const auto backoff = state.BackedOff(group.group, now);
  if (state.GroupScalingUp(group.group)) {
    group.scale_up = "InProgress";
  } else if (!group.healthy) {
    group.scale_up = "Unhealthy";
  } else if (backoff) {
    group.scale_up = "Backoff";
    group.backoff_code = backoff->code;
    group.backoff_message = backoff->message;
  } else {
    group.scale_up = "NoActivity";
  }
}

}  // namespace

report::ClusterStatus StatusOf(const GroupStates& state, cloud::NodeGroups& groups,
                               Processors& slots, const std::map<std::string, int>& candidates,
                               TimePoint now) {
  report::ClusterStatus status;
  status.running = true;
  status.healthy = state.ClusterHealthy();
  status.counts = CountsOf(state.total());
  status.probed = now;
  for (const auto& [group, count] : candidates) status.candidates += group.empty() ? 0 : count;
  for (const cloud::GroupInfo& info : groups.Groups()) {
    if (slots.async_node_groups && slots.async_node_groups->IsUpcoming(info.id)) continue;
    report::GroupStatus group;
    group.group = info.id;
    group.min = info.min_size;
    group.max = info.max_size;
    group.healthy = state.GroupHealthy(info.id);
    group.counts = CountsOf(state.of(info.id));
    group.target = state.range(info.id).target;
    const auto counted = candidates.find(info.id);
    group.candidates = counted == candidates.end() ? 0 : counted->second;
    SetActivity(group, state, now);
    status.scale_up_in_progress = status.scale_up_in_progress || group.scale_up == "InProgress";
    status.groups.push_back(std::move(group));
  }
  return status;
}

}  // namespace coppice::autoscale
