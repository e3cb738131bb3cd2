// The methods that ask nobody about prices: emptiness, drift, drift of static pools.

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "provision/claim_builder.h"
#include "provision/disruption/methods.h"

namespace coppice::provision {

namespace {

namespace names = model::karpenter;

TimePoint DriftedSince(const model::NodeClaim& claim) {
  const model::Condition* drifted = model::FindCondition(claim.status.conditions, names::kDrifted);
  return drifted != nullptr && drifted->last_transition_time ? drifted->last_transition_time->at
                                                             : TimePoint{};
}

// A machine of a static pool as its template alone describes it.
Replacement FromTemplate(const model::NodePool& pool, const model::LabelRules& rules) {
  Replacement replacement{.pool = pool.metadata.name};
  replacement.requirements = RequirementsOf(pool, rules);
  for (const std::string_view label : {model::kRegisteredLabel, model::kInitializedLabel}) {
    replacement.requirements.Add(model::NodeRequirement::In(label, {"true"}));
  }
  return replacement;
}

// The reservations into which a template could launch, if there is nothing else for it and they
// are all full; none if it could launch now, or elsewhere some day.
std::optional<std::set<std::string>> FullReservations(const PoolView& view,
                                                      const Replacement& wanted,
                                                      const SolverOptions& options) {
  std::set<std::string> offered;
  for (const cloud::InstanceType& type : *view.types) {
    if (!wanted.requirements.Compatible(type.requirements, &options.labels)) continue;
    for (const cloud::Offering& offering : type.offerings) {
      if (!wanted.requirements.Compatible(offering.requirements, &options.labels)) continue;
      if (offering.CapacityType() != model::kReserved || offering.Launchable()) return std::nullopt;
      if (offering.available) offered.insert(offering.ReservationId(options.reservation_label));
    }
  }
  return offered;
}

}  // namespace

void DisruptionRound::Emptiness(MethodAnswer& answer) {
  std::vector<Candidate> sorted = answer.candidates;
  std::ranges::sort(sorted, BetterRatio);
  auto budgets = answer.budgets;
  Command command{.method = Method::kEmptiness};
  for (Candidate& candidate : sorted) {
    int64_t& left = budgets[candidate.pool_name()];
    if (left == 0) {
      answer.held_back_by_budget = true;
      continue;
    }
    --left;
    command.candidates.push_back(std::move(candidate));
  }
  if (!command.candidates.empty()) answer.commands.push_back(Finished(std::move(command)));
}

void DisruptionRound::Drift(MethodAnswer& answer) {
  Candidates sorted;
  for (const Candidate& candidate : answer.candidates) sorted.push_back(&candidate);
  const auto since = [this](const Candidate* candidate) {
    return DriftedSince(*world_.machines[candidate->machine].claim);
  };
  // Machines without pods first: else pods would move onto them, and have to move again.
  std::ranges::sort(sorted, {}, [&](const Candidate* candidate) {
    return std::tuple(!candidate->reschedulable.empty(), since(candidate), candidate->machine);
  });
  for (const Candidate* candidate : sorted) {
    if (answer.budgets[candidate->pool_name()] == 0) {
      answer.held_back_by_budget = true;
      continue;
    }
    Command command{.method = Method::kDrift, .candidates = {*candidate}};
    SimulationOutcome outcome = simulation().Without({candidate}, Simulation::For::kDrift);
    if (outcome.trouble.empty()) {
      command.replacements = std::move(outcome.replacements);
      command.nominated = std::move(outcome.nominated);
      answer.commands.push_back(Finished(std::move(command)));
      return;
    }
    if (options_.terminate_first_drift) {
      if (auto first = TerminateFirst(std::move(command))) {
        answer.commands.push_back(*std::move(first));
        return;
      }
    }
    if (outcome.not_asked && options_.solver.upstream_exact) return;
    answer.events.push_back({.kind = DisruptionEventKind::kBlocked,
                             .machine = candidate->machine,
                             .text = Sentence(std::move(outcome.trouble))});
  }
}

// If all that keeps its pods from finding a place is that it holds a place in a reservation itself.
std::optional<Command> DisruptionRound::TerminateFirst(Command command) {
  const Candidate& candidate = command.candidates[0];
  const std::string* reservation =
      world_.solver.nodes[candidate.machine].labels().Find(options_.solver.reservation_label);
  if (candidate.capacity_type != model::kReserved || reservation == nullptr || reservation->empty())
    return std::nullopt;
  SimulationOutcome freed = simulation().WithoutReserved(
      candidate, *reservation,
      command.method == Method::kRepair ? Simulation::For::kRepair : Simulation::For::kDrift);
  if (!freed.trouble.empty()) return std::nullopt;
  command.nominated = std::move(freed.nominated);
  command = Finished(std::move(command));
  command.decision = Decision::kTerminateFirst;
  return command;
}

void DisruptionRound::StaticDrift(MethodAnswer& answer) {
  std::map<std::string, Candidates> by_pool;
  for (const Candidate& candidate : answer.candidates) {
    by_pool[candidate.pool_name()].push_back(&candidate);
  }
  for (const auto& [pool, candidates] : by_pool) {
    if (answer.budgets[pool] == 0) {
      answer.held_back_by_budget = true;
      continue;
    }
    const auto most = static_cast<size_t>(
        std::min<int64_t>(answer.budgets[pool], static_cast<int64_t>(candidates.size())));
    StaticReplacement(candidates, most, Method::kStaticDrift, options_.terminate_first_drift,
                      answer);
  }
}

// One for one, as far as the pool's limit leaves room; else the old one first, if that is allowed.
void DisruptionRound::StaticReplacement(const Candidates& candidates, size_t most, Method method,
                                        bool terminate_first, MethodAnswer& answer) {
  const PoolView& view = *candidates[0]->pool;
  const model::NodePool& pool = *view.pool;
  const auto counted = world_.counts.find(pool.metadata.name);
  const DisruptionWorld::PoolCounts counts =
      counted == world_.counts.end() ? DisruptionWorld::PoolCounts{} : counted->second;
  if (counts.active > *pool.spec.replicas) return;  // it shrinks first
  const Replacement replacement = FromTemplate(pool, options_.solver.labels);

  const bool may_terminate_first = terminate_first &&
                                   model::IsTrue(pool.status.conditions, names::kReady) &&
                                   !pool.metadata.deletion_timestamp;
  const auto without_replacement = [&](const Candidates& chosen, auto may_go, const char* why_not) {
    for (size_t i = 0; i < most; ++i) {
      if (may_terminate_first && may_go(*chosen[i])) {
        Command command = Finished({.method = method, .candidates = {*chosen[i]}});
        command.decision = Decision::kTerminateFirst;
        answer.commands.push_back(std::move(command));
      } else {
        answer.events.push_back({.kind = DisruptionEventKind::kBlocked,
                                 .machine = chosen[i]->machine,
                                 .text = why_not});
      }
    }
  };
  if (terminate_first) {
    if (const auto full = FullReservations(view, replacement, options_.solver)) {
      // Only who holds a place that is still offered makes room for its successor: those first.
      const auto holds = [&](const Candidate& candidate) {
        const std::string* id =
            world_.solver.nodes[candidate.machine].labels().Find(options_.solver.reservation_label);
        return candidate.capacity_type == model::kReserved && id != nullptr && full->contains(*id);
      };
      Candidates ordered = candidates;
      std::ranges::sort(ordered, {}, [&](const Candidate* candidate) {
        return std::pair(!holds(*candidate), candidate->machine);
      });
      return without_replacement(
          ordered, holds,
          "static NodePool's capacity reservations are full and cannot stage a replacement");
    }
  }
  const model::Quantity* limit = pool.spec.limits.Find("nodes");
  const int64_t nodes = limit == nullptr ? std::numeric_limits<int64_t>::max() : limit->Value();
  const int64_t room = std::max<int64_t>(0, nodes - counts.active - counts.deleting);
  if (room == 0 || most == 0) {
    return without_replacement(
        candidates, [](const Candidate&) { return true; },
        "static NodePool is at its node limit and cannot stage a replacement");
  }
  for (size_t i = 0; i < std::min<size_t>(most, static_cast<size_t>(room)); ++i) {
    answer.commands.push_back(Finished(
        {.method = method, .candidates = {*candidates[i]}, .replacements = {replacement}}));
  }
}

}  // namespace coppice::provision
