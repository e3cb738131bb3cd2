#include "autoscale/group_seller.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"
#include "autoscale/pod_lists.h"
#include "market/intent.h"

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class GroupSellerTest : public PlainEngineRig {
 protected:
  void Start(std::vector<std::string> args = {}) {
    Assemble(args, inline_, writer_);
    Pass();
  }
  // A group whose nodes have so much of a resource of their own, and nothing of the others'.
  void AddGroupOf(const std::string& id, const std::string& resource, int64_t amount, int max,
                  int min = 0) {
    model::Node node = ANode("template-of-" + id, "zone-" + id, clock_.Now());
    for (auto* list : {&node.status.capacity, &node.status.allocatable})
      (*list)[resource] = model::Quantity::FromUnits(amount);
    groups_.Add({.info = {.id = id, .min_size = min, .max_size = max},
                 .target = min,
                 .node_template = std::make_shared<const model::Node>(std::move(node))});
  }
  static market::TaskClass Tasks(int count, const std::string& resource, int64_t amount) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = "task";
    pod->metadata.namespace_ = "ns";
    pod->spec.scheduler_name = "volcano";
    model::Container container;
    container.resources.requests[resource] = model::Quantity::FromUnits(amount);
    pod->spec.containers.push_back(container);
    return {.role = resource, .pod = std::move(pod), .count = count};
  }
  static market::Want Gang(std::vector<market::TaskClass> classes, std::string name = "ns/gang") {
    market::Want want;
    want.gang = std::move(name);
    want.classes = std::move(classes);
    return want;
  }
  market::Quotes Ask(market::Want want) {
    market::View view;
    view.now = clock_.Now();
    return executor_.BlockOn(engine_->seller().Quote(std::move(want), std::move(view)));
  }
  market::Offer Offered(market::Want want) {
    auto quotes = Ask(std::move(want));
    auto* offers = std::get_if<std::vector<market::Offer>>(&quotes);
    if (offers == nullptr) {
      ADD_FAILURE() << std::get<market::Refusal>(quotes).text;
      return {};
    }
    EXPECT_THAT(*offers, SizeIs(1));
    return offers->front();
  }
  market::Refusal Refused(market::Want want) {
    auto quotes = Ask(std::move(want));
    auto* refusal = std::get_if<market::Refusal>(&quotes);
    if (refusal == nullptr) {
      ADD_FAILURE() << "there was an offer";
      return {};
    }
    return *refusal;
  }
  market::Outcome Ordered(market::Offer offer) {
    return executor_.BlockOn(engine_->seller().Order(std::move(offer)));
  }
  int TargetOf(const std::string& group) { return MUST(groups_.TargetSize(group)); }
};

TEST_F(GroupSellerTest, AMixedGangIsCoveredInRoundsAndNothingIsTouched) {
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

TEST_F(GroupSellerTest, AnOfferIsOrderedWholeAndItsMachinesAreOnTheirWay) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  AddGroupOf("big", "example.com/big", 2, 10);
  groups_.SetPrices(0.5, 0.1);
  Start();
  const market::Offer offer =
      Offered(Gang({Tasks(3, "example.com/gpu", 1), Tasks(4, "example.com/big", 1)}));
  EXPECT_DOUBLE_EQ(offer.price_per_hour().value_or(-1), 2.5);
  const market::Outcome outcome = Ordered(offer);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_EQ(TargetOf("gpu"), 3);
  EXPECT_EQ(TargetOf("big"), 2);
  const market::Delivery delivery = engine_->seller().Look(outcome, {});
  EXPECT_EQ(delivery.coming, 5);
  EXPECT_EQ(delivery.lost, 0);
  for (const market::Lot& lot : outcome.lots)
    EXPECT_TRUE(engine_->seller().WasOrdered(outcome, lot));
}

