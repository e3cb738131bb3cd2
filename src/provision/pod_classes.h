// PodClasses: pods that ask for the same are one class, and everything about them is worked out
// once.
//
// Relaxing a pod (dropping its next wish) makes it one of another class. Classes live as long as
// the solver, so that the next question finds them ready.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "provision/algebra.h"
#include "provision/amounts.h"
#include "provision/bits.h"
#include "provision/default_spread.h"
#include "provision/host_ports.h"
#include "provision/storage_index.h"
#include "provision/taint_book.h"
#include "provision/topology_facts.h"

namespace coppice::provision {

using ClassId = uint32_t;

struct PodClass {
  std::shared_ptr<const model::Pod> pod;  // one of them, relaxed as far as the class is
  HostedSet demands;                      // wishes among them
  HostedSet strict;
  SparseAmounts requests;
  model::ResourceList request_list;  // with pods: 1
  TolerationsId tolerations = 0;
  HostPorts ports;
  VolumesByDriver volumes;
  std::string volumes_error;  // they cannot be looked up, so the pod cannot be placed
  std::vector<HostedSet> volume_alternatives;
  bool volumes_unplaced = false;  // where its volumes can be reached cannot be looked up
  LabelsId labels = 0;
  std::vector<SpecId> rules;
  std::vector<SpecId> inverse_rules;
  bool has_devices = false;
  bool may_join_settling = false;  // pending, or of a node that leaves: see StateNode::settling
  bool relaxed_known = false;
  ClassId relaxed = kNoId;  // after its next wish is dropped; kNoId: there is none
};

class PodClasses {
 public:
  struct Parts {
    const SolverOptions& options;
    Algebra& algebra;
    ResourceColumns& columns;
    TaintBook& taints;
    TopologyFacts& topology;
    const StorageIndex& storage;
    bool tolerate_preferences;            // some pool has a taint that only asks to be avoided
    const DefaultSpread* default_spread;  // or null
  };
  explicit PodClasses(Parts parts) : parts_(parts) {}

  ClassId Of(const PodPtr& pod, bool may_join_settling);
  const PodClass& at(ClassId id) const { return *classes_[id]; }
  size_t size() const { return classes_.size(); }
  ClassId Relaxed(ClassId id);
  // Nodes (by their rank) that refuse the class for good as they are before anything is placed,
  // apart from topology: remembered from one question to the next.
  Bits& RefusedNodes(ClassId id, size_t nodes);

 private:
  ClassId Interned(const PodPtr& pod, bool may_join_settling);
  std::unique_ptr<PodClass> Make(PodPtr pod, bool may_join_settling);
  HostedSet Hosted(const model::NodeRequirements& requirements);

  Parts parts_;
  std::unordered_map<std::string, ClassId> ids_;
  // Of pods that were given the default constraints: by what they are without.
  std::unordered_map<std::string, ClassId> defaulted_;
  std::vector<std::unique_ptr<PodClass>> classes_;
  std::vector<Bits> refused_nodes_;
};

// Drops the pod's next wish, in the peer's order; false if there is none left.
bool RelaxNext(model::Pod& pod, bool tolerate_preferences);

}  // namespace coppice::provision
