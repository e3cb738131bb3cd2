// Solver: where would these pods go, and which machines would have to be bought for them?
//
// One question for provisioning ("these pods wait") and for consolidation ("what if these nodes
// were gone"). Prepared once from what is known (pools with their types, nodes, pods), asked many
// times: a question names the nodes that are left out and the pods to place, and changes nothing.
// So a plan is a value, and asking again gives the same one: where the peer walks a map, the
// smallest name comes first.
//
// Order of a placement: existing nodes, then claims planned in this question (fewest pods first),
// then a new claim of the first pool by weight that takes the pod. Preferences count as demands
// until the pod fits nowhere; then they are dropped one by one.
//
// Not thread-safe, and the input is to outlive the solver. Not here: which pods to ask for and
// whether they are valid (pod_selection.h), claims as objects (claim_builder.h), what is done with
// the answer.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cloud/instance_type.h"
#include "model/cluster_objects.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/requirements.h"
#include "model/workloads.h"
#include "provision/pod_list.h"
#include "provision/storage_index.h"

namespace coppice::provision {

class DefaultSpread;     // default_spread.h
struct EphemeralTaints;  // tolerance.h

using NodePtr = std::shared_ptr<const model::Node>;

// What the solver reads of a NodePool that may buy: ready, not static, not being deleted.
struct Pool {
  std::string name;
  int32_t weight = 0;
  // spec.template
  model::Labels labels;
  std::vector<model::RequirementSpec> requirements;
  std::vector<model::Taint> taints;
  std::string node_class_label;  // "<group>/<kind in lower case>"
  std::string node_class_name;
  model::ResourceList limits;  // also "nodes"
  // Null or empty: nothing can be bought for this pool now. Pools may share one list, and should:
  // it is indexed once per list.
  std::shared_ptr<const cloud::InstanceTypes> types;
};

// What the solver reads of a NodeClaim.
struct ClaimFacts {
  std::string name;
  model::Labels labels;
  std::vector<model::Taint> taints;
  std::vector<model::Taint> startup_taints;
  model::ResourceList capacity;     // status
  model::ResourceList allocatable;  // status
  // What its provider's nodes carry only while they come up. Null: what everybody's do.
  std::shared_ptr<const EphemeralTaints> ephemeral = nullptr;
};

// A machine that exists or is on its way: a Node, a NodeClaim, or both.
struct StateNode {
  NodePtr node;                             // null: on its way
  std::shared_ptr<const ClaimFacts> claim;  // null: not ours
  bool marked_for_deletion = false;         // takes no pods; its own are asked for again
  // Inside its pool's consolidateAfter: takes no pods that consolidation would move.
  bool settling = false;
  PodList pods;  // bound to it, without the terminal ones

