#include "cloud/cloud_node_claims.h"

#include "cloud/claim_class.h"
#include "cloud/cloud_node_claims_fixture.h"
#include "cloud/cloud_node_groups.h"
#include "test/conformance/node_claims_suite.h"

namespace coppice::conformance {
namespace {

class CloudClaimsUnderTest {
 public:
  CloudClaimsUnderTest() {
    cloud_.on_list = [this] { return Next(list_); };
    cloud_.on_create = [this](const cloud::MachineSpec&) { return Next(create_); };
    cloud_.on_delete = [this](const cloud::ProviderId&) { return Next(nothing_); };
    cloud_.on_flavors = [this] { return Next(nothing_); };
    claims_ = cloud::CloudNodeClaims::Create({cloud_, workers_, clock_, rng_, log_, metrics_},
                                             {.name = "fake", .cluster = "prod"});
    claims_->SetClasses({cloud::AClass()});
  }
  cloud::NodeClaims& claims() { return *claims_; }
  Clock& clock() { return clock_; }
  model::NodePool Pool() { return cloud::APool(); }
  void Settle() { clock_.Advance(std::chrono::minutes(2)); }
  int CallsOut() { return calls_; }
  void LoseNextCreate() { create_ = {.status = Unavailable("the line is dead")}; }
  void RefuseNextCreate() {
    create_ = {.status = Unavailable("come back later"), .happens = false};
  }
  void FailNextList() { list_ = {.status = Unavailable("half a page")}; }

 private:
  cloud::FakeAnswer Next(cloud::FakeAnswer& answer) {
    ++calls_;
    return std::exchange(answer, {});
  }

