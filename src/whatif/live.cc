#include "whatif/live.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/strings.h"
#include "model/resources.h"
#include "report/explain.h"
#include "report/json_out.h"

namespace coppice::whatif {
namespace {

using report::JsonOut;

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
}

Status ChangeGroups(const LiveMoment& moment, const LiveChange& change,
                    std::vector<DumpGroups::Group>& groups) {
  for (const auto& [name, max] : change.max_sizes) {
    const auto group = std::ranges::find(groups, name, &DumpGroups::Group::name);
    if (group == groups.end()) return NotFound("there is no group " + name);
    group->max = max;
  }
  std::set<std::string> used;
  for (DumpGroups::Group& group : groups) {
    std::string type = group.node_template ? TypeOfNode(*group.node_template) : "";
    for (const auto& node : moment.objects.nodes) {
      if (!type.empty()) break;
      if (std::ranges::find(group.machines, node->spec.provider_id) != group.machines.end())
        type = TypeOfNode(*node);
    }
    if (std::ranges::find(change.forbid_types, type) == change.forbid_types.end()) continue;
    used.insert(type);
    group.max = std::min(group.max, group.target);
  }
  for (const std::string& type : change.forbid_types)
    if (!used.contains(type)) return NotFound("no group is of type " + type);
  return Status::Ok();
}

}  // namespace

