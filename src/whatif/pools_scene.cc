#include "whatif/pools_scene.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/pending.h"

namespace coppice::whatif {

using provision::PodPtr;

namespace {

std::string KeyOfPod(const model::Pod& pod) {
  return pod.metadata.namespace_ + "/" + pod.metadata.name;
}

struct Choice {
  const cloud::InstanceType* type = nullptr;
  const cloud::Offering* offering = nullptr;
};

// What a provider would buy: the cheapest that the claim allows; of equal ones the first.
Choice Cheapest(const cloud::TypeList& types, const model::NodeRequirements& requirements) {
  Choice best;
  for (const cloud::InstanceType* type : types) {
    for (const cloud::Offering& offering : type->offerings) {
      if (!offering.Launchable() || !requirements.Intersects(offering.requirements)) continue;
      if (best.offering == nullptr || offering.price < best.offering->price)
        best = {type, &offering};
    }
  }
  return best;
}

void TakeSingleValues(const model::NodeRequirements& requirements, model::Labels& labels) {
  for (const model::NodeRequirement& requirement : requirements) {
    if (requirement.op() == model::NodeRequirement::Operator::kIn &&
        requirement.values().size() == 1)
      labels[requirement.key()] = requirement.values().front();
  }
}

}  // namespace

PodPtr AsWaiting(const model::Pod& pod, TimePoint now) {
  model::Pod waiting = sim::AsRefused(pod, now);
  waiting.metadata.deletion_timestamp.reset();
  return std::make_shared<const model::Pod>(std::move(waiting));
}

PoolsScene::PoolsScene(ClusterObjects objects, std::vector<provision::PoolView> pools,
                       const cloud::NodeClaimsTraits& traits, TimePoint now)
    : pools_(std::move(pools)), traits_(traits), now_(now) {
  for (const auto& node : std::exchange(objects.nodes, {})) nodes_[node->metadata.name] = node;
  for (const auto& pod : std::exchange(objects.pods, {})) pods_[KeyOfPod(*pod)] = pod;
  for (const auto& claim : std::exchange(objects.node_claims, {})) {
    model::NodeClaim now_idle = *claim;
    MarkConsolidatable(now_idle);
    claims_[claim->metadata.name] = std::make_shared<const model::NodeClaim>(std::move(now_idle));
  }
  rest_ = std::move(objects);
}

const provision::PoolView* PoolsScene::FindPool(const std::string& name) const {
  for (const provision::PoolView& view : pools_) {
    if (view.pool->metadata.name == name) return &view;
  }
  return nullptr;
}

// As it will be when consolidateAfter is over and nothing has happened meanwhile.
void PoolsScene::MarkConsolidatable(model::NodeClaim& claim) const {
  const std::string* pool_name = claim.metadata.labels.Find(model::kNodePoolLabel);
  const provision::PoolView* view = pool_name == nullptr ? nullptr : FindPool(*pool_name);
  if (view == nullptr || view->pool->spec.disruption.consolidate_after == "Never") return;
  model::SetCondition(claim.status.conditions,
                      {.type = model::karpenter::kConsolidatable,
                       .status = "True",
                       .reason = model::karpenter::kConsolidatable},
                      now_);
}

provision::DisruptionWorld PoolsScene::World() const {
  provision::DisruptionObjects objects;
  objects.pools = pools_;
  for (const auto& [name, claim] : claims_) objects.claims.push_back(claim);
  for (const auto& [name, node] : nodes_) objects.nodes.push_back(node);
  for (const auto& [name, pod] : pods_) objects.pods.push_back(pod);
  objects.daemon_sets = rest_.daemon_sets;
  objects.namespaces = rest_.namespaces;
  objects.budgets = rest_.budgets;
  objects.storage.claims = rest_.claims;
  objects.storage.volumes = rest_.volumes;
  objects.storage.classes = rest_.storage_classes;
  objects.storage.csi_nodes = rest_.csi_nodes;
  return provision::MakeWorld(
      std::move(objects), traits_.labels,
      {.unsupported_provisioners = traits_.unsupported_storage_provisioners,
       .unsupported_topology_keys = traits_.unsupported_storage_topology_keys},
      now_);
}

Result<WouldBuy> PoolsScene::Buy(const std::string& pool_name, const cloud::TypeList& types,
                                 const model::NodeRequirements& requirements,
                                 const std::vector<PodPtr>& pods) {
  const provision::PoolView* view = FindPool(pool_name);
  CHECK(view != nullptr);
  const Choice choice = Cheapest(types, requirements);
  if (choice.offering == nullptr)
    return NotFound("nothing of what the claim allows can be bought now");
  WouldBuy bought{.node = "new-" + std::to_string(++bought_),
                  .pool = pool_name,
                  .type = choice.type->name,
                  .zone = choice.offering->Zone(),
                  .capacity_type = choice.offering->CapacityType(),
                  .price = choice.offering->price,
                  .type_count = types.size(),
                  .pods = pods};
  const auto& template_ = view->pool->spec.template_;
  model::Node node;
  node.metadata.name = bought.node;
  node.metadata.creation_timestamp = model::Time{now_};
  model::Labels& labels = node.metadata.labels;
  TakeSingleValues(choice.type->requirements, labels);
  TakeSingleValues(choice.offering->requirements, labels);
  TakeSingleValues(requirements, labels);
  for (const auto& [key, value] : template_.labels) labels[key] = value;
  labels[model::kNodePoolLabel] = pool_name;
  labels["kubernetes.io/hostname"] = bought.node;
  if (template_.spec.node_class_ref)
    labels[provision::ClassLabel(*template_.spec.node_class_ref)] =
        template_.spec.node_class_ref->name;
  model::NodeClaim claim;
  claim.metadata = node.metadata;
  claim.spec.taints = template_.spec.taints;
  claim.spec.node_class_ref = template_.spec.node_class_ref;
  claim.spec.expire_after = template_.spec.expire_after;
  claim.spec.termination_grace_period = template_.spec.termination_grace_period;
  claim.status.provider_id = "simulate://" + bought.node;
  claim.status.node_name = bought.node;
  claim.status.capacity = choice.type->capacity;
  claim.status.allocatable = cloud::AllocatableGroups(*choice.type).front().allocatable;
  for (const char* condition : {model::karpenter::kLaunched, model::karpenter::kRegistered,
                                model::karpenter::kInitialized, model::karpenter::kReady}) {
    model::SetCondition(claim.status.conditions,
                        {.type = condition, .status = "True", .reason = condition}, now_);
  }
  MarkConsolidatable(claim);
  labels[model::kRegisteredLabel] = "true";
  labels[model::kInitializedLabel] = "true";
  node.spec.provider_id = claim.status.provider_id;
  node.spec.taints = template_.spec.taints;
  node.status.capacity = claim.status.capacity;
  node.status.allocatable = claim.status.allocatable;
  node.status.conditions = {{.type = "Ready", .status = "True"}};
  nodes_[bought.node] = std::make_shared<const model::Node>(std::move(node));
  claims_[bought.node] = std::make_shared<const model::NodeClaim>(std::move(claim));
  return bought;
}

void PoolsScene::Bind(const PodPtr& pod, const std::string& node) {
  model::Pod bound = *pod;
  bound.spec.node_name = node;
  bound.status.phase = "Running";
  bound.status.conditions = {{.type = "PodScheduled", .status = "True"},
                             {.type = "Ready", .status = "True"}};
  bound.status.start_time = model::Time{now_};
  pods_[KeyOfPod(*pod)] = std::make_shared<const model::Pod>(std::move(bound));
}

void PoolsScene::Remove(const std::string& name, const std::vector<PodPtr>& reschedulable) {
  const auto node = nodes_.find(name);
  CHECK(node != nodes_.end());
  const std::string provider_id = node->second->spec.provider_id;
  std::erase_if(claims_,
                [&](const auto& claim) { return claim.second->status.provider_id == provider_id; });
  std::erase_if(pods_, [&](const auto& pod) { return pod.second->spec.node_name == name; });
  for (const PodPtr& pod : reschedulable) pods_[KeyOfPod(*pod)] = AsWaiting(*pod, now_);
  nodes_.erase(node);
}

std::map<std::string, provision::DisruptionWorld::PoolCounts> PoolsScene::Counts() const {
  return World().counts;
}

double PoolsScene::CostPerHour() const {
  double cost = 0;
  for (const auto& [name, counts] : Counts()) cost += counts.cost;
  return cost;
}

Listed<model::Node> PoolsScene::Nodes() const {
  Listed<model::Node> nodes;
  for (const auto& [name, node] : nodes_) nodes.push_back(node);
  return nodes;
}

Listed<model::Pod> PoolsScene::Pods() const {
  Listed<model::Pod> pods;
  for (const auto& [name, pod] : pods_) pods.push_back(pod);
  return pods;
}

}  // namespace coppice::whatif
