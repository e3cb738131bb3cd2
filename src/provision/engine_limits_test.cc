// Limits while several plans are under way: what one has been granted the others do not get as well.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "market/market.h"
#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Work is done at once, but for the next piece if it is to be slow; what is to happen meanwhile is
// begun then.
class OneSlowWorker final : public Workers {
 public:
  explicit OneSlowWorker(EngineRig& rig) : rig_(rig) {}
  bool slow = false;
  std::function<Task<void>()> meanwhile;

  Status Submit(std::function<void()> work) override {
    if (!std::exchange(slow, false)) {
      work();
      return Status::Ok();
    }
    Executor& executor = rig_.executor();
    executor.Spawn(Later(executor, std::move(work)));
    if (meanwhile) executor.Spawn(meanwhile());
    return Status::Ok();
  }

 private:
  static Task<void> Later(Executor& executor, std::function<void()> work) {
    co_await executor.Sleep(seconds(5));
    work();
  }
  EngineRig& rig_;
};

class EngineLimitsTest : public testing::Test {
 protected:
  void Start(EngineOptions options = {}) {
    rig_.options = options;
    rig_.workers = &workers_;
    rig_.Restart();
  }
  static void Limit(model::NodePool& pool, const std::string& resource, int64_t units) {
    pool.spec.limits[resource] = model::Quantity::FromUnits(units);
    pool.spec.template_.spec.requirements = {
        {std::string(model::kCapacityTypeLabel), "In", {"on-demand"}, {}}};
  }
  bool IsDrifted() const {
    return std::ranges::any_of(rig_.Claims(), [](const model::NodeClaim& claim) {
      return model::IsTrue(claim.status.conditions, model::karpenter::kDrifted);
    });
  }
  void PatchPool(const std::string& name, const nlohmann::json& spec) {
    rig_.Patch({"karpenter.sh/v1", "nodepools", "", name}, {{"spec", spec}});
  }

  EngineRig rig_;
  OneSlowWorker workers_{rig_};
};

TEST_F(EngineLimitsTest, WhatAGangGotWhileTheSolverWorkedIsNotSoldAgain) {
  EngineOptions options;
  options.disruption = false;
  Start(options);
  rig_.AddPool("default", [](model::NodePool& pool) { Limit(pool, "nodes", 2); });
  rig_.RunFor(seconds(2));
  auto task = std::make_shared<model::Pod>();
  task->metadata.name = "task";
  task->metadata.namespace_ = "default";
  task->spec.containers.resize(1);
  task->spec.containers[0].resources.requests["cpu"] = model::Quantity::FromUnits(7);
  market::Want want;
  want.gang = "default/gang";
  want.classes = {{.role = "worker", .pod = task, .count = 2}};
  market::View view;
  view.now = rig_.Now();
  auto quotes = rig_.executor().BlockOn(rig_.engine().seller().Quote(want, view));
  ASSERT_TRUE(std::holds_alternative<std::vector<market::Offer>>(quotes));
  const market::Offer offer = std::get<std::vector<market::Offer>>(quotes)[0];
  market::Outcome outcome;
  workers_.meanwhile = [&]() -> Task<void> {
    outcome = co_await rig_.engine().seller().Order(offer);
  };
  workers_.slow = true;
  rig_.AddPod("p", 7000);
  rig_.RunFor(seconds(10));
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_EQ(rig_.Claims().size(), 2u) << "both are the gang's";
  EXPECT_EQ(rig_.PodsWaiting(), 1u);
  EXPECT_GT(rig_.CountEvents("FailedScheduling"), 0u) << "planned anew, it is told why";
}

