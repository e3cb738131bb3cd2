#include "whatif/live.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/resources.h"
#include "report/explain.h"
#include "whatif/live_pools.h"

namespace coppice::whatif {
namespace {

std::string TypeOfNode(const model::Node& node) {
  const auto label = node.metadata.labels.find("node.kubernetes.io/instance-type");
  return label == node.metadata.labels.end() ? std::string() : label->second;
}

cloud::GroupScalingOptions AllOf(const cloud::ScalingOptions& options) {
  return {.scale_down_utilization_threshold = options.scale_down_utilization_threshold,
          .scale_down_gpu_utilization_threshold = options.scale_down_gpu_utilization_threshold,
          .scale_down_unneeded_time = options.scale_down_unneeded_time,
          .scale_down_unready_time = options.scale_down_unready_time,
          .max_node_provision_time = options.max_node_provision_time,
          .max_node_startup_time = options.max_node_startup_time,
          .zero_or_max_node_scaling = options.zero_or_max_node_scaling,
          .allow_non_atomic_scale_up_to_max = options.allow_non_atomic_scale_up_to_max,
          .ignore_daemon_sets_utilization = options.ignore_daemon_sets_utilization};
}

std::optional<double> PricePerHour(cloud::NodeGroups& groups,
                                   const std::shared_ptr<const model::Node>& node, TimePoint now) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : node->metadata.labels) labels.emplace(key, value);
  const auto price = groups.NodePrice({node->spec.provider_id, node->metadata.name, {}, node},
                                      labels, now, now + std::chrono::hours(1));
  if (!price.ok()) return std::nullopt;
  return *price;
}

template <class T>
void TakeAll(const cluster::World& world, Listed<T>& into) {
  into = world.objects<T>().List();
}

void TakeObjects(const cluster::World& world, ClusterObjects& objects) {
  objects.nodes = world.Nodes();
  objects.pods.reserve(world.pod_count());
  for (const auto* entry : world.Pods()) objects.pods.push_back(entry->pod);
  TakeAll(world, objects.budgets);
  TakeAll(world, objects.daemon_sets);
  TakeAll(world, objects.replica_sets);
  TakeAll(world, objects.replication_controllers);
  TakeAll(world, objects.stateful_sets);
  TakeAll(world, objects.jobs);
  TakeAll(world, objects.namespaces);
  TakeAll(world, objects.services);
  TakeAll(world, objects.claims);
  TakeAll(world, objects.volumes);
  TakeAll(world, objects.storage_classes);
  TakeAll(world, objects.csi_nodes);
  TakeAll(world, objects.csi_drivers);
  TakeAll(world, objects.storage_capacities);
  TakeAll(world, objects.volume_attachments);
  TakeAll(world, objects.priority_classes);
  TakeAll(world, objects.node_pools);
  TakeAll(world, objects.node_claims);
  TakeAll(world, objects.pod_groups);
  TakeAll(world, objects.queues);
  TakeAll(world, objects.hyper_nodes);
  TakeAll(world, objects.quotas);
}

// The type that a group makes machines of; "" if neither its template nor its nodes tell.
std::string TypeOfGroup(const DumpGroups::Group& group, const ClusterObjects& objects) {
  std::string type = group.node_template ? TypeOfNode(*group.node_template) : "";
  for (const auto& node : objects.nodes) {
    if (!type.empty()) break;
    if (std::ranges::find(group.machines, node->spec.provider_id) != group.machines.end())
      type = TypeOfNode(*node);
  }
  return type;
}

// With the change; `used` learns which of the types that are forbidden there are.
void ChangeGroups(const LiveMoment& moment, const LiveChange& change,
                  std::vector<DumpGroups::Group>& groups, std::set<std::string>& used) {
  for (DumpGroups::Group& group : groups) {
    const auto max = change.max_sizes.find(group.name);
    if (max != change.max_sizes.end()) group.max = max->second;
    if (change.forbid_types.empty()) continue;
    const std::string type = TypeOfGroup(group, moment.objects);
    if (std::ranges::find(change.forbid_types, type) == change.forbid_types.end()) continue;
    used.insert(type);
    group.max = std::min(group.max, group.target);
  }
}

std::vector<DumpGroups::Group> TakeGroups(const ClusterObjects& objects, cloud::NodeGroups& groups,
                                          TimePoint now, const cloud::ScalingOptions& defaults) {
  std::vector<DumpGroups::Group> taken;
  std::map<std::string, std::vector<cloud::ProviderId>> machines;
  std::map<std::string, std::shared_ptr<const model::Node>> examples;
  for (const auto& node : objects.nodes) {
    const auto group = groups.GroupOf({node->spec.provider_id, node->metadata.name, {}, node});
    if (!group.ok() || !group->has_value()) continue;
    machines[**group].push_back(node->spec.provider_id);
    examples.emplace(**group, node);
  }
  for (const cloud::GroupInfo& info : groups.Groups()) {
    DumpGroups::Group& group = taken.emplace_back();
    group.name = info.id;
    group.min = info.min_size;
    group.max = info.max_size;
    group.machines = std::move(machines[info.id]);
    group.target = static_cast<int>(group.machines.size());
    if (const auto made = groups.Template(info.id); made.ok()) group.node_template = *made;
    if (const auto own = groups.Options(info.id, defaults); own.ok() && own->has_value())
      group.options = AllOf(**own);
    const auto example = examples.contains(info.id) ? examples[info.id] : group.node_template;
    if (example) {
      group.price_per_hour = PricePerHour(groups, example, now);
      const model::NodeAmounts amounts = model::ToNodeAmounts(example->status.allocatable);
      group.cpu_millis = amounts.cpu_millis;
      group.memory_bytes = amounts.memory_bytes;
    }
  }
  return taken;
}

