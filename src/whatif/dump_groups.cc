#include "whatif/dump_groups.h"

#include <algorithm>

#include "cloud/pricing.h"
#include "model/resources.h"

namespace coppice::whatif {

namespace {

Status NoSuchGroup(std::string_view name) {
  return NotFound("there is no node group " + std::string(name));
}

template <class T>
void Override(T& value, const std::optional<T>& with) {
  if (with) value = *with;
}

}  // namespace

void DumpGroups::Add(Group group) {
  for (const auto& id : group.machines) group_of_[id] = group.name;
  groups_.push_back(std::move(group));
}

DumpGroups::Group* DumpGroups::FindMutable(std::string_view name) {
  const auto it = std::ranges::find(groups_, name, &Group::name);
  return it == groups_.end() ? nullptr : &*it;
}

const DumpGroups::Group* DumpGroups::Find(std::string_view name) const {
  const auto it = std::ranges::find(groups_, name, &Group::name);
  return it == groups_.end() ? nullptr : &*it;
}

std::vector<DumpGroups::Ordered> DumpGroups::TakeOrdered() {
  for (const Ordered& ordered : ordered_) {
    FindMutable(ordered.group)->machines.push_back(ordered.id);
  }
  return std::exchange(ordered_, {});
}

void DumpGroups::Forget(const cloud::ProviderId& id) {
  const auto of = group_of_.find(id);
  if (of == group_of_.end()) return;
  Group* group = FindMutable(of->second);
  std::erase(group->machines, id);
  --group->target;
  group_of_.erase(of);
}

std::vector<cloud::GroupInfo> DumpGroups::Groups() {
  std::vector<cloud::GroupInfo> all;
  for (const Group& group : groups_) {
    all.push_back({group.name, group.min, group.max, group.origin});
  }
  return all;
}

Result<std::optional<std::string>> DumpGroups::GroupOf(const cloud::NodeRef& node) {
  const auto it = group_of_.find(node.provider_id);
  if (it == group_of_.end()) return std::optional<std::string>();
  return std::optional<std::string>(it->second);
}

Result<bool> DumpGroups::HasInstance(const cloud::NodeRef& node) {
  return group_of_.contains(node.provider_id);
}

Result<int> DumpGroups::TargetSize(std::string_view group) {
  const Group* found = Find(group);
  if (found == nullptr) return NoSuchGroup(group);
  return found->target;
}

Result<std::vector<cloud::Instance>> DumpGroups::Instances(std::string_view group) {
  const Group* found = Find(group);
  if (found == nullptr) return NoSuchGroup(group);
  std::vector<cloud::Instance> instances;
  for (const auto& id : found->machines) {
    instances.push_back({.id = id, .state = cloud::InstanceState::kRunning});
  }
  for (const Ordered& ordered : ordered_) {
    if (ordered.group == group)
      instances.push_back({.id = ordered.id, .state = cloud::InstanceState::kCreating});
  }
  return instances;
}

Result<std::shared_ptr<const model::Node>> DumpGroups::Template(std::string_view group) {
  const Group* found = Find(group);
  if (found == nullptr) return NoSuchGroup(group);
  if (found->node_template == nullptr) {
    return Unimplemented("group " + found->name +
                         " has no node in the dump and no template: nothing is known about what a "
                         "new node would look like");
  }
  return found->node_template;
}

Result<std::optional<cloud::ScalingOptions>> DumpGroups::Options(
    std::string_view group, const cloud::ScalingOptions& defaults) {
  const Group* found = Find(group);
  if (found == nullptr) return NoSuchGroup(group);
  cloud::ScalingOptions options = defaults;
  const cloud::GroupScalingOptions& own = found->options;
  Override(options.scale_down_utilization_threshold, own.scale_down_utilization_threshold);
  Override(options.scale_down_gpu_utilization_threshold, own.scale_down_gpu_utilization_threshold);
  Override(options.scale_down_unneeded_time, own.scale_down_unneeded_time);
  Override(options.scale_down_unready_time, own.scale_down_unready_time);
  Override(options.max_node_provision_time, own.max_node_provision_time);
  Override(options.max_node_startup_time, own.max_node_startup_time);
  Override(options.zero_or_max_node_scaling, own.zero_or_max_node_scaling);
  Override(options.allow_non_atomic_scale_up_to_max, own.allow_non_atomic_scale_up_to_max);
  Override(options.ignore_daemon_sets_utilization, own.ignore_daemon_sets_utilization);
  return std::optional<cloud::ScalingOptions>(options);
}

Status DumpGroups::Increase(std::string_view group, int delta, Deadline) {
  Group* found = FindMutable(group);
  if (found == nullptr) return NoSuchGroup(group);
  if (delta <= 0 || found->target + delta > found->max)
    return InvalidArgument("group " + found->name + " cannot grow by " + std::to_string(delta));
  found->target += delta;
  for (int i = 0; i < delta; ++i) {
    const std::string id = "whatif://" + found->name + "/" + std::to_string(++made_);
    group_of_[id] = found->name;
    ordered_.push_back({id, found->name});
  }
  return Status::Ok();
}

Status DumpGroups::IncreaseAtomically(std::string_view group, int delta, Deadline deadline) {
  return Increase(group, delta, deadline);
}

Status DumpGroups::Delete(std::string_view group, const std::vector<cloud::NodeRef>& nodes,
                          Deadline) {
  Group* found = FindMutable(group);
  if (found == nullptr) return NoSuchGroup(group);
  for (const cloud::NodeRef& node : nodes) {
    const auto of = group_of_.find(node.provider_id);
    if (of == group_of_.end() || of->second != group)
      return InvalidArgument(node.name + " is no machine of group " + found->name);
  }
  for (const cloud::NodeRef& node : nodes) {
    std::erase(found->machines, node.provider_id);
    group_of_.erase(node.provider_id);
    deleted_.push_back(node.provider_id);
    --found->target;
  }
  return Status::Ok();
}

Status DumpGroups::DecreaseTarget(std::string_view group, int delta, Deadline) {
  Group* found = FindMutable(group);
  if (found == nullptr) return NoSuchGroup(group);
  const int there = static_cast<int>(found->machines.size());
  if (delta >= 0 || found->target + delta < there)
    return InvalidArgument("group " + found->name + " has machines for its whole target");
  found->target += delta;
  return Status::Ok();
}

Result<double> DumpGroups::NodePrice(const cloud::NodeRef& node,
                                     const std::map<std::string, std::string>&, TimePoint start,
                                     TimePoint end) {
  const auto of = group_of_.find(node.provider_id);
  const Group* group = of == group_of_.end() ? nullptr : Find(of->second);
  if (group == nullptr) {  // of a template: its name says whose it is
    for (const Group& each : groups_) {
      if (node.name.find(each.name) != std::string::npos) group = &each;
    }
  }
  if (group == nullptr || !group->price_per_hour)
    return Unimplemented("no price is known; --groups can name one per group");
  return *group->price_per_hour * cloud::Hours(start, end);
}

// The part of a machine that the pod would fill, on the cheapest of the groups that could hold it.
Result<double> DumpGroups::PodPrice(const model::Pod& pod, TimePoint start, TimePoint end) {
  const model::PodRequests wanted = model::IncomingRequests(pod);
  std::optional<double> cheapest;
  for (const Group& group : groups_) {
    if (!group.price_per_hour || group.cpu_millis <= 0 || group.memory_bytes <= 0 ||
        wanted.cpu_millis > group.cpu_millis || wanted.memory_bytes > group.memory_bytes) {
      continue;
    }
    const double share = std::max(
        static_cast<double>(wanted.cpu_millis) / static_cast<double>(group.cpu_millis),
        static_cast<double>(wanted.memory_bytes) / static_cast<double>(group.memory_bytes));
    cheapest = std::min(cheapest.value_or(*group.price_per_hour), share * *group.price_per_hour);
  }
  if (!cheapest) return Unimplemented("no group that could hold the pod has a price");
  return *cheapest * cloud::Hours(start, end);
}

}  // namespace coppice::whatif
