#include "provision/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"
#include "wire/time_text.h"

namespace coppice::provision {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
namespace names = model::karpenter;

EngineOptions WithoutDisruption() {
  EngineOptions options;
  options.disruption = false;
  return options;
}

class EngineTest : public testing::Test {
 protected:
  static bool Is(const model::NodeClaim& claim, const char* condition) {
    return model::IsTrue(claim.status.conditions, condition);
  }
  static std::string ReasonOf(const model::NodeClaim& claim, const char* type) {
    const auto* condition = model::FindCondition(claim.status.conditions, type);
    return condition == nullptr ? "" : condition->reason;
  }

  EngineRig rig_{WithoutDisruption()};
};

TEST_F(EngineTest, PodsThatWaitGetMachinesAndRun) {
  rig_.AddPool("default");
  rig_.RunFor(seconds(1));
  for (int i = 0; i < 6; ++i) rig_.AddPod("p" + std::to_string(i), 1000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.RunFor(seconds(30));
  EXPECT_EQ(rig_.PodsWaiting(), 0);
  const auto claims = rig_.Claims();
  ASSERT_EQ(claims.size(), rig_.cloud.ever_made());
  for (const auto& claim : claims) {
    EXPECT_TRUE(Is(claim, names::kReady)) << claim.metadata.name;
    EXPECT_THAT(claim.metadata.finalizers, testing::Contains(names::kFinalizer));
  }
  for (const auto& node : rig_.Nodes()) {
    EXPECT_EQ(*node.metadata.labels.Find(model::kRegisteredLabel), "true");
    EXPECT_EQ(*node.metadata.labels.Find(model::kInitializedLabel), "true");
    EXPECT_THAT(node.spec.taints, testing::IsEmpty());
    EXPECT_THAT(node.metadata.finalizers, testing::Contains(names::kFinalizer));
    ASSERT_EQ(node.metadata.owner_references.size(), 1);
    EXPECT_EQ(node.metadata.owner_references[0].kind, "NodeClaim");
  }
  EXPECT_GT(rig_.CountEvents("Nominated"), 0);
}

TEST_F(EngineTest, PoolSaysThatItIsReadyAndWhatItHas) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.RunFor(seconds(10));
  const auto pool = rig_.Pool("default");
  EXPECT_TRUE(model::IsTrue(pool.status.conditions, "Ready"));
  EXPECT_TRUE(model::IsTrue(pool.status.conditions, "ValidationSucceeded"));
  EXPECT_TRUE(model::IsTrue(pool.status.conditions, "NodeClassReady"));
  EXPECT_TRUE(model::IsTrue(pool.status.conditions, "NodeRegistrationHealthy"));
  EXPECT_EQ(pool.status.nodes, 1);
  EXPECT_EQ(pool.status.resources.Find("nodes")->Value(), 1);
  EXPECT_NE(pool.metadata.annotations.Find(names::kHashAnnotation), nullptr);
}

TEST_F(EngineTest, PoolWithAMistakeIsLeftOutAndTheOthersGoOn) {
  rig_.AddPool("wrong", [](model::NodePool& pool) {
    pool.spec.template_.spec.requirements = {{"karpenter.sh/nodepool", "In", {"x"}, {}}};
    pool.spec.weight = 100;
  });
  rig_.AddPool("right");
  rig_.AddPod("p", 1000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  const auto wrong = rig_.Pool("wrong");
  const auto* condition = model::FindCondition(wrong.status.conditions, "ValidationSucceeded");
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(condition->status, "False");
  EXPECT_THAT(condition->message, testing::HasSubstr("nodepool"));
  const auto claims = rig_.Claims();
  EXPECT_EQ(*claims[0].metadata.labels.Find(model::kNodePoolLabel), "right");
}

TEST_F(EngineTest, PodsOfOneBurstAreOneDecision) {
  rig_.AddPool("default");
  rig_.RunFor(seconds(2));
  for (int i = 0; i < 4; ++i) {
    rig_.AddPod("p" + std::to_string(i), 1500);
    rig_.RunFor(std::chrono::milliseconds(30));
  }
  rig_.RunFor(seconds(1));
  // 6 cores: one large machine has room for all of them, where four decisions would buy four.
  EXPECT_EQ(rig_.Claims().size(), 1);
}

TEST_F(EngineTest, NothingIsBoughtTwiceWhileAMachineIsOnItsWay) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  rig_.boot_time = minutes(4);
  rig_.RunFor(minutes(3));
  EXPECT_EQ(rig_.Claims().size(), 1);
  EXPECT_EQ(rig_.cloud.ever_made(), 1);
}

TEST_F(EngineTest, LimitsAreKeptAlsoWhileNothingIsLaunched) {
  rig_.AddPool("default", [](model::NodePool& pool) {
    pool.spec.limits["nodes"] = model::Quantity::FromUnits(2);
  });
  rig_.cloud.on_create = [](const model::NodeClaim&) {
    return cloud::FakeAnswer{.status = Unavailable("slow"), .happens = false};
  };
  rig_.RunFor(seconds(2));
  for (int i = 0; i < 5; ++i) {
    rig_.AddPod("p" + std::to_string(i), 7500);
    rig_.RunFor(seconds(1));
  }
  EXPECT_EQ(rig_.Claims().size(), 2);
  EXPECT_GT(rig_.CountEvents("FailedScheduling"), 0);
}

TEST_F(EngineTest, LostAnswerOfACreateIsAskedForAgain) {
  rig_.AddPool("default");
  int calls = 0;
  rig_.cloud.on_create = [&](const model::NodeClaim&) {
    return ++calls == 1 ? cloud::FakeAnswer{.status = Unavailable("lost")} : cloud::FakeAnswer{};
  };
  rig_.AddPod("p", 1000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  EXPECT_GE(calls, 2);
  EXPECT_EQ(rig_.cloud.ever_made(), 1);
}

TEST_F(EngineTest, ClaimIsGivenUpIfNothingCanBeHad) {
  rig_.AddPool("default");
  rig_.cloud.on_create = [&](const model::NodeClaim&) {
    return cloud::FakeAnswer{.status = ResourceExhausted("sold out"), .happens = false};
  };
  rig_.AddPod("p", 1000);
  rig_.RunFor(seconds(5));
  EXPECT_GT(rig_.CountEvents("InsufficientCapacityError"), 0);
  rig_.cloud.on_create = nullptr;
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  EXPECT_EQ(rig_.Claims().size(), 1);
}

TEST_F(EngineTest, LaunchThatFailsIsGivenUpAfterFiveMinutes) {
  rig_.AddPool("default");
  rig_.cloud.on_create = [&](const model::NodeClaim&) {
    return cloud::FakeAnswer{.status = cloud::CreateError("NoImage", "there is no image"),
                             .happens = false};
  };
  rig_.AddPod("p", 1000);
  rig_.RunFor(minutes(2));
  ASSERT_EQ(rig_.Claims().size(), 1);
  const std::string first = rig_.Claims()[0].metadata.name;
  EXPECT_EQ(ReasonOf(rig_.Claims()[0], names::kLaunched), "NoImage");
  rig_.RunFor(minutes(4));
  ASSERT_EQ(rig_.Claims().size(), 1);
  EXPECT_NE(rig_.Claims()[0].metadata.name, first);
}

TEST_F(EngineTest, MachineThatNeverRegistersIsGivenUpAfterFifteenMinutes) {
  rig_.AddPool("default");
  rig_.kubelets = false;
  rig_.AddPod("p", 1000);
  rig_.RunFor(minutes(14));
  ASSERT_EQ(rig_.Claims().size(), 1);
  const std::string first = rig_.Claims()[0].metadata.name;
  EXPECT_EQ(ReasonOf(rig_.Claims()[0], names::kRegistered), "NodeNotFound");
  rig_.RunFor(minutes(3));
  for (const auto& claim : rig_.Claims()) EXPECT_NE(claim.metadata.name, first);
  EXPECT_EQ(rig_.Machines().size(), 1);
}

TEST_F(EngineTest, APoolIsJudgedByLaunchesOfItsOwnClaimsAlone) {
  rig_.AddPool("default");
  rig_.kubelets = false;
  for (const char* name : {"by-hand-1", "by-hand-2"}) {
    model::NodeClaim claim;
    claim.metadata.name = name;
    claim.metadata.labels[model::kNodePoolLabel] = "default";
    claim.spec.node_class_ref = {cloud::FakeNodeClaims::kGroup, cloud::FakeNodeClaims::kKind,
                                 EngineRig::kClass};
    cluster::ObjectName object{"karpenter.sh/v1", "nodeclaims", "", name};
    ASSERT_TRUE(
        rig_.executor().BlockOn(rig_.objects.CreateObject(object, wire::ToJson(claim))).ok());
  }
  rig_.RunFor(minutes(17));
  EXPECT_TRUE(rig_.Claims().empty());
  const auto pool = rig_.Pool("default");
  const auto* healthy = model::FindCondition(pool.status.conditions, "NodeRegistrationHealthy");
  ASSERT_NE(healthy, nullptr);
  EXPECT_EQ(healthy->status, "Unknown");
}

TEST_F(EngineTest, StartupTaintsAreWaitedFor) {
  rig_.AddPool("default", [](model::NodePool& pool) {
    model::Taint taint;
    taint.key = "example.com/starting";
    taint.effect = "NoSchedule";
    pool.spec.template_.spec.startup_taints = {taint};
  });
  rig_.AddPod("p", 1000);
  rig_.RunFor(minutes(2));
  ASSERT_EQ(rig_.Claims().size(), 1);
  EXPECT_TRUE(Is(rig_.Claims()[0], names::kRegistered));
  EXPECT_FALSE(Is(rig_.Claims()[0], names::kInitialized));
  EXPECT_EQ(ReasonOf(rig_.Claims()[0], names::kInitialized), "StartupTaintsExist");
  nlohmann::json patch;
  patch["spec"]["taints"] = nlohmann::json::array();
  rig_.Patch({"v1", "nodes", "", rig_.Nodes()[0].metadata.name}, patch);
  rig_.RunFor(seconds(5));
  EXPECT_TRUE(Is(rig_.Claims()[0], names::kInitialized));
  EXPECT_EQ(rig_.PodsWaiting(), 0);
}

TEST_F(EngineTest, DeletedClaimIsDrainedAndItsMachineEnds) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.RunFor(seconds(5));
  const std::string first = rig_.Claims()[0].metadata.name;
  rig_.DeleteClaim(first);
  rig_.RunFor(minutes(3));
  EXPECT_THAT(rig_.evicted, testing::Contains("p"));
  EXPECT_EQ(rig_.PodsWaiting(), 0);  // its successor has a machine of its own
  ASSERT_EQ(rig_.Claims().size(), 1);
  EXPECT_NE(rig_.Claims()[0].metadata.name, first);
  EXPECT_EQ(rig_.Nodes().size(), 1);
  EXPECT_EQ(rig_.Machines().size(), 1);
}

TEST_F(EngineTest, BudgetHoldsADrainUntilTheGracePeriodIsOver) {
  rig_.AddPool("default", [](model::NodePool& pool) {
    pool.spec.template_.spec.termination_grace_period = "10m";
  });
  rig_.AddPod("p", 1000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.RunFor(seconds(5));
  rig_.protected_pods.insert("p");
  const std::string first = rig_.Claims()[0].metadata.name;
  rig_.DeleteClaim(first);
  rig_.RunFor(minutes(9));
  EXPECT_TRUE(rig_.evicted.empty());
  EXPECT_TRUE(rig_.deleted_pods.empty());
  bool has_deadline = false;
  for (const auto& claim : rig_.Claims()) {
    if (claim.metadata.name == first)
      has_deadline = claim.metadata.annotations.contains(names::kTerminationTimestampAnnotation);
  }
  EXPECT_TRUE(has_deadline);
  rig_.RunFor(minutes(3));
  EXPECT_THAT(rig_.deleted_pods, testing::ElementsAre("p"));
  rig_.RunFor(minutes(2));
  EXPECT_EQ(rig_.Claims().size(), 1);
}

TEST_F(EngineTest, ExpiredClaimIsReplaced) {
  rig_.AddPool("default",
               [](model::NodePool& pool) { pool.spec.template_.spec.expire_after = "1h"; });
  rig_.AddPod("p", 1000);
  rig_.RunFor(minutes(59));
  ASSERT_EQ(rig_.Claims().size(), 1);
  const std::string first = rig_.Claims()[0].metadata.name;
  rig_.RunFor(minutes(6));
  ASSERT_EQ(rig_.Claims().size(), 1);
  EXPECT_NE(rig_.Claims()[0].metadata.name, first);
  EXPECT_EQ(rig_.PodsWaiting(), 0);
}

TEST_F(EngineTest, ClaimWhoseMachineIsGoneIsCollected) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.RunFor(seconds(5));
  const auto claim = rig_.Claims()[0];
  rig_.cloud.Vanish(claim.status.provider_id);
  rig_.RunFor(minutes(4));
  for (const auto& now : rig_.Claims()) EXPECT_NE(now.metadata.name, claim.metadata.name);
}

TEST_F(EngineTest, UnplaceablePodIsToldWhy) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1'000'000);
  rig_.RunFor(seconds(3));
  EXPECT_THAT(rig_.EventText("FailedScheduling"), testing::HasSubstr("default"));
  EXPECT_TRUE(rig_.Claims().empty());
  ASSERT_TRUE(rig_.last_report->provisioning);
  EXPECT_EQ(rig_.last_report->provisioning->unplaced.size(), 1);
}

