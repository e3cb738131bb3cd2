#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/fake_clock.h"
#include "plugins/node_claims/kwok/kwok_claims.h"
#include "test/conformance/flaky_node_claims.h"
#include "test/conformance/node_claims_suite.h"

namespace coppice::node_claims::kwok {

void Register(cloud::NodeClaimsRegistry&);

namespace {

cloud::NodeClassInput AKwokClass() {
  cloud::NodeClassInput input{.kind = {kKwokGroup, "v1alpha1", kKwokKind}};
  input.node_class.metadata.name = "default";
  return input;
}

}  // namespace
}  // namespace coppice::node_claims::kwok

namespace coppice::conformance {

class KwokUnderTest {
 public:
  KwokUnderTest() { kwok_.SetClasses({node_claims::kwok::AKwokClass()}); }
  cloud::NodeClaims& claims() { return flaky_; }
  Clock& clock() { return clock_; }
  model::NodePool Pool() {
    model::NodePool pool;
    pool.metadata.name = "default";
    pool.spec.template_.spec.node_class_ref = {node_claims::kwok::kKwokGroup,
                                               node_claims::kwok::kKwokKind, "default"};
    return pool;
  }
  void Settle() { clock_.Advance(std::chrono::minutes(2)); }
  int CallsOut() { return flaky_.calls; }
  void LoseNextCreate() { flaky_.lose = true; }
  void RefuseNextCreate() { flaky_.refuse = true; }
  void FailNextList() { flaky_.fail_list = true; }

 private:
  FakeClock clock_;
  node_claims::kwok::KwokClaims kwok_{cloud::KwokCatalog(), clock_};
  FlakyNodeClaims flaky_{kwok_};
};
INSTANTIATE_TYPED_TEST_SUITE_P(Kwok, NodeClaimsSuite, KwokUnderTest);

}  // namespace coppice::conformance

namespace coppice::node_claims::kwok {
namespace {

using testing::HasSubstr;

model::NodeClaim AClaim() {
  model::NodeClaim claim;
  claim.metadata.name = "general-abcde";
  claim.metadata.uid = "uid-1";
  claim.metadata.labels[model::kNodePoolLabel] = "general";
  claim.spec.node_class_ref = {kKwokGroup, kKwokKind, "default"};
  claim.spec.requests["cpu"] = model::Quantity::FromUnits(3);
  return claim;
}

TEST(KwokClaimsTest, BuysTheCheapestAndSaysWhichNodeToRegister) {
  FakeClock clock;
  KwokClaims kwok(cloud::KwokCatalog(), clock);
  auto input = AKwokClass();
  input.node_class.spec.node_registration_delay = "15s";
  kwok.SetClasses({input});
  model::NodeClaim claim = AClaim();
  EXPECT_OK(cloud::TakeOver(MUST(kwok.Create(claim, Deadline::Never())), claim));
  EXPECT_EQ(*claim.metadata.labels.Find(model::kInstanceTypeLabel), "c-4x-amd64-linux");
  EXPECT_EQ(*claim.metadata.labels.Find(model::kCapacityTypeLabel), "spot");
  EXPECT_EQ(*claim.metadata.labels.Find(cloud::kKwokFamilyLabel), "c");
  EXPECT_EQ(claim.status.allocatable.Find("cpu")->MilliValue(), 3'900);
  const auto node = kwok.NodeFor(claim);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->after, std::chrono::seconds(15));
  EXPECT_EQ("kwok://" + node->node.metadata.name, claim.status.provider_id);
  EXPECT_THAT(node->node.metadata.name, testing::StartsWith("kwok-general-abcde-"));
  EXPECT_EQ(*node->node.metadata.labels.Find("kwok.x-k8s.io/node"), "fake");

  KwokClaims after_crash(cloud::KwokCatalog(), clock);
  after_crash.SetClasses({input});
  EXPECT_EQ(MUST(after_crash.Create(AClaim(), Deadline::Never())).status.provider_id,
            claim.status.provider_id);
}

TEST(KwokClaimsTest, AfterARestartWhatClaimsSayExists) {
  FakeClock clock;
  KwokClaims kwok(cloud::KwokCatalog(), clock);
  kwok.SetClaims({{"uid-1", "kwok://kwok-a-1"}, {"uid-2", ""}, {"uid-3", "aws:///i-1"}});
  const auto all = MUST(kwok.List(Deadline::Never()));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].status.provider_id, "kwok://kwok-a-1");
  EXPECT_OK(kwok.Get("kwok://kwok-a-1", Deadline::Never()).status());
}

TEST(KwokClaimsTest, AMissingClassIsSoldOutAndOneThatIsNotReadySaysSo) {
  FakeClock clock;
  KwokClaims kwok(cloud::KwokCatalog(), clock);
  EXPECT_EQ(kwok.Create(AClaim(), Deadline::Never()).code(), Code::kUnavailable);
  kwok.SetClasses({});
  EXPECT_EQ(kwok.Create(AClaim(), Deadline::Never()).code(), Code::kResourceExhausted);
  auto input = AKwokClass();
  input.node_class.status.conditions.push_back({.type = "Ready", .status = "False"});
  kwok.SetClasses({input});
  EXPECT_EQ(kwok.Create(AClaim(), Deadline::Never()).code(), Code::kFailedPrecondition);
}

TEST(KwokPluginTest, ReadsACatalogAndSaysWhatIsWrongWithIt) {
  cloud::NodeClaimsRegistry registry("node claim provider");
  Register(registry);
  FakeClock clock;
  SeededRng rng(1);
  const Log log = Log::Null();
  Metrics metrics;
  const auto write = [](const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + "/kwok_plugin_test_" + name;
    std::ofstream(path) << text;
    return path;
  };
  const auto open = [&](const std::string& text) {
    yaml::Problems problems;
    return registry.Make("kwok",
                         cloud::NodeClaimsContext{clock, rng, log, metrics,
                                                  MUST(yaml::Parse(text, "c.yaml")), problems});
  };
  EXPECT_EQ(MUST(MUST(open("{}"))->InstanceTypesFor({}, {}))->size(), 144u);
  const std::string good = write("good.json", R"([{"name": "a.big", "architecture": "arm64",
      "operatingSystems": ["linux"], "resources": {"cpu": "4", "memory": "8Gi"},
      "offerings": [{"price": 0.1, "Requirements": [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
        {"key": "example.com/rack", "operator": "In", "values": ["r1"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]}]}]}])");
  const auto own = MUST(open("instanceTypesFile: " + good));
  const auto types = MUST(own->InstanceTypesFor({}, {}));
  ASSERT_EQ(types->size(), 1u);
  EXPECT_TRUE(types->front().requirements.Get(cloud::kKwokSizeLabel).Has("big"));
  EXPECT_TRUE(own->Traits().labels.IsWellKnown("example.com/rack"));
  EXPECT_THAT(
      open("instanceTypesFile: " + write("bad.json", R"([{"name": "a"}])")).status().message(),
      testing::AllOf(HasSubstr("bad.json:1:"), HasSubstr("some cpu")));
  EXPECT_FALSE(open("instanceTypesFile: /none").ok());
}

}  // namespace
}  // namespace coppice::node_claims::kwok
