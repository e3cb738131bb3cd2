// DisruptionScene: small clusters for tests and benchmarks of disruption.
//
// Pools with FakeNodeClaims' kind of types, machines that are up and consolidatable, pods of given
// sizes on them. Everything may be changed before World() is asked for.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cloud/fake_node_claims.h"
#include "provision/disruption/world.h"

namespace coppice::provision {

class DisruptionScene {
 public:
  static constexpr TimePoint kNow{std::chrono::seconds(1'768'478'400)};

  explicit DisruptionScene(cloud::InstanceTypes types)
      : types_(std::make_shared<const cloud::InstanceTypes>(std::move(types))) {}

  model::NodePool& AddPool(const std::string& name) {
    auto pool = std::make_shared<model::NodePool>();
    pool->metadata.name = name;
    pool->spec.template_.spec.node_class_ref = {"coppice.dev", "NodeClass", "default"};
    pool->status.conditions = {{.type = model::karpenter::kReady, .status = "True"}};
    model::FillDefaults(*pool);
    pool->spec.disruption.budgets = {{model::DisruptionBudget{.nodes = "100%"}}};
    pools_.push_back(pool);
    return *pool;
  }

  // A machine of a type of ours, in zone-a.
  model::NodeClaim& AddMachine(const std::string& name, const std::string& pool,
                               const std::string& type,
                               std::string_view capacity_type = model::kOnDemand) {
    auto claim = std::make_shared<model::NodeClaim>();
    model::Labels labels;
    labels[model::kNodePoolLabel] = pool;
    labels["coppice.dev/nodeclass"] = "default";
    labels[model::kInstanceTypeLabel] = type;
    labels[model::kZoneLabel] = "zone-a";
    labels[model::kCapacityTypeLabel] = capacity_type;
    labels[model::kArchLabel] = "amd64";
    labels[model::kOsLabel] = "linux";
    claim->metadata.name = "claim-" + name;
    claim->metadata.labels = labels;
    claim->metadata.creation_timestamp = model::Time{kNow - std::chrono::hours(5)};
    claim->status.provider_id = "fake://" + name;
    const model::Time since{kNow - std::chrono::hours(4)};
    for (const char* condition : {model::karpenter::kLaunched, model::karpenter::kInitialized,
                                  model::karpenter::kConsolidatable}) {
      claim->status.conditions.push_back(
          {.type = condition, .status = "True", .last_transition_time = since});
    }
    labels[model::kHostnameLabel] = name;
    labels[model::kRegisteredLabel] = "true";
    labels[model::kInitializedLabel] = "true";
    auto node = std::make_shared<model::Node>();
    node->metadata.name = name;
    node->metadata.labels = std::move(labels);
    node->spec.provider_id = claim->status.provider_id;
    for (const cloud::InstanceType& sold : *types_) {
      if (sold.name != type) continue;
      node->status.allocatable = cloud::AllocatableGroups(sold)[0].allocatable;
      node->status.capacity = sold.capacity;
    }
    node->status.conditions = {{.type = "Ready", .status = "True"}};
    claims_.push_back(claim);
    nodes_.push_back(std::move(node));
    return *claim;
  }

  // On a node, or waiting if `node` is empty.
  model::Pod& AddPod(const std::string& name, const std::string& node, int64_t cpu_millis) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.namespace_ = "default";
    pod->metadata.name = name;
    pod->metadata.uid = name;
    pod->spec.node_name = node;
    pod->status.phase = node.empty() ? "Pending" : "Running";
    model::Container container;
    container.resources.requests["cpu"] = model::Quantity::FromMillis(cpu_millis);
    container.resources.requests["memory"] = model::Quantity::FromUnits(64LL << 20);
    pod->spec.containers.push_back(std::move(container));
    pods_.push_back(pod);
    return *pod;
  }

  // Marks a claim as drifted so long ago.
  static void Drift(model::NodeClaim& claim, Duration ago) {
    model::SetCondition(claim.status.conditions,
                        {.type = model::karpenter::kDrifted, .status = "True", .reason = "Test"},
                        kNow - ago);
  }

  model::Node& node(size_t index) { return *nodes_[index]; }

  DisruptionWorld World() const {
    DisruptionObjects objects;
    for (const auto& pool : pools_) objects.pools.push_back({pool, types_});
    objects.claims.assign(claims_.begin(), claims_.end());
    objects.nodes.assign(nodes_.begin(), nodes_.end());
    objects.pods.assign(pods_.begin(), pods_.end());
    return MakeWorld(std::move(objects), model::LabelRules::Default(), {}, kNow);
  }

 private:
  std::shared_ptr<const cloud::InstanceTypes> types_;
  std::vector<std::shared_ptr<model::NodePool>> pools_;
  std::vector<std::shared_ptr<model::NodeClaim>> claims_;
  std::vector<std::shared_ptr<model::Node>> nodes_;
  std::vector<std::shared_ptr<model::Pod>> pods_;
};

// For benchmarks: machines of 20 pods each, full and of the cheapest type that holds them. Nothing can
// go.
inline DisruptionScene FullScene(int64_t nodes) {
  constexpr int kPodsPerNode = 20;
  cloud::InstanceTypes types;
  for (int i = 0; i < 100; ++i) {
    types.push_back(
        cloud::FakeNodeClaims::AType("type-" + std::to_string(i), 4 + i, 0.1 + 0.1 * i));
  }
  DisruptionScene scene(std::move(types));
  scene.AddPool("default");
  for (int64_t n = 0; n < nodes; ++n) {
    const std::string name = "node-" + std::to_string(n);
    scene.AddMachine(name, "default", "type-0", model::kSpot);
    for (int p = 0; p < kPodsPerNode; ++p) {
      scene.AddPod("pod-" + std::to_string(n) + "-" + std::to_string(p), name, 190)
          .metadata.labels = {{"app", "app-" + std::to_string(n % 50)}};
    }
  }
  return scene;
}

}  // namespace coppice::provision
