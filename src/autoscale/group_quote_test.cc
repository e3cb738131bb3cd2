// What is offered to a gang. What becomes of an offer is in group_seller_test.

#include "autoscale/group_quote.h"

#include <gmock/gmock.h>

#include "autoscale/group_seller_rig.h"

namespace coppice::autoscale {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class GroupQuoteTest : public GroupSellerRig {};

TEST_F(GroupQuoteTest, AMixedGangIsCoveredInRoundsAndNothingIsTouched) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  AddGroupOf("big", "example.com/big", 2, 10);
  Start();
  const size_t pods = world_.snapshot().pod_count();
  const market::Offer offer =
      Offered(Gang({Tasks(3, "example.com/gpu", 1), Tasks(4, "example.com/big", 1)}));
  EXPECT_TRUE(offer.whole);
  EXPECT_EQ(offer.served, 7);
  EXPECT_EQ(offer.machines(), 5);
  ASSERT_THAT(offer.lots, SizeIs(2));
  int seats = 0;
  for (const market::Seat& seat : offer.seats) seats += seat.count;
  EXPECT_EQ(seats, 7);
  EXPECT_EQ(CallsOf("Increase"), 0U);
  EXPECT_EQ(world_.snapshot().pod_count(), pods);
  EXPECT_EQ(world_.snapshot().forks(), 0U);
  EXPECT_THAT(world_.snapshot().nodes(), IsEmpty());
}

TEST_F(GroupQuoteTest, WhatIsNotForSaleIsRefusedWithAReasonPerGroup) {
  AddGroupOf("gpu", "example.com/gpu", 1, 2);
  AddGroupOf("web", "example.com/web", 1, 9);
  Start();
  const market::Refusal refusal = Refused(Gang({Tasks(3, "example.com/gpu", 1)}));
  EXPECT_EQ(refusal.seller, "node groups");
  EXPECT_EQ(refusal.short_of, 1);
  EXPECT_THAT(refusal.text, HasSubstr("1 of 3 tasks"));
  ASSERT_THAT(refusal.reasons, SizeIs(2));
  EXPECT_EQ(refusal.reasons[0].source, "gpu");
  EXPECT_THAT(refusal.reasons[0].text, HasSubstr("max node group size reached"));
  EXPECT_THAT(refusal.reasons[1].text, HasSubstr("no room"));
  EXPECT_EQ(CallsOf("Increase"), 0U);
}

TEST_F(GroupQuoteTest, PartOfItIsOfferedOnlyToWhoAsksForThat) {
  AddGroupOf("gpu", "example.com/gpu", 1, 2);
  Start();
  market::Want want = Gang({Tasks(3, "example.com/gpu", 1)});
  want.in_part = true;
  const market::Offer offer = Offered(want);
  EXPECT_FALSE(offer.whole);
  EXPECT_EQ(offer.served, 2);
}

TEST_F(GroupQuoteTest, MachinesOnTheirWayAreUsedUnlessAnotherGangWaitsForThem) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  Start();
  Ordered(Offered(Gang({Tasks(3, "example.com/gpu", 1)})));
  market::Offer offer = Offered(Gang({Tasks(2, "example.com/gpu", 1)}, "ns/other"));
  EXPECT_EQ(offer.machines(), 0);
  ASSERT_THAT(offer.lots, SizeIs(1));
  EXPECT_EQ(offer.lots[0].claimed, 2);
  EXPECT_DOUBLE_EQ(offer.price_per_hour().value_or(-1), 0);
  engine_->seller().Keep(
      {{.seller = "node groups", .source = "gpu", .gang = "ns/gang", .machines = 2}});
  offer = Offered(Gang({Tasks(2, "example.com/gpu", 1)}, "ns/other"));
  EXPECT_EQ(offer.machines(), 1);
  EXPECT_EQ(offer.lots[0].claimed, 1);
}

TEST_F(GroupQuoteTest, AWishForOneZoneIsQuotedZoneByZone) {
  AddGroup("a", 2);
  AddGroup("b", 9);
  Start();
  market::Want want = Gang({Tasks(12, "cpu", 1)});
  want.topology.key = "topology.kubernetes.io/zone";
  const market::Offer offer = Offered(want);
  ASSERT_THAT(offer.lots, SizeIs(1));
  EXPECT_EQ(offer.lots[0].source, "b");
  EXPECT_EQ(offer.machines(), 3);
}

