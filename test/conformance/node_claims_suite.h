// What any NodeClaims must do, whoever implements it. A test says how to make one, and gets these
// tests:
//
//   struct MyClaimsUnderTest {
//     cloud::NodeClaims& claims();
//     Clock& clock();
//     model::NodePool Pool();       // a pool whose class exists and is ready
//     void Settle();                // time passes until what is ending is gone
//     int CallsOut();               // how often somebody outside has been asked
//     void LoseNextCreate();        // the next Create is done, but its answer is lost
//     void RefuseNextCreate();      // the next Create fails, and nothing is done
//     void FailNextList();          // the next List cannot be read to its end
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(MyClaims, NodeClaimsSuite, MyClaimsUnderTest);
//
// (within namespace coppice::conformance). A fresh object per test.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cloud/node_claims.h"
#include "test/support/must.h"

namespace coppice::conformance {

template <class UnderTest>
class NodeClaimsSuite : public testing::Test {
 protected:
  NodeClaimsSuite() { EXPECT_OK(claims().Refresh(Soon())); }

  cloud::NodeClaims& claims() { return under_test_.claims(); }
  Deadline Soon() { return Deadline::In(under_test_.clock(), std::chrono::minutes(1)); }

  std::shared_ptr<const cloud::InstanceTypes> Types() {
    return MUST(claims().InstanceTypesFor(under_test_.Pool(), {}));
  }

  // A claim as the engine would store it: any type that the pool has, and a little room.
  model::NodeClaim AClaim(const std::string& name) {
    const model::NodePool pool = under_test_.Pool();
    model::NodeClaim claim;
    claim.metadata.name = name;
    claim.metadata.uid = "uid-" + name;
    claim.metadata.labels[model::kNodePoolLabel] = pool.metadata.name;
    static_cast<model::NodeClaimTemplateSpec&>(claim.spec) = pool.spec.template_.spec;
    model::RequirementSpec types{.key = std::string(model::kInstanceTypeLabel), .operator_ = "In"};
    for (const auto& type : *Types()) types.values.push_back(type.name);
    claim.spec.requirements.push_back(std::move(types));
    claim.spec.requests["cpu"] = model::Quantity::FromMillis(100);
    return claim;
  }

  // A claim with its machine.
  model::NodeClaim Launched(const std::string& name) {
    model::NodeClaim claim = AClaim(name);
    const auto created = MUST(claims().Create(claim, Soon()));
    EXPECT_OK(cloud::TakeOver(created, claim));
    return claim;
  }

  std::set<std::string> ListedIds() {
    std::set<std::string> ids;
    for (const auto& claim : MUST(claims().List(Soon()))) {
      if (!claim.metadata.deletion_timestamp) ids.insert(claim.status.provider_id);
    }
    return ids;
  }

  UnderTest under_test_;
};

TYPED_TEST_SUITE_P(NodeClaimsSuite);

TYPED_TEST_P(NodeClaimsSuite, SaysWhoItIsAndWhichClassesItSupports) {
  EXPECT_FALSE(this->claims().Name().empty());
  const auto kinds = this->claims().SupportedNodeClasses();
  ASSERT_FALSE(kinds.empty());
  for (const auto& kind : kinds) {
    EXPECT_FALSE(kind.group.empty());
    EXPECT_FALSE(kind.kind.empty());
  }
  EXPECT_TRUE(cloud::IsManaged(this->under_test_.Pool().spec.template_.spec.node_class_ref, kinds));
}

TYPED_TEST_P(NodeClaimsSuite, EveryTypeAndOfferingIsDescribed) {
  const auto types = this->Types();
  ASSERT_FALSE(types->empty());
  std::set<std::string> names;
  for (const auto& type : *types) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name << " is listed twice";
    EXPECT_TRUE(type.requirements.Get(model::kInstanceTypeLabel).Has(type.name)) << type.name;
    for (const auto label :
         {model::kArchLabel, model::kOsLabel, model::kZoneLabel, model::kCapacityTypeLabel}) {
      EXPECT_TRUE(type.requirements.Has(label)) << type.name << " does not say its " << label;
    }
    EXPECT_TRUE(type.capacity.contains("cpu") && type.capacity.contains("memory") &&
                type.capacity.contains("pods"))
        << type.name;
    EXPECT_FALSE(type.offerings.empty()) << type.name;
    std::set<std::string> offerings;
    for (const auto& offering : type.offerings) {
      EXPECT_FALSE(offering.Zone().empty()) << type.name;
      EXPECT_FALSE(offering.CapacityType().empty()) << type.name;
      EXPECT_GE(offering.price, 0) << type.name;
      EXPECT_TRUE(offerings.insert(offering.requirements.ToString()).second)
          << type.name << " offers the same twice: " << offering.requirements.ToString();
    }
  }
}

