// core/v1 Node, as far as a decision reads it. Conventions: meta.h.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/meta.h"
#include "model/pod.h"

namespace coppice::model {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
  std::optional<Time> time_added;
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct NodeSpec {
  std::string pod_cidr;
  std::vector<std::string> pod_cidrs;
  std::string provider_id;
  bool unschedulable = false;
  std::vector<Taint> taints;
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

struct NodeCondition {
  std::string type;
  std::string status;
  std::optional<Time> last_heartbeat_time;
  std::optional<Time> last_transition_time;
  std::string reason;
  std::string message;
  friend bool operator==(const NodeCondition&, const NodeCondition&) = default;
};

struct NodeAddress {
  std::string type;
  std::string address;
  friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};

struct NodeSystemInfo {
  std::string kubelet_version;
  std::string operating_system;
  std::string architecture;
  friend bool operator==(const NodeSystemInfo&, const NodeSystemInfo&) = default;
};

struct NodeStatus {
  ResourceList capacity;
  ResourceList allocatable;
  std::vector<NodeCondition> conditions;
  std::vector<NodeAddress> addresses;
  NodeSystemInfo node_info;
  std::vector<std::string> declared_features;
  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};

struct Node {
  ObjectMeta metadata;
  NodeSpec spec;
  NodeStatus status;
  friend bool operator==(const Node&, const Node&) = default;
};

}  // namespace coppice::model