TEST_F(EngineLimitsTest, WhatAMoveHasBoughtForWhileTheSolverWorkedIsNotBoughtForAgain) {
  Start();
  rig_.AddPool("default", [](model::NodePool& pool) {
    pool.spec.disruption.budgets = {{model::DisruptionBudget{.nodes = "0"}}};
  });
  rig_.AddPod("a", 7000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.cloud.SetDrifted(rig_.Claims()[0].status.provider_id, "ImageDrifted");
  ASSERT_TRUE(rig_.RunUntil([&] { return IsDrifted(); }, minutes(15)));
  // The same pass begins a solve for the new pod and a round that replaces the drifted machine, for
  // whose pod and for the new one two machines are needed.
  PatchPool("default", {{"disruption", {{"budgets", {{{"nodes", "100%"}}}}}}});
  rig_.AddPod("b", 7000);
  rig_.clock.Advance(seconds(12));
  workers_.slow = true;
  rig_.Turn();
  EXPECT_EQ(rig_.Claims().size(), 3u);
  rig_.RunFor(minutes(3));
  EXPECT_EQ(rig_.cloud.ever_made(), 3u);
  EXPECT_EQ(rig_.PodsWaiting(), 0u);
}

TEST_F(EngineLimitsTest, AStaticPoolThatGrowsAndIsReplacedStaysWithinItsNodes) {
  EngineOptions options;
  options.gates.static_capacity = true;
  Start(options);
  rig_.AddPool("fixed", [](model::NodePool& pool) {
    pool.spec.weight.reset();
    pool.spec.replicas = 2;
    pool.spec.limits["nodes"] = model::Quantity::FromUnits(3);
    pool.spec.disruption.budgets = {{model::DisruptionBudget{.nodes = "0"}}};
  });
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.Nodes().size() == 2; }, minutes(5)));
  rig_.cloud.SetDrifted(rig_.Claims()[0].status.provider_id, "ImageDrifted");
  ASSERT_TRUE(rig_.RunUntil([&] { return IsDrifted(); }, minutes(15)));
  rig_.create_takes = seconds(30);
  PatchPool("fixed", {{"replicas", 3}, {"disruption", {{"budgets", {{{"nodes", "100%"}}}}}}});
  size_t most = 0;
  for (int i = 0; i < 180; ++i) {
    rig_.RunFor(seconds(1));
    most = std::max(most, rig_.Claims().size());
  }
  EXPECT_EQ(most, 3u);
  EXPECT_EQ(rig_.Nodes().size(), 3u);
}

TEST_F(EngineLimitsTest, AStaticPoolWaitsForACommandWhoseReplacementIsLost) {
  EngineOptions options;
  options.gates.static_capacity = true;
  Start(options);
  rig_.AddPool("fixed", [](model::NodePool& pool) {
    pool.spec.weight.reset();
    pool.spec.replicas = 2;
  });
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.Nodes().size() == 2; }, minutes(5)));
  rig_.boot_time = minutes(10);
  rig_.cloud.SetDrifted(rig_.Claims()[0].status.provider_id, "ImageDrifted");
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.Claims().size() == 3; }, minutes(15)));
  rig_.RunFor(seconds(5));
  PatchPool("fixed", {{"disruption", {{"budgets", {{{"nodes", "0"}}}}}}});
  for (const model::NodeClaim& claim : rig_.Claims()) {
    if (!model::IsTrue(claim.status.conditions, model::karpenter::kInitialized))
      rig_.DeleteClaim(claim.metadata.name);
  }
  rig_.RunFor(minutes(3));
  EXPECT_EQ(rig_.Claims().size(), 2u) << "the old one stays, and nothing came for it";
  EXPECT_EQ(rig_.cloud.ever_made(), 3u);
}

// A process before us asked for it, and nobody knows what it will be: the largest of its types.
TEST_F(EngineLimitsTest, AClaimOfAProcessBeforeUsMayStillBecomeTheLargestOfItsTypes) {
  Start();
  rig_.AddPool("default", [](model::NodePool& pool) {
    Limit(pool, "cpu", 10);
    pool.spec.disruption.budgets = {{model::DisruptionBudget{.nodes = "0"}}};
  });
  rig_.AddPod("a", 1500);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  const std::string drifted = rig_.Claims()[0].metadata.name;
  rig_.cloud.SetDrifted(rig_.Claims()[0].status.provider_id, "ImageDrifted");
  ASSERT_TRUE(rig_.RunUntil([&] { return IsDrifted(); }, minutes(15)));
  std::string slow;
  rig_.cloud.on_create = [&](const model::NodeClaim& claim) {
    if (slow.empty()) slow = claim.metadata.name;
    return claim.metadata.name == slow
               ? cloud::FakeAnswer{.status = Unavailable("slow"), .happens = false}
               : cloud::FakeAnswer{};
  };
  rig_.AddPod("b", 1500);
  rig_.RunFor(seconds(2));
  ASSERT_FALSE(slow.empty());
  rig_.Restart();
  PatchPool("default", {{"disruption", {{"budgets", {{{"nodes", "100%"}}}}}}});
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.Claims().size() == 3; }, minutes(2)));
  for (const model::NodeClaim& claim : rig_.Claims()) {
    if (claim.metadata.name == drifted || claim.metadata.name == slow) continue;
    for (const model::RequirementSpec& spec : claim.spec.requirements) {
      if (spec.key != model::kInstanceTypeLabel) continue;
      EXPECT_THAT(spec.values, testing::ElementsAre("small")) << "8 of its 10 may be taken";
    }
  }
}

}  // namespace
}  // namespace coppice::provision
