// Consolidation: fewer or cheaper machines for the same pods.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "provision/disruption/methods.h"

namespace coppice::provision {

namespace {

// The best ratio of savings to disturbance first.
std::vector<const Candidate*> ByRatio(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> sorted;
  for (const Candidate& candidate : candidates) sorted.push_back(&candidate);
  std::ranges::sort(sorted,
                    [](const Candidate* a, const Candidate* b) { return BetterRatio(*a, *b); });
  return sorted;
}

// One of each pool in turn, lest a large pool keep the others waiting; the pool with the best
// candidate begins. (The peer walks a map of pools, which mostly comes out so.)
std::vector<const Candidate*> InTurns(const std::vector<const Candidate*>& sorted) {
  std::vector<std::vector<const Candidate*>> by_pool;
  std::map<std::string, size_t> places;
  for (const Candidate* candidate : sorted) {
    const auto [place, is_new] = places.try_emplace(candidate->pool_name(), by_pool.size());
    if (is_new) by_pool.emplace_back();
    by_pool[place->second].push_back(candidate);
  }
  std::vector<const Candidate*> turns;
  for (size_t i = 0; turns.size() < sorted.size(); ++i) {
    for (const auto& candidates : by_pool) {
      if (i < candidates.size()) turns.push_back(candidates[i]);
    }
  }
  return turns;
}

// Only one candidate is told why; for a set nobody knows whose fault it was.
void TellSingle(const std::vector<Candidate>& candidates, std::string text,
                DisruptionEvents& events, std::string detail = "") {
  if (candidates.size() != 1) return;
  events.push_back({.kind = DisruptionEventKind::kUnconsolidatable,
                    .machine = candidates[0].machine,
                    .text = std::move(text),
                    .detail = std::move(detail)});
}

std::string PricesText(double cheapest, double price) {
  if (cheapest == cloud::kNoPrice) return "no replacement can be bought now";
  return fmt::format("the cheapest replacement costs {:.4g}, this one {:.4g}", cheapest, price);
}

constexpr char kNothingCheaper[] = "Can't replace with a cheaper node";

}  // namespace

std::string DisruptionRound::KeepCheaper(Replacement& replacement, double price,
                                         double* cheapest) const {
  std::erase_if(replacement.types, [&](const cloud::InstanceType* type) {
    const double costs =
        cloud::WorstLaunchPrice(*type, replacement.requirements, options_.solver.labels);
    if (cheapest != nullptr) *cheapest = std::min(*cheapest, costs);
    return !(costs < price);
  });
  return cloud::SatisfiesMinValues(replacement.types, replacement.requirements).Error();
}

std::optional<Command> DisruptionRound::Consolidate(Method method, const Candidates& candidates,
                                                    DisruptionEvents& events) {
  SimulationOutcome outcome = simulation().Without(candidates, Simulation::For::kConsolidation);
  Command command{.method = method, .nominated = std::move(outcome.nominated)};
  double price = 0;
  bool all_spot = true;
  for (const Candidate* candidate : candidates) {
    command.candidates.push_back(*candidate);
    price += candidate->price;
    all_spot = all_spot && candidate->capacity_type == model::kSpot;
  }
  const auto none = [&](std::string text, std::string detail = "") {
    TellSingle(command.candidates, std::move(text), events, std::move(detail));
    return std::nullopt;
  };
  double cheapest = cloud::kNoPrice;
  if (outcome.not_asked && options_.solver.upstream_exact) return std::nullopt;
  if (!outcome.trouble.empty()) return none(Sentence(std::move(outcome.trouble)));
  if (outcome.replacements.empty()) return Finished(std::move(command));
  if (outcome.replacements.size() != 1) {
    return none(
        fmt::format("Can't remove without creating {} candidates", outcome.replacements.size()));
  }
  command.replacements = std::move(outcome.replacements);
  Replacement& replacement = command.replacements[0];
  if (all_spot && replacement.requirements.Get(model::kCapacityTypeLabel).Has(model::kSpot)) {
    return SpotToSpot(std::move(command), price, events);
  }
  if (const std::string wrong = KeepCheaper(replacement, price, &cheapest); !wrong.empty()) {
    return none("Filtering by price: " + wrong);
  }
  if (replacement.types.empty()) return none(kNothingCheaper, PricesText(cheapest, price));
  // Types were compared by their spot price where they have one. If spot cannot be had, the launch
  // is to fail rather than to end in a dearer machine.
  const auto capacity_type = replacement.requirements.Get(model::kCapacityTypeLabel);
  if (capacity_type.Has(model::kSpot) && capacity_type.Has(model::kOnDemand)) {
    model::NodeRequirements pinned = replacement.requirements;
    pinned.Add(model::NodeRequirement::In(model::kCapacityTypeLabel, {std::string(model::kSpot)}));
    const bool is_sold = std::ranges::any_of(replacement.types, [&](const auto* type) {
      return cloud::HasCompatibleOffering(*type, pinned, options_.solver.labels, true);
    });
    if (is_sold || options_.solver.upstream_exact) replacement.requirements = std::move(pinned);
  }
  return Finished(std::move(command));
}

std::optional<Command> DisruptionRound::SpotToSpot(Command command, double price,
                                                   DisruptionEvents& events) {
  const auto none = [&](std::string text, std::string detail = "") {
    TellSingle(command.candidates, std::move(text), events, std::move(detail));
    return std::nullopt;
  };
  double cheapest = cloud::kNoPrice;
  if (!options_.spot_to_spot) {
    return none("SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node");
  }
  Replacement& replacement = command.replacements[0];
  replacement.requirements.Add(
      model::NodeRequirement::In(model::kCapacityTypeLabel, {std::string(model::kSpot)}));
  std::erase_if(replacement.types, [&](const cloud::InstanceType* type) {
    return !cloud::HasCompatibleOffering(*type, replacement.requirements, options_.solver.labels,
                                         true);
  });
  if (const std::string wrong = KeepCheaper(replacement, price, &cheapest); !wrong.empty()) {
    return none("Filtering by price: " + wrong);
  }
  if (replacement.types.empty()) return none(kNothingCheaper, PricesText(cheapest, price));
  if (command.candidates.size() > 1) return Finished(std::move(command));
  // One of many: else the next look would find the next cheaper one, and so on, each with less
  // capacity behind it and so taken away sooner.
  const size_t least = options_.spot_to_spot_least_types;
  if (replacement.types.size() < least) {
    return none(fmt::format(
        "SpotToSpotConsolidation requires {} cheaper instance type options than the current "
        "candidate to consolidate, got {}",
        least, replacement.types.size()));
  }
  size_t keep = least;
  if (replacement.requirements.HasMinValues()) {
    keep = std::max(keep,
                    cloud::SatisfiesMinValues(replacement.types, replacement.requirements).needed);
  }
  if (replacement.types.size() > keep) replacement.types.resize(keep);
  return Finished(std::move(command));
}

bool DisruptionRound::LeaveOutSameTypes(Command& command) const {
  // [large, large, small] -> small is nothing but deleting the large ones: what comes has to be
  // cheaper than the cheapest of its kind that goes.
  std::map<std::string, double> cheapest;
  for (const Candidate& candidate : command.candidates) {
    double& price = cheapest.try_emplace(candidate.type->name, 0).first->second;
    const auto labels = model::NodeRequirements::FromLabels(
        world_.solver.nodes[candidate.machine].labels(), options_.solver.labels);
    std::optional<double> here;
    for (const cloud::Offering& offering : candidate.type->offerings) {
      if (!labels.Compatible(offering.requirements, &options_.solver.labels)) continue;
      if (!here || offering.price < *here) here = offering.price;
    }
    if (here && (price == 0 || *here < price)) price = *here;
  }
  Replacement& replacement = command.replacements[0];
  double most = std::numeric_limits<double>::max();
  for (const cloud::InstanceType* type : replacement.types) {
    const auto going = cheapest.find(type->name);
    if (going != cheapest.end()) most = std::min(most, going->second);
  }
  return KeepCheaper(replacement, most).empty() && !replacement.types.empty();
}

namespace {

// As the peer counts them: of a move that is approved as a whole a pool may still have scored too
// little, and the other way round.
std::vector<WeighedMove> Weighed(const std::vector<const Candidate*>& candidates,
                                 const BalancedVerdict& verdict) {
  std::map<std::string, WeighedMove> by_pool;
  for (const Candidate* candidate : candidates) {
    const std::string& pool = candidate->pool_name();
    const auto [it, is_new] = by_pool.try_emplace(pool);
    if (!is_new) continue;
    it->second = {.pool = pool,
                  .policy = candidate->pool->pool->spec.disruption.consolidation_policy,
                  .approved = verdict.approved};
    const auto score = verdict.scores.find(pool);
    if (score != verdict.scores.end()) it->second.score = score->second;
  }
  std::vector<WeighedMove> moves;
  for (auto& [pool, move] : by_pool) moves.push_back(std::move(move));
  return moves;
}

}  // namespace

void DisruptionRound::MultiNode(MethodAnswer& answer,
                                const std::map<std::string, PoolTotals>& totals) {
  auto budgets = answer.budgets;
  Candidates allowed;
  for (const Candidate* candidate : ByRatio(answer.candidates)) {
    int64_t& left = budgets[candidate->pool_name()];
    if (left == 0) {
      answer.held_back_by_budget = true;
      continue;
    }
    --left;
    allowed.push_back(candidate);
  }
  if (allowed.size() < 2) return;  // one alone is single-node's business
  // Halving the length of the prefix; with more than the most at once the peer tries one more.
  int64_t least = 1;
  int64_t most = static_cast<int64_t>(std::min(options_.most_nodes_at_once, allowed.size() - 1));
  std::optional<Command> best;
  std::map<std::string, BalancedScore> scores;
  std::vector<WeighedMove> approved;
  std::vector<WeighedMove> rejected;
  while (least <= most) {
    const int64_t middle = (least + most) / 2;
    const Candidates prefix(allowed.begin(), allowed.begin() + middle + 1);
    auto command = Consolidate(Method::kMultiNode, prefix, answer.events);
    if (command && command->decision == Decision::kReplace) {
      if (LeaveOutSameTypes(*command)) {
        command = Finished(*std::move(command));
      } else {
        command.reset();
      }
    }
    if (command) {
      BalancedVerdict verdict = JudgeMove(prefix, command->savings, totals);
      (verdict.approved ? approved : rejected) = Weighed(prefix, verdict);
      if (verdict.approved) {
        scores = std::move(verdict.scores);
      } else {
        command.reset();
      }
    }
    if (command) {
      best = std::move(command);
      least = middle + 1;
    } else {
      most = middle - 1;
    }
  }
  answer.weighed = best ? std::move(approved) : std::move(rejected);
  if (!best) return;
  TellCandidates(*best, answer.events);
  for (const auto& [pool, score] : scores) {
    answer.events.push_back(
        {.kind = DisruptionEventKind::kApproved, .pool = pool, .text = score.Text()});
  }
  answer.commands.push_back(*std::move(best));
}

void DisruptionRound::SingleNode(MethodAnswer& answer,
                                 const std::map<std::string, PoolTotals>& totals) {
  for (const Candidate* candidate : InTurns(ByRatio(answer.candidates))) {
    if (answer.budgets[candidate->pool_name()] == 0) {
      answer.held_back_by_budget = true;
      continue;
    }
    if (!CanPass(*candidate, totals)) continue;
    auto command = Consolidate(Method::kSingleNode, {candidate}, answer.events);
    if (!command) continue;
    TellCandidates(*command, answer.events);
    const BalancedVerdict verdict = JudgeMove({candidate}, command->savings, totals);
    for (WeighedMove& move : Weighed({candidate}, verdict)) answer.weighed.push_back(move);
    if (!verdict.approved) continue;
    for (const auto& [pool, score] : verdict.scores) {
      answer.events.push_back({.kind = DisruptionEventKind::kApproved,
                               .machine = candidate->machine,
                               .text = score.Text()});
    }
    answer.commands.push_back(*std::move(command));
    return;
  }
}

}  // namespace coppice::provision