TYPED_TEST_P(NodeClaimsSuite, ACreatedMachineSaysWhatItIs) {
  const model::NodeClaim asked = this->AClaim("one");
  const model::NodeClaim before = asked;
  const auto created = MUST(this->claims().Create(asked, this->Soon()));
  EXPECT_EQ(asked, before) << "what is handed in is not to be changed";
  EXPECT_FALSE(created.status.provider_id.empty());
  EXPECT_FALSE(created.status.capacity.empty());
  EXPECT_FALSE(created.status.allocatable.empty());
  const std::string* type = created.metadata.labels.Find(model::kInstanceTypeLabel);
  const std::string* zone = created.metadata.labels.Find(model::kZoneLabel);
  const std::string* way = created.metadata.labels.Find(model::kCapacityTypeLabel);
  ASSERT_TRUE(type != nullptr && zone != nullptr && way != nullptr);
  const auto types = this->Types();
  const auto bought = std::ranges::find(*types, *type, &cloud::InstanceType::name);
  ASSERT_NE(bought, types->end()) << *type << " is not a type that is listed";
  EXPECT_TRUE(bought->OfferingPrice(*zone, *way).has_value());
  EXPECT_TRUE(cloud::Fits(asked.spec.requests, created.status.allocatable));
}

TYPED_TEST_P(NodeClaimsSuite, OneClaimIsOneMachineHoweverOftenItIsAskedFor) {
  const model::NodeClaim asked = this->AClaim("one");
  const auto first = MUST(this->claims().Create(asked, this->Soon()));
  const auto second = MUST(this->claims().Create(asked, this->Soon()));
  EXPECT_EQ(first.status.provider_id, second.status.provider_id);
  EXPECT_EQ(this->ListedIds().size(), 1u);
}

TYPED_TEST_P(NodeClaimsSuite, TwoClaimsAreTwoMachines) {
  const auto one = this->Launched("one");
  const auto two = this->Launched("two");
  EXPECT_NE(one.status.provider_id, two.status.provider_id);
  EXPECT_THAT(this->ListedIds(),
              testing::UnorderedElementsAre(one.status.provider_id, two.status.provider_id));
}

TYPED_TEST_P(NodeClaimsSuite, ALostAnswerLosesNoMachine) {
  const model::NodeClaim asked = this->AClaim("one");
  this->under_test_.LoseNextCreate();
  EXPECT_FALSE(this->claims().Create(asked, this->Soon()).ok());
  this->under_test_.Settle();
  const auto again = MUST(this->claims().Create(asked, this->Soon()));
  EXPECT_THAT(this->ListedIds(), testing::UnorderedElementsAre(again.status.provider_id));
}

TYPED_TEST_P(NodeClaimsSuite, ARefusedCreateLeavesNothing) {
  const model::NodeClaim asked = this->AClaim("one");
  this->under_test_.RefuseNextCreate();
  EXPECT_FALSE(this->claims().Create(asked, this->Soon()).ok());
  this->under_test_.Settle();
  EXPECT_TRUE(this->ListedIds().empty());
}

TYPED_TEST_P(NodeClaimsSuite, WhatNobodySellsIsSaidToBeSoldOut) {
  model::NodeClaim asked = this->AClaim("one");
  asked.spec.requests["cpu"] = model::Quantity::FromUnits(1'000'000);
  const auto created = this->claims().Create(asked, this->Soon());
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.code(), Code::kResourceExhausted) << created.status();
  EXPECT_TRUE(cloud::TroubleOf(created.status()).give_up);
}

TYPED_TEST_P(NodeClaimsSuite, DeleteIsAskedUntilTheMachineIsGone) {
  const auto claim = this->Launched("one");
  const Status first = this->claims().Delete(claim, this->Soon());
  EXPECT_TRUE(first.ok() || first.code() == Code::kNotFound) << first;
  this->under_test_.Settle();
  EXPECT_EQ(this->claims().Delete(claim, this->Soon()).code(), Code::kNotFound);
  EXPECT_TRUE(this->ListedIds().empty());
  EXPECT_EQ(this->claims().Get(claim.status.provider_id, this->Soon()).code(), Code::kNotFound);
}