  // As the cluster state of the peer reads them: the claim speaks until the node is registered.
  bool managed() const { return claim != nullptr; }
  bool registered() const;
  bool initialized() const;
  const std::string& name() const;
  const model::Labels& labels() const;
  std::string hostname() const;
  std::string provider_id() const;           // of the node, or empty
  std::vector<model::Taint> taints() const;  // without those that will go away by themselves
  model::ResourceList capacity() const;      // with "nodes": 1
  model::ResourceList allocatable() const;
};

struct SolverInput {
  std::vector<Pool> pools;  // in any order
  std::vector<StateNode> nodes;
  // Every Node object, for counting pods by topology: also those that no StateNode stands for.
  // Empty: those of `nodes`.
  std::vector<NodePtr> node_objects;
  // Pods bound to nodes that are not in `nodes` count by topology as well.
  std::vector<PodPtr> other_pods;
  // One representative per DaemonSet: DaemonPods().
  std::vector<PodPtr> daemon_pods;
  std::vector<std::shared_ptr<const model::Namespace>> namespaces;
  StorageFacts storage;
  // For pods that have no spread constraints of their own. Null: none.
  std::shared_ptr<const DefaultSpread> default_spread;
};

enum class MinValuesPolicy : uint8_t { kStrict, kBestEffort };
enum class PreferencePolicy : uint8_t { kRespect, kIgnore };
// Strict: rather wait for a reservation than buy without; as provisioning does. Fallback: as
// simulations do.
enum class ReservedMode : uint8_t { kStrict, kFallback };

struct SolverOptions {
  PreferencePolicy preferences = PreferencePolicy::kRespect;
  MinValuesPolicy min_values = MinValuesPolicy::kStrict;
  bool reserved_capacity = true;     // feature gate
  bool ignore_dra_requests = true;   // pods with resource claims are refused for good
  size_t most_instance_types = 600;  // per claim
  // Quirks of the peer that are ours by default otherwise: `nodes` limits are counted within one
  // question, daemon sets are judged by any of their terms, minDomains is part of what a spread is,
  // an absent selector selects nothing.
  bool upstream_exact = false;
  model::LabelRules labels = model::LabelRules::Default();
  std::string reservation_label;  // "" if the provider has no reservations
};

struct SolveRequest {
  std::vector<PodPtr> pods;
  // Indexes into SolverInput::nodes that are taken for gone. Nodes marked for deletion need not be
  // named.
  std::vector<size_t> without_nodes;
  ReservedMode reserved = ReservedMode::kStrict;
  // Nodes that settle refuse pods that would be moved there (consolidation).
  bool is_consolidation = false;
  // Reservation id -> slots that the nodes left out would free.
  std::map<std::string, int64_t> credited_reservations;
  // Machines that exist, or are on their way, take nothing: they only count by topology.
  bool only_new = false;
  // Every claim is cut to most_instance_types as it would be bought. Simulations that choose
  // among all types say false.
  bool truncate = true;
  // SolveOutcome::pending_by_zone is wanted.
  bool count_zones = false;
};

// A machine that would be bought. Types are cheapest first.
struct PlannedClaim {
  size_t pool = 0;           // index into SolverInput::pools
  std::vector<size_t> pods;  // indexes into SolveRequest::pods, in the order of placement
  cloud::TypeList types;
  // Without the hostname; with those that only served the simulation (registered, initialized), see
  // claim_builder.h.
  model::NodeRequirements requirements;
  model::ResourceList requests;  // the pods', and what daemon sets take at least
  bool min_values_relaxed = false;
  std::vector<std::string> reservations;  // ids held; the claim is then pinned to them
};

struct ExistingPlacement {
  size_t node = 0;  // index into SolverInput::nodes
  std::vector<size_t> pods;
};

enum class PodErrorKind : uint8_t {
  kUnschedulable,
  kReservation,  // deferred: a reservation is full or held by another claim; not told to anybody
  kDra,          // asks for devices by claim
};

struct PodError {
  size_t pod = 0;
  PodErrorKind kind = PodErrorKind::kUnschedulable;
  std::string text;
};

struct SolveOutcome {
  std::vector<PlannedClaim> claims;
  std::vector<ExistingPlacement> existing;  // only nodes that got pods, in the order of trying
  std::vector<PodError> errors;             // by pod
  // Pods whose volumes could not be looked up: not tried at all.
  std::vector<size_t> left_out;
  // Pods that wait (not those of machines that leave), by the one zone in which they can run as
  // far as their own demands, volumes and rules say before anything is placed; "flexible" if there
  // are several, "none" if there is none.
  std::map<std::string, size_t> pending_by_zone;
};

// A pool that cannot buy anything as it stands, and why; known before any pod is asked for.
struct PoolProblem {
  size_t pool = 0;
  bool because_of_min_values = false;
};

class SolverWorld;  // everything that is the same for all questions

class Solver {
 public:
  Solver(const SolverInput& input, SolverOptions options);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  SolveOutcome Solve(const SolveRequest& request);

  const std::vector<PoolProblem>& pool_problems() const;

 private:
  std::unique_ptr<SolverWorld> world_;
};

// The pod that stands for each DaemonSet when room is kept for it: the newest of its live pods,
// else one made from the template; with the template's required node affinity.
std::vector<PodPtr> DaemonPods(const std::vector<std::shared_ptr<const model::DaemonSet>>& sets,
                               const std::vector<PodPtr>& live_pods);

}  // namespace coppice::provision
