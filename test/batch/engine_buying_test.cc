// Gangs are bought for as a whole: a batch engine, a buyer and a seller of machines on a fake clock.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batch/buying/gang_buyer.h"
#include "market/fake_seller.h"
#include "test/batch/batch_cluster.h"

namespace coppice {
namespace {

using namespace std::chrono_literals;
using batch::GangBuyer;
using market::FakeSeller;
using test::BatchCluster;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view kBuyingConf = R"(actions: "enqueue, allocate, backfill, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
)";

// Sells machines of four cores, one task of four cores on each, and boots them when told.
class Rig {
 public:
  Rig() {
    seller.stock["cpu"] = BatchCluster::Amount("400");
    seller.stock["memory"] = BatchCluster::Amount("4000Gi");
    seller.stock["pods"] = BatchCluster::Amount("10k");
    seller.price_per_machine = 2;
    stall.refusal = "is closed";
    cluster.Queue("default");
  }
  void Start(batch::BuyingOptions options = {}, batch::EngineOptions engine = {}) {
    seller.now = cluster.clock.Now();
    buyer = std::make_unique<GangBuyer>(
        GangBuyer::Parts{.options = options,
                         .market = market,
                         .world = *cluster.seen,
                         .writer = cluster,
                         .executor = cluster.executor,
                         .log = cluster.log,
                         .assumed = [this]() -> const cluster::World* {
                           return cluster.engine == nullptr ? nullptr : &cluster.engine->world();
                         }});
    cluster.waiting = buyer.get();
    cluster.Start(kBuyingConf, engine);
  }
  void Restart(batch::BuyingOptions options = {}) {
    cluster.Kill();
    graves.push_back(std::move(buyer));
    Start(options);
  }
  // One more machine has become a node.
  void Arrives(const std::string& name) { ArrivesFrom(seller, name); }
  void ArrivesFrom(FakeSeller& from, const std::string& name) {
    cluster.Node(name, "4");
    from.arrived.push_back(name);
  }
  // Three machines are bought; one comes, two never will, and the second seller has more.
  void LoseTwoOfThree(batch::BuyingOptions options = {}) {
    cluster.Gang("gang", 3, "4");
    Start(options);
    cluster.Run(3s);
    Arrives("n-1");
    cluster.Run(2s);
    seller.target = 1;
    seller.refusal = "sold out";
    stall.refusal.clear();
    cluster.Run(3s);
  }
  std::string AnnotationOf(const std::string& group) {
    const auto json = cluster.executor.BlockOn(
        cluster.objects.ObjectNow({"scheduling.volcano.sh/v1beta1", "podgroups", "ns", group}));
    if (!json.ok()) return "gone";
    const auto object = wire::FromJson<model::PodGroup>(*json);
    const std::string* text = object->metadata.annotations.Find(market::kIntentAnnotation);
    return text == nullptr ? "" : *text;
  }
  bool IsHeld(const std::string& name) const {
    const auto node = cluster.seen->FindNode(name);
    return node != nullptr && !node->spec.taints.empty() &&
           node->spec.taints.front().key == market::kHeldForTaint;
  }

  BatchCluster cluster;
  FakeSeller seller{"shop"};
  FakeSeller stall{"stall"};  // closed, unless a test opens it
  market::Market market{{&seller, &stall}};
  std::unique_ptr<GangBuyer> buyer;
  std::vector<std::unique_ptr<GangBuyer>> graves;
};

TEST(GangBuying, AGangIsBoughtForWholeHeldAndStartedFromZero) {
  Rig rig;
  rig.cluster.Gang("gang", 3, "4");
  rig.Start();
  rig.cluster.Run(3s);
  ASSERT_THAT(rig.seller.ordered, SizeIs(1));
  EXPECT_EQ(rig.seller.target, 3);
  EXPECT_THAT(rig.AnnotationOf("gang"), AllOf(HasSubstr("shop"), Not(HasSubstr("ordering"))));
  rig.Arrives("n-1");
  rig.Arrives("n-2");
  rig.cluster.Run(3s);
  EXPECT_TRUE(rig.IsHeld("n-1"));
  EXPECT_EQ(rig.cluster.Bound("gang"), 0) << "half a gang has started";
  rig.Arrives("n-3");
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.Bound("gang"), 3);
  EXPECT_THAT(rig.seller.ordered, SizeIs(1)) << "bought twice";
  EXPECT_FALSE(rig.IsHeld("n-1"));
  EXPECT_EQ(rig.AnnotationOf("gang"), "");
  EXPECT_EQ(rig.buyer->holds(), 0u);
}

TEST(GangBuying, OnlyWhatHasNoRoomIsBought) {
  Rig rig;
  rig.cluster.Node("there", "8");
  rig.cluster.Gang("gang", 5, "4");
  rig.Start();
  rig.cluster.Run(3s);
  EXPECT_EQ(rig.seller.target, 3);
  ASSERT_FALSE(rig.seller.quoted.empty());
  EXPECT_THAT(rig.seller.quoted.front().placed, SizeIs(2));
}

