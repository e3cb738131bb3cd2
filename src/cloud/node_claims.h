// NodeClaims: Karpenter's provider contract, as the engine of node pools sees it.
//
// Implemented by whoever sells machines by their shape rather than by group: over any Cloud of four
// verbs, or directly by a provider that needs more. Plain values in and out; a claim that is handed
// in is never changed.
//
// Create, Delete, Get, List and Refresh may take until their deadline: they are for workers,
// several at a time. All the rest are reads for the thread that decides: any thread, no network, no
// waiting, from what the last Refresh brought. test/conformance/node_claims_suite.h holds every
// implementation to that.
//
// Failures are told by their code, through any context that was put around them:
//   kNotFound            Delete, Get, IsDrifted: that machine does not exist (any more)
//   kResourceExhausted   Create: nothing of what the claim allows can be had now. The claim is given
//                        up; the offering is to be marked as unavailable, or it is asked for again
//   kFailedPrecondition  Create: the claim's class is not ready. The claim is given up
//   kUnavailable         InstanceTypes: not known yet. The pool is passed over, silently
//   kDeadlineExceeded    InstanceTypes: this round is given up
//   any other            tried again with back-off; Create until the launch time-out
// A reason of its own for the claim's condition is said with CreateError().

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/registry.h"
#include "base/rng.h"
#include "base/status.h"
#include "base/yaml.h"
#include "cloud/instance_type.h"
#include "cloud/types.h"
#include "model/node.h"
#include "model/node_claim.h"
#include "model/node_class.h"
#include "model/node_pool.h"

namespace coppice::cloud {

// What a provider knows and the engine has to obey. The peer keeps these in process-wide variables
// that a provider is expected to find and change; here they are handed over.
struct NodeClaimsTraits {
  model::LabelRules labels = model::LabelRules::Default();
  std::set<std::string, std::less<>> well_known_resources = {"cpu", "memory", "ephemeral-storage",
                                                             "pods"};
  std::string reservation_label;                                // "": there are no reservations
  std::set<std::string, std::less<>> reserved_capacity_labels;  // all that name a reservation
  std::optional<std::string> default_termination_grace_period;  // of new claims that have none
  std::vector<std::string> unsupported_storage_provisioners;
  std::vector<std::string> unsupported_storage_topology_keys;
  // Taints that go away by themselves while a node comes up, beside those that everybody has.
  std::vector<model::Taint> ephemeral_taints;
  std::vector<std::string> ephemeral_taint_prefixes;
  Duration launch_timeout = std::chrono::minutes(5);
  Duration registration_timeout = std::chrono::minutes(15);
  size_t most_instance_types = 600;  // of one claim
};

// A kind of object that says how machines are made; objects that refer to others are not ours.
struct NodeClassKind {
  std::string group;
  std::string version;
  std::string kind;
  friend bool operator==(const NodeClassKind&, const NodeClassKind&) = default;
};

enum class RepairAction : uint8_t { kReplace, kReboot };

// A node whose condition has been so for that long is beyond waiting for.
struct RepairPolicy {
  std::string condition_type;
  std::string condition_status;
  Duration toleration{};
  // Which reasons of the condition it is about, as a pattern (found anywhere in the reason). Empty:
  // those that no other policy is about.
  std::string reason_regex = {};
  // How long its pods may take to leave; zero: none of them is waited for. Absent: as its claim
  // says.
  std::optional<Duration> termination_grace_period = std::nullopt;
  int priority = 0;  // 0 to 100; the higher is repaired first
  RepairAction action = RepairAction::kReplace;
  friend bool operator==(const RepairPolicy&, const RepairPolicy&) = default;
};

// What waits, for a provider that makes instance types to measure: one list of requests per shape.
struct WaitingShapes {
  std::vector<model::ResourceList> requests;
  // What machines that stand carry, where it is asked what could replace them. Only called by who
  // makes types to measure: on a large cluster it takes a while. May be empty.
  std::function<std::vector<model::ResourceList>()> loads = nullptr;
};

// A class object as it stands in the cluster, and what it refers to. Whoever wires a provider reads
// the objects of SupportedNodeClasses() and hands over all of them.
struct NodeClassInput {
  NodeClassKind kind;
  // Of a kind that is not ours: its metadata and status, and of its spec what is named alike.
  model::NodeClass node_class;
  std::string user_data;    // what the Secret says; never to be logged
  Status user_data_status;  // why it could not be read. OK if there is none to read
};

// What a provider found out about a class: for the condition Ready of its status.
struct NodeClassState {
  NodeClassKind kind;
  std::string name;
  int64_t generation = 0;  // of the object that was judged
  bool known = false;      // false: not judged yet (condition Unknown)
  bool ready = false;
  std::string reason;   // one word; "Ready" if so
  std::string message;  // a sentence; empty if ready
  friend bool operator==(const NodeClassState&, const NodeClassState&) = default;
};

// A claim that stands in the cluster, as far as the hunt for leaks has to know it.
struct ClaimRef {
  std::string uid;
  ProviderId provider_id;  // "": not launched yet
};

// A Node that nobody else will create.
struct NodeToRegister {
  model::Node node;  // with provider id, labels and the unregistered taint
  Duration after{};  // the machine was created that long ago at least
};

class NodeClaims {
 public:
  virtual ~NodeClaims() = default;

