// ClaimLife: a claim from its creation to its end: launched, registered, initialised, tended,
// expired, given up, ended.
//
// Each pass looks at every claim and begins what it is due for, one step per claim at a time; a step
// is a coroutine that can be repeated. Nothing is remembered that the objects do not say, but for
// what saves work: the answer of a Create whose status could not be written, back-off, and when a
// claim was last looked at.
//
// Files: launch, registration, initialization, liveness (with expiration), tending (drift,
// consolidatable, consistency), claim_end. Nodes that go: node_end.h.
//
// Decision thread.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "provision/claim_store.h"
#include "provision/cloud_calls.h"
#include "provision/lifecycle/pod_events.h"
#include "provision/pool_keeper.h"

namespace coppice::provision {

class ClaimLife {
 public:
  struct Parts {
    Context& context;
    ClaimStore& store;
    CloudCalls& cloud;
    PoolKeeper& pools;
    PodEvents& pod_events;
  };
  explicit ClaimLife(Parts parts) : parts_(parts) {}

  // Begins what is due.
  void Look(const std::vector<ClaimPtr>& claims, const Context::NodeIndexById& nodes,
            TimePoint now);
  // Right after it was created: does not wait for a pass.
  void LookAt(const ClaimPtr& claim, TimePoint now);

  // Deletes a claim for a reason of ours, and counts it. OK if it is gone.
  struct Disruption {
    std::string reason;
    bool consolidates = false;  // by the policy of its pool
    size_t pods = 0;            // that have to move
  };
  Task<Status> DisruptFor(ClaimPtr claim, Disruption why);
  Task<Status> Disrupt(ClaimPtr claim, std::string reason) {
    return DisruptFor(std::move(claim), Disruption{.reason = std::move(reason)});
  }
  // The pods of its node that would come up elsewhere.
  size_t PodsToMove(const model::NodeClaim& claim) const;

 private:
  struct Memory {
    bool busy = false;
    TimePoint retry_at = TimePoint::min();
    int failures = 0;
    std::optional<model::NodeClaim> created;  // answered, and not written yet
    // Of tending.
    std::string tended;  // the versions of what was read
    TimePoint tend_at = TimePoint::min();
    TimePoint types_checked = TimePoint::min();
    TimePoint consistency_at = TimePoint::min();
    // Nothing is due before then, unless one of these is another one by then.
    struct Quiet {
      TimePoint until = TimePoint::min();
      ClaimPtr claim;
      NodePtr node;
      std::optional<TimePoint> pod_event;
      uint64_t rules = 0;
    };
    Quiet quiet;
  };
  bool IsQuiet(const ClaimPtr& claim, const std::vector<NodePtr>& nodes, const Memory& memory,
               TimePoint now) const;
  void CompareRules();

  void LookAtLiving(const ClaimPtr& claim, const std::vector<NodePtr>& nodes, Memory& memory,
                    TimePoint now);
  // Runs one step; afterwards the claim is free again, and a failure waits.
  void Begin(const ClaimPtr& claim, Task<Status> step);
  Task<void> Step(std::string uid, std::string name, Task<Status> step);

  // The steps. Not OK: tried again later.
  Task<Status> TakeIn(ClaimPtr claim);  // finalizer, conditions
  Task<Status> Launch(ClaimPtr claim);
  Task<Status> LaunchFailed(ClaimPtr claim, Status why);
  Task<Status> Launched(ClaimPtr claim, model::NodeClaim created);
  Task<Status> WaitForNode(ClaimPtr claim, std::string status, std::string reason,
                           std::string message);
  Task<Status> MakeNode(ClaimPtr claim, model::Node node);
  Task<Status> Register(ClaimPtr claim, NodePtr node);
  Task<Status> SyncNode(ClaimPtr claim, NodePtr node);
  Task<Status> LabelNode(ClaimPtr claim, NodePtr node);
  Task<Status> Initialize(ClaimPtr claim, NodePtr node);
  Task<Status> GiveUp(ClaimPtr claim, std::string reason, std::string cause, std::string message);
  Task<Status> Expire(ClaimPtr claim);
  Task<Status> WriteClaim(ClaimPtr before, model::NodeClaim after);
  Task<Status> End(ClaimPtr claim);
  void CountMachineEnd(const model::NodeClaim& claim);
  Task<Status> EndMachine(ClaimPtr claim);

  void Tend(const ClaimPtr& claim, const NodePtr& node, Memory& memory, TimePoint now);
  void CheckConsistency(const model::Node& node, model::NodeClaim& claim, Memory& memory,
                        TimePoint now);
  void JudgeDrift(const model::NodePool& pool, model::NodeClaim& claim, Memory& memory,
                  TimePoint now);
  // Why it has drifted; "" if it has not. Absent: somebody who is to be asked cannot say now.
  std::optional<std::string> DriftOf(const model::NodePool& pool, const model::NodeClaim& claim,
                                     Memory& memory, TimePoint now) const;

  Context& context() const { return parts_.context; }

  const Parts parts_;
  std::unordered_map<std::string, Memory> memory_;  // by uid
  std::string rules_text_;  // what of pools and classes claims are tended by
  uint64_t rules_ = 0;      // changes with it
};

// What a claim that is Registered still lacks to be Initialized: a reason and a sentence.
struct NotYet {
  std::string reason;
  std::string message;
};
std::optional<NotYet> WhyNotInitialized(const model::NodeClaim& claim, const model::Node& node,
                                        const EphemeralTaints* ephemeral);

}  // namespace coppice::provision
