// Static pools on a running cluster: as many machines as spec.replicas says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

EngineOptions WithStaticPools() {
  EngineOptions options;
  options.gates.static_capacity = true;
  return options;
}

TEST(EngineStaticTest, AReplacementThatIsSeenBeforeItIsAnsweredIsNoneTooMany) {
  EngineRig rig(WithStaticPools());
  rig.AddPool("fixed", [](model::NodePool& pool) {
    pool.spec.weight.reset();
    pool.spec.replicas = 2;
  });
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Nodes().size() == 2; }, minutes(5)));
  rig.RunFor(seconds(10));
  rig.create_answer_after = seconds(5);
  rig.cloud.SetDrifted(rig.Claims()[0].status.provider_id, "ImageDrifted");
  size_t most = 0;
  ASSERT_TRUE(rig.RunUntil(
      [&] {
        most = std::max(most, rig.Claims().size());
        return rig.cloud.ever_made() == 3 && rig.Claims().size() == 2;
      },
      minutes(15)));
  EXPECT_EQ(most, 3);
  rig.RunFor(minutes(10));
  EXPECT_EQ(rig.cloud.ever_made(), 3);
  EXPECT_EQ(rig.Nodes().size(), 2);
  EXPECT_THAT(rig.metrics.Render(), testing::Not(testing::HasSubstr("static_scaled_down")));
}

TEST(EngineStaticTest, FewerReplicasTakeTheEmptyOnesAway) {
  EngineRig rig(WithStaticPools());
  rig.AddPool("fixed", [](model::NodePool& pool) {
    pool.spec.weight.reset();
    pool.spec.replicas = 3;
  });
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Nodes().size() == 3; }, minutes(5)));
  rig.AddPod("p", 1000);
  rig.RunFor(seconds(10));
  nlohmann::json patch;
  patch["spec"]["replicas"] = 1;
  rig.Patch({"karpenter.sh/v1", "nodepools", "", "fixed"}, patch);
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Claims().size() == 1; }, minutes(5)));
  EXPECT_EQ(rig.PodsWaiting(), 0);
  EXPECT_TRUE(rig.evicted.empty());
}

// Two machines of a pool that keeps one from now on; which stays is said by name.
class EngineStaticShrinkTest : public testing::Test {
 protected:
  // The first machine has these pods, of 600m each.
  void First(const std::vector<std::string>& pods,
             const std::function<void(model::NodePool&)>& change = nullptr) {
    rig_.AddPool("fixed", [&](model::NodePool& pool) {
      pool.spec.weight.reset();
      pool.spec.replicas = 1;
      if (change) change(pool);
    });
    ASSERT_TRUE(rig_.RunUntil([&] { return rig_.Nodes().size() == 1; }, minutes(5)));
    first_ = rig_.Claims()[0].metadata.name;
    for (const std::string& pod : pods) rig_.AddPod(pod, 600);
    rig_.RunFor(seconds(5));
  }
  // So has the second, of 1 core each: they find no room on the first.
  void Second(const std::vector<std::string>& pods) {
    SetReplicas(2);
    ASSERT_TRUE(rig_.RunUntil([&] { return rig_.Nodes().size() == 2; }, minutes(5)));
    for (const std::string& pod : pods) rig_.AddPod(pod, 1000);
    rig_.RunFor(seconds(5));
    ASSERT_EQ(rig_.PodsWaiting(), 0u);
  }
  bool FirstStays() {
    SetReplicas(1);
    EXPECT_TRUE(rig_.RunUntil([&] { return rig_.Claims().size() == 1; }, minutes(5)));
    return rig_.Claims()[0].metadata.name == first_;
  }
  void SetReplicas(int count) {
    nlohmann::json patch;
    patch["spec"]["replicas"] = count;
    rig_.Patch({"karpenter.sh/v1", "nodepools", "", "fixed"}, patch);
  }

  EngineRig rig_{WithStaticPools()};
  std::string first_;
};

TEST_F(EngineStaticShrinkTest, TheOneThatCostsLessToMoveGoes) {
  First({"a", "b"});
  Second({"c"});
  EXPECT_TRUE(FirstStays());
}