TEST_F(GroupSellerTest, WhatIsNotForSaleIsRefusedWithAReasonPerGroup) {
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

TEST_F(GroupSellerTest, PartOfItIsOfferedOnlyToWhoAsksForThat) {
  AddGroupOf("gpu", "example.com/gpu", 1, 2);
  Start();
  market::Want want = Gang({Tasks(3, "example.com/gpu", 1)});
  want.in_part = true;
  const market::Offer offer = Offered(want);
  EXPECT_FALSE(offer.whole);
  EXPECT_EQ(offer.served, 2);
}

TEST_F(GroupSellerTest, WhereOneOfSeveralOrdersFailsTheOthersAreGivenBack) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  AddGroupOf("big", "example.com/big", 2, 10);
  Start();
  market::Offer offer =
      Offered(Gang({Tasks(3, "example.com/gpu", 1), Tasks(4, "example.com/big", 1)}));
  const std::string second = offer.lots[1].source;
  groups_.before = [&](std::string_view method, Deadline) {
    if (method == "Increase" && CallsOf("Increase") == 1)
      groups_.Fail("Increase", ResourceExhausted("sold out"));
  };
  const market::Outcome outcome = Ordered(offer);
  EXPECT_FALSE(outcome.status.ok());
  EXPECT_THAT(outcome.status.message(), HasSubstr("sold out"));
  EXPECT_THAT(outcome.lots, IsEmpty());
  EXPECT_EQ(TargetOf("gpu"), 0);
  EXPECT_EQ(TargetOf("big"), 0);
  EXPECT_TRUE(engine_->state().BackedOff(second, clock_.Now()).has_value());
}

TEST_F(GroupSellerTest, AnOfferThatIsOutOfDateIsNotOrdered) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  Start();
  const market::Offer offer = Offered(Gang({Tasks(3, "example.com/gpu", 1)}));
  groups_.Change("gpu", [](cloud::FakeNodeGroups::Group& g) { g.target = 1; });
  const market::Outcome outcome = Ordered(offer);
  EXPECT_THAT(outcome.status.message(), HasSubstr("ask again"));
  EXPECT_EQ(CallsOf("Increase"), 0U);
}

TEST_F(GroupSellerTest, GivesBackWhatDoesNotExistYetButNeverBelowTheMinimum) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  Start();
  const market::Outcome outcome = Ordered(Offered(Gang({Tasks(3, "example.com/gpu", 1)})));
  groups_.Change("gpu", [](cloud::FakeNodeGroups::Group& g) { g.info.min_size = 2; });
  EXPECT_TRUE(executor_.BlockOn(engine_->seller().Cancel(outcome)).ok());
  EXPECT_EQ(TargetOf("gpu"), 2);
}

TEST_F(GroupSellerTest, GivesBackMachinesThatStandWithoutANodeAndKeepsThoseOfOthers) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  groups_.Change("gpu", [](cloud::FakeNodeGroups::Group& g) {
    g.target = 1;
    g.instances.push_back({.id = "fake://old", .state = cloud::InstanceState::kRunning});
  });
  Start();
  const market::Outcome outcome = Ordered(Offered(Gang({Tasks(3, "example.com/gpu", 1)})));
  groups_.Fulfil();
  EXPECT_TRUE(executor_.BlockOn(engine_->seller().Cancel(outcome)).ok());
  const auto left = MUST(groups_.Instances("gpu"));
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(left.front().id, "fake://old");
}

TEST_F(GroupSellerTest, ANodeThatSomebodyUsesIsNotGivenBack) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  Start();
  const market::Outcome outcome = Ordered(Offered(Gang({Tasks(2, "example.com/gpu", 1)})));
  for (const std::string name : {"g-1", "g-2"}) {
    groups_.Change("gpu", [&](cloud::FakeNodeGroups::Group& g) {
      g.instances.push_back({.id = "fake://" + name, .state = cloud::InstanceState::kRunning});
    });
    model::Node node = ANode(name, "zone-gpu", clock_.Now());
    node.spec.taints.push_back({.key = std::string(market::kHeldForTaint),
                                .value = market::HoldValue("ns/gang"),
                                .effect = "NoSchedule"});
    world_.UpsertNode(std::make_shared<const model::Node>(node));
  }
  AddPod("user", "cpu", 1, "g-1");
  EXPECT_TRUE(executor_.BlockOn(engine_->seller().Cancel(outcome)).ok());
  const auto left = MUST(groups_.Instances("gpu"));
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left.front().id, "fake://g-1");
}

