// The ways to take machines away, each asked on the same world: repair, emptiness, static drift,
// drift, multi-node and single-node consolidation. The first that has a command acts, and the round is
// over.
//
// Plan only: nothing is tainted, bought or deleted here, and a command is to be checked again
// before it is carried out. No time-out cuts the search short: candidates are judged in the peer's
// order until one succeeds, so a round in which none does has judged them all.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "provision/disruption/balanced.h"
#include "provision/disruption/candidate.h"
#include "provision/disruption/simulation.h"
#include "provision/disruption/world.h"

namespace coppice::provision {

enum class Method { kRepair, kEmptiness, kStaticDrift, kDrift, kMultiNode, kSingleNode };
// In the order in which a round asks them.
const std::vector<Method>& AllMethods();
std::string_view ReasonOf(Method method);  // Unhealthy, Empty, Drifted, Underutilized
// As labels of metrics have them: unhealthy, empty, ...; empty, multi, single or nothing.
std::string LowerReason(Method method);
std::string_view TypeOf(Method method);

enum class Decision { kDelete, kReplace, kTerminateFirst };
std::string_view ToString(Decision decision);  // delete, replace, terminate-first

// One move: these machines go, these come first.
struct Command {
  Method method = Method::kEmptiness;
  Decision decision = Decision::kDelete;
  std::vector<Candidate> candidates;
  std::vector<Replacement> replacements;
  std::vector<size_t> nominated;  // machines that would take pods: no candidates meanwhile
  double savings = 0;             // per hour
};

struct DisruptionOptions {
  SolverOptions solver;
  CandidateOptions candidates;
  bool spot_to_spot = false;             // gate SpotToSpotConsolidation
  size_t spot_to_spot_least_types = 15;  // as many cheaper types, or a spot node is left alone
  bool terminate_first_drift = false;    // gate TerminateFirstDrift
  RepairPolicies repair = {};            // gate NodeRepair; none: nothing is repaired
  bool terminate_first_repair = false;   // gate TerminateFirstRepair
  size_t most_nodes_at_once = 100;       // of multi-node consolidation
};

// A move that consolidation has weighed, once per pool that has a machine in it.
struct WeighedMove {
  std::string pool;
  std::string policy;
  bool approved = true;
  std::optional<BalancedScore> score;  // of Balanced pools
};

struct MethodAnswer {
  std::vector<Candidate> candidates;             // those that the method wants
  std::map<std::string, int64_t> budgets;        // what was left for its reason, by pool
  std::map<std::string, BudgetUse> budget_uses;  // what that is left of
  std::vector<Command> commands;
  DisruptionEvents events;
  std::vector<WeighedMove> weighed;
  // Something would have been looked at, had its pool's budget allowed it: then "nothing to do" is
  // not to be remembered.
  bool held_back_by_budget = false;
};

// A command as one of its machines is told about it: "delete: [node]".
std::string CommandText(Decision decision, const std::string& node, size_t nodes,
                        size_t replacements);

class DisruptionRound {
 public:
  // `world` outlives the round.
  DisruptionRound(const DisruptionWorld& world, DisruptionOptions options);
  ~DisruptionRound();
  DisruptionRound(const DisruptionRound&) = delete;
  DisruptionRound& operator=(const DisruptionRound&) = delete;

  MethodAnswer Ask(Method method);

  // For who checks a command again: the candidates that the method still wants and what its reason's
  // budgets leave, without a search; and what would have to be bought if these were gone.
  MethodAnswer Wanted(Method method);
  SimulationOutcome Without(const std::vector<const Candidate*>& candidates) {
    return simulation().Without(candidates, Simulation::For::kConsolidation);
  }

 private:
  using Candidates = std::vector<const Candidate*>;

  void Look(Method method, MethodAnswer& answer, std::map<std::string, PoolTotals>& totals);
  bool Wants(Method method, const Candidate& candidate, DisruptionEvents& events) const;
  bool WantsToConsolidate(const Candidate& candidate, DisruptionEvents& events) const;
  bool WantsToRepair(Candidate& candidate, DisruptionEvents& events) const;

  void Repair(MethodAnswer& answer);
  bool RepairStatic(const Candidate& candidate, MethodAnswer& answer);
  bool RepairDynamic(const Candidate& candidate, MethodAnswer& answer);
  std::set<std::string> SickPools() const;  // too many of its nodes are bad at once
  void Emptiness(MethodAnswer& answer);
  void StaticDrift(MethodAnswer& answer);
  void StaticReplacement(const Candidates& candidates, size_t most, Method method,
                         bool terminate_first, MethodAnswer& answer);
  std::optional<Command> TerminateFirst(Command command);
  void Drift(MethodAnswer& answer);
  void MultiNode(MethodAnswer& answer, const std::map<std::string, PoolTotals>& totals);
  void SingleNode(MethodAnswer& answer, const std::map<std::string, PoolTotals>& totals);

  // What becomes of these candidates together; none if nothing good.
  std::optional<Command> Consolidate(Method method, const Candidates& candidates,
                                     DisruptionEvents& events);
  std::optional<Command> SpotToSpot(Command command, double price, DisruptionEvents& events);
  // Leaves the types that surely cost less; what is wrong if minValues does not hold for them.
  // `cheapest` is told the price of the cheapest, kept or not.
  std::string KeepCheaper(Replacement& replacement, double price, double* cheapest = nullptr) const;
  bool LeaveOutSameTypes(Command& command) const;
  Command Finished(Command command) const;
  // That it has found something, to each machine of the command.
  void TellCandidates(const Command& command, DisruptionEvents& events) const;

  Simulation& simulation();  // made when first needed

  const DisruptionWorld& world_;
  const DisruptionOptions options_;
  const PodBudgets budgets_;
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace coppice::provision