  virtual std::string_view Name() const = 0;
  virtual const NodeClaimsTraits& Traits() const = 0;
  virtual std::vector<NodeClassKind> SupportedNodeClasses() const = 0;  // the first is the default
  virtual std::vector<RepairPolicy> RepairPolicies() const { return {}; }

  // Launches the machine of a claim that is already stored. The claim says which types, zones and
  // capacity types will do; which of them is up to the provider (the cheapest, as a rule). Answers
  // a new value with what was decided: labels (instance type, zone, capacity type, …), annotations,
  // status.{providerID, imageID, capacity, allocatable}. The machine need not be up. Its Node is to
  // come with the same provider id, and with the unregistered taint.
  //
  // One claim, one machine: asked again for the same claim (its uid), also by another process after
  // a crash, it answers with the machine that there is.
  virtual Result<model::NodeClaim> Create(const model::NodeClaim& claim, Deadline deadline) = 0;

  // Ends the machine of a claim. OK: that has begun; it is called again until it says kNotFound.
  virtual Status Delete(const model::NodeClaim& claim, Deadline deadline) = 0;

  virtual Result<model::NodeClaim> Get(const ProviderId& id, Deadline deadline) = 0;

  // Every machine of this cluster, or an error: what is missing here is taken for gone. Machines
  // that are being ended carry a deletion timestamp, or are left out.
  virtual Result<std::vector<model::NodeClaim>> List(Deadline deadline) = 0;

  // All types that the pool's class can buy, also those of which nothing is available now. Asked
  // several times in a round, so it is a look-up. A provider that sells any measure makes its list
  // from `waiting`, at most Traits().most_instance_types long, and always with the types of the
  // pool's machines that exist.
  virtual Result<std::shared_ptr<const InstanceTypes>> InstanceTypesFor(
      const model::NodePool& pool, const WaitingShapes& waiting) const = 0;

  // Why this machine is another one than the same claim would get today, as one word for its
  // condition; "" if it is not.
  virtual Result<std::string> IsDrifted(const model::NodeClaim& claim) const = 0;

  // Brings what reads are answered from. Called every now and then, and before the first read.
  virtual Status Refresh(Deadline) { return Status::Ok(); }

  // What follows has a default: a provider whose machines register themselves and that reads no
  // class objects needs none of it. All of them are cheap and call nobody.

  // All class objects that there are, of every supported kind; replaces what was said before. Said
  // before the first Refresh, and whenever one has changed. Reads know it at once; what only the
  // cloud can judge about a class is found out by the next Refresh.
  virtual void SetClasses(std::vector<NodeClassInput>) {}
  virtual std::vector<NodeClassState> ClassStates() const { return {}; }

  // All claims that there are (a complete, synced list), said before each Refresh. A machine of
  // ours that is none of theirs for longer than a grace time is a leak, and Refresh ends it. Never
  // called: nothing is collected.
  virtual void SetClaims(std::vector<ClaimRef>) {}

  // The Node that the engine has to create for this launched claim (class with registerNode);
  // nullopt: the machine registers itself.
  virtual std::optional<NodeToRegister> NodeFor(const model::NodeClaim&) const {
    return std::nullopt;
  }
};

// A Create that failed with a reason of the provider's own: a word and a sentence.
Status CreateError(std::string_view reason, std::string_view message);

// What becomes of a claim whose Create failed.
struct LaunchTrouble {
  bool give_up = false;    // delete the claim; else try again
  std::string disruption;  // why it was given up, as metrics count it
  std::string reason;      // of the condition Launched
  std::string message;     // at most 300 characters and "..."
};
LaunchTrouble TroubleOf(const Status& status);

// Puts what Create answered into the claim: its own labels win, annotations are overwritten, so are
// the four fields of the status. An answer that names no machine is refused.
Status TakeOver(const model::NodeClaim& created, model::NodeClaim& claim);

// The Node of a launched claim as the engine creates it where nobody else does: provider id, labels,
// annotations and taints of the claim, the unregistered taint, and what it will report.
model::Node NodeOfClaim(const model::NodeClaim& claim, std::string_view name);

bool IsManaged(const std::optional<model::NodeClassReference>& reference,
               const std::vector<NodeClassKind>& kinds);

// What a factory is given. All references outlive what it makes.
struct NodeClaimsContext {
  Clock& clock;
  Rng& rng;
  const Log& log;
  Metrics& metrics;
  yaml::Node config;  // absent keys read as empty
  yaml::Problems& problems;
};

using NodeClaimsFactory =
    std::function<Result<std::unique_ptr<NodeClaims>>(const NodeClaimsContext&)>;
using NodeClaimsRegistry = Registry<NodeClaimsFactory>;

}  // namespace coppice::cloud
