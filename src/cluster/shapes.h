// What scheduling can see of pods and nodes, stored once however many of them look alike.
//
// A cluster of 150,000 pods has a few hundred spec shapes. Labels stand beside the spec shape and
// not in it, for a StatefulSet gives every pod labels of its own; volumes too, for claims have
// names of their own. Plain immutable values once interned (interner.h); ids are dense, and good
// until Snapshot::Renumber().

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/flat_map.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/resources.h"

namespace coppice::cluster {

using NodeIndex = uint32_t;  // dense; reused only after the node is gone for good
using PodIndex = uint32_t;   // likewise
using SpecId = uint32_t;
using LabelSetId = uint32_t;
using VolumeSetId = uint32_t;
using NodeShapeId = uint32_t;
using ClaimId = uint32_t;
using OwnerId = uint32_t;
using EvictionId = uint32_t;

inline constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// An empty address and protocol in the object are already 0.0.0.0 and TCP here.
struct HostPort {
  std::string ip;
  std::string protocol;
  int32_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Left out on purpose: name, labels, volumes, images, environment. The node that spec.nodeName asks
// for belongs to the single pod (PodView::wanted_node).
struct PodSpecShape {
  model::PodRequests requests;  // what the pod asks of a node
  model::PodRequests placed;    // what it takes once there; differs while it is being resized
  model::Labels node_selector;
  model::Rare<model::Affinity> affinity;
  std::vector<model::Toleration> tolerations;
  std::vector<model::TopologySpreadConstraint> spread;
  std::vector<HostPort> host_ports;  // of containers and sidecars
  int32_t priority = 0;
  std::string scheduler_name;
  std::string owner_kind;            // of the controller: ReplicaSet, DaemonSet, ...; empty: none
  bool has_resource_claims = false;  // spec.resourceClaims is not empty
  std::vector<std::string> needed_features;  // what NodeDeclaredFeatures infers from the spec
  friend bool operator==(const PodSpecShape&, const PodSpecShape&) = default;
};

struct LabelSet {
  std::string namespace_;
  model::Labels labels;
  friend bool operator==(const LabelSet&, const LabelSet&) = default;
};

// The volumes that some filter looks at (claims, ephemeral ones, exclusive disks, CSI), in the
// pod's order. Config maps, secrets, empty directories and host paths are not here.
struct VolumeSet {
  std::string namespace_;
  std::vector<model::Volume> volumes;
  std::vector<ClaimId>
      claims;  // of persistentVolumeClaim volumes, one per volume; not of ephemeral ones
  bool empty() const { return volumes.empty(); }
};

struct NodeShape {
  model::Labels labels;  // without the per-node keys (IsPerNodeLabel)
  // Without time_added, and without what differs on every node and decides nothing: the value of
  // one that keeps nobody out, the time in a timed one (Interner::taint_times_count).
  std::vector<model::Taint> taints;
  bool unschedulable = false;
  std::vector<std::string> declared_features;
  friend bool operator==(const NodeShape&, const NodeShape&) = default;
};

// Labels that differ on every machine, so that keeping them in the shape would make every node its
// own: the hostname and what clouds are known to add.
bool IsPerNodeLabel(std::string_view key);

}  // namespace coppice::cluster
