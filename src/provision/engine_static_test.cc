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

}  // namespace
}  // namespace coppice::provision
