// SchedulerCheck: would kube-scheduler use the machines that are about to be bought?
//
// The solver reads pods as Karpenter does, and in places that is not as kube-scheduler does. Before
// money is spent its filters are asked about the plan as a whole: every planned machine and every
// placement of the plan is put into a fork of the snapshot, then each pod is taken off and asked for
// again on its machine. A machine that none of its pods would get on is not bought, and the reason
// is told. Pods that another engine does not count on this World are checked as well, and count.
//
// Decision thread; the fork is closed when it returns.

#pragma once

#include <string>
#include <vector>

#include "cluster/world.h"
#include "fit/chain.h"
#include "model/node_claim.h"
#include "provision/solver.h"

namespace coppice::provision {

struct PlanToCheck {
  const SolverInput& input;
  const std::vector<PodPtr>& pods;  // of the request
  const SolveOutcome& outcome;
  const std::vector<model::NodeClaim>& claims;  // as they would be created, by planned claim
  const model::LabelRules& labels;
};

struct Misfit {
  size_t claim = 0;  // of the outcome
  size_t pod = 0;    // of the request
  std::string text;
};
std::vector<Misfit> WouldNotSchedule(cluster::World& world, const fit::Chain& filters,
                                     const PlanToCheck& plan);

// The Node that a claim would become, of the cheapest of its types.
model::Node ImaginedNode(const model::NodeClaim& claim, const std::string& name,
                         const cloud::TypeList& types, const model::NodeRequirements& requirements,
                         const model::LabelRules& labels);

}  // namespace coppice::provision
