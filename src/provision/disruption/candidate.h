// Candidate: a machine that could be taken away, what that would save and what it would cost.
//
// Pure: from a DisruptionWorld to candidates, and a sentence for every machine of ours that is
// none. Which of them a method wants is the method's business (methods.h).

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "provision/disruption/pod_rules.h"
#include "provision/disruption/repair_policies.h"
#include "provision/disruption/world.h"

namespace coppice::provision {

// Graceful: never against a pod's or budget's will. Eventual: the claim has a grace period after
// which it will go anyway, so pods do not stand in the way of the decision. Repair: the node is bad;
// neither its own protection nor that of its pods keeps it, but the method decides on the latter.
enum class DisruptionClass { kGraceful, kEventual, kRepair };

// Of its lifetime, from 1 (new, or without end) to 0. Who goes soon anyway costs little to lose.
double LifetimeLeft(const model::NodeClaim& claim, TimePoint now);

// What a node with no pods costs to lose.
inline constexpr double kBaseDisruptionCost = 1.0;

struct Candidate {
  size_t machine = 0;  // index into DisruptionWorld::machines
  const PoolView* pool = nullptr;
  const cloud::InstanceType* type = nullptr;  // null: not sold any more
  std::string capacity_type;
  std::vector<PodPtr> reschedulable;  // would come up elsewhere
  double price = 0;
  double reschedule_cost = kBaseDisruptionCost;  // the base, and what moving its pods costs
  // Of all its pods, scaled by the lifetime that is left; orders the shrinking of static pools.
  double disruption_cost = 0;
  // Of repair: pods that may not be disturbed, or whose budget keeps them; and what was decided.
  bool has_pod_blockers = false;
  std::optional<RepairDecision> repair = {};

  double SavingsRatio() const { return price / reschedule_cost; }
  // No pod that costs anything to move; also true with pods that say so themselves.
  bool IsEmpty() const { return reschedule_cost <= kBaseDisruptionCost; }
  const std::string& pool_name() const { return pool->pool->metadata.name; }
};

// The order in which candidates are tried: the most saved for the least disturbance first; machines
// are numbered by name, so equal ones go by name.
inline bool BetterRatio(const Candidate& a, const Candidate& b) {
  const double of_a = a.SavingsRatio();
  const double of_b = b.SavingsRatio();
  return of_a != of_b ? of_a > of_b : a.machine < b.machine;
}

enum class DisruptionEventKind {
  kBlocked,
  kUnconsolidatable,
  kCandidate,
  kApproved,
  kRejected,
  kRepairBlocked,  // about a machine, and about its pool
};
std::string_view ToString(DisruptionEventKind kind);  // the reason of the event

// A sentence about a machine or, without one, about a pool.
struct DisruptionEvent {
  DisruptionEventKind kind = DisruptionEventKind::kBlocked;
  std::optional<size_t> machine;
  std::string pool;
  std::string text;
  std::string detail = {};  // ours: the numbers behind it
  bool quiet = false;       // over in a moment: for who asks, and no event
};
using DisruptionEvents = std::vector<DisruptionEvent>;

// What a move of a Balanced pool is measured against.
struct PoolTotals {
  double cost = 0;
  double disruption_cost = 0;
};

struct CandidateList {
  std::vector<Candidate> candidates;         // by name
  std::map<std::string, PoolTotals> totals;  // of pools that have candidates
};

struct CandidateOptions {
  bool deletion_cost_is_managed = false;  // gate PodDeletionCostManagement
};

CandidateList FindCandidates(const DisruptionWorld& world, const PodBudgets& budgets,
                             DisruptionClass disruption_class, const CandidateOptions& options,
                             DisruptionEvents& events);

// A pool's budget for a reason.
struct BudgetUse {
  int64_t allowed = 0;
  int64_t used = 0;  // by machines that leave or are not ready

  int64_t left() const { return allowed > used ? allowed - used : 0; }
};
// By pool, and an event for those that allow nothing at all.
std::map<std::string, BudgetUse> BudgetsFor(const DisruptionWorld& world, std::string_view reason,
                                            DisruptionEvents& events);

// "pod X" becomes "Pod X": events begin with a capital.
std::string Sentence(std::string text);

}  // namespace coppice::provision
