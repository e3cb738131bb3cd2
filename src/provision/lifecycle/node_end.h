// NodeEnd: a Node of ours that is being deleted: tainted, drained tier by tier, its volumes waited
// for, its machine ended, and then let go.
//
// Pods are evicted as their budgets allow, until the claim's termination timestamp takes over. Every
// look goes as far as it can now; nothing that matters is remembered.
//
// Decision thread.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drain/eviction_queue.h"
#include "provision/claim_store.h"
#include "provision/cloud_calls.h"

namespace coppice::provision {

class NodeEnd {
 public:
  struct Parts {
    Context& context;
    ClaimStore& store;
    CloudCalls& cloud;
  };
  explicit NodeEnd(Parts parts);

  // Begins what is due. `claims` are those that we know.
  void Look(const std::vector<ClaimPtr>& claims, TimePoint now);
  // Nodes that are on their way out now.
  size_t under_way() const { return memory_.size(); }

 private:
  struct Memory {
    bool busy = false;
    bool marked = false;  // tainted and labelled, as far as we know
    TimePoint retry_at = TimePoint::min();
    int failures = 0;
  };

  Task<void> Step(NodePtr node, ClaimPtr claim);
  Task<Status> Walk(NodePtr node, ClaimPtr claim);
  Task<Status> Mark(NodePtr node);
  Task<Status> Drain(NodePtr node, ClaimPtr claim);
  Task<Status> AskWhetherEmpty(NodePtr node, ClaimPtr claim);
  Task<Status> Detach(NodePtr node, ClaimPtr claim);
  Task<Status> EndMachine(NodePtr node, ClaimPtr claim);
  Task<Status> LetGo(NodePtr node);
  Task<Status> SetCondition(ClaimPtr claim, std::string type, std::string status,
                            std::string reason);

  // How an eviction was answered: counted and told.
  void Answered(const model::Pod& pod, const Status& status);
  void CountDrained(const std::string& reason);
  // For what its node's claim goes, as the peer's label has it.
  std::string DrainReasonOf(const model::Pod& pod);
  // Of the claim's annotation.
  static std::optional<TimePoint> DeadlineOf(const ClaimPtr& claim);
  std::vector<std::string> AttachedVolumes(const model::Node& node) const;
  Context& context() const { return parts_.context; }

  const Parts parts_;
  drain::EvictionQueue evictions_;
  std::map<std::string, Memory> memory_;  // by the node's uid
};

// Who has to leave: does not tolerate the taint, not stuck, no mirror pod. Their volumes are waited
// for, also when they have ended.
bool IsDrainable(const model::Pod& pod, TimePoint now);
// What a drain waits for: of those who has not ended.
bool WaitsForEviction(const model::Pod& pod, TimePoint now);
// Those that go now: of the first tier that has any (ordinary, daemons, critical, critical daemons).
std::vector<PodPtr> FirstTier(const std::vector<PodPtr>& pods);

}  // namespace coppice::provision
