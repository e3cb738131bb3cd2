// What a batch scheduler goes by: groups of pods that start together, queues, quotas, how nodes lie in
// the network. PodGroup, Queue and HyperNode are custom resources, so they come as JSON only.
// Conventions: meta.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/kinds.h"
#include "model/meta.h"
#include "model/pod.h"

namespace coppice::model {

struct NetworkTopology {
  std::string mode;  // hard, soft
  std::optional<int64_t> highest_tier_allowed;
  std::string highest_tier_name;
  friend bool operator==(const NetworkTopology&, const NetworkTopology&) = default;
};

struct SubGroupPolicy {
  std::string name;
  std::optional<NetworkTopology> network_topology;
  std::optional<int32_t> sub_group_size;
  std::optional<int32_t> min_sub_groups;
  std::optional<LabelSelector> label_selector;
  std::vector<std::string> match_label_keys;
  friend bool operator==(const SubGroupPolicy&, const SubGroupPolicy&) = default;
};

struct PodGroupSpec {
  int32_t min_member = 0;
  FlatMap<int32_t> min_task_member;  // by role
  std::string queue;
  std::string priority_class_name;
  std::optional<ResourceList> min_resources;  // none: no admission control
  std::optional<NetworkTopology> network_topology;
  std::vector<SubGroupPolicy> sub_group_policy;
  friend bool operator==(const PodGroupSpec&, const PodGroupSpec&) = default;
};

struct PodGroupCondition {
  std::string type;
  std::string status;
  std::string transition_id;
  std::optional<Time> last_transition_time;
  std::string reason;
  std::string message;
  friend bool operator==(const PodGroupCondition&, const PodGroupCondition&) = default;
};

struct PodGroupStatus {
  std::string phase;  // Pending, Inqueue, Running, Unknown, Completed
  std::vector<PodGroupCondition> conditions;
  int32_t running = 0;
  int32_t succeeded = 0;
  int32_t failed = 0;
  friend bool operator==(const PodGroupStatus&, const PodGroupStatus&) = default;
};

struct PodGroup {
  ObjectMeta metadata;
  PodGroupSpec spec;
  PodGroupStatus status;
  friend bool operator==(const PodGroup&, const PodGroup&) = default;
};

struct NodeGroupNames {  // of an affinity or an anti-affinity
  std::vector<std::string> required;
  std::vector<std::string> preferred;
  friend bool operator==(const NodeGroupNames&, const NodeGroupNames&) = default;
};

struct QueueAffinity {
  std::optional<NodeGroupNames> node_group_affinity;
  std::optional<NodeGroupNames> node_group_anti_affinity;
  friend bool operator==(const QueueAffinity&, const QueueAffinity&) = default;
};

struct QueueGuarantee {
  ResourceList resource;
  friend bool operator==(const QueueGuarantee&, const QueueGuarantee&) = default;
};

struct QueueCluster {
  std::string name;
  int32_t weight = 0;
  ResourceList capacity;
  friend bool operator==(const QueueCluster&, const QueueCluster&) = default;
};

struct QueueSpec {
  int32_t weight = 0;
  ResourceList capability;
  std::optional<bool> reclaimable;
  std::vector<QueueCluster> extend_clusters;
  QueueGuarantee guarantee;
  std::optional<QueueAffinity> affinity;
  std::string type;
  std::string parent;
  ResourceList deserved;
  int32_t priority = 0;
  std::string dequeue_strategy;
  friend bool operator==(const QueueSpec&, const QueueSpec&) = default;
};

struct QueueReservation {
  std::vector<std::string> nodes;
  ResourceList resource;
  friend bool operator==(const QueueReservation&, const QueueReservation&) = default;
};

struct QueueStatus {
  std::string state;  // Open, Closed, Closing, Unknown; only an open one admits
  int32_t unknown = 0;
  int32_t pending = 0;
  int32_t running = 0;
  int32_t inqueue = 0;
  int32_t completed = 0;
  QueueReservation reservation;
  ResourceList allocated;
  friend bool operator==(const QueueStatus&, const QueueStatus&) = default;
};

struct Queue {
  ObjectMeta metadata;
  QueueSpec spec;
  QueueStatus status;
  friend bool operator==(const Queue&, const Queue&) = default;
};

// A stretch of the network (topology.volcano.sh): nodes and smaller stretches that are close to each
// other. The lower the tier, the closer.
struct HyperNodeName {
  std::string name;
  friend bool operator==(const HyperNodeName&, const HyperNodeName&) = default;
};

struct HyperNodePattern {
  std::string pattern;  // RE2's syntax, found anywhere in a node's name
  friend bool operator==(const HyperNodePattern&, const HyperNodePattern&) = default;
};

struct HyperNodeSelector {  // one of them
  std::optional<HyperNodeName> exact_match;
  std::optional<HyperNodePattern> regex_match;
  std::optional<LabelSelector> label_match;
  friend bool operator==(const HyperNodeSelector&, const HyperNodeSelector&) = default;
};

struct HyperNodeMember {
  std::string type;  // Node, HyperNode; the latter by exact_match only
  HyperNodeSelector selector;
  friend bool operator==(const HyperNodeMember&, const HyperNodeMember&) = default;
};

struct HyperNodeSpec {
  int64_t tier = 0;
  std::string tier_name;
  std::vector<HyperNodeMember> members;
  friend bool operator==(const HyperNodeSpec&, const HyperNodeSpec&) = default;
};

struct HyperNode {  // its status is its controller's business
  ObjectMeta metadata;
  HyperNodeSpec spec;
  friend bool operator==(const HyperNode&, const HyperNode&) = default;
};

struct ResourceQuotaSpec {
  ResourceList hard;
  std::vector<std::string> scopes;
  friend bool operator==(const ResourceQuotaSpec&, const ResourceQuotaSpec&) = default;
};

struct ResourceQuotaStatus {
  ResourceList hard;
  ResourceList used;
  friend bool operator==(const ResourceQuotaStatus&, const ResourceQuotaStatus&) = default;
};

struct ResourceQuota {
  ObjectMeta metadata;
  ResourceQuotaSpec spec;
  ResourceQuotaStatus status;
  friend bool operator==(const ResourceQuota&, const ResourceQuota&) = default;
};

// Here and not in kinds.h: only the batch engine reads them, and whoever lists them names them.
template <>
inline constexpr Kind kKind<PodGroup> = {"scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups"};
template <>
inline constexpr Kind kKind<Queue> = {"scheduling.volcano.sh/v1beta1", "Queue", "queues", false};
template <>
inline constexpr Kind kKind<ResourceQuota> = {"v1", "ResourceQuota", "resourcequotas"};
template <>
inline constexpr Kind kKind<HyperNode> = {"topology.volcano.sh/v1alpha1", "HyperNode", "hypernodes",
                                          false};

}  // namespace coppice::model
