#include "provision/cluster_view.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "model/resources.h"
#include "provision/amounts.h"
#include "provision/default_spread.h"

namespace coppice::provision {

namespace {

template <class T>
std::vector<std::shared_ptr<const T>> AllOf(const cluster::World& world) {
  return world.objects<T>().List();
}

std::string ShapeText(const model::ResourceList& requests) {
  std::string text;
  for (const auto& [name, amount] : requests) text += name + "=" + amount.Canonical() + ",";
  return text;
}

// What each machine of ours carries. Not of too many: a provider makes so many types and no more,
// and those that somebody waits for come first; of many every so manieth, from small to large.
std::vector<model::ResourceList> LoadsOf(const Context& context) {
  constexpr size_t kMost = 100;
  std::map<std::tuple<int64_t, int64_t, std::string>, model::ResourceList> loads;
  context.world().ForEachNode([&](const NodePtr& node) {
    if (!context.Manages(*node)) return;
    model::ResourceList load;
    for (const auto* entry : context.world().BoundTo(node->metadata.name)) {
      if (!IsTerminal(*entry->pod)) AddResources(load, model::PlacedRequestList(*entry->pod));
    }
    if (load.empty()) return;
    const model::Quantity* cpu = load.Find("cpu");
    const model::Quantity* memory = load.Find("memory");
    loads.emplace(std::tuple(cpu == nullptr ? 0 : cpu->MilliValue(),
                             memory == nullptr ? 0 : memory->Value(), ShapeText(load)),
                  std::move(load));
  });
  std::vector<model::ResourceList> chosen;
  size_t at = 0;
  for (auto& [key, load] : loads) {
    const size_t place = at++ * kMost / std::max(loads.size(), kMost);
    if (loads.size() <= kMost || place >= chosen.size()) chosen.push_back(std::move(load));
  }
  return chosen;
}

std::shared_ptr<const DefaultSpread> DefaultSpreadOf(const Context& context) {
  const auto& constraints = context.options().default_spread;
  if (constraints.empty()) return nullptr;
  const cluster::World& world = context.world();
  return std::make_shared<DefaultSpread>(
      constraints,
      SpreadObjects{.services = AllOf<model::Service>(world),
                    .replication_controllers = AllOf<model::ReplicationController>(world),
                    .replica_sets = AllOf<model::ReplicaSet>(world),
                    .stateful_sets = AllOf<model::StatefulSet>(world)});
}

}  // namespace

SolverOptions SolverOptionsOf(const Context& context) {
  const EngineOptions& options = context.options();
  return {.preferences = options.preference_policy,
          .min_values = options.min_values_policy,
          .reserved_capacity = options.gates.reserved_capacity,
          .ignore_dra_requests = options.ignore_dra_requests,
          .most_instance_types = context.traits().most_instance_types,
          .upstream_exact = options.upstream_exact,
          .labels = context.labels(),
          .reservation_label = context.traits().reservation_label};
}

DisruptionOptions DisruptionOptionsOf(const Context& context) {
  const EngineOptions& options = context.options();
  DisruptionOptions made{
      .solver = SolverOptionsOf(context),
      .candidates = {.deletion_cost_is_managed = options.gates.pod_deletion_cost_management},
      .spot_to_spot = options.gates.spot_to_spot_consolidation,
      .spot_to_spot_least_types = options.spot_to_spot_least_types,
      .terminate_first_drift = options.gates.terminate_first_drift,
      .terminate_first_repair = options.gates.terminate_first_repair};
  if (options.gates.node_repair && !options.legacy_node_repair) made.repair = context.repair;
  return made;
}

StorageRules StorageRulesOf(const Context& context) {
  return {.unsupported_provisioners = context.traits().unsupported_storage_provisioners,
          .unsupported_topology_keys = context.traits().unsupported_storage_topology_keys};
}

DisruptionWorld MakeView(const ViewParts& parts, TimePoint now, ViewFor purpose) {
  Context& context = parts.context;
  const cluster::World& world = context.world();
  DisruptionObjects objects;
  cloud::WaitingShapes waiting;
  std::set<std::string> shapes;
  const auto ask_for = [&](const model::Pod& pod) {
    model::ResourceList requests = model::RequestList(pod);
    if (shapes.insert(ShapeText(requests)).second) waiting.requests.push_back(std::move(requests));
  };
  for (const PodPtr& pod : purpose.also_asked) ask_for(*pod);
  for (const auto* entry : world.Unbound()) {
    const PodPtr& pod = entry->pod;
    if (context.parts.not_ours && context.parts.not_ours(*pod)) continue;
    objects.pods.push_back(pod);
    if (IsProvisionable(*pod)) ask_for(*pod);
  }
  if (purpose.disruption) {
    // Once for all pools.
    waiting.loads = [&context,
                     known = std::optional<std::vector<model::ResourceList>>()]() mutable {
      if (!known) known = LoadsOf(context);
      return *known;
    };
  }
  objects.pools = parts.pools.Views(waiting);
  objects.claims = parts.store.List();
  objects.facts = parts.store.Facts();
  objects.nodes = world.Nodes();
  objects.pods_on_nodes = context.node_pods.Of(objects.nodes);
  objects.daemon_sets = AllOf<model::DaemonSet>(world);
  objects.namespaces = AllOf<model::Namespace>(world);
  objects.budgets = AllOf<model::PodDisruptionBudget>(world);
  objects.storage.claims = AllOf<model::PersistentVolumeClaim>(world);
  objects.storage.volumes = AllOf<model::PersistentVolume>(world);
  objects.storage.classes = AllOf<model::StorageClass>(world);
  objects.storage.csi_nodes = AllOf<model::CsiNode>(world);
  objects.ephemeral_taints = context.ephemeral_taints();
  objects.waiting_pools = std::move(purpose.waiting_pools);
  objects.marked_for_deletion = parts.marks.leaving;
  for (const auto& [id, until] : parts.marks.nominated) {
    if (now < until) objects.nominated.insert(id);
  }
  for (const auto& [id, command] : parts.marks.queued) objects.queued.insert(id);
  if (!context.options().upstream_exact) {
    objects.chosen = objects.queued;
    for (const std::string& id : parts.marks.chosen) {
      if (!purpose.checked_again.contains(id)) objects.chosen.insert(id);
    }
  }
  for (const NodePtr& node : objects.nodes) {
    const std::string_view holder =
        world.held_nodes().HolderOf(node->metadata.name, node->metadata.uid);
    if (holder.empty() || holder == Engine::kName) continue;
    const std::string& id = node->spec.provider_id;
    objects.held[id.empty() ? node->metadata.name : id] = std::string(holder);
  }
  DisruptionWorld made =
      MakeWorld(std::move(objects), context.labels(), StorageRulesOf(context), now);
  made.solver.default_spread = DefaultSpreadOf(context);
  return made;
}

}  // namespace coppice::provision