bool HasGroup(const LiveMoment& moment, const std::string& name) {
  return moment.groups &&
         std::ranges::find(*moment.groups, name, &DumpGroups::Group::name) != moment.groups->end();
}

// What a change names has to be there. Types are looked for where they are forbidden.
Status CheckNames(const LiveMoment& moment, const LiveChange& change) {
  for (const std::string& name : change.remove_nodes) {
    const bool there = std::ranges::any_of(
        moment.objects.nodes, [&](const auto& node) { return node->metadata.name == name; });
    if (!there) return NotFound("there is no node " + name);
  }
  for (const auto& [name, max] : change.max_sizes) {
    if (HasGroup(moment, name) || HasPool(moment, name)) continue;
    return NotFound("there is no node group " + name +
                    (moment.claims ? ", and no node pool of that name" : ""));
  }
  for (const auto& [name, limits] : change.limits)
    if (!HasPool(moment, name)) return NotFound("there is no node pool " + name);
  return Status::Ok();
}

Listed<model::Pod> PodsToAdd(const LiveChange& change) {
  Listed<model::Pod> pods;
  for (int i = 0; change.pod && i < change.pods; ++i) {
    model::Pod pod = *change.pod;
    pod.metadata.name = "what-if-" + std::to_string(i + 1);
    pod.metadata.uid = pod.metadata.name;
    pod.metadata.deletion_timestamp.reset();
    pods.push_back(std::make_shared<const model::Pod>(std::move(pod)));
  }
  return pods;
}

// One of the two: groups alone, pools alone, or pools and then groups.
Result<LiveSide> PlaySide(const LiveMoment& moment, WhatIf groups, PoolsWhatIf pools,
                          const LiveEngines& engines) {
  LiveSide side;
  const auto play_pools = [&](ClusterObjects& objects) -> Status {
    pools.cluster.nodes = objects.nodes;
    pools.cluster.pods = objects.pods;
    side.pools = TRY(PlayPools(std::move(pools), *moment.claims, engines.pools));
    objects.nodes = side.pools->nodes_after;
    objects.pods = side.pools->pods_after;
    return Status::Ok();
  };
  if (moment.groups) {
    if (moment.claims) groups.asked_first = play_pools;
    side.groups = TRY(RunWhatIf(std::move(groups), engines.plugins, Log::Null()));
  } else {
    pools.added = std::move(groups.added);
    TRY(play_pools(groups.cluster));
  }
  return side;
}

}  // namespace

LiveMoment TakeMoment(const cluster::World& world, cloud::NodeGroups* groups, TimePoint now,
                      const cloud::ScalingOptions& defaults) {
  LiveMoment moment{.now = now};
  TakeObjects(world, moment.objects);
  if (groups != nullptr) moment.groups = TakeGroups(moment.objects, *groups, now, defaults);
  return moment;
}

std::shared_ptr<const model::Pod> FindLike(const LiveMoment& moment, std::string_view name) {
  std::shared_ptr<const model::Pod> of_owner;
  for (const auto& pod : moment.objects.pods) {
    if (report::NameOf(*pod) == name) return pod;
    const model::OwnerReference* owner = model::ControllerOf(pod->metadata);
    if (of_owner || owner == nullptr) continue;
    const std::string full = pod->metadata.namespace_ + "/" + owner->name;
    // The owner itself, or one that has the name and a number or hash behind it.
    if (full == name || (full.starts_with(name) && full[name.size()] == '-' &&
                         full.find('-', name.size() + 1) == std::string::npos))
      of_owner = pod;
  }
  return of_owner;
}

Result<LiveAnswer> AskLive(const LiveMoment& moment, const LiveChange& change,
                           const LiveEngines& engines, std::function<bool()> stop) {
  if (!moment.groups && !moment.claims)
    return Unavailable("there are neither node groups nor node pools here");
  TRY(CheckNames(moment, change));
  WhatIf base{.flags = engines.flags, .cluster = moment.objects, .now = moment.now, .stop = stop};
  base.groups = {.groups = moment.groups.value_or(std::vector<DumpGroups::Group>()),
                 .how = "as they are now"};
  if (!moment.objects.pod_groups.empty()) base.batch_plugins = engines.batch;
  GiveProviderIds(base.cluster);
  PoolsWhatIf pools = PoolsQuestion(moment, base.cluster, engines.pools, stop);
  WhatIf changed = base;
  PoolsWhatIf changed_pools = pools;
  std::set<std::string> types;
  ChangeGroups(moment, change, changed.groups.groups, types);
  ChangePools(moment, change, changed_pools.cluster.node_pools, types);
  for (const std::string& type : change.forbid_types)
    if (!types.contains(type)) return NotFound("nothing is bought of type " + type);
  for (const std::string& node : change.remove_nodes) {
    const bool by_pools = !moment.groups || IsOfPool(moment, node);
    (by_pools ? changed_pools.remove_nodes : changed.remove_nodes).push_back(node);
  }
  changed.added.pods = PodsToAdd(change);
  LiveAnswer answer;
  answer.without = TRY(PlaySide(moment, std::move(base), std::move(pools), engines));
  answer.with = TRY(PlaySide(moment, std::move(changed), std::move(changed_pools), engines));
  if (moment.claims) answer.notes = NotesOfPools(answer);
  return answer;
}

}  // namespace coppice::whatif
