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
    Bits ruled_out_nodes;
    Bits ruled_out_claims;
    uint32_t relaxed = kNoId;  // RunClass index
    bool relaxed_known = false;
  };
  struct Node {
    SetId set;
    DenseAmounts remaining;
    bool overdrawn = false;  // something is below zero: nothing fits any more
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
  void MakeNodes();

  // The loop.
  std::vector<size_t> Queue() const;
  bool TryAll(size_t pod, Refusal& refusal);
  bool Place(size_t pod, RunClass& of, Refusal& refusal);
  bool PlaceUntold(size_t pod, RunClass& of, Refusal& refusal);
  bool PlaceOnNode(size_t pod, RunClass& of);
  bool PlaceOnClaim(size_t pod, RunClass& of);
  bool PlaceOnNew(size_t pod, RunClass& of, Refusal& refusal);

  // One place.
  TopologyVerdict TryNode(RunClass& of, size_t node);
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
  std::vector<bool> is_target_;
  std::unique_ptr<Topology> topology_;
  std::vector<uint32_t> run_class_of_;  // by ClassId
  std::vector<std::unique_ptr<RunClass>> run_classes_;
  std::vector<uint32_t> class_of_pod_;  // by pod; kNoId: left out
  std::set<size_t> untold_;             // pods whose rules are not known yet: see MakeClasses
  std::vector<Node> nodes_;             // in the order of trying
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
