// Node claims on the cloudscale plug-in on real HTTP: the suite of any provider, and what goes into
// the request.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/pool.h"
#include "cloud/cloud_node_claims_fixture.h"
#include "test/conformance/node_claims_suite.h"
#include "test/emulator/rig.h"

namespace coppice::emulator {
namespace {

using std::chrono::milliseconds;

cloud::NodeClassInput AServedClass() {
  cloud::NodeClassInput input = cloud::AClass();
  input.node_class.spec.zones = {"rma1"};
  input.node_class.spec.networks = {"private"};
  input.node_class.spec.extra["volumeSizeGB"] = "10";
  input.node_class.spec.tags["team"] = "blue";
  input.user_data = "#cloud-config\n";
  return input;
}

// The cloud, with answers that get lost on request.
class Shaken final : public cloud::Cloud {
 public:
  explicit Shaken(cloud::Cloud& behind) : behind_(behind) {}
  bool lose = false, refuse = false, fail_list = false;
  int calls = 0;

  Result<std::vector<cloud::Machine>> List(const cloud::Tags& tags, Deadline deadline) override {
    ++calls;
    if (std::exchange(fail_list, false)) return Unavailable("half a page");
    return behind_.List(tags, deadline);
  }
  Result<cloud::Machine> Create(const cloud::MachineSpec& spec, Deadline deadline) override {
    ++calls;
    if (std::exchange(refuse, false)) return Unavailable("come back later");
    auto made = behind_.Create(spec, deadline);
    if (std::exchange(lose, false)) return Unavailable("the line is dead");
    return made;
  }
  Status Delete(const cloud::ProviderId& id, Deadline deadline) override {
    ++calls;
    return behind_.Delete(id, deadline);
  }
  Result<std::vector<cloud::Flavor>> Flavors(Deadline deadline) override {
    ++calls;
    return behind_.Flavors(deadline);
  }
  Result<std::vector<std::string>> Validate(const cloud::GroupConfig& group,
                                            Deadline deadline) override {
    ++calls;
    return behind_.Validate(group, deadline);
  }
  std::map<std::string, std::string> Extra(const cloud::GroupConfig& group) const override {
    return behind_.Extra(group);
  }
  bool OwnsId(const cloud::ProviderId& id) const override { return behind_.OwnsId(id); }
  std::string GpuLabel() const override { return behind_.GpuLabel(); }

 private:
  cloud::Cloud& behind_;
};

class ClaimsRig : public Rig {
 public:
  ClaimsRig() {
    claims_ = cloud::CloudNodeClaims::Create(
        {shaken, workers_, Rig::clock, rng, log, metrics},
        {.name = "cloudscale", .cluster = "test", .list_lag = milliseconds(100)});
    claims_->SetClasses({AServedClass()});
  }
  ~ClaimsRig() { (void)claims_->Drain(Soon()); }
  cloud::CloudNodeClaims& own() { return *claims_; }

  Shaken shaken{cloud()};

 private:
  Pool workers_{4, 100};
  std::unique_ptr<cloud::CloudNodeClaims> claims_;
};

TEST(CloudscaleClaimsTest, AClassBecomesARequest) {
  ClaimsRig rig;
  ASSERT_OK(rig.own().Refresh(rig.Soon()));
  const auto state = rig.own().ClassStates().front();
  ASSERT_TRUE(state.ready) << state.message;
  const auto claim = MUST(rig.own().Create(cloud::AClaim("one"), rig.Soon()));
  EXPECT_EQ(*claim.metadata.labels.Find(model::kZoneLabel), "rma1");
  EXPECT_EQ(*claim.metadata.labels.Find(model::kRegionLabel), "rma");
  const auto sent = nlohmann::json::parse(
      rig.emulator.CreateRequestOf(cloud::MachineNameOf(cloud::AClaim("one"))));
  EXPECT_EQ(sent["image"], "debian-12");
  EXPECT_EQ(sent["volume_size_gb"], 10);
  EXPECT_EQ(sent["use_private_network"], true);
  EXPECT_EQ(sent["user_data"], "#cloud-config\n");
  EXPECT_EQ(sent["tags"]["team"], "blue");
  EXPECT_EQ(sent["tags"][cloud::kPoolTag], "general");
  EXPECT_EQ(sent["tags"][cloud::kClusterTag], "test");
  EXPECT_FALSE(sent["tags"].contains(cloud::kGroupTag));
}

TEST(CloudscaleClaimsTest, AnImageThatTheCloudDoesNotHaveMakesTheClassNotReady) {
  ClaimsRig rig;
  auto input = AServedClass();
  input.node_class.spec.image = "no-such-image";
  rig.own().SetClasses({input});
  ASSERT_OK(rig.own().Refresh(rig.Soon()));
  const auto state = rig.own().ClassStates().front();
  EXPECT_FALSE(state.ready);
  EXPECT_THAT(state.message, testing::HasSubstr("no-such-image"));
  EXPECT_EQ(rig.own().Create(cloud::AClaim("one"), rig.Soon()).code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace coppice::emulator

namespace coppice::conformance {

class CloudscaleClaimsUnderTest {
 public:
  cloud::NodeClaims& claims() { return rig_.own(); }
  Clock& clock() { return rig_.clock; }
  model::NodePool Pool() { return cloud::APool(); }
  void Settle() { rig_.clock.SleepFor(std::chrono::milliseconds(250)); }
  int CallsOut() { return rig_.shaken.calls; }
  void LoseNextCreate() { rig_.shaken.lose = true; }
  void RefuseNextCreate() { rig_.shaken.refuse = true; }
  void FailNextList() { rig_.shaken.fail_list = true; }

 private:
  emulator::ClaimsRig rig_;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Cloudscale, NodeClaimsSuite, CloudscaleClaimsUnderTest);

}  // namespace coppice::conformance
