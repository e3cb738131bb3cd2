#include "provision/disruption/world.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "provision/disruption/drift.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

std::string WorldLabel(const model::Labels& labels, std::string_view key) {
  const std::string* value = labels.Find(key);
  return value == nullptr ? "" : *value;
}

// A Node that stands for a machine yet: one of ours without an id, or without its type before it
// is up, is waited for.
bool IsCompleteNode(const model::Node& node) {
  const auto& labels = node.metadata.labels;
  if (WorldLabel(labels, model::kNodePoolLabel).empty()) return true;
  if (node.spec.provider_id.empty()) return false;
  return !WorldLabel(labels, model::kInstanceTypeLabel).empty() ||
         !WorldLabel(labels, model::kInitializedLabel).empty();
}

std::shared_ptr<const ClaimFacts> ClaimFactsOf(
    const model::NodeClaim& claim, const std::shared_ptr<const EphemeralTaints>& ephemeral) {
  return std::make_shared<const ClaimFacts>(ClaimFacts{.name = claim.metadata.name,
                                                       .labels = claim.metadata.labels,
                                                       .taints = claim.spec.taints,
                                                       .startup_taints = claim.spec.startup_taints,
                                                       .capacity = claim.status.capacity,
                                                       .allocatable = claim.status.allocatable,
                                                       .ephemeral = ephemeral});
}

bool IsLeavingMachine(const StateNode& state, const Machine& machine) {
  if (machine.claim == nullptr) return state.node->metadata.deletion_timestamp.has_value();
  return machine.claim->metadata.deletion_timestamp ||
         model::IsTrue(machine.claim->status.conditions, names::kInstanceTerminating);
}

// Pools that may buy.
bool IsOpenPool(const model::NodePool& pool) {
  return !model::IsStatic(pool) && !pool.metadata.deletion_timestamp &&
         model::IsTrue(pool.status.conditions, names::kReady);
}

Pool SolverPool(const PoolView& view) {
  const auto& spec = view.pool->spec;
  Pool pool{.name = view.pool->metadata.name,
            .weight = spec.weight.value_or(0),
            .labels = spec.template_.labels,
            .requirements = spec.template_.spec.requirements,
            .taints = spec.template_.spec.taints,
            .limits = spec.limits,
            .types = view.types};
  if (spec.template_.spec.node_class_ref) {
    pool.node_class_label = ClassLabel(*spec.template_.spec.node_class_ref);
    pool.node_class_name = spec.template_.spec.node_class_ref->name;
  }
  return pool;
}

const cloud::InstanceType* TypeNamed(const PoolView& pool, std::string_view name) {
  if (pool.types == nullptr) return nullptr;
  const auto it = std::ranges::find(*pool.types, name, &cloud::InstanceType::name);
  return it == pool.types->end() ? nullptr : &*it;
}

// What a claim is known by while its machines are put together.
struct Joined {
  StateNode state;
  Machine machine;
  std::string_view name;
  std::string_view id;
};

// In the order of its nodes.
std::vector<NodePodsPtr> PodsOnNodes(const DisruptionObjects& objects) {
  if (!objects.pods_on_nodes.empty()) return objects.pods_on_nodes;
  std::unordered_map<std::string_view, std::vector<PodPtr>> by_node;
  for (const PodPtr& pod : objects.pods) {
    if (!pod->spec.node_name.empty()) by_node[pod->spec.node_name].push_back(pod);
  }
  std::vector<NodePodsPtr> all;
  for (const NodePtr& node : objects.nodes)
    all.push_back(NodePodsOf(std::move(by_node[node->metadata.name])));
  return all;
}

std::vector<PodPtr> LivePodsOfDaemonSets(const DisruptionObjects& objects) {
  if (objects.pods_on_nodes.empty()) return objects.pods;
  std::vector<PodPtr> pods = objects.pods;
  if (objects.daemon_sets.empty()) return pods;
  for (const NodePodsPtr& on_node : objects.pods_on_nodes)
    pods.insert(pods.end(), on_node->daemons.begin(), on_node->daemons.end());
  return pods;
}

std::vector<Joined> JoinMachines(const DisruptionObjects& objects) {
  std::unordered_map<std::string_view, Joined> by_id;
  by_id.reserve(std::max(objects.claims.size(), objects.nodes.size()));
  for (size_t i = 0; i < objects.claims.size(); ++i) {
    const ClaimPtr& claim = objects.claims[i];
    if (claim->status.provider_id.empty()) continue;
    Joined& joined = by_id[claim->status.provider_id];
    joined.machine.claim = claim;
    joined.state.claim =
        objects.facts.empty() ? ClaimFactsOf(*claim, objects.ephemeral_taints) : objects.facts[i];
  }
  const std::vector<NodePodsPtr> on_nodes = PodsOnNodes(objects);
  for (size_t i = 0; i < objects.nodes.size(); ++i) {
    const NodePtr& node = objects.nodes[i];
    if (!IsCompleteNode(*node)) continue;
    const std::string& id = node->spec.provider_id;
    Joined& joined = by_id[id.empty() ? node->metadata.name : id];
    joined.state.node = node;
    joined.machine.known = on_nodes[i];
    joined.machine.pods = on_nodes[i]->all;
    joined.state.pods = on_nodes[i]->running;
  }
  std::vector<Joined*> sorted;
  sorted.reserve(by_id.size());
  for (auto& [key, joined] : by_id) {
    const std::string id(key);
    joined.machine.nominated = objects.nominated.contains(id);
    joined.machine.queued = objects.queued.contains(id);
    joined.machine.chosen = objects.chosen.contains(id);
    if (const auto held = objects.held.find(id); held != objects.held.end())
      joined.machine.held_by = held->second;
    joined.state.marked_for_deletion =
        objects.marked_for_deletion.contains(id) || IsLeavingMachine(joined.state, joined.machine);
    joined.name = joined.state.name();
    joined.id = key;
    sorted.push_back(&joined);
  }
  std::ranges::sort(sorted, {},
                    [](const Joined* joined) { return std::pair(joined->name, joined->id); });
  std::vector<Joined> all;
  all.reserve(sorted.size());
  for (Joined* joined : sorted) all.push_back(std::move(*joined));
  return all;
}

