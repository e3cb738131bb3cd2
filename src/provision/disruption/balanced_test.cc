#include "provision/disruption/balanced.h"

#include <gmock/gmock.h>

namespace coppice::provision {
namespace {

class BalancedTest : public testing::Test {
 protected:
  static PoolView APool(const std::string& name, const std::string& policy) {
    model::NodePool pool;
    pool.metadata.name = name;
    pool.spec.disruption.consolidation_policy = policy;
    return {std::make_shared<const model::NodePool>(std::move(pool)), nullptr};
  }
  static Candidate Of(const PoolView& pool, double price, double cost) {
    return {.pool = &pool, .price = price, .reschedule_cost = cost};
  }

  const PoolView balanced_ = APool("balanced", "Balanced");
  const PoolView plain_ = APool("plain", "WhenEmptyOrUnderutilized");
};

TEST_F(BalancedTest, AMoveMustSaveAtLeastHalfOfWhatItDisturbs) {
  // A tenth of the cost for a fifth of the pods: exactly at the threshold.
  EXPECT_TRUE(ScoreMove(1, 2, {.cost = 10, .disruption_cost = 10}).Approved());
  EXPECT_FALSE(ScoreMove(0.99, 2, {.cost = 10, .disruption_cost = 10}).Approved());
}

TEST_F(BalancedTest, NothingSavedIsNeverApprovedAndNothingKnownNeither) {
  EXPECT_FALSE(ScoreMove(0, 0, {.cost = 10, .disruption_cost = 10}).Approved());
  EXPECT_FALSE(ScoreMove(5, 1, {}).Approved());
}

TEST_F(BalancedTest, OtherPoliciesApproveOfEverything) {
  const Candidate candidate = Of(plain_, 0.1, 10);
  EXPECT_TRUE(CanPass(candidate, {{"plain", {.cost = 10, .disruption_cost = 10}}}));
  EXPECT_TRUE(JudgeMove({&candidate}, 0.0001, {}).approved);
}

TEST_F(BalancedTest, WhatCannotEvenBeDeletedIsNotSimulated) {
  const std::map<std::string, PoolTotals> totals = {
      {"balanced", {.cost = 10, .disruption_cost = 10}}};
  EXPECT_FALSE(CanPass(Of(balanced_, 0.1, 5), totals));
  EXPECT_TRUE(CanPass(Of(balanced_, 5, 5), totals));
  EXPECT_TRUE(CanPass(Of(balanced_, 5, 5), {}));  // nothing to measure against
}

TEST_F(BalancedTest, SavingsAcrossPoolsAreSharedByWhatEachPutsIn) {
  const Candidate one = Of(balanced_, 3, 2);
  const Candidate other = Of(plain_, 1, 2);
  const auto verdict = JudgeMove({&one, &other}, 2,
                                 {{"balanced", {.cost = 10, .disruption_cost = 10}},
                                  {"plain", {.cost = 10, .disruption_cost = 10}}});
  ASSERT_EQ(verdict.scores.size(), 1u);
  EXPECT_DOUBLE_EQ(verdict.scores.at("balanced").savings_fraction, 0.15);  // three quarters of 2
  EXPECT_TRUE(verdict.approved);
}

TEST_F(BalancedTest, TheEventSaysHowItWasMeasured) {
  EXPECT_EQ(ScoreMove(1, 2, {.cost = 10, .disruption_cost = 20}).Text(),
            "score 1.00 >= threshold 0.50 (k: 2, savings 10.0%, disruption 10.0%)");
}

}  // namespace
}  // namespace coppice::provision
