// Nodes that come with more than ours have, or with less.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr char kClassLabel[] = "test.coppice.dev/fakenodeclass";

model::Taint NoSchedule(const std::string& key) {
  model::Taint taint;
  taint.key = key;
  taint.effect = model::kNoSchedule;
  return taint;
}

TEST(EngineNodesTest, ATaintOfTheProviderThatWillGoBuysNoSecondMachine) {
  EngineRig rig;
  rig.cloud.traits().ephemeral_taints = {NoSchedule("vendor.example/agent-not-ready")};
  rig.cloud.traits().ephemeral_taint_prefixes = {"boot.example/"};
  rig.boot_taints.push_back(NoSchedule("vendor.example/agent-not-ready"));
  rig.boot_taints.push_back(NoSchedule("boot.example/network"));
  rig.Restart();
  rig.AddPool("default");
  rig.AddPod("p", 1000);
  rig.RunFor(minutes(3));
  ASSERT_EQ(rig.Nodes().size(), 1);
  EXPECT_EQ(*rig.Nodes()[0].metadata.labels.Find(model::kRegisteredLabel), "true");
  EXPECT_EQ(rig.PodsWaiting(), 1);
  EXPECT_EQ(rig.cloud.ever_made(), 1) << "the pod has its machine, it only has to wait";
  nlohmann::json patch;
  patch["spec"]["taints"] = nlohmann::json::array();
  rig.Patch({"v1", "nodes", "", rig.Nodes()[0].metadata.name}, patch);
  rig.RunFor(seconds(10));
  EXPECT_EQ(rig.PodsWaiting(), 0);
  EXPECT_TRUE(model::IsTrue(rig.Claims()[0].status.conditions, "Ready"));
}

class UnlabelledTest : public testing::Test {
 protected:
  UnlabelledTest() {
    rig_.AddPool("default");
    rig_.AddPod("p", 1000);
    rig_.RunFor(minutes(2));
    EXPECT_EQ(rig_.Nodes().size(), 1);
    EXPECT_EQ(rig_.PodsWaiting(), 0);
    rig_.Kill();
    patch_["metadata"]["labels"][kClassLabel] = nullptr;
  }
  cluster::ObjectName Node() { return {"v1", "nodes", "", rig_.Nodes()[0].metadata.name}; }
  cluster::ObjectName Claim() {
    return {"karpenter.sh/v1", "nodeclaims", "", rig_.Claims()[0].metadata.name};
  }

  EngineRig rig_;
  nlohmann::json patch_;
};

TEST_F(UnlabelledTest, ObjectsFromBeforeTheClassLabelGetIt) {
  rig_.Patch(Claim(), patch_);
  rig_.Patch(Node(), patch_);
  rig_.Start();
  rig_.RunFor(seconds(10));
  EXPECT_TRUE(rig_.Claims()[0].metadata.labels.contains(kClassLabel));
  EXPECT_TRUE(rig_.Nodes()[0].metadata.labels.contains(kClassLabel));
}

TEST_F(UnlabelledTest, ANodeWithoutTheClassLabelIsLetGoWithItsClaim) {
  rig_.Patch(Node(), patch_);
  rig_.DeleteClaim(rig_.Claims()[0].metadata.name);
  rig_.Start();
  rig_.schedules = false;
  rig_.RunFor(minutes(3));
  EXPECT_THAT(rig_.evicted, testing::ElementsAre("p"));
  for (const auto& node : rig_.Nodes()) EXPECT_FALSE(node.metadata.deletion_timestamp);
  for (const auto& claim : rig_.Claims()) EXPECT_FALSE(claim.metadata.deletion_timestamp);
}

}  // namespace
}  // namespace coppice::provision
