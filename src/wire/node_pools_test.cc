#include <gmock/gmock.h>

#include "model/node_claim.h"
#include "model/node_class.h"
#include "model/node_pool.h"
#include "wire/watch_frames.h"
#include "wire/wire.h"

namespace coppice::wire {
namespace {

using testing::HasSubstr;

TEST(NodePoolsTest, APoolComesBackAsTheTextThatItWas) {
  const std::string text =
      R"({"kind":"NodePool","apiVersion":"karpenter.sh/v1","metadata":{"name":"p"},)"
      R"("spec":{"template":{"metadata":{"labels":{"a":"1"}},"spec":{)"
      R"("taints":[{"key":"t","effect":"NoSchedule"}],)"
      R"("requirements":[{"key":"z","operator":"In","values":["a","b"],"minValues":2}],)"
      R"("nodeClassRef":{"kind":"K","name":"n","group":"g"},)"
      R"("terminationGracePeriod":"90m","expireAfter":"43200m"}},)"
      R"("disruption":{"consolidateAfter":"Never","consolidationPolicy":"Balanced",)"
      R"("budgets":[{"reasons":[],"nodes":"10%"},{"nodes":"0","schedule":"@daily","duration":"10m"}]},)"
      R"("limits":{"cpu":"1500m","memory":"10Gi","nodes":"3"},"weight":10},"status":{}})";
  const auto pool = FromJson<model::NodePool>(text);
  ASSERT_TRUE(pool.ok()) << pool.status();
  EXPECT_EQ(ToJson(*pool), text);
}

TEST(NodePoolsTest, NoReasonsAndAnEmptyListOfReasonsDiffer) {
  const auto pool = FromJson<model::NodePool>(
      R"({"spec":{"disruption":{"budgets":[{"nodes":"1"},{"nodes":"1","reasons":[]},)"
      R"({"nodes":"1","reasons":null}]}}})");
  ASSERT_TRUE(pool.ok()) << pool.status();
  const auto& budgets = *pool->spec.disruption.budgets;
  ASSERT_EQ(budgets.size(), 3u);
  EXPECT_FALSE(budgets[0].reasons.has_value());
  EXPECT_TRUE(budgets[1].reasons.has_value());
  EXPECT_FALSE(budgets[2].reasons.has_value());
}

TEST(NodePoolsTest, AClaimIsReadFromAListAndFromAWatch) {
  const std::string item =
      R"({"metadata":{"name":"c"},"spec":{"requirements":[],"resources":{"requests":{"cpu":"1"}}},)"
      R"("status":{"providerID":"x://1","lastPodEventTime":"2026-01-15T12:00:00Z"}})";
  std::vector<model::NodeClaim> read;
  const auto meta = ForEachItem<model::NodeClaim>(
      R"({"kind":"NodeClaimList","apiVersion":"karpenter.sh/v1","items":[)" + item + "]}",
      [&](model::NodeClaim& claim) {
        read.push_back(claim);
        return Status::Ok();
      });
  ASSERT_TRUE(meta.ok()) << meta.status();
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].status.provider_id, "x://1");
  EXPECT_EQ(read[0].spec.requests.Find("cpu")->Value(), 1);

  const auto event = ReadWatchEvent<model::NodeClaim>(Encoding::kJson,
                                                      R"({"type":"ADDED","object":)" + item + "}");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->object, read[0]);
}

TEST(NodePoolsTest, AWrongFieldIsNamed) {
  const auto pool = FromJson<model::NodePool>(R"({"spec":{"limits":{"cpu":"much"}}})");
  ASSERT_FALSE(pool.ok());
  EXPECT_THAT(pool.status().message(), HasSubstr("spec.limits[cpu]"));
}

TEST(NodePoolsTest, AClassKeepsWhatOnlyItsCloudUnderstands) {
  const auto node_class = FromJson<model::NodeClass>(
      R"({"spec":{"image":"debian-13","registerNode":true,"extra":{"sshKeys":"a"},)"
      R"("userDataSecret":{"namespace":"kube-system","name":"boot","key":"user-data"}}})");
  ASSERT_TRUE(node_class.ok()) << node_class.status();
  EXPECT_TRUE(node_class->spec.register_node);
  EXPECT_EQ(*node_class->spec.extra.Find("sshKeys"), "a");
  EXPECT_EQ(node_class->spec.user_data_secret->key, "user-data");
}

}  // namespace
}  // namespace coppice::wire