void CountClaims(const DisruptionObjects& objects, DisruptionWorld& world) {
  // Many stand in the same place.
  std::map<std::array<std::string_view, 4>, double> prices;
  for (const ClaimPtr& claim : objects.claims) {
    const auto& labels = claim->metadata.labels;
    const std::string* pool = labels.Find(model::kNodePoolLabel);
    if (pool == nullptr || pool->empty()) continue;
    const bool leaves = claim->metadata.deletion_timestamp ||
                        model::IsTrue(claim->status.conditions, names::kInstanceTerminating) ||
                        objects.marked_for_deletion.contains(claim->status.provider_id);
    DisruptionWorld::PoolCounts& counts = world.counts[*pool];
    ++(leaves ? counts.deleting : counts.active);
    const PoolView* view = world.FindPool(*pool);
    const std::string* type = labels.Find(model::kInstanceTypeLabel);
    const std::string* way = labels.Find(model::kCapacityTypeLabel);
    const std::string* zone = labels.Find(model::kZoneLabel);
    if (view == nullptr || type == nullptr || way == nullptr || zone == nullptr) continue;
    const std::array<std::string_view, 4> place{*pool, *type, *way, *zone};
    const auto [price, is_new] = prices.try_emplace(place, 0.0);
    if (is_new) price->second = PriceOf(labels, TypeNamed(*view, *type));
    counts.cost += price->second;
  }
}

}  // namespace

std::string ClassLabel(const model::NodeClassReference& reference) {
  std::string label = reference.group + "/" + reference.kind;
  for (size_t i = reference.group.size(); i < label.size(); ++i) {
    if (label[i] >= 'A' && label[i] <= 'Z') label[i] = static_cast<char>(label[i] - 'A' + 'a');
  }
  return label;
}

double PriceOf(const model::Labels& labels, const cloud::InstanceType* type) {
  if (type == nullptr) return 0;
  const auto price = type->OfferingPrice(WorldLabel(labels, model::kZoneLabel),
                                         WorldLabel(labels, model::kCapacityTypeLabel));
  return price && !std::isnan(*price) ? *price : 0;
}

const PoolView* DisruptionWorld::FindPool(std::string_view name) const {
  const auto it = std::ranges::lower_bound(
      pools, name, {},
      [](const PoolView& view) -> std::string_view { return view.pool->metadata.name; });
  return it != pools.end() && it->pool->metadata.name == name ? &*it : nullptr;
}

DisruptionWorld MakeWorld(DisruptionObjects objects, const model::LabelRules& labels,
                          const StorageRules& storage_rules, TimePoint now) {
  DisruptionWorld world;
  world.now = now;
  world.budgets = std::move(objects.budgets);
  world.pools = std::move(objects.pools);
  std::ranges::sort(world.pools, {}, [](const PoolView& view) { return view.pool->metadata.name; });
  std::vector<Joined> joined_machines = JoinMachines(objects);
  world.solver.nodes.reserve(joined_machines.size());
  world.machines.reserve(joined_machines.size());
  for (Joined& joined : joined_machines) {
    if (joined.machine.claim != nullptr) {
      const std::string name = WorldLabel(joined.state.labels(), model::kNodePoolLabel);
      const auto waits = objects.waiting_pools.find(name);
      if (waits != objects.waiting_pools.end()) joined.machine.waits_for = waits->second;
      const PoolView* pool = world.FindPool(name);
      joined.state.settling = pool != nullptr && IsOpenPool(*pool->pool) &&
                              SettlesAt(*joined.machine.claim, *pool->pool, now).has_value();
    }
    world.solver.nodes.push_back(std::move(joined.state));
    world.machines.push_back(std::move(joined.machine));
  }
  for (const PoolView& view : world.pools) {
    if (IsOpenPool(*view.pool)) world.solver.pools.push_back(SolverPool(view));
  }
  CountClaims(objects, world);
  world.solver.node_objects = std::move(objects.nodes);
  world.solver.namespaces = std::move(objects.namespaces);
  world.solver.daemon_pods = DaemonPods(objects.daemon_sets, LivePodsOfDaemonSets(objects));
  world.solver.storage = std::move(objects.storage);
  const StorageIndex storage(world.solver.storage);
  for (const PodPtr& pod : objects.pods) {
    if (IsProvisionable(*pod) && !Validate(*pod, storage, labels, storage_rules)) {
      world.pending.push_back(pod);
    }
  }
  return world;
}

}  // namespace coppice::provision
