// Repair as a method of disruption, on the running engine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
namespace names = model::karpenter;

EngineOptions WithRepair() {
  EngineOptions options;
  options.gates.node_repair = true;
  return options;
}

class EngineRepairTest : public testing::Test {
 protected:
  // A pod that waits for ten minutes before its node is given up.
  void Start(const std::function<void(model::NodePool&)>& pool = nullptr,
             const std::function<void(model::Pod&)>& pod = nullptr) {
    rig_.AddPool("default", pool);
    rig_.AddPod("p", 1000, pod);
    ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
    rig_.RunFor(seconds(5));
    first_ = rig_.Claims()[0].metadata.name;
    node_ = rig_.Nodes()[0].metadata.name;
  }
  void FallSick() { rig_.SetReady(node_, "False"); }
  bool IsThere() const {
    return std::ranges::any_of(rig_.Claims(), [&](const model::NodeClaim& claim) {
      return claim.metadata.name == first_ && !claim.metadata.deletion_timestamp;
    });
  }
  void Annotate(const char* key) {
    EngineRig::Json patch;
    patch["metadata"]["annotations"][key] = "true";
    rig_.Patch({"v1", "nodes", "", node_}, patch);
  }

  EngineRig rig_{WithRepair()};
  std::string first_;
  std::string node_;
};

TEST_F(EngineRepairTest, ASickNodeGoesWhenItsReplacementIsUp) {
  Start();
  FallSick();
  rig_.RunFor(minutes(9));
  EXPECT_TRUE(IsThere());
  rig_.RunFor(seconds(80));
  EXPECT_TRUE(IsThere()) << "it went before its replacement was up";
  EXPECT_EQ(rig_.Claims().size(), 2u);
  rig_.RunFor(minutes(3));
  ASSERT_EQ(rig_.Claims().size(), 1u);
  EXPECT_NE(rig_.Claims()[0].metadata.name, first_);
  EXPECT_EQ(rig_.PodsWaiting(), 0u);
  EXPECT_EQ(rig_.EventText("DisruptionLaunching"), "Launching NodeClaim: Unhealthy");
}

TEST_F(EngineRepairTest, ABudgetForItsReasonIsKept) {
  Start([](model::NodePool& pool) {
    model::DisruptionBudget none{.nodes = "0"};
    none.reasons = {"Unhealthy"};
    pool.spec.disruption.budgets = {{none}};
  });
  FallSick();
  rig_.RunFor(minutes(20));
  EXPECT_TRUE(IsThere());
}

TEST_F(EngineRepairTest, NoDisruptionIsNoProtectionButNoRepairIs) {
  Start();
  Annotate(names::kDoNotDisruptAnnotation);
  Annotate(names::kDoNotRepairAnnotation);
  FallSick();
  rig_.RunFor(minutes(15));
  EXPECT_TRUE(IsThere());
  EXPECT_TRUE(std::ranges::any_of(rig_.events, [](const cluster::Event& event) {
    return event.text.find("do-not-repair") != std::string::npos;
  }));
  EngineRig::Json patch;
  patch["metadata"]["annotations"][names::kDoNotRepairAnnotation] = nullptr;
  rig_.Patch({"v1", "nodes", "", node_}, patch);
  rig_.RunFor(minutes(3));
  EXPECT_FALSE(IsThere());
}

TEST_F(EngineRepairTest, APodThatMayNotBeDisturbedKeepsItOnlyWithoutAGracePeriod) {
  for (auto& policy : rig_.cloud.repair_policies) policy.termination_grace_period.reset();
  rig_.Restart();
  Start(nullptr,
        [](model::Pod& pod) { pod.metadata.annotations[names::kDoNotDisruptAnnotation] = "true"; });
  FallSick();
  rig_.RunFor(minutes(15));
  EXPECT_TRUE(IsThere());
  for (auto& policy : rig_.cloud.repair_policies) policy.termination_grace_period = minutes(1);
  rig_.Restart();
  rig_.RunFor(minutes(6));
  EXPECT_FALSE(IsThere());
}

TEST_F(EngineRepairTest, WhenManyAreSickNoneIsReplaced) {
  Start();
  for (int i = 0; i < 3; ++i) rig_.AddPod("large" + std::to_string(i), 7000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.RunFor(seconds(5));
  const auto nodes = rig_.Nodes();
  ASSERT_GE(nodes.size(), 4u);
  for (const model::Node& node : nodes) rig_.SetReady(node.metadata.name, "Unknown");
  rig_.RunFor(minutes(20));
  EXPECT_TRUE(IsThere());
  EXPECT_GT(rig_.CountEvents("NodeRepairBlocked"), 0u);
}

TEST_F(EngineRepairTest, WithoutTheGateNothingIsRepaired) {
  rig_.options.gates.node_repair = false;
  rig_.Restart();
  Start();
  FallSick();
  rig_.RunFor(minutes(30));
  EXPECT_TRUE(IsThere());
}

TEST_F(EngineRepairTest, TheOlderRepairJudgesAClaimOfNoPoolByTheWholeCluster) {
  rig_.options.legacy_node_repair = true;
  rig_.options.disruption = false;
  rig_.Restart();
  Start();
  for (int i = 0; i < 2; ++i) rig_.AddPod("large" + std::to_string(i), 7000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.RunFor(seconds(5));
  EngineRig::Json patch;
  patch["metadata"]["labels"][std::string(model::kNodePoolLabel)] = nullptr;
  rig_.Patch({"karpenter.sh/v1", "nodeclaims", "", first_}, patch);
  for (const model::Node& node : rig_.Nodes()) rig_.SetReady(node.metadata.name, "False");
  rig_.RunFor(minutes(20));
  EXPECT_TRUE(IsThere());
  EXPECT_TRUE(std::ranges::any_of(rig_.events, [](const cluster::Event& event) {
    return event.text == "more than 20% of the nodes of the cluster are unhealthy";
  }));
}

}  // namespace
}  // namespace coppice::provision