  FakeClock clock_;
  cloud::FakeCloud cloud_{clock_};
  InlineWorkers workers_;
  SeededRng rng_{7};
  Log log_ = Log::Null();
  Metrics metrics_;
  int calls_ = 0;
  cloud::FakeAnswer create_, list_, nothing_;
  std::unique_ptr<cloud::CloudNodeClaims> claims_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(OverFakeCloud, NodeClaimsSuite, CloudClaimsUnderTest);

}  // namespace
}  // namespace coppice::conformance

namespace coppice::cloud {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const FakeAnswer kClaimSoldOut = {.status = ResourceExhausted("none left"), .happens = false};
const FakeAnswer kClaimAnswerLost = {.status = Unavailable("connection reset"), .happens = true};
const FakeAnswer kClaimNotHeard = {.status = Unavailable("connection reset"), .happens = false};

TEST_F(CloudNodeClaimsTest, EverythingThatMakesAMachineOursIsInTheOrderItself) {
  Launched("one");
  ASSERT_THAT(cloud.everything(), SizeIs(1));
  const auto entry = cloud.everything().front();
  EXPECT_EQ(entry.spec.name, MachineNameOf(AClaim("one")));
  EXPECT_EQ(entry.spec.image, "debian-12");
  EXPECT_EQ(entry.spec.tags.at(kClusterTag), "prod");
  EXPECT_EQ(entry.spec.tags.at(kPoolTag), "general");
  EXPECT_EQ(entry.spec.tags.at(kClaimTag), "one");
  EXPECT_EQ(entry.spec.tags.at(kClassTag), "default");
  EXPECT_EQ(entry.spec.tags.at(kClassHashTag), HashOfClass(AClass().node_class));
}

TEST_F(CloudNodeClaimsTest, MachineNamesAreHostNames) {
  model::NodeClaim claim = AClaim("one", std::string(63, 'p'));
  EXPECT_LE(MachineNameOf(claim).size(), 63u);
  claim.metadata.labels[model::kNodePoolLabel] = "With.Dots_and_More";
  EXPECT_THAT(MachineNameOf(claim), testing::MatchesRegex("nc-with-dots-and-more-[0-9a-f]{16}"));
  EXPECT_NE(MachineNameOf(AClaim("one")), MachineNameOf(AClaim("two")));
}

TEST_F(CloudNodeClaimsTest, AfterACrashTheClaimFindsItsMachine) {
  AnswerCreates({kClaimAnswerLost});
  EXPECT_FALSE(claims->Create(AClaim("one"), Soon()).ok());
  Restart();
  const auto found = MUST(claims->Create(AClaim("one"), Soon()));
  ASSERT_THAT(cloud.everything(), SizeIs(1));
  EXPECT_EQ(found.status.provider_id, cloud.everything().front().machine.id);
  EXPECT_EQ(Label(found, model::kInstanceTypeLabel), "small");
}

TEST_F(CloudNodeClaimsTest, AnOrderThatWasNeverHeardIsMadeAgainByWhoeverStillWantsIt) {
  AnswerCreates({kClaimNotHeard});
  EXPECT_FALSE(claims->Create(AClaim("one"), Soon()).ok());
  Pass(minutes(2));  // a list that is late enough shows nothing, and nobody repeats it by itself
  EXPECT_THAT(cloud.everything(), IsEmpty());
  EXPECT_FALSE(claims->Create(AClaim("one"), Soon()).ok()) << "what happened is told once";
  EXPECT_OK(claims->Create(AClaim("one"), Soon()).status());
  EXPECT_THAT(cloud.everything(), SizeIs(1));
}

TEST_F(CloudNodeClaimsTest, TheCheapestThatTheClaimAllowsIsBought) {
  cloud.set_flavors(SpotFlavors());
  Pass(minutes(10));
  const auto cheapest = Launched("one");
  EXPECT_EQ(Label(cheapest, model::kInstanceTypeLabel), "f2");
  EXPECT_EQ(Label(cheapest, model::kCapacityTypeLabel), "spot");
  model::NodeClaim claim = AClaim("two");
  claim.spec.requests["cpu"] = model::Quantity::FromUnits(4);
  claim.spec.requirements.push_back(
      {.key = std::string(model::kCapacityTypeLabel), .operator_ = "In", .values = {"on-demand"}});
  claim.spec.requirements.push_back(
      {.key = std::string(model::kZoneLabel), .operator_ = "In", .values = {"zone2"}});
  const auto larger = MUST(claims->Create(claim, Soon()));
  EXPECT_EQ(Label(larger, model::kInstanceTypeLabel), "f8");
  EXPECT_EQ(Label(larger, model::kZoneLabel), "zone2");
  EXPECT_EQ(Label(larger, model::kCapacityTypeLabel), "on-demand");
  EXPECT_EQ(Label(larger, model::kRegionLabel), "zone");
}

TEST_F(CloudNodeClaimsTest, EqualPricesAreDealtOverTheZones) {
  cloud.set_flavors(SpotFlavors());
  Pass(minutes(10));
  std::map<std::string, int> zones;
  for (int i = 0; i < 40; ++i) ++zones[Label(Launched(std::to_string(i)), model::kZoneLabel)];
  EXPECT_GT(zones["zone1"], 8);
  EXPECT_GT(zones["zone2"], 8);
}

TEST_F(CloudNodeClaimsTest, AStockOutTakesTheNextAndIsNotAskedForAgainForAWhile) {
  cloud.set_flavors(SpotFlavors());
  Pass(minutes(10));
  AnswerCreates({kClaimSoldOut, kClaimSoldOut});
  const auto bought = Launched("one");
  EXPECT_EQ(Label(bought, model::kCapacityTypeLabel), "on-demand") << "both zones had no spot";
  EXPECT_FALSE(IsAvailable("f2", "zone1", "spot"));
  EXPECT_FALSE(IsAvailable("f2", "zone2", "spot"));
  EXPECT_TRUE(IsAvailable("f2", "zone1", "on-demand"));
  const int creates = cloud.creates();
  EXPECT_EQ(Label(Launched("two"), model::kCapacityTypeLabel), "on-demand");
  EXPECT_EQ(cloud.creates(), creates + 1) << "no launch loop";
  Pass(minutes(4));
  EXPECT_TRUE(IsAvailable("f2", "zone1", "spot"));
}

TEST_F(CloudNodeClaimsTest, AClaimIsGivenUpWhenEverythingItAllowsIsSoldOut) {
  cloud.set_quota(0);
  const auto refused = claims->Create(AClaim("one"), Soon());
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("small in zone1"));
  EXPECT_TRUE(TroubleOf(refused.status()).give_up);
}

TEST_F(CloudNodeClaimsTest, SoldOutFlavorsStayListed) {
  auto flavors = SpotFlavors();
  flavors[0].in_stock = false;
  flavors[1].offerings[0].in_stock = false;
  cloud.set_flavors(flavors);
  Pass(minutes(10));
  EXPECT_FALSE(IsAvailable("f2", "zone2", "spot"));
  EXPECT_FALSE(IsAvailable("f8", "zone1", "on-demand"));
  EXPECT_TRUE(IsAvailable("f8", "zone1", "spot"));
}

TEST_F(CloudNodeClaimsTest, ARefusedOrderIsNotTakenForAClassThatIsNotReady) {
  AnswerCreates({{.status = FailedPrecondition("the network is gone"), .happens = false}});
  const auto trouble = TroubleOf(claims->Create(AClaim("one"), Soon()).status());
  EXPECT_FALSE(trouble.give_up);
  EXPECT_EQ(trouble.reason, "LaunchRefused");
  EXPECT_EQ(trouble.message, "the network is gone");
}

TEST_F(CloudNodeClaimsTest, AMachineThatEndsInFailureGoesBeforeTheClaimIsTriedAgain) {
  AnswerCreates({{.ends_failed = true}});
  const auto trouble = TroubleOf(claims->Create(AClaim("one"), Soon()).status());
  EXPECT_EQ(trouble.reason, "MachineFailed");
  EXPECT_THAT(cloud.alive(), IsEmpty());
  EXPECT_FALSE(claims->Create(AClaim("one"), Soon()).ok()) << "its name is not free yet";
  Pass(minutes(2));
  EXPECT_OK(claims->Create(AClaim("one"), Soon()).status());
  EXPECT_THAT(cloud.alive(), SizeIs(1));
}

TEST_F(CloudNodeClaimsTest, GroupsAndClaimsNeverTakeEachOthersMachines) {
  const auto groups = MUST(CloudNodeGroups::Create(
      {cloud, workers, clock, rng, log, metrics}, {.cluster = "prod"},
      {{.name = "general", .max_size = 5, .flavor = "small", .zone = "zone1"}}));
  EXPECT_OK(groups->Refresh(Soon()));
  EXPECT_OK(groups->Increase("general", 2, Soon()));
  const auto claim = Launched("one");
  cloud.Plant("both", {{kClusterTag, "prod"}, {kPoolTag, "general"}, {kGroupTag, "general"}});
  cloud.Plant("other cluster", {{kClusterTag, "test"}, {kPoolTag, "general"}});
  EXPECT_OK(groups->Refresh(Soon()));
  EXPECT_EQ(MUST(groups->TargetSize("general")), 2);
  const auto listed = MUST(claims->List(Soon()));
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed.front().status.provider_id, claim.status.provider_id);
  for (const Machine& machine : cloud.alive()) {
    if (machine.id == claim.status.provider_id) continue;
    model::NodeClaim liar = AClaim("liar");
    liar.status.provider_id = machine.id;
    EXPECT_EQ(claims->Delete(liar, Soon()).code(), Code::kNotFound);
  }
  EXPECT_THAT(cloud.alive(), SizeIs(5));
}

TEST_F(CloudNodeClaimsTest, AClaimThatGoesBeforeItsAnswerCameLeavesNothing) {
  AnswerCreates({kClaimAnswerLost});
  EXPECT_FALSE(claims->Create(AClaim("one"), Soon()).ok());
  EXPECT_OK(claims->Delete(AClaim("one"), Soon()));
  Pass(seconds(1));
  EXPECT_THAT(cloud.alive(), IsEmpty());
  Pass(minutes(2));
  EXPECT_EQ(claims->Delete(AClaim("one"), Soon()).code(), Code::kNotFound);
}

TEST_F(CloudNodeClaimsTest, CreateWantsAClassThatIsThereAndReady) {
  model::NodeClaim claim = AClaim("one");
  claim.spec.node_class_ref->name = "other";
  EXPECT_EQ(claims->Create(claim, Soon()).code(), Code::kFailedPrecondition);
  auto bad = AClass();
  bad.node_class.spec.tags[kPoolTag] = "mine";
  Classes({bad});
  EXPECT_EQ(claims->Create(AClaim("one"), Soon()).code(), Code::kFailedPrecondition);
  EXPECT_THAT(cloud.everything(), IsEmpty());
}

}  // namespace
}  // namespace coppice::cloud
