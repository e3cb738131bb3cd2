// PoolsScene: a cluster with node pools while a what-if is played on it: objects that pods are moved
// between, machines that are bought and go. Values only.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "provision/disruption/world.h"
#include "whatif/pools.h"

namespace coppice::whatif {

class PoolsScene {
 public:
  PoolsScene(ClusterObjects objects, std::vector<provision::PoolView> pools,
             const cloud::NodeClaimsTraits& traits, TimePoint now);

  // As the solver and the methods of disruption read it now.
  provision::DisruptionWorld World() const;

  // A planned machine as the cheapest offering that would do, up and running without pods.
  Result<WouldBuy> Buy(const std::string& pool, const cloud::TypeList& types,
                       const model::NodeRequirements& requirements,
                       const std::vector<provision::PodPtr>& pods);
  void Bind(const provision::PodPtr& pod, const std::string& node);
  // Its machine goes: pods that would come up elsewhere wait, the others are gone with it.
  void Remove(const std::string& node, const std::vector<provision::PodPtr>& reschedulable);

  // How many machines each pool has and what they cost.
  std::map<std::string, provision::DisruptionWorld::PoolCounts> Counts() const;
  double CostPerHour() const;  // of the pools' machines
  size_t nodes() const { return nodes_.size(); }
  Listed<model::Node> Nodes() const;
  Listed<model::Pod> Pods() const;

 private:
  const provision::PoolView* FindPool(const std::string& name) const;
  void MarkConsolidatable(model::NodeClaim& claim) const;

  std::vector<provision::PoolView> pools_;
  const cloud::NodeClaimsTraits& traits_;
  const TimePoint now_;
  ClusterObjects rest_;  // of kinds that do not change here
  std::map<std::string, provision::NodePtr> nodes_;
  std::map<std::string, provision::ClaimPtr> claims_;
  std::map<std::string, provision::PodPtr> pods_;  // by namespace/name
  size_t bought_ = 0;
};

// The pod as it waits: nowhere, and refused by the scheduler.
provision::PodPtr AsWaiting(const model::Pod& pod, TimePoint now);

}  // namespace coppice::whatif
