// Repair (gate NodeRepair): a node that has been in a bad condition for longer than its provider
// tolerates is replaced: within the budgets for its reason, and after it is known that its pods find
// a place. It is no matter of taste, so a node's do-not-disrupt does not protect it (do-not-repair
// does), and pods that may not be disturbed only until the grace period of the policy, or of the
// claim, is over.
//
// When many nodes of a pool are bad at once it is not the nodes: then nothing is done.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "provision/disruption/methods.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

void Blocked(const Candidate& candidate, std::string text, DisruptionEvents& events) {
  events.push_back({.kind = DisruptionEventKind::kBlocked,
                    .machine = candidate.machine,
                    .text = std::move(text)});
}

}  // namespace

bool DisruptionRound::WantsToRepair(Candidate& candidate, DisruptionEvents& events) const {
  const model::Node& node = *world_.solver.nodes[candidate.machine].node;
  const model::NodeClaim& claim = *world_.machines[candidate.machine].claim;
  candidate.repair = options_.repair.Decide(node, world_.now);
  if (!candidate.repair) return false;
  const std::string* veto = node.metadata.annotations.Find(names::kDoNotRepairAnnotation);
  if (veto != nullptr && *veto == "true") {
    Blocked(candidate,
            fmt::format("repair is blocked through the \"{}\" annotation",
                        names::kDoNotRepairAnnotation),
            events);
    return false;
  }
  if (candidate.has_pod_blockers && !candidate.repair->grace &&
      !claim.spec.termination_grace_period) {
    Blocked(candidate, "repair requires a termination grace period to bypass blocking pods",
            events);
    return false;
  }
  // The shorter of the policy's and the claim's; none of the policy's: as for any disruption.
  if (auto& grace = candidate.repair->grace) {
    if (const auto own = model::LastingOf(claim.spec.termination_grace_period))
      grace = std::min(*grace, *own);
  }
  return true;
}

std::set<std::string> DisruptionRound::SickPools() const {
  struct Counts {
    int64_t all = 0;
    int64_t sick = 0;
  };
  std::map<std::string, Counts> pools;
  for (const StateNode& state : world_.solver.nodes) {
    if (state.node == nullptr) continue;
    const std::string* pool = state.node->metadata.labels.Find(model::kNodePoolLabel);
    if (pool == nullptr) continue;
    ++pools[*pool].all;
    if (options_.repair.IsSick(*state.node)) ++pools[*pool].sick;
  }
  std::set<std::string> tripped;
  for (const auto& [pool, counts] : pools) {
    if (counts.sick > (counts.all + 4) / 5) tripped.insert(pool);  // a fifth, rounded up
  }
  return tripped;
}

void DisruptionRound::Repair(MethodAnswer& answer) {
  Candidates sorted;
  for (const Candidate& candidate : answer.candidates) sorted.push_back(&candidate);
  std::ranges::sort(sorted, {}, [](const Candidate* candidate) {
    return std::tuple(-candidate->repair->score, candidate->disruption_cost, candidate->machine);
  });
  const std::set<std::string> sick = SickPools();
  for (const Candidate* candidate : sorted) {
    const std::string& pool = candidate->pool_name();
    if (sick.contains(pool)) {
      answer.events.push_back(
          {.kind = DisruptionEventKind::kRepairBlocked,
           .machine = candidate->machine,
           .pool = pool,
           .text = fmt::format("more than 20% of nodes in nodepool \"{}\" are unhealthy", pool)});
      continue;
    }
    // Budgets count what is initialised: one that is not runs nothing to be protected.
    if (world_.solver.nodes[candidate->machine].initialized() && answer.budgets[pool] == 0) {
      answer.held_back_by_budget = true;
      continue;
    }
    const bool decided = model::IsStatic(*candidate->pool->pool)
                             ? RepairStatic(*candidate, answer)
                             : RepairDynamic(*candidate, answer);
    if (decided) return;
  }
}

bool DisruptionRound::RepairStatic(const Candidate& candidate, MethodAnswer& answer) {
  const size_t before = answer.commands.size();
  StaticReplacement({&candidate}, 1, Method::kRepair, options_.terminate_first_repair, answer);
  return answer.commands.size() > before;
}

bool DisruptionRound::RepairDynamic(const Candidate& candidate, MethodAnswer& answer) {
  Command command{.method = Method::kRepair, .candidates = {candidate}};
  SimulationOutcome outcome = simulation().Without({&candidate}, Simulation::For::kRepair);
  if (outcome.trouble.empty()) {
    command.replacements = std::move(outcome.replacements);
    command.nominated = std::move(outcome.nominated);
    answer.commands.push_back(Finished(std::move(command)));
    return true;
  }
  if (options_.terminate_first_repair) {
    if (auto first = TerminateFirst(std::move(command))) {
      answer.commands.push_back(*std::move(first));
      return true;
    }
  }
  if (!outcome.not_asked || !options_.solver.upstream_exact)
    Blocked(candidate, Sentence(std::move(outcome.trouble)), answer.events);
  return false;
}

}  // namespace coppice::provision
