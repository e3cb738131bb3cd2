#include "cloud/node_claims.h"

#include <gmock/gmock.h>

#include "base/fake_clock.h"
#include "cloud/fake_node_claims.h"
#include "cloud/guarded_claims.h"
#include "test/conformance/node_claims_suite.h"

namespace coppice::conformance {
namespace {

class FakeClaimsUnderTest {
 public:
  cloud::NodeClaims& claims() { return claims_; }
  Clock& clock() { return clock_; }
  model::NodePool Pool() {
    model::NodePool pool;
    pool.metadata.name = "default";
    pool.spec.template_.spec.node_class_ref = {cloud::FakeNodeClaims::kGroup,
                                               cloud::FakeNodeClaims::kKind, "default"};
    return pool;
  }
  void Settle() { clock_.Advance(std::chrono::minutes(2)); }
  int CallsOut() { return claims_.calls_out(); }
  void LoseNextCreate() { NextCreate({.status = Unavailable("the line is dead")}); }
  void RefuseNextCreate() {
    NextCreate({.status = Unavailable("come back later"), .happens = false});
  }
  void FailNextList() {
    claims_.on_list = [this] {
      claims_.on_list = nullptr;
      return cloud::FakeAnswer{.status = Unavailable("half a page")};
    };
  }

 private:
  void NextCreate(cloud::FakeAnswer answer) {
    claims_.on_create = [this, answer](const model::NodeClaim&) {
      const cloud::FakeAnswer now = answer;
      claims_.on_create = nullptr;
      return now;
    };
  }

  FakeClock clock_;
  cloud::FakeNodeClaims claims_{clock_};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Fake, NodeClaimsSuite, FakeClaimsUnderTest);

// The same behind the gate of the lease.
class GuardedClaimsUnderTest : public FakeClaimsUnderTest {
 public:
  cloud::NodeClaims& claims() { return *guarded_; }

 private:
  Log log_ = Log::Null();
  std::unique_ptr<cloud::NodeClaims> guarded_ =
      cloud::GuardClaims(FakeClaimsUnderTest::claims(), {}, log_);
};

INSTANTIATE_TYPED_TEST_SUITE_P(Guarded, NodeClaimsSuite, GuardedClaimsUnderTest);

}  // namespace
}  // namespace coppice::conformance

namespace coppice::cloud {
namespace {

using testing::HasSubstr;

TEST(NodeClaimsTest, ARefusalForWantOfCapacityOrClassGivesTheClaimUp) {
  const auto sold_out = TroubleOf(ResourceExhausted("none left").Context("creating c-1"));
  EXPECT_TRUE(sold_out.give_up);
  EXPECT_EQ(sold_out.disruption, "insufficient_capacity");
  const auto not_ready = TroubleOf(FailedPrecondition("class default is not ready"));
  EXPECT_TRUE(not_ready.give_up);
  EXPECT_EQ(not_ready.disruption, "nodeclass_not_ready");
}

TEST(NodeClaimsTest, AProvidersOwnReasonSurvivesWhateverIsPutAroundIt) {
  const auto trouble =
      TroubleOf(CreateError("NoSubnet", "no subnet: all are full").Context("creating c-1"));
  EXPECT_FALSE(trouble.give_up);
  EXPECT_EQ(trouble.reason, "NoSubnet");
  EXPECT_EQ(trouble.message, "no subnet: all are full");
}

TEST(NodeClaimsTest, AnyOtherFailureIsTriedAgainAndItsTextIsCut) {
  const auto trouble = TroubleOf(Unavailable(std::string(299, 'x') + "äöü"));
  EXPECT_FALSE(trouble.give_up);
  EXPECT_EQ(trouble.reason, "LaunchFailed");
  EXPECT_EQ(trouble.message, std::string(299, 'x') + "...");
}

TEST(NodeClaimsTest, WhatAClaimSaysOfItselfWinsOverItsMachine) {
  model::NodeClaim claim;
  claim.metadata.labels = {{"team", "a"}};
  claim.metadata.annotations = {{"note", "old"}};
  model::NodeClaim created;
  created.metadata.labels = {{"team", "b"}, {"zone", "z"}};
  created.metadata.annotations = {{"note", "new"}};
  created.status.provider_id = "x://1";
  ASSERT_TRUE(TakeOver(created, claim).ok());
  EXPECT_EQ(claim.metadata.labels, (model::Labels{{"team", "a"}, {"zone", "z"}}));
  EXPECT_EQ(claim.metadata.annotations, (model::Labels{{"note", "new"}}));
  EXPECT_EQ(claim.status.provider_id, "x://1");
}

TEST(NodeClaimsTest, AMachineWithoutAnIdIsNoAnswer) {
  model::NodeClaim claim;
  EXPECT_FALSE(TakeOver({}, claim).ok());
}

TEST(NodeClaimsTest, ANameThatIsRegisteredTwiceNamesBothPlaces) {
  NodeClaimsRegistry registry("node claims");
  const NodeClaimsFactory factory =
      [](const NodeClaimsContext&) -> Result<std::unique_ptr<NodeClaims>> {
    return Unimplemented("not made");
  };
  registry.Add("mine", factory);
  registry.Add("mine", factory);
  const Status status = registry.Check();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("node claims 'mine' is registered twice"));
  EXPECT_THAT(status.message(), HasSubstr(" and in "));
}

TEST(FakeNodeClaimsTest, BuysTheCheapestThatTheClaimAllows) {
  FakeClock clock;
  FakeNodeClaims claims(clock);
  model::NodeClaim claim;
  claim.metadata.uid = "u";
  claim.spec.requests["cpu"] = model::Quantity::FromUnits(3);
  const auto created = claims.Create(claim, Deadline::Never());
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(*created->metadata.labels.Find(model::kInstanceTypeLabel), "medium");
  EXPECT_EQ(*created->metadata.labels.Find(model::kCapacityTypeLabel), "spot");
}

TEST(FakeNodeClaimsTest, AClassThatIsNotReadyIsSaidSo) {
  FakeClock clock;
  FakeNodeClaims claims(clock);
  claims.SetClassNotReady("broken");
  model::NodeClaim claim;
  claim.spec.node_class_ref = {FakeNodeClaims::kGroup, FakeNodeClaims::kKind, "broken"};
  EXPECT_EQ(claims.Create(claim, Deadline::Never()).code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace coppice::cloud
