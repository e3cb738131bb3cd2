// A pod's claims as VolumeBinding judges them: everything that does not depend on the node, worked
// out once.
//
// Pointers are into cluster::Facts and live as long as the question to the nodes does.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "cluster/snapshot.h"
#include "model/node_selector.h"
#include "model/selector.h"
#include "model/storage.h"

namespace coppice::filters::volume_binding {

// Compiled node affinities of volumes, kept with the snapshot until a volume changes: pods of one
// workload look at the same volumes again and again.
class AffinityMemory {
 public:
  static AffinityMemory& Of(const cluster::Snapshot& snapshot);

  // Null: every node reaches the volume.
  const model::CompiledNodeSelector* Affinity(const model::PersistentVolume& volume);

 private:
  uint64_t version_ = 0;
  std::unordered_map<const model::PersistentVolume*, std::unique_ptr<model::CompiledNodeSelector>>
      compiled_;
};

// Node affinity of volumes looks at labels only: conditions on the node's name count as met.
bool Reaches(const model::CompiledNodeSelector* affinity, const model::Labels& node_labels);

// A claim that has its volume.
struct BoundClaim {
  const model::PersistentVolume* volume = nullptr;  // null: it is gone
  const model::CompiledNodeSelector* affinity = nullptr;
  // For a volume of an in-tree driver: what holds on nodes where CSI has taken over.
  std::string_view in_tree_plugin;
  Status migration = Status::Ok();
  std::optional<model::CompiledNodeSelector> migrated_affinity;
};

struct Candidate {
  const model::PersistentVolume* volume = nullptr;
  const model::CompiledNodeSelector* affinity = nullptr;
};

// Whether a new volume can be made for a claim.
struct Provisioning {
  bool possible = false;                                 // the class has a provisioner
  bool anywhere = true;                                  // the class does not restrict topologies
  std::vector<std::vector<model::Requirement>> allowed;  // else one of these has to hold
  bool tracked = false;                    // the driver publishes what is left; it has to be enough
  std::vector<model::Selector> with_room;  // nodes that reach enough room
};

// A claim that waits for its first consumer.
struct WaitingClaim {
  const model::PersistentVolumeClaim* claim = nullptr;
  const std::string* selected_node = nullptr;  // chosen before; being provisioned there
  Status selector = Status::Ok();              // of the claim's own selector
  std::vector<Candidate> reserved;             // volumes that name this claim already
  std::vector<Candidate> free;                 // others that would do, the smallest first
  Provisioning provisioning;
};

struct PodClaims {
  std::vector<BoundClaim> bound;
  std::vector<WaitingClaim> waiting;  // as Order leaves them
};

BoundClaim MakeBound(const model::PersistentVolumeClaim& claim, const cluster::Snapshot& snapshot);
WaitingClaim MakeWaiting(const model::PersistentVolumeClaim& claim,
                         const model::StorageClass& storage_class,
                         const cluster::Snapshot& snapshot);
// The order in which claims are served: those with a selected node, then the smallest request
// first, so that small claims take small volumes.
void Order(std::vector<WaitingClaim>& claims);

}  // namespace coppice::filters::volume_binding
