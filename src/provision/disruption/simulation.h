// Simulation: where would the pods go if these machines were gone?
//
// The solver is prepared once per world and asked per set of candidates. Asked for are the pods
// that wait anyway, those of machines that are leaving already, and the candidates' own. Pods that
// were waiting before never speak against a move, wherever they end.

#pragma once

#include <string>
#include <vector>

#include "provision/disruption/candidate.h"
#include "provision/solver.h"

namespace coppice::provision {

// A machine that a move would buy.
struct Replacement {
  std::string pool;
  std::vector<PodPtr> pods;
  cloud::TypeList types;  // cheapest first; none for static pools: their provider chooses
  model::NodeRequirements requirements;
  model::ResourceList requests;
  bool min_values_relaxed = false;
  std::vector<std::string> reservations;
};

struct SimulationOutcome {
  std::vector<Replacement> replacements;
  std::vector<size_t> nominated;  // machines that would take pods
  // Pods of candidates and leaving machines that would find no place: the peer's sentence, or
  // empty if all would.
  std::string trouble;
  // No pool may buy, so the peer asks nothing, and says nothing either.
  bool not_asked = false;
};

class Simulation {
 public:
  // All outlive the simulation.
  Simulation(const DisruptionWorld& world, const PodBudgets& budgets, const SolverOptions& options);

  // For repair pods that cannot be evicted now are asked for, too: its drain has an end.
  enum class For { kConsolidation, kDrift, kRepair };
  SimulationOutcome Without(const std::vector<const Candidate*>& candidates, For purpose);

  // The same for one drifted candidate, as it would be after its place in a reservation is free:
  // strictly, so that nothing is bought without one.
  SimulationOutcome WithoutReserved(const Candidate& candidate, const std::string& reservation,
                                    For purpose);

 private:
  SimulationOutcome Ask(const std::vector<const Candidate*>& candidates, SolveRequest request,
                        bool blocked_pods);
  std::string Trouble(const SolveRequest& request, const SolveOutcome& outcome,
                      size_t first_leaving) const;

  const DisruptionWorld& world_;
  const PodBudgets& budgets_;
  Solver solver_;
  std::vector<PodPtr> leaving_;  // pods of machines that are leaving
  std::vector<size_t> chosen_;   // machines that another command may take away
};

}  // namespace coppice::provision