LiveMoment TakeMoment(const cluster::World& world, cloud::NodeGroups& groups, TimePoint now,
                      const cloud::ScalingOptions& defaults) {
  LiveMoment moment{.now = now};
  TakeObjects(world, moment.objects);
  std::map<std::string, std::vector<cloud::ProviderId>> machines;
  std::map<std::string, std::shared_ptr<const model::Node>> examples;
  for (const auto& node : moment.objects.nodes) {
    const auto group = groups.GroupOf({node->spec.provider_id, node->metadata.name, {}, node});
    if (!group.ok() || !group->has_value()) continue;
    machines[**group].push_back(node->spec.provider_id);
    examples.emplace(**group, node);
  }
  for (const cloud::GroupInfo& info : groups.Groups()) {
    DumpGroups::Group& group = moment.groups.emplace_back();
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
                           const autoscale::FlagValues& flags, const autoscale::Plugins& plugins,
                           std::function<bool()> stop) {
  for (const std::string& name : change.remove_nodes) {
    const bool there = std::ranges::any_of(
        moment.objects.nodes, [&](const auto& node) { return node->metadata.name == name; });
    if (!there) return NotFound("there is no node " + name);
  }
  WhatIf base{
      .flags = flags, .cluster = moment.objects, .now = moment.now, .stop = std::move(stop)};
  base.groups = {.groups = moment.groups, .how = "as they are now"};
  GiveProviderIds(base.cluster);
  WhatIf changed = base;
  TRY(ChangeGroups(moment, change, changed.groups.groups));
  changed.remove_nodes = change.remove_nodes;
  for (int i = 0; change.pod && i < change.pods; ++i) {
    model::Pod pod = *change.pod;
    pod.metadata.name = "what-if-" + std::to_string(i + 1);
    pod.metadata.uid = pod.metadata.name;
    pod.metadata.deletion_timestamp.reset();
    changed.added.pods.push_back(std::make_shared<const model::Pod>(std::move(pod)));
  }
  LiveAnswer answer;
  answer.without = TRY(RunWhatIf(std::move(base), plugins, Log::Null()));
  answer.with = TRY(RunWhatIf(std::move(changed), plugins, Log::Null()));
  return answer;
}

namespace {

double CostOf(const std::vector<DumpGroups::Group>& groups) {
  double cost = 0;
  for (const DumpGroups::Group& group : groups)
    cost += group.price_per_hour.value_or(0) * group.target;
  return cost;
}

void WriteUnhelped(JsonOut& out, std::string_view key, const WhatIfPlan& plan) {
  out.Key(key).Open('[');
  const report::ScaleUp& up = plan.about_pods();
  for (const auto* list : {&up.unhelped, &up.unserved}) {
    for (const report::Unhelped& unhelped : *list) {
      out.Open('{').Field("pods", unhelped.pods.size());
      out.Field("names", report::Names(unhelped.pods));
      out.Field("why", report::ReasonCounts(up.result, unhelped, up.considered_groups));
      if (!unhelped.misses.empty()) out.Field("nearest", report::Sentence(unhelped.misses.front()));
      out.Close('}');
    }
  }
  out.Close(']');
}

std::string_view WordOfFate(RemovalAnswer::PodFate::Kind kind) {
  using Kind = RemovalAnswer::PodFate::Kind;
  switch (kind) {
    case Kind::kMoves:
      return "moves";
    case Kind::kStaysBehind:
      return "staysBehind";
    case Kind::kWaits:
      return "waits";
    case Kind::kBlocks:
      return "blocks";
    case Kind::kNoPlace:
      return "noPlace";
  }
  return "";
}

void WriteLiveRemovals(JsonOut& out, const WhatIfPlan& plan) {
  out.Key("removals").Open('[');
  for (const RemovalAnswer& removal : plan.removals) {
    out.Open('{').Field("node", removal.node).Field("group", removal.group);
    out.Field("drains", removal.drains).Field("atOnce", removal.at_once).Key("pods").Open('[');
    for (const RemovalAnswer::PodFate& fate : removal.pods) {
      out.Open('{').Field("pod", report::NameOf(*fate.pod)).Field("fate", WordOfFate(fate.kind));
      out.Field("text", fate.text).Close('}');
    }
    out.Close(']').Close('}');
  }
  out.Close(']');
}

void WriteLiveSteps(JsonOut& out, std::string_view key, const WhatIfPlan& plan) {
  out.Key(key).Open('[');
  for (const WhatIfStep& step : plan.steps) {
    const auto after = std::chrono::duration_cast<std::chrono::seconds>(step.after).count();
    out.Open('{').Field("afterSeconds", after).Key("bought").Open('[');
    for (const report::GroupResize& resize : step.bought) {
      out.Open('{').Field("group", resize.group).Field("from", resize.from);
      out.Field("to", resize.to).Close('}');
    }
    out.Close(']').Key("removed").Open('[');
    for (const report::RemovedNode& node : step.report->scale_down.removed) out.Text(node.node);
    out.Close(']').Close('}');
  }
  out.Close(']');
}

}  // namespace

std::string AsJson(const LiveAnswer& answer) {
  const auto seconds = [](Duration time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time).count();
  };
  const auto& [without, with] = answer;
  JsonOut out;
  out.Open('{').Field("at", seconds(with.now.time_since_epoch()));
  out.Field("nodes", with.nodes).Field("pending", with.pending + with.unscheduled);
  out.Field("added", with.added).Field("helps", with.everybody_helped());
  out.Key("groups").Open('[');
  for (size_t i = 0; i < with.groups_after.size(); ++i) {
    const DumpGroups::Group& before = without.groups_before[i];
    out.Open('{').Field("group", before.name).Field("now", before.target);
    out.Field("max", with.groups_before[i].max).Field("without", without.groups_after[i].target);
    out.Field("with", with.groups_after[i].target);
    out.Field("price", before.price_per_hour.value_or(0)).Close('}');
  }
  out.Close(']');
  out.Key("cost").Open('{').Field("now", CostOf(without.groups_before));
  out.Field("without", CostOf(without.groups_after)).Field("with", CostOf(with.groups_after));
  out.Close('}');
  WriteUnhelped(out, "unhelpedWithout", without);
  WriteUnhelped(out, "unhelped", with);
  WriteLiveRemovals(out, with);
  WriteLiveSteps(out, "stepsWithout", without);
  WriteLiveSteps(out, "steps", with);
  out.Key("notes").Open('[');
  for (const std::string& note : with.notes) out.Text(note);
  out.Close(']');
  out.Field("settled", with.settled).Field("tookSeconds", seconds(with.took));
  return out.Close('}').Take();
}

}  // namespace coppice::whatif
