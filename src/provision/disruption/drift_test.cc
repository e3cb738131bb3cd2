#include "provision/disruption/drift.h"

#include <gmock/gmock.h>

#include "cloud/fake_node_claims.h"

namespace coppice::provision {
namespace {

namespace names = model::karpenter;
constexpr TimePoint kNow{std::chrono::seconds(1'768'478'400)};

model::NodePool ADriftingPool() {
  model::NodePool pool;
  pool.metadata.name = "default";
  model::FillDefaults(pool);
  pool.metadata.annotations = {{names::kHashAnnotation, model::HashOf(pool)},
                               {names::kHashVersionAnnotation, model::kNodePoolHashVersion}};
  return pool;
}

model::NodeClaim AClaimOf(const model::NodePool& pool) {
  model::NodeClaim claim;
  claim.metadata.annotations = pool.metadata.annotations;
  claim.metadata.labels[model::kInstanceTypeLabel] = "small";
  claim.metadata.labels[model::kZoneLabel] = "zone-a";
  claim.metadata.labels[model::kCapacityTypeLabel] = "spot";
  claim.metadata.creation_timestamp = model::Time{kNow - std::chrono::hours(2)};
  const model::Time since{kNow - std::chrono::hours(2)};
  for (const char* type : {names::kLaunched, names::kInitialized}) {
    claim.status.conditions.push_back(
        {.type = type, .status = "True", .last_transition_time = since});
  }
  return claim;
}

class DriftTest : public testing::Test {
 protected:
  const DriftRules rules_{.labels = model::LabelRules::Default(), .reserved_labels = {"res"}};
  model::NodePool pool_ = ADriftingPool();
  model::NodeClaim claim_ = AClaimOf(pool_);
};

TEST_F(DriftTest, AClaimOfTheSameTemplateHasNotDrifted) {
  EXPECT_EQ(PoolDrift(pool_, claim_, rules_), "");
}

TEST_F(DriftTest, AnotherTemplateHasDriftedUnlessTheHashIsOfAnotherVersion) {
  claim_.metadata.annotations[names::kHashAnnotation] = "1";
  EXPECT_EQ(PoolDrift(pool_, claim_, rules_), kNodePoolDrifted);
  claim_.metadata.annotations[names::kHashVersionAnnotation] = "v2";
  EXPECT_EQ(PoolDrift(pool_, claim_, rules_), "");
}

TEST_F(DriftTest, RequirementsThatTheLabelsDoNotMeetHaveDrifted) {
  pool_.spec.template_.spec.requirements = {
      {.key = std::string(model::kZoneLabel), .operator_ = "In", .values = {"zone-b"}}};
  EXPECT_EQ(PoolDrift(pool_, claim_, rules_), kRequirementsDrifted);
}

TEST_F(DriftTest, ATypeThatIsNotSoldAnyMoreHasDriftedButOneThatIsSoldOutHasNot) {
  cloud::InstanceTypes types = {cloud::FakeNodeClaims::AType("small", 2, 0.1)};
  for (auto& offering : types[0].offerings) offering.available = false;
  EXPECT_EQ(TypeDrift(types, claim_, rules_), "");
  types[0].name = "other";
  EXPECT_EQ(TypeDrift(types, claim_, rules_), kInstanceTypeNotFound);
}

TEST_F(DriftTest, AReservationThatEndedIsOnDemandForTheTimeBeing) {
  const cloud::InstanceTypes types = {cloud::FakeNodeClaims::AType("small", 2, 0.1)};
  claim_.metadata.labels[model::kCapacityTypeLabel] = "reserved";
  claim_.metadata.labels["res"] = "r-1";
  EXPECT_EQ(TypeDrift(types, claim_, rules_), "");
}

TEST_F(DriftTest, ANewClaimsTypeIsNotLookedAt) {
  EXPECT_TRUE(IsDueForTypeDrift(claim_, kNow));
  claim_.metadata.creation_timestamp = model::Time{kNow - std::chrono::hours(1)};
  EXPECT_FALSE(IsDueForTypeDrift(claim_, kNow));
}

TEST_F(DriftTest, TheConditionIsOnlyForClaimsThatAreLaunched) {
  EXPECT_TRUE(SetDrifted(claim_, "ImageDrift", kNow));
  EXPECT_EQ(model::FindCondition(claim_.status.conditions, names::kDrifted)->reason, "ImageDrift");
  EXPECT_FALSE(SetDrifted(claim_, "ImageDrift", kNow));
  model::ClearCondition(claim_.status.conditions, names::kLaunched);
  EXPECT_TRUE(SetDrifted(claim_, "ImageDrift", kNow));
  EXPECT_EQ(model::FindCondition(claim_.status.conditions, names::kDrifted), nullptr);
}

TEST_F(DriftTest, ConsolidatableOnceNothingHasHappenedForLongEnough) {
  pool_.spec.disruption.consolidate_after = "1h";
  EXPECT_TRUE(SetConsolidatable(claim_, pool_, kNow));
  EXPECT_TRUE(model::IsTrue(claim_.status.conditions, names::kConsolidatable));
  claim_.status.last_pod_event_time = model::Time{kNow - std::chrono::minutes(20)};
  EXPECT_TRUE(SetConsolidatable(claim_, pool_, kNow));
  EXPECT_FALSE(model::IsTrue(claim_.status.conditions, names::kConsolidatable));
  EXPECT_EQ(SettlesAt(claim_, pool_, kNow), kNow + std::chrono::minutes(40));
}

TEST_F(DriftTest, NeverIsNever) {
  pool_.spec.disruption.consolidate_after = "Never";
  SetConsolidatable(claim_, pool_, kNow);
  EXPECT_FALSE(model::IsTrue(claim_.status.conditions, names::kConsolidatable));
}

}  // namespace
}  // namespace coppice::provision
