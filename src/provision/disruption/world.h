// DisruptionWorld: everything that a round of disruption reads, put together once.
//
// Machines are Nodes and NodeClaims joined by provider id, and by nothing else. The solver's input
// and the machines stand side by side: solver.nodes[i] is machines[i]. What is here does not change
// during a round; every method of it is asked on the same world.

#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cloud/instance_type.h"
#include "model/node_claim.h"
#include "model/node_pool.h"
#include "model/policy.h"
#include "provision/node_pods.h"
#include "provision/pod_selection.h"
#include "provision/solver.h"

namespace coppice::provision {

using ClaimPtr = std::shared_ptr<const model::NodeClaim>;
using NodePoolPtr = std::shared_ptr<const model::NodePool>;

// A pool of ours, whatever its state.
struct PoolView {
  NodePoolPtr pool;
  std::shared_ptr<const cloud::InstanceTypes> types;  // null or empty: not known now
};

struct Machine {
  ClaimPtr claim;          // null: not ours
  NodePodsPtr known;       // of its node; null: it has none
  PodList pods;            // all that are bound to its node, by namespace and name
  bool nominated = false;  // a pod that waits is expected on it
  bool queued = false;     // somebody is already taking it away
  // A command has chosen it, and may still be looked at once more: it uses its pool's budget.
  bool chosen = false;
  bool holds_buffer = false;
  std::string held_by = {};    // another engine, which is taking it away
  std::string waits_for = {};  // why its pool's machines stay for now
};

// Objects as the API has them, of kinds that we support; in any order.
struct DisruptionObjects {
  std::vector<PoolView> pools;
  std::vector<ClaimPtr> claims;
  // What the solver reads of them, in that order; empty: not made yet.
  std::vector<std::shared_ptr<const ClaimFacts>> facts = {};
  std::vector<NodePtr> nodes;
  // All pods; or, if those on `nodes` are known already, in that order, then those without a node.
  std::vector<PodPtr> pods;
  std::vector<NodePodsPtr> pods_on_nodes = {};
  std::vector<std::shared_ptr<const model::DaemonSet>> daemon_sets;
  std::vector<std::shared_ptr<const model::Namespace>> namespaces;
  std::vector<std::shared_ptr<const model::PodDisruptionBudget>> budgets;
  StorageFacts storage;
  // What only memory knows, by provider id.
  std::set<std::string> marked_for_deletion;
  std::set<std::string> nominated;
  std::set<std::string> queued;
  std::set<std::string> chosen = {};
  std::map<std::string, std::string> held;  // by another engine
  std::shared_ptr<const EphemeralTaints> ephemeral_taints = nullptr;
  // By pool: why its machines stay for now.
  std::map<std::string, std::string> waiting_pools;
};

struct DisruptionWorld {
  TimePoint now;
  SolverInput solver;
  std::vector<Machine> machines;  // by name
  std::vector<PoolView> pools;    // by name
  std::vector<PodPtr> pending;    // to be provisioned for anyway
  std::vector<std::shared_ptr<const model::PodDisruptionBudget>> budgets;

  struct PoolCounts {
    int64_t active = 0;  // claims, launched or not
    int64_t deleting = 0;
    double cost = 0;  // of its claims, by the prices of their offerings; unknown ones count nothing
  };
  std::map<std::string, PoolCounts> counts;  // by pool

  const PoolView* FindPool(std::string_view name) const;
};

DisruptionWorld MakeWorld(DisruptionObjects objects, const model::LabelRules& labels,
                          const StorageRules& storage_rules, TimePoint now);

// The price of where a machine stands, from its labels; 0 if that is not known.
double PriceOf(const model::Labels& labels, const cloud::InstanceType* type);

// Which label on claims and nodes names their class: "<group>/<kind in lower case>".
std::string ClassLabel(const model::NodeClassReference& reference);

}  // namespace coppice::provision
