#include "provision/disruption/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "provision/pod_selection.h"

namespace coppice::provision {

namespace {

std::string UninitializedText(const StateNode& state) {
  std::vector<std::string> info;
  if (state.claim != nullptr) info.push_back("nodeclaim/" + state.claim->name);
  if (state.node != nullptr) info.push_back("node/" + state.node->metadata.name);
  return "would schedule against uninitialized " + Join(info, ", ");
}

}  // namespace

Simulation::Simulation(const DisruptionWorld& world, const PodBudgets& budgets,
                       const SolverOptions& options)
    : world_(world), budgets_(budgets), solver_(world.solver, options) {
  for (size_t i = 0; i < world.machines.size(); ++i) {
    if (!world.solver.nodes[i].marked_for_deletion) {
      if (world.machines[i].chosen) chosen_.push_back(i);
      continue;
    }
    for (const PodPtr& pod : world.machines[i].pods) {
      if (budgets.IsCurrentlyReschedulable(*pod, world.now)) leaving_.push_back(pod);
    }
  }
}

SimulationOutcome Simulation::Without(const std::vector<const Candidate*>& candidates,
                                      For purpose) {
  SolveRequest request{.reserved = ReservedMode::kFallback,
                       .is_consolidation = purpose == For::kConsolidation};
  if (request.is_consolidation) request.without_nodes = chosen_;
  return Ask(candidates, std::move(request), purpose == For::kRepair);
}

SimulationOutcome Simulation::WithoutReserved(const Candidate& candidate,
                                              const std::string& reservation, For purpose) {
  return Ask({&candidate},
             {.reserved = ReservedMode::kStrict, .credited_reservations = {{reservation, 1}}},
             purpose == For::kRepair);
}

SimulationOutcome Simulation::Ask(const std::vector<const Candidate*>& candidates,
                                  SolveRequest request, bool blocked_pods) {
  SimulationOutcome answer;
  if (world_.solver.pools.empty()) {
    answer.trouble = "no nodepool is ready to buy a replacement";
    answer.not_asked = true;
    return answer;
  }
  request.pods = world_.pending;
  for (const Candidate* candidate : candidates) {
    request.without_nodes.push_back(candidate->machine);
    for (const PodPtr& pod : candidate->reschedulable) {
      if (blocked_pods || budgets_.IsCurrentlyReschedulable(*pod, world_.now))
        request.pods.push_back(pod);
    }
  }
  const size_t first_leaving = request.pods.size();
  request.pods.insert(request.pods.end(), leaving_.begin(), leaving_.end());

  SolveOutcome outcome = solver_.Solve(request);
  answer.trouble = Trouble(request, outcome, first_leaving);
  for (const ExistingPlacement& placement : outcome.existing) {
    answer.nominated.push_back(placement.node);
  }
  for (PlannedClaim& claim : outcome.claims) {
    Replacement replacement{.pool = world_.solver.pools[claim.pool].name,
                            .types = std::move(claim.types),
                            .requirements = std::move(claim.requirements),
                            .requests = std::move(claim.requests),
                            .min_values_relaxed = claim.min_values_relaxed,
                            .reservations = std::move(claim.reservations)};
    for (const size_t pod : claim.pods) replacement.pods.push_back(request.pods[pod]);
    answer.replacements.push_back(std::move(replacement));
  }
  return answer;
}

std::string Simulation::Trouble(const SolveRequest& request, const SolveOutcome& outcome,
                                size_t first_leaving) const {
  std::map<std::string, std::string> errors;  // by namespace/name
  const auto note = [&](size_t pod, std::string text) {
    const model::Pod& asked = *request.pods[pod];
    if (IsProvisionable(asked)) return;
    errors[asked.metadata.namespace_ + "/" + asked.metadata.name] = std::move(text);
  };
  for (const PodError& error : outcome.errors) note(error.pod, error.text);
  // Nobody has tried to place them, so nobody knows that they have a place.
  for (const size_t pod : outcome.left_out) note(pod, "its volumes could not be looked up");
  // A machine that is not up yet may never be; only who has to leave anyway counts on it.
  for (const ExistingPlacement& placement : outcome.existing) {
    const StateNode& state = world_.solver.nodes[placement.node];
    if (state.initialized()) continue;
    for (const size_t pod : placement.pods) {
      if (pod < first_leaving) note(pod, UninitializedText(state));
    }
  }
  if (errors.empty()) return "";
  constexpr size_t kMostErrors = 5;
  std::string text = "not all pods would schedule, ";
  size_t count = 0;
  for (const auto& [name, error] : errors) {
    text += fmt::format("{} => {} ", name, error);
    if (++count < kMostErrors) continue;
    text += fmt::format(" and {} other(s)", errors.size() - kMostErrors);
    break;
  }
  return text;
}

}  // namespace coppice::provision
