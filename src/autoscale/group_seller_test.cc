#include "autoscale/group_seller.h"

#include <gmock/gmock.h>

#include "autoscale/group_seller_rig.h"
#include "autoscale/pod_lists.h"
#include "market/intent.h"

namespace coppice::autoscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class GroupSellerTest : public GroupSellerRig {};

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

TEST_F(GroupSellerTest, BeforeTheFirstPassNothingIsSold) {
  AddGroup("a", 5, 0);
  Assemble({}, inline_, writer_);
  EXPECT_FALSE(engine_->seller().Ready());
  EXPECT_THAT(Refused(Gang({Tasks(1, "cpu", 1)})).text, HasSubstr("not been looked at yet"));
}

}  // namespace
}  // namespace coppice::autoscale