TEST(GangBuying, AHeldNodeTakesNobodyElsesPods) {
  Rig rig;
  rig.cluster.Gang("gang", 2, "4");
  rig.Start();
  rig.cluster.Run(3s);
  rig.Arrives("n-1");
  rig.cluster.Run(2s);
  rig.seller.max = 2;  // no more for anybody
  rig.cluster.Gang("small", 1, "1");
  rig.cluster.Run(3s);
  EXPECT_EQ(rig.cluster.Bound("small"), 0);
  rig.Arrives("n-2");
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.Bound("gang"), 2);
}

TEST(GangBuying, ARefusedGangSaysWhatItWouldTakeAndNothingIsOrdered) {
  Rig rig;
  rig.seller.max = 2;
  rig.cluster.Gang("gang", 3, "4");
  rig.Start();
  rig.cluster.Run(5s);
  EXPECT_THAT(rig.seller.ordered, IsEmpty());
  const auto report = rig.buyer->Report();
  ASSERT_THAT(report, SizeIs(1));
  EXPECT_EQ(report[0].state, report::WaitingGang::State::kRefused);
  EXPECT_THAT(report[0].why, HasSubstr("3 w"));
  EXPECT_THAT(report[0].why, HasSubstr("max node group size reached"));
  EXPECT_EQ(rig.AnnotationOf("gang"), "");
}

TEST(GangBuying, WhatDoesNotStartInTimeIsGivenBack) {
  Rig rig;
  batch::BuyingOptions options;
  options.hold = 30s;
  rig.cluster.Gang("gang", 3, "4");
  rig.Start(options);
  rig.cluster.Run(3s);
  rig.Arrives("n-1");
  rig.cluster.Run(31s);
  ASSERT_THAT(rig.seller.cancelled, SizeIs(1));
  EXPECT_FALSE(rig.IsHeld("n-1"));
  EXPECT_EQ(rig.cluster.Bound("gang"), 0);
}

TEST(GangBuying, AGangThatIsDeletedGivesItsMachinesBack) {
  Rig rig;
  rig.cluster.Gang("gang", 2, "4");
  rig.Start();
  rig.cluster.Run(3s);
  EXPECT_EQ(rig.seller.target, 2);
  ASSERT_TRUE(rig.cluster.executor
                  .BlockOn(rig.cluster.objects.DeleteObject(
                      {"scheduling.volcano.sh/v1beta1", "podgroups", "ns", "gang"}))
                  .ok());
  rig.cluster.Run(3s);
  EXPECT_EQ(rig.seller.target, 0);
}

TEST(GangBuying, ARestartBuysNothingTwice) {
  Rig rig;
  rig.cluster.Gang("gang", 3, "4");
  rig.Start();
  rig.cluster.Run(3s);
  ASSERT_THAT(rig.seller.ordered, SizeIs(1));
  rig.Restart();
  rig.cluster.Run(5s);
  EXPECT_THAT(rig.seller.ordered, SizeIs(1));
  EXPECT_EQ(rig.buyer->holds(), 1u);
  for (const std::string name : {"n-1", "n-2", "n-3"}) rig.Arrives(name);
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.Bound("gang"), 3);
}

TEST(GangBuying, AnOrderThatNobodyKnowsOfIsLookedForBeforeItIsPlacedAgain) {
  for (const bool went_out : {true, false}) {
    Rig rig;
    rig.cluster.Gang("gang", 2, "4");
    market::Intent intent{.attempt = 1, .until = rig.cluster.clock.Now() + 10min};
    intent.ordering.emplace();
    intent.ordering->seller = "shop";
    intent.ordering->ordered_at = rig.cluster.clock.Now();
    intent.ordering->lots = {{.source = "fake", .machines = 2, .before = 0, .after = 2}};
    std::string text = market::FormatIntent(intent);
    for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
      text.insert(at, "\\");
    ASSERT_TRUE(rig.cluster.executor
                    .BlockOn(rig.cluster.objects.UpdateObject(
                        {"scheduling.volcano.sh/v1beta1", "podgroups", "ns", "gang"},
                        R"({"metadata":{"annotations":{"coppice.dev/purchase":")" + text + "\"}}}"))
                    .ok());
    rig.cluster.Run(1s);
    if (went_out) rig.seller.target = 2;
    rig.Start();
    rig.cluster.Run(3s);
    EXPECT_EQ(rig.seller.target, 2) << went_out;
    EXPECT_THAT(rig.seller.ordered, SizeIs(went_out ? 0 : 1));
  }
}