TEST_F(EngineTest, PodOfALeavingNodeIsBoughtForBeforeItIsEvicted) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.RunFor(seconds(5));
  rig_.protected_pods.insert("p");
  rig_.DeleteClaim(rig_.Claims()[0].metadata.name);
  rig_.RunFor(minutes(1));
  EXPECT_EQ(rig_.Claims().size(), 2);
}

TEST_F(EngineTest, RestartInTheMiddleBuysNothingTwice) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  rig_.RunFor(seconds(1));
  ASSERT_EQ(rig_.Claims().size(), 1);
  rig_.Restart();
  rig_.RunFor(minutes(2));
  EXPECT_EQ(rig_.Claims().size(), 1);
  EXPECT_EQ(rig_.cloud.ever_made(), 1);
  EXPECT_EQ(rig_.PodsWaiting(), 0);
}

TEST_F(EngineTest, QuietClusterIsLeftAlone) {
  EngineRig rig;
  rig.AddPool("default");
  rig.AddPod("p", 1000);
  ASSERT_TRUE(rig.RunUntil([&] { return rig.PodsWaiting() == 0; }, minutes(5)));
  rig.RunFor(minutes(2));
  const size_t passes = rig.passes;
  size_t writes = 0;
  rig.before_write = [&](std::string_view) {
    ++writes;
    return Status::Ok();
  };
  rig.RunFor(minutes(5));
  // One every ten seconds, and those of a refresh, a sweep and a round's end.
  EXPECT_LE(rig.passes - passes, 120);
  EXPECT_LE(writes, 5);
}

