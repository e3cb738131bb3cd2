// CloudNodeClaims: Karpenter's provider contract over the four verbs of any Cloud.
//
// One claim is one order under a name that follows from the claim's uid, so a Create that is
// repeated after a lost answer or a crash finds the machine that it already has. Orders, answers and
// lists are the OrderBook's, as for node groups; machines are told apart by their tags alone: the
// pool's tag makes one a claim's, and one that also has a group's tag is nobody's here.
//
// Which classes and claims there are is told from outside (SetClasses, SetClaims), so that this
// knows no cluster:
//
//   claims->SetClasses(every NodeClass, with the user data of its Secret);  // when one changes
//   claims->SetClaims(every NodeClaim);                                     // before each Refresh
//   claims->Refresh(deadline);        // worker: lists, flavors, judges classes, ends leaks
//   for (state : claims->ClassStates()) …write condition Ready of the class's status…
//
// Reads are answered from one published picture: any thread, no network. Offerings that the cloud
// said were sold out are unavailable for stock_out_time, and no launch is tried with them.
//
// Drift: a hash of the class goes into a tag with the order. A machine without that tag, or with the
// tag of another version of the hash, has not drifted. User data counts by its reference only: a
// bootstrap token that is renewed must not replace every machine. Zones count per machine.
//
// What is under way when the object is destroyed: as with CloudNodeGroups, Drain() first, then the
// object, the Workers, the Cloud.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cloud/cloud.h"
#include "cloud/guarded_groups.h"
#include "cloud/node_claims.h"

namespace coppice::cloud {

// Tags of a claim's machine beside kClusterTag and kPoolTag. All go into the create request.
inline constexpr char kClaimTag[] = "coppice-node-claim";      // the claim's name, for people
inline constexpr char kClassTag[] = "coppice-node-class";      // the class's name
inline constexpr char kClassHashTag[] = "coppice-class-hash";  // "v1-…"
// Only where the cloud's machines do not say so themselves after a restart.
inline constexpr char kCapacityTypeTag[] = "coppice-capacity-type";

// The tag's value for claims that no pool has made. No pool can be called so.
inline constexpr char kNoPool[] = "_none";

// Of the class kind that is ours; also the group of its label, coppice.dev/nodeclass.
inline constexpr char kNodeClassGroup[] = "coppice.dev";
inline constexpr char kNodeClassVersion[] = "v1alpha1";
inline constexpr char kNodeClassKindName[] = "NodeClass";

struct CloudNodeClaimsOptions {
  std::string name;            // "": "cloud". As --cloud-provider names it
  std::string cluster;         // value of the k8s-cluster tag; "": machines without that tag
  size_t max_parallel = 10;    // calls to the cloud at a time
  std::string machine_prefix;  // of machine names; "": "nc"

  // A claim asks for the cheapest first; sold out, for the next. So many at most in one Create.
  int offerings_per_create = 5;
  Duration stock_out_time = std::chrono::minutes(3);  // how long an offering stays unavailable
  // How long a machine of ours may be no claim's before it is ended, and how many go at a time.
  Duration leak_grace = std::chrono::minutes(10);
  size_t leaks_per_refresh = 10;

  // As for node groups: how far lists may lag, and what is left of the deadline for the answer.
  Duration list_lag = std::chrono::seconds(60);
  Duration delete_patience = std::chrono::minutes(10);
  Duration create_timeout = std::chrono::minutes(2);
  Duration delete_timeout = std::chrono::minutes(1);
  Duration answer_margin = std::chrono::milliseconds(500);
  Duration flavor_ttl = std::chrono::minutes(5);     // prices and stock
  Duration class_check_ttl = std::chrono::hours(1);  // a class that was judged
  Duration list_is_fresh = std::chrono::seconds(5);  // Get and List share a list this young

  // Asked before a leak is ended; Create and Delete come from the engine, which has its own fence
  // (GuardClaims).
  Gate gate;
};

struct CloudNodeClaimsContext {
  Cloud& cloud;
  Workers& workers;  // its threads call the cloud; give it at least max_parallel of them
  Clock& clock;
  Rng& rng;  // drawn from in the constructor only
  const Log& log;
  Metrics& metrics;
};

// The name of a claim's machine: "nc-<pool>-<16 digits of the uid's hash>", a host name.
std::string MachineNameOf(const model::NodeClaim& claim, std::string_view prefix = "nc");

// What of a class makes another machine: image, networks, user data's reference, tags, kubelet,
// registerNode, extra. "v1-<16 digits>".
std::string HashOfClass(const model::NodeClass& node_class);

class CloudNodeClaims final : public NodeClaims {
 public:
  static std::unique_ptr<CloudNodeClaims> Create(const CloudNodeClaimsContext& context,
                                                 CloudNodeClaimsOptions options);
  ~CloudNodeClaims() override;

  // Machines that are no claim's now, with the time since when.
  struct Leak {
    Machine machine;
    TimePoint since;
  };
  std::vector<Leak> Leaks() const;

  // Refuses further orders and waits for the calls under way.
  Status Drain(Deadline deadline);

  std::string_view Name() const override;
  const NodeClaimsTraits& Traits() const override;
  std::vector<NodeClassKind> SupportedNodeClasses() const override;
  std::vector<RepairPolicy> RepairPolicies() const override;
  Result<model::NodeClaim> Create(const model::NodeClaim& claim, Deadline deadline) override;
  Status Delete(const model::NodeClaim& claim, Deadline deadline) override;
  Result<model::NodeClaim> Get(const ProviderId& id, Deadline deadline) override;
  Result<std::vector<model::NodeClaim>> List(Deadline deadline) override;
  Result<std::shared_ptr<const InstanceTypes>> InstanceTypesFor(
      const model::NodePool& pool, const WaitingShapes& waiting) const override;
  Result<std::string> IsDrifted(const model::NodeClaim& claim) const override;
  Status Refresh(Deadline deadline) override;
  void SetClasses(std::vector<NodeClassInput> classes) override;
  std::vector<NodeClassState> ClassStates() const override;
  void SetClaims(std::vector<ClaimRef> claims) override;
  std::optional<NodeToRegister> NodeFor(const model::NodeClaim& claim) const override;

 private:
  class Core;
  explicit CloudNodeClaims(std::shared_ptr<Core> core);

  std::shared_ptr<Core> core_;
};

}  // namespace coppice::cloud