TEST_F(GroupSellerTest, MachinesOnTheirWayAreUsedUnlessAnotherGangWaitsForThem) {
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

TEST_F(GroupSellerTest, APassDoesNotCountOnWhatAGangWaitsFor) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  Start();
  Ordered(Offered(Gang({Tasks(1, "example.com/gpu", 1)})));
  engine_->seller().Keep(
      {{.seller = "node groups", .source = "gpu", .gang = "ns/gang", .machines = 1}});
  AddPod("single", "example.com/gpu", 1);
  clock_.Set(clock_.Now() + std::chrono::seconds(20));
  Pass();
  EXPECT_EQ(TargetOf("gpu"), 2);
}

TEST_F(GroupSellerTest, PodsThatGangsAreMadeOfAreNobodyToBuyForHere) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  Start();
  AddPod("single", "example.com/gpu", 1);
  Options options = options_;
  EXPECT_THAT(ListPending(options, options.deviations, world_), SizeIs(1));
  auto pod = std::make_shared<model::Pod>(*world_.FindPod("default", "single"));
  pod->spec.scheduler_name = "volcano";
  world_.UpsertPod(pod);
  EXPECT_THAT(ListPending(options, options.deviations, world_), SizeIs(1));
  options.gang_scheduler_names = {"volcano"};
  EXPECT_THAT(ListPending(options, options.deviations, world_), IsEmpty());
}

TEST_F(GroupSellerTest, NodesThatCameAfterTheOrderAreTheGangsByAge) {
  AddGroupOf("gpu", "example.com/gpu", 1, 10);
  Start();
  AddNode("old", "gpu");
  const market::Outcome outcome = Ordered(Offered(Gang({Tasks(2, "example.com/gpu", 1)})));
  int age = 3;
  for (const std::string name : {"c", "b", "a"}) {
    groups_.Change("gpu", [&](cloud::FakeNodeGroups::Group& g) {
      g.instances.push_back({.id = "fake://" + name, .state = cloud::InstanceState::kRunning});
    });
    world_.UpsertNode(std::make_shared<const model::Node>(
        ANode(name, "zone-gpu", clock_.Now() + std::chrono::seconds(age--))));
  }
  EXPECT_THAT(engine_->seller().Look(outcome, {}).nodes, ElementsAre("a", "b"));
  EXPECT_THAT(engine_->seller().Look(outcome, {"a"}).nodes, ElementsAre("b", "c"));
}

TEST_F(GroupSellerTest, AWishForOneZoneIsQuotedZoneByZone) {
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

TEST_F(GroupSellerTest, StockIsWhatIsOnItsWayAndWhatTheLimitsLeave) {
  AddGroup("a", 5, 0);
  Start();
  EXPECT_EQ(engine_->seller().Stock(clock_.Now()).Find("cpu")->Value(), 20);
  Ordered(Offered(Gang({Tasks(8, "cpu", 1)})));
  EXPECT_EQ(engine_->seller().Stock(clock_.Now()).Find("cpu")->Value(), 20);
}

TEST_F(GroupSellerTest, StockEndsWhereTheClusterDoes) {
  AddGroup("a", 5, 0);
  Start({"--max-nodes-total=3"});
  EXPECT_EQ(engine_->seller().Stock(clock_.Now()).Find("cpu")->Value(), 12);
}

TEST_F(GroupSellerTest, TheLimitOfTheClusterHoldsForGangsToo) {
  AddGroup("a", 50, 0);
  Start({"--max-nodes-total=3"});
  EXPECT_EQ(Offered(Gang({Tasks(12, "cpu", 1)})).machines(), 3);
  EXPECT_EQ(Refused(Gang({Tasks(13, "cpu", 1)})).short_of, 1);
}

TEST_F(GroupSellerTest, BeforeTheFirstPassNothingIsSold) {
  AddGroup("a", 5, 0);
  Assemble({}, inline_, writer_);
  EXPECT_FALSE(engine_->seller().Ready());
  EXPECT_THAT(Refused(Gang({Tasks(1, "cpu", 1)})).text, HasSubstr("not been looked at yet"));
}

}  // namespace
}  // namespace coppice::autoscale
