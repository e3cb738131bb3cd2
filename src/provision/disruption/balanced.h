// Balanced: is a move worth the disturbance?
//
// Of a pool with the policy Balanced a move has to save at least half as large a part of the pool's
// cost as it disturbs of the pool's pods. Other pools approve of every move. Pure functions.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "provision/disruption/candidate.h"

namespace coppice::provision {

struct BalancedScore {
  double savings_fraction = 0;
  double disruption_fraction = 0;

  static constexpr int kMovesPerSaving = 2;  // the peer's k: the smallest that lets a family's
                                             // neighbouring sizes replace each other
  static constexpr double kThreshold = 1.0 / kMovesPerSaving;

  double Score() const;
  bool Approved() const { return Score() >= kThreshold; }
  std::string Text() const;  // of the event
};

BalancedScore ScoreMove(double savings, double disruption_cost, const PoolTotals& totals);

bool IsBalanced(const model::NodePool& pool);

// Whether even taking the candidate away for nothing could be approved; if not, nothing can.
bool CanPass(const Candidate& candidate, const std::map<std::string, PoolTotals>& totals);

struct BalancedVerdict {
  bool approved = true;
  std::map<std::string, BalancedScore> scores;  // of Balanced pools
};
// Savings of a move across pools are shared out by what each pool's nodes cost.
BalancedVerdict JudgeMove(const std::vector<const Candidate*>& candidates, double savings,
                          const std::map<std::string, PoolTotals>& totals);

}  // namespace coppice::provision
