// karpenter.sh/v1 NodePool: what machines may be bought, how many, and when they may be taken away
// again. Conventions: meta.h; durations as text: node_claim.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/kinds.h"
#include "model/meta.h"
#include "model/node_claim.h"

namespace coppice::model {

// How many of a pool's nodes may be on their way out at once, for which reasons and when.
struct DisruptionBudget {
  // Absent: for every reason. An explicit empty list: for none, as the peer has it.
  std::optional<std::vector<std::string>> reasons;  // Underutilized, Empty, Drifted, Unhealthy
  std::string nodes;                                // "3" or "10%"
  std::optional<std::string> schedule;              // cron, UTC; together with `duration`
  std::optional<std::string> duration;
  friend bool operator==(const DisruptionBudget&, const DisruptionBudget&) = default;
};

struct NodePoolDisruption {
  std::optional<std::string> consolidate_after;
  std::string consolidation_policy;  // WhenEmpty, WhenEmptyOrUnderutilized, Balanced
  // Absent is for the API server to fill (10%); an explicit empty list is no limit at all.
  std::optional<std::vector<DisruptionBudget>> budgets;
  friend bool operator==(const NodePoolDisruption&, const NodePoolDisruption&) = default;
};

struct NodeClaimTemplate {
  Labels labels;  // metadata.labels and .annotations go to claims and nodes
  Labels annotations;
  NodeClaimTemplateSpec spec;
  friend bool operator==(const NodeClaimTemplate&, const NodeClaimTemplate&) = default;
};

struct NodePoolSpec {
  NodeClaimTemplate template_;
  NodePoolDisruption disruption;
  ResourceList limits;              // also "nodes"
  std::optional<int32_t> weight;    // absent: 0
  std::optional<int64_t> replicas;  // present: a static pool
  friend bool operator==(const NodePoolSpec&, const NodePoolSpec&) = default;
};

struct NodePoolStatus {
  ResourceList resources;
  std::optional<int64_t> nodes;
  int64_t node_class_observed_generation = 0;
  std::vector<Condition> conditions;
  friend bool operator==(const NodePoolStatus&, const NodePoolStatus&) = default;
};

struct NodePool {
  ObjectMeta metadata;
  NodePoolSpec spec;
  NodePoolStatus status;
  friend bool operator==(const NodePool&, const NodePool&) = default;
};

template <>
inline constexpr Kind kKind<NodePool> = {"karpenter.sh/v1", "NodePool", "nodepools", false};

inline bool IsStatic(const NodePool& pool) { return pool.spec.replicas.has_value(); }

// Fills what the API server fills: consolidateAfter 0s, WhenEmptyOrUnderutilized, a budget of 10%,
// expireAfter 720h. For objects that come from files.
void FillDefaults(NodePool& pool);

// The hash of what a claim has of its pool's template and cannot get without being replaced:
// everything but the requirements. It is Karpenter's own number (its version "v3"), so that either
// engine understands what the other wrote on claims. Lists are sets in it, and what is listed twice
// cancels out; absent and empty are the same.
std::string HashOf(const NodePool& pool);
inline constexpr char kNodePoolHashVersion[] = "v3";

}  // namespace coppice::model