TEST(GangBuying, WhatASecondSellerSoldIsNotMistakenForTheFirsts) {
  Rig rig;
  rig.LoseTwoOfThree();
  ASSERT_THAT(rig.stall.ordered, SizeIs(1));
  EXPECT_EQ(rig.stall.target, 2);
  EXPECT_THAT(rig.AnnotationOf("gang"), AllOf(HasSubstr("shop"), HasSubstr("stall")));
  EXPECT_TRUE(rig.IsHeld("n-1"));
  rig.cluster.Run(10s);
  EXPECT_THAT(rig.stall.ordered, SizeIs(1)) << "what was lost is bought again and again";
  EXPECT_EQ(rig.cluster.Bound("gang"), 0);
  rig.ArrivesFrom(rig.stall, "m-1");
  rig.cluster.Run(2s);
  EXPECT_TRUE(rig.IsHeld("m-1"));
  EXPECT_EQ(rig.cluster.Bound("gang"), 0) << "half a gang has started";
  rig.ArrivesFrom(rig.stall, "m-2");
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.Bound("gang"), 3);
  EXPECT_EQ(rig.AnnotationOf("gang"), "");
  EXPECT_FALSE(rig.IsHeld("n-1") || rig.IsHeld("m-1") || rig.IsHeld("m-2"));
  EXPECT_THAT(rig.seller.cancelled, IsEmpty());
}

TEST(GangBuying, EachSellerGetsBackWhatItSold) {
  Rig rig;
  batch::BuyingOptions options;
  options.hold = 40s;
  rig.LoseTwoOfThree(options);
  ASSERT_EQ(rig.stall.target, 2);
  rig.cluster.Run(45s);
  ASSERT_FALSE(rig.seller.cancelled.empty());
  ASSERT_FALSE(rig.stall.cancelled.empty());
  EXPECT_EQ(rig.seller.cancelled[0].lots[0].machines, 1) << "what was lost is not his any more";
  EXPECT_EQ(rig.stall.cancelled[0].lots[0].machines, 2);
}

TEST(GangBuying, ARestartKnowsWhatEachSellerSold) {
  Rig rig;
  rig.LoseTwoOfThree();
  rig.Restart();
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.buyer->holds(), 1u);
  EXPECT_TRUE(rig.IsHeld("n-1"));
  for (const std::string name : {"m-1", "m-2"}) rig.ArrivesFrom(rig.stall, name);
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.Bound("gang"), 3);
  EXPECT_THAT(rig.stall.ordered, SizeIs(1));
}

TEST(GangBuying, ASecondPurchaseThatFailsLeavesTheNoteOfTheFirst) {
  Rig rig;
  rig.stall.order_answer = ResourceExhausted("nothing left");
  rig.LoseTwoOfThree();
  ASSERT_THAT(rig.stall.ordered, SizeIs(1));
  EXPECT_THAT(rig.AnnotationOf("gang"),
              AllOf(HasSubstr("shop"), Not(HasSubstr("stall")), Not(HasSubstr("ordering"))));
  EXPECT_TRUE(rig.IsHeld("n-1"));
}

TEST(GangBuying, NothingIsBoughtForWhatAQueueHoldsBack) {
  Rig rig;
  rig.cluster.Create({"scheduling.volcano.sh/v1beta1", "queues", "", "small"},
                     R"({"kind":"Queue","spec":{"weight":1,"capability":{"cpu":"4"}},)"
                     R"("status":{"state":"Open"}})");
  rig.cluster.Gang("gang", 3, "4", "small");
  rig.Start();
  rig.cluster.Run(5s);
  EXPECT_THAT(rig.seller.quoted, IsEmpty());
  const auto report = rig.buyer->Report();
  ASSERT_THAT(report, SizeIs(1));
  EXPECT_EQ(report[0].state, report::WaitingGang::State::kBlocked);
  EXPECT_THAT(report[0].why, HasSubstr("small"));
}

TEST(GangBuying, AnEmptyClusterAdmitsWhatCouldBeBought) {
  Rig rig;
  rig.cluster.Group("gang", 2, "default", "8");
  for (const std::string name : {"gang-w-0", "gang-w-1"}) rig.cluster.Pod(name, "gang", "4");
  rig.cluster.Group("huge", 2, "default", "1000");
  for (const std::string name : {"huge-w-0", "huge-w-1"}) rig.cluster.Pod(name, "huge", "500");
  rig.Start();
  rig.cluster.Run(3s);
  EXPECT_EQ(rig.cluster.PhaseOf("gang"), "Inqueue");
  EXPECT_EQ(rig.cluster.PhaseOf("huge"), "Pending");
  EXPECT_EQ(rig.seller.target, 2);
}

TEST(GangBuying, UpstreamExactBuysNothing) {
  Rig rig;
  rig.cluster.Gang("gang", 2, "4");
  batch::EngineOptions exact;
  exact.session.upstream_exact = true;
  rig.Start({}, exact);
  rig.cluster.Run(5s);
  EXPECT_THAT(rig.seller.ordered, IsEmpty());
}

