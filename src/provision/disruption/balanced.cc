#include "provision/disruption/balanced.h"

#include <fmt/format.h>

#include <limits>

namespace coppice::provision {

double BalancedScore::Score() const {
  if (savings_fraction <= 0) return 0;
  if (disruption_fraction == 0) return std::numeric_limits<double>::infinity();
  return savings_fraction / disruption_fraction;
}

std::string BalancedScore::Text() const {
  return fmt::format(
      "score {:.2f} >= threshold {:.2f} (k: {}, savings {:.1f}%, disruption {:.1f}%)", Score(),
      kThreshold, kMovesPerSaving, savings_fraction * 100, disruption_fraction * 100);
}

BalancedScore ScoreMove(double savings, double disruption_cost, const PoolTotals& totals) {
  if (totals.cost <= 0 || totals.disruption_cost <= 0) return {};
  return {.savings_fraction = savings / totals.cost,
          .disruption_fraction = disruption_cost / totals.disruption_cost};
}

bool IsBalanced(const model::NodePool& pool) {
  return pool.spec.disruption.consolidation_policy == "Balanced";
}

bool CanPass(const Candidate& candidate, const std::map<std::string, PoolTotals>& totals) {
  if (!IsBalanced(*candidate.pool->pool)) return true;
  const auto of_pool = totals.find(candidate.pool_name());
  if (of_pool == totals.end() || of_pool->second.cost <= 0) return true;
  return ScoreMove(candidate.price, candidate.reschedule_cost, of_pool->second).Approved();
}

BalancedVerdict JudgeMove(const std::vector<const Candidate*>& candidates, double savings,
                          const std::map<std::string, PoolTotals>& totals) {
  struct Share {
    const model::NodePool* pool = nullptr;
    double price = 0;
    double disruption_cost = 0;
  };
  std::map<std::string, Share> shares;
  double price = 0;
  for (const Candidate* candidate : candidates) {
    Share& share = shares[candidate->pool_name()];
    share.pool = candidate->pool->pool.get();
    share.price += candidate->price;
    share.disruption_cost += candidate->reschedule_cost;
    price += candidate->price;
  }
  BalancedVerdict verdict;
  for (const auto& [name, share] : shares) {
    if (!IsBalanced(*share.pool)) continue;
    const double part = price > 0 && shares.size() > 1 ? savings * (share.price / price) : savings;
    const auto of_pool = totals.find(name);
    const BalancedScore score = ScoreMove(part, share.disruption_cost,
                                          of_pool == totals.end() ? PoolTotals{} : of_pool->second);
    verdict.approved = verdict.approved && score.Approved();
    verdict.scores.emplace(name, score);
  }
  return verdict;
}

}  // namespace coppice::provision