TEST_F(EngineStaticShrinkTest, OneThatSoonExpiresCostsLittleToMove) {
  First({"a", "b"}, [](model::NodePool& pool) { pool.spec.template_.spec.expire_after = "1h"; });
  rig_.RunFor(minutes(40));
  Second({"c"});
  EXPECT_FALSE(FirstStays()) << "two pods for a third of its life are less than one for all of it";
}

TEST_F(EngineStaticShrinkTest, OneWithAPodThatMayNotBeDisturbedGoesLast) {
  First({"a", "b"});
  SetReplicas(2);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.Nodes().size() == 2; }, minutes(5)));
  rig_.AddPod("c", 1000, [](model::Pod& pod) {
    pod.metadata.annotations[model::karpenter::kDoNotDisruptAnnotation] = "true";
  });
  rig_.RunFor(seconds(5));
  EXPECT_FALSE(FirstStays());
}

TEST_F(EngineStaticShrinkTest, PodsOfDaemonSetsCostSomething) {
  First({"a"});
  rig_.AddPod("agent", 600, [](model::Pod& pod) {
    pod.metadata.owner_references = {
        {.api_version = "apps/v1", .kind = "DaemonSet", .name = "agent", .controller = true}};
  });
  rig_.RunFor(seconds(5));
  SetReplicas(2);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.Nodes().size() == 2; }, minutes(5)));
  rig_.AddPod("c", 1000, [](model::Pod& pod) {  // costs 1.5
    pod.metadata.annotations["controller.kubernetes.io/pod-deletion-cost"] = "67108864";
  });
  rig_.RunFor(seconds(5));
  EXPECT_TRUE(FirstStays());
}

TEST(EngineStaticTest, APoolThatFindsNothingForSaleAsksLessAndLessOften) {
  EngineRig rig(WithStaticPools());
  size_t asked = 0;
  rig.cloud.on_create = [&](const model::NodeClaim&) {
    ++asked;
    return cloud::FakeAnswer{.status = ResourceExhausted("sold out"), .happens = false};
  };
  rig.AddPool("fixed", [](model::NodePool& pool) {
    pool.spec.weight.reset();
    pool.spec.replicas = 2;
  });
  rig.RunFor(minutes(10));
  EXPECT_GE(asked, 10u);  // after 10, 20, 40, 80 and 160 seconds
  EXPECT_LE(asked, 14u);
  rig.cloud.on_create = nullptr;
  EXPECT_TRUE(rig.RunUntil([&] { return rig.Nodes().size() == 2; }, minutes(4)));
}

TEST(EngineStaticTest, ClaimsSayWhatThePoolWantsAndLeaveTheTypeToTheProvider) {
  EngineRig rig(WithStaticPools());
  rig.AddPool("fixed", [](model::NodePool& pool) {
    pool.spec.weight.reset();
    pool.spec.replicas = 1;
    pool.spec.template_.labels["team"] = "red";
    pool.spec.template_.spec.requirements = {
        {std::string(model::kCapacityTypeLabel), "In", {"on-demand"}, {}}};
  });
  const auto keys = [&] {
    std::map<std::string, std::string> found;
    const model::NodeClaim claim = rig.Claims()[0];
    for (const auto& requirement : claim.spec.requirements)
      found[requirement.key] = requirement.values.empty() ? "" : requirement.values[0];
    return found;
  };
  const std::map<std::string, std::string> wanted = {
      {std::string(model::kNodePoolLabel), "fixed"},
      {"test.coppice.dev/fakenodeclass", EngineRig::kClass},
      {"team", "red"},
      {std::string(model::kCapacityTypeLabel), "on-demand"}};
  ASSERT_TRUE(rig.RunUntil([&] { return rig.Nodes().size() == 1; }, minutes(5)));
  EXPECT_EQ(keys(), wanted);
  const std::string first = rig.Claims()[0].metadata.name;
  rig.cloud.SetDrifted(rig.Claims()[0].status.provider_id, "ImageDrifted");
  ASSERT_TRUE(rig.RunUntil(
      [&] { return rig.Claims().size() == 1 && rig.Claims()[0].metadata.name != first; },
      minutes(15)));
  EXPECT_EQ(keys(), wanted) << "so does one that replaces another";
}

}  // namespace
}  // namespace coppice::provision