TEST(GangBuying, AnOrderThatFailsLeavesNoIntentAndIsTriedAgainLater) {
  Rig rig;
  rig.seller.order_answer = ResourceExhausted("sold out");
  rig.cluster.Gang("gang", 2, "4");
  rig.Start();
  rig.cluster.Run(3s);
  EXPECT_THAT(rig.seller.ordered, SizeIs(1));
  EXPECT_EQ(rig.AnnotationOf("gang"), "");
  EXPECT_THAT(rig.buyer->Report()[0].why, HasSubstr("sold out"));
  rig.seller.order_answer = Status::Ok();
  rig.cluster.Run(15s);
  EXPECT_EQ(rig.seller.target, 2);
}

TEST(GangBuying, WhatCannotBeWrittenDownIsNotOrdered) {
  Rig rig;
  rig.cluster.Gang("gang", 2, "4");
  rig.Start();
  rig.cluster.away = true;
  rig.cluster.Run(5s);
  EXPECT_THAT(rig.seller.ordered, IsEmpty());
  rig.cluster.away = false;
  rig.cluster.Run(30s);
  EXPECT_THAT(rig.seller.ordered, SizeIs(1));
}

TEST(GangBuying, OthersAreEvictedOnlyIfNobodySells) {
  for (const bool sells : {true, false}) {
    Rig rig;
    rig.cluster.Node("there", "4");
    rig.cluster.Gang("low", 4, "1", "default", 1);
    rig.Start();
    rig.cluster.Run(4s);
    ASSERT_EQ(rig.cluster.Bound("low"), 4);
    if (!sells) rig.seller.refusal = "is closed";
    rig.cluster.seen->Upsert(std::make_shared<const model::PriorityClass>(
        model::PriorityClass{.metadata = {.name = "high"}, .value = 100}));
    rig.cluster.Group("high", 1, "default", "", "high");
    rig.cluster.Pod("high-w-0", "high", "2", 100);
    rig.cluster.Run(6s);
    EXPECT_EQ(rig.cluster.deleted.empty(), sells);
    EXPECT_EQ(rig.seller.target, sells ? 1 : 0);
  }
}

TEST(GangBuying, AnOfferAboveTheLimitIsNotTaken) {
  Rig rig;
  batch::BuyingOptions options;
  options.most_per_hour = 3;
  rig.cluster.Gang("gang", 2, "4");
  rig.Start(options);
  rig.cluster.Run(5s);
  EXPECT_THAT(rig.seller.ordered, IsEmpty());
  EXPECT_THAT(rig.buyer->Report()[0].why, HasSubstr("4 an hour"));
}

// A real API server shows pods one after the other.
TEST(GangBuying, NothingIsBoughtForThePodsThatAreThereWhileOthersAreStillToCome) {
  Rig rig;
  rig.cluster.Group("gang", 3);
  rig.cluster.Pod("gang-w-0", "gang", "4");
  rig.Start();
  rig.cluster.Run(5s);
  EXPECT_THAT(rig.seller.quoted, IsEmpty());
  ASSERT_THAT(rig.buyer->Report(), SizeIs(1));
  EXPECT_THAT(rig.buyer->Report()[0].why, HasSubstr("2 of its pods are not created yet"));
  rig.cluster.Pod("gang-w-1", "gang", "4");
  rig.cluster.Pod("gang-w-2", "gang", "4");
  rig.cluster.Run(3s);
  ASSERT_THAT(rig.seller.ordered, SizeIs(1));
  EXPECT_EQ(rig.seller.target, 3);
}

TEST(GangBuying, AGroupWhosePodsAreStillToBeMadeIsQuotedByItsMinimum) {
  Rig rig;
  rig.cluster.Create(
      {"scheduling.volcano.sh/v1beta1", "podgroups", "ns", "later"},
      R"({"kind":"PodGroup","metadata":{"ownerReferences":[{"apiVersion":"example.com/v1",)"
      R"("kind":"Train","name":"t","uid":"u","controller":true}]},)"
      R"("spec":{"minMember":4,"queue":"default","minResources":{"cpu":"16"}}})");
  rig.Start();
  rig.cluster.Run(4s);
  ASSERT_FALSE(rig.seller.quoted.empty());
  const market::Want& want = rig.seller.quoted.front();
  ASSERT_THAT(want.classes, SizeIs(1));
  EXPECT_EQ(want.classes[0].count, 4);
  EXPECT_FALSE(want.classes[0].created);
  EXPECT_EQ(batch::PodRequest(*want.classes[0].pod).cpu, 4000);
  EXPECT_EQ(rig.seller.target, 4);
}

}  // namespace
}  // namespace coppice
