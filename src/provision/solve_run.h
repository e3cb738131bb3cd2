// SolveRun: one question being answered.
//
// Per class of pods it keeps which nodes and claims have been ruled out for good, so that each pair
// is refused once and a scan is a look at bits. A refusal is for good if it is one by taints,
// ports, volumes, requirements or room, worked out without what topology and reservations add;
// until the node's or claim's set gets a label that it did not have (Algebra::Loosened).

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "provision/claim_order.h"
#include "provision/refusal.h"
#include "provision/topology.h"
#include "provision/world.h"

namespace coppice::provision {

class SolveRun {
 public:
  SolveRun(SolverWorld& world, const SolveRequest& request);
  SolveOutcome Run();

 private:
  struct RunClass {
    ClassId id = 0;
    const PodClass* pods = nullptr;
    ClassRules rules;
    bool rules_ready = false;
    bool keepers_noted = false;
    Bits ruled_out_nodes;
    Bits ruled_out_claims;
    uint32_t relaxed = kNoId;  // RunClass index
    bool relaxed_known = false;
  };
  // A node that got pods in this question; of the others the world's record speaks.
  struct Node {
    size_t rank;
    SetId set;
    DenseAmounts remaining;
    HostPorts ports;
    VolumesByDriver volumes;
    std::vector<size_t> pods;
  };
  struct Claim {
    const ClaimTemplate* from;
    SetId set;
    Bits types;
    DenseAmounts requests;
    HostPorts ports;
    VolumesByDriver volumes;
    std::set<std::string> reserved;
    std::string host;
    std::vector<size_t> pods;
    bool min_values_relaxed = false;
  };
  // What a claim would be with the pod on it.
  struct Fit {
    SetId set = 0;
    Bits types;
    std::set<std::string> reserved;
    bool min_values_relaxed = false;
  };

  // Set-up.
  void MakeClasses();
  uint32_t ClassIndex(ClassId id);
  void PrepareRules(RunClass& of);
  Bits RuledOutAtFirst(ClassId id);

  // solve_zones.cc
  std::optional<std::set<std::string>> VolumeZones(const PodClass& pods) const;
  std::string ZoneOf(const RunClass& of);
  void CountZones(SolveOutcome& outcome);

  // The loop.
  std::vector<size_t> Queue() const;
  bool TryAll(size_t pod, Refusal& refusal);
  bool Place(size_t pod, RunClass& of, Refusal& refusal);
  bool PlaceInTurns(size_t pod, RunClass& of, Refusal& refusal);
  bool PlaceUntold(size_t pod, RunClass& of, Refusal& refusal);
  bool PlaceOnNode(size_t pod, RunClass& of);
  bool PlaceOnClaim(size_t pod, RunClass& of);
  bool PlaceOnNew(size_t pod, RunClass& of, Refusal& refusal);

  // One place.
  // `by_itself`: a no that has nothing to do with topology.
  TopologyVerdict TryNode(RunClass& of, size_t rank, bool& by_itself);
  const Node* Touched(size_t rank) const {
    return touched_at_[rank] == kNoId ? nullptr : &touched_[touched_at_[rank]];
  }
  TopologyVerdict TryClaim(RunClass& of, uint32_t claim);
  bool TryTemplate(RunClass& of, size_t at, Claim& claim, TemplateRefusal& refusal);
  TopologyVerdict Narrow(RunClass& of, SetId base, TaintsId taints, const std::string& host,
                         HostId host_id, bool is_claim, SetId& narrowed, TemplateRefusal* refusal);
  bool Filter(const RunClass& of, const Claim& claim, const Bits& among, SetId set, bool may_relax,
              Fit& fit, TemplateRefusal* refusal);
  bool FitsVolumes(const PodClass& pods, const Claim& claim, Bits& among, std::string* why) const;
  // Ids that the claim would hold, or why it has to wait.
  bool Reserve(const Claim& claim, Fit& fit, TemplateRefusal* refusal) const;

  void CommitNode(size_t pod, RunClass& of, size_t node, SetId set);
  void CommitClaim(size_t pod, RunClass& of, uint32_t claim, Fit fit);
  void ForgetNode(size_t node);
  void ForgetClaim(uint32_t claim);

  // Limits.
  const Bits* WithinLimits(const ClaimTemplate& from, TemplateRefusal& refusal);
  void TakeFromLimits(const Claim& claim);

  // The answer.
  PlannedClaim Finish(Claim& claim);
  void AddDaemonRequests(const Claim& claim, model::ResourceList& requests) const;
  std::string Text(const Refusal& refusal) const;
  std::string Text(const TemplateRefusal& refusal) const;

  SolverWorld& world_;
  const SolveRequest& request_;
  Algebra& algebra_;
  std::vector<const model::Pod*> all_pods_;
  std::vector<size_t> left_out_;  // state nodes
  std::unique_ptr<Topology> topology_;
  std::vector<uint32_t> run_class_of_;  // by ClassId
  std::vector<std::unique_ptr<RunClass>> run_classes_;
  std::vector<uint32_t> class_of_pod_;  // by pod; kNoId: left out
  std::set<size_t> untold_;             // pods whose rules are not known yet: see MakeClasses
  std::vector<uint32_t> touched_at_;    // by rank: index into touched_, or kNoId
  std::vector<Node> touched_;
  Bits not_targets_;  // ranks of nodes that the question leaves out
  std::vector<Claim> claims_;
  ClaimOrder order_;
  uint32_t hosts_made_ = 0;
  std::vector<SparseAmounts> limits_left_;  // by pool
  struct LimitFilter {
    bool known = false;
    Bits types;
  };
  std::vector<LimitFilter> limit_filters_;  // by template
  std::vector<bool> last_relaxed_;  // by template: whether its latest claim relaxed minValues
  std::map<std::string, int64_t> reservations_;
  // Scratch, to spare allocations in the loops.
  std::vector<ReqId> narrowing_;
  DenseAmounts scratch_amounts_;
  DenseAmounts scratch_requests_;
  Bits scratch_slots_;
  Bits scratch_types_;
  Fit fit_;
  SetId node_set_ = 0;
};

}  // namespace coppice::provision