TEST_F(EngineTest, StaticPoolKeepsItsReplicas) {
  EngineOptions options = WithoutDisruption();
  options.gates.static_capacity = true;
  EngineRig rig(options);
  rig.AddPool("fixed", [](model::NodePool& pool) { pool.spec.replicas = 3; });
  rig.RunFor(minutes(2));
  EXPECT_EQ(rig.Nodes().size(), 3);
  nlohmann::json patch;
  patch["spec"]["replicas"] = 1;
  rig.Patch({"karpenter.sh/v1", "nodepools", "", "fixed"}, patch);
  rig.RunFor(minutes(3));
  EXPECT_EQ(rig.Nodes().size(), 1);
  EXPECT_EQ(rig.Machines().size(), 1);
}

TEST_F(EngineTest, LegacyRepairDeletesANodeThatIsNotReadyForTooLong) {
  EngineOptions options = WithoutDisruption();
  options.gates.node_repair = true;
  options.legacy_node_repair = true;
  EngineRig rig(options);
  rig.AddPool("default");
  rig.AddPod("p", 1000);
  ASSERT_TRUE(rig.RunUntil([&] { return rig.PodsWaiting() == 0; }, minutes(5)));
  rig.RunFor(seconds(5));
  const std::string first = rig.Claims()[0].metadata.name;
  rig.SetReady(rig.Nodes()[0].metadata.name, "False");
  rig.RunFor(minutes(9));
  EXPECT_EQ(rig.Claims()[0].metadata.name, first);
  rig.RunFor(minutes(4));
  for (const auto& claim : rig.Claims()) EXPECT_NE(claim.metadata.name, first);
}

}  // namespace
}  // namespace coppice::provision