TYPED_TEST_P(NodeClaimsSuite, DeleteTwiceIsNoMistake) {
  const auto claim = this->Launched("one");
  for (int i = 0; i < 2; ++i) {
    const Status status = this->claims().Delete(claim, this->Soon());
    EXPECT_TRUE(status.ok() || status.code() == Code::kNotFound) << status;
  }
}

TYPED_TEST_P(NodeClaimsSuite, WhatDoesNotExistIsNotFound) {
  model::NodeClaim stranger = this->AClaim("stranger");
  auto known = this->Launched("one");
  stranger.status.provider_id = known.status.provider_id + "-other";
  EXPECT_EQ(this->claims().Delete(stranger, this->Soon()).code(), Code::kNotFound);
  EXPECT_EQ(this->claims().Get(stranger.status.provider_id, this->Soon()).code(), Code::kNotFound);
  EXPECT_EQ(this->ListedIds().size(), 1u) << "somebody else's machine was taken away";
}

TYPED_TEST_P(NodeClaimsSuite, GetFindsWhatWasCreated) {
  const auto claim = this->Launched("one");
  const auto found = MUST(this->claims().Get(claim.status.provider_id, this->Soon()));
  EXPECT_EQ(found.status.provider_id, claim.status.provider_id);
}

TYPED_TEST_P(NodeClaimsSuite, AListThatCannotBeReadIsAnErrorAndNotShorter) {
  this->Launched("one");
  this->under_test_.FailNextList();
  EXPECT_FALSE(this->claims().List(this->Soon()).ok());
  EXPECT_EQ(this->ListedIds().size(), 1u);
}

TYPED_TEST_P(NodeClaimsSuite, WhatWasJustBoughtHasNotDrifted) {
  const auto claim = this->Launched("one");
  EXPECT_OK(this->claims().Refresh(this->Soon()));
  EXPECT_EQ(MUST(this->claims().IsDrifted(claim)), "");
}

TYPED_TEST_P(NodeClaimsSuite, NoReadCallsOut) {
  const auto claim = this->Launched("one");
  EXPECT_OK(this->claims().Refresh(this->Soon()));
  const int before = this->under_test_.CallsOut();
  EXPECT_GT(before, 0) << "nobody counts the calls";
  (void)this->claims().Name();
  (void)this->claims().Traits();
  (void)this->claims().SupportedNodeClasses();
  (void)this->claims().RepairPolicies();
  (void)this->claims().InstanceTypesFor(this->under_test_.Pool(), {});
  (void)this->claims().IsDrifted(claim);
  (void)this->claims().NodeFor(claim);
  (void)this->claims().ClassStates();
  EXPECT_EQ(this->under_test_.CallsOut(), before);
  // Nor does what is only told.
  this->claims().SetClaims({{claim.metadata.uid, claim.status.provider_id}});
  this->claims().SetClasses({});
  EXPECT_EQ(this->under_test_.CallsOut(), before);
  (void)this->claims().ClassStates();
  (void)this->claims().InstanceTypesFor(this->under_test_.Pool(), {});
  (void)this->claims().IsDrifted(claim);
  EXPECT_EQ(this->under_test_.CallsOut(), before);
}

REGISTER_TYPED_TEST_SUITE_P(NodeClaimsSuite, SaysWhoItIsAndWhichClassesItSupports,
                            EveryTypeAndOfferingIsDescribed, ACreatedMachineSaysWhatItIs,
                            OneClaimIsOneMachineHoweverOftenItIsAskedFor, TwoClaimsAreTwoMachines,
                            ALostAnswerLosesNoMachine, ARefusedCreateLeavesNothing,
                            WhatNobodySellsIsSaidToBeSoldOut, DeleteIsAskedUntilTheMachineIsGone,
                            DeleteTwiceIsNoMistake, WhatDoesNotExistIsNotFound,
                            GetFindsWhatWasCreated, AListThatCannotBeReadIsAnErrorAndNotShorter,
                            WhatWasJustBoughtHasNotDrifted, NoReadCallsOut);

}  // namespace coppice::conformance
