// What a Snapshot answers about one pod or node.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/shapes.h"
#include "model/node.h"
#include "model/pod.h"

namespace coppice::cluster {

// What is known of one pod. References stay valid until the pod is updated or removed.
struct PodView {
  PodIndex index;
  std::string_view name;
  std::string_view namespace_;
  std::string_view uid;          // may be empty
  std::string_view wanted_node;  // spec.nodeName of a pod that came without having been placed
  bool terminating;              // has a deletion timestamp
  uint64_t unkept_hash;          // of what the model does not keep of its spec (model::PodSpec)
  NodeIndex node;                // where it is placed, or kNone
  SpecId spec_id;
  LabelSetId label_set_id;
  VolumeSetId volume_set_id;
  const PodSpecShape& spec;
  const LabelSet& label_set;
  const VolumeSet& volumes;
  const model::OwnerReference* owner;  // its controller, or null
  const model::Labels& labels() const { return label_set.labels; }
};

// What is fixed about a node until it is updated.
struct NodeFacts {
  std::string name;
  std::string provider_id;
  model::Labels labels;  // all of them, per-node ones too
  model::NodeAmounts allocatable;
};

}  // namespace coppice::cluster