TEST_F(GroupQuoteTest, TheLimitOfTheClusterHoldsForGangsToo) {
  AddGroup("a", 50, 0);
  Start({"--max-nodes-total=3"});
  EXPECT_EQ(Offered(Gang({Tasks(12, "cpu", 1)})).machines(), 3);
  EXPECT_EQ(Refused(Gang({Tasks(13, "cpu", 1)})).short_of, 1);
}

// A machine on its way, and two nodes that are there. A pod that waits takes one of the nodes, unless
// the session that asks has given them away: then it takes the machine, and the gang has to buy.
TEST_F(GroupQuoteTest, WhatTheSessionHasPlacedTakesItsRoom) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  Start();
  Ordered(Offered(Gang({Tasks(1, "example.com/gpu", 1)})));
  std::vector<market::PlacedPod> there;
  std::vector<market::PlacedPod> gone;
  for (const std::string name : {"n-1", "n-2"}) {
    model::Node node = ANode(name, "zone-gpu", clock_.Now());
    node.status.allocatable["example.com/gpu"] = model::Quantity::FromUnits(1);
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
    there.push_back({Tasks(1, "example.com/gpu", 1).pod, name});
    gone.push_back({there.back().pod, "gone-" + name});
  }
  AddPod("waits", "example.com/gpu", 1);
  market::Want other = Gang({Tasks(1, "example.com/gpu", 1)}, "ns/other");
  EXPECT_EQ(Offered(other).machines(), 0);
  EXPECT_EQ(Offered(other, there).machines(), 1);
  EXPECT_EQ(Offered(other, gone).machines(), 0) << "on nodes that nobody knows";
  other.placed = there;
  EXPECT_EQ(Offered(other).machines(), 1) << "of the gang itself";
}

TEST_F(GroupQuoteTest, SaysHowItWasChosenAndWhatTheTargetsWillBe) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  AddGroupOf("big", "example.com/big", 2, 10);
  Start();
  Ordered(Offered(Gang({Tasks(2, "example.com/gpu", 1)})));
  engine_->seller().Keep(
      {{.seller = "node groups", .source = "gpu", .gang = "ns/gang", .machines = 2}});
  const market::Offer offer =
      Offered(Gang({Tasks(3, "example.com/gpu", 1), Tasks(4, "example.com/big", 1)}, "ns/other"));
  EXPECT_THAT(offer.why, UnorderedElementsAre("gpu is chosen by least-waste; gpu from 2 to 5",
                                              "big is chosen by least-waste; big from 0 to 2"));
  for (const market::Lot& lot : offer.lots) {
    EXPECT_EQ(lot.before, lot.source == "gpu" ? 2 : 0);
    EXPECT_EQ(lot.after, lot.source == "gpu" ? 5 : 2);
  }
}

TEST_F(GroupQuoteTest, APriceThatNobodyKnowsIsNoPrice) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  Start();
  const market::Want want = Gang({Tasks(3, "example.com/gpu", 1)});
  EXPECT_FALSE(Offered(want).price_per_hour());
  groups_.SetPrices(0.5, 0.1);
  EXPECT_DOUBLE_EQ(Offered(want).price_per_hour().value_or(-1), 1.5);
}

TEST_F(GroupQuoteTest, WithoutAnyGroupTheRefusalSaysSo) {
  Start();
  const market::Refusal refusal = Refused(Gang({Tasks(1, "cpu", 1)}));
  EXPECT_EQ(refusal.text, "there are no node groups");
  EXPECT_EQ(refusal.short_of, 1);
}

TEST_F(GroupQuoteTest, WhereNoZoneIsLargeEnoughTheNearestIsNamed) {
  AddGroup("a", 2);
  AddGroup("b", 3);
  Start();
  market::Want want = Gang({Tasks(14, "cpu", 1)});
  want.topology.key = "topology.kubernetes.io/zone";
  const market::Refusal refusal = Refused(want);
  EXPECT_EQ(refusal.short_of, 2);
  EXPECT_THAT(refusal.text, HasSubstr(" in topology.kubernetes.io/zone=zone-b"));
  EXPECT_EQ(Offered(Gang({Tasks(14, "cpu", 1)})).machines(), 4) << "of both together";
}

}  // namespace
}  // namespace coppice::autoscale
