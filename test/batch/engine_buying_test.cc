// Gangs are bought for as a whole: a batch engine, a buyer and a seller of machines on a fake clock.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "batch/buying/gang_buyer.h"
#include "batch/controllers/volcano_job.h"
#include "market/fake_seller.h"
#include "report/batch_text.h"
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

TEST(GangBuying, ANoteThatCouldNotBeRemovedIsRemovedLater) {
  Rig rig;
  batch::BuyingOptions options;
  options.hold = 30s;
  rig.cluster.Gang("gang", 3, "4");
  rig.Start(options);
  rig.cluster.Run(3s);
  ASSERT_THAT(rig.seller.ordered, SizeIs(1));
  rig.seller.refusal = "sold out";
  rig.cluster.away = true;
  rig.cluster.Run(40s);
  ASSERT_THAT(rig.seller.cancelled, SizeIs(1));
  EXPECT_NE(rig.AnnotationOf("gang"), "");
  rig.cluster.away = false;
  rig.cluster.Run(30s);
  EXPECT_EQ(rig.AnnotationOf("gang"), "");
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

// As Volcano's controllers leave it: a Job and its group, and no pods before the queue has let it in.
void LateJob(Rig& rig, const std::string& spec) {
  auto job = batch::ReadVolcanoJob(R"({"metadata":{"name":"train","namespace":"ns","uid":"u"},)"
                                   R"("spec":)" +
                                   spec + "}");
  ASSERT_TRUE(job.ok()) << job.status();
  const auto shown = std::make_shared<const batch::VolcanoJob>(*std::move(job));
  rig.cluster.seen->Upsert(shown);
  rig.cluster.Create({"scheduling.volcano.sh/v1beta1", "podgroups", "ns", "train-u"},
                     R"({"kind":"PodGroup","metadata":{"ownerReferences":[{"apiVersion":)"
                     R"("batch.volcano.sh/v1alpha1","kind":"Job","name":"train","uid":"u",)"
                     R"("controller":true}]},"spec":{"minMember":)" +
                         std::to_string(shown->least()) +
                         R"(,"queue":"default","minResources":{"cpu":"5","count/pods":"3",)"
                         R"("pods":"3","requests.cpu":"5","limits.cpu":"5"}}})");
}

std::string TaskOf(const std::string& name, int replicas, const std::string& cpu,
                   const std::string& more = "") {
  return R"({"name":")" + name + R"(","replicas":)" + std::to_string(replicas) + more +
         R"(,"template":{"spec":{"containers":[{"name":"c","image":"i","resources":)"
         R"({"requests":{"cpu":")" +
         cpu + R"("}}}]}}})";
}

TEST(GangBuying, PodsThatAreMadeLateAreQuotedByTheTemplatesOfTheirJob) {
  Rig rig;
  LateJob(rig, R"({"tasks":[)" + TaskOf("master", 1, "1") + "," + TaskOf("worker", 2, "2") + "]}");
  rig.Start();
  rig.cluster.Run(3s);
  ASSERT_FALSE(rig.seller.quoted.empty());
  const market::Want& want = rig.seller.quoted.front();
  ASSERT_THAT(want.classes, SizeIs(2));
  EXPECT_EQ(want.classes[0].role, "master");
  EXPECT_EQ(want.classes[0].count, 1);
  EXPECT_EQ(batch::PodRequest(*want.classes[0].pod).cpu, 1000);
  EXPECT_EQ(want.classes[1].role, "worker");
  EXPECT_EQ(want.classes[1].count, 2);
  EXPECT_EQ(batch::PodRequest(*want.classes[1].pod).cpu, 2000);
  EXPECT_EQ(rig.seller.target, 3);
}

TEST(GangBuying, AJobThatNeedsMoreThanItsTasksDemandIsQuotedByItsTemplatesAll) {
  Rig rig;
  LateJob(rig, R"({"minAvailable":3,"tasks":[)" + TaskOf("master", 1, "1", R"(,"minAvailable":1)") +
                   "," + TaskOf("worker", 4, "2", R"(,"minAvailable":1)") + "]}");
  rig.Start();
  rig.cluster.Run(3s);
  ASSERT_FALSE(rig.seller.quoted.empty());
  const market::Want& want = rig.seller.quoted.front();
  ASSERT_THAT(want.classes, SizeIs(2));
  EXPECT_EQ(want.classes[1].count, 2) << "equal parts of minResources instead of a worker";
}

// Where the Job is not to be seen there is its group's minimum, with what a quota counts in it.
TEST(GangBuying, WhatAQuotaCountsIsNotAskedOfMachines) {
  Rig rig;
  LateJob(rig, R"({"tasks":[)" + TaskOf("worker", 3, "2") + "]}");
  rig.cluster.seen->Erase<batch::VolcanoJob>("ns", "train");
  rig.Start();
  rig.cluster.Run(3s);
  ASSERT_FALSE(rig.seller.quoted.empty());
  const market::Want& want = rig.seller.quoted.front();
  ASSERT_THAT(want.classes, SizeIs(1));
  const auto& requests = want.classes[0].pod->spec.containers[0].resources.requests;
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests.begin()->first, "cpu");
}

// Two who need the room of four pods of less importance.
void WantRoomOfOthers(Rig& rig, const std::string& priority_class) {
  rig.cluster.seen->Upsert(std::make_shared<const model::PriorityClass>(
      model::PriorityClass{.metadata = {.name = "high"}, .value = 100}));
  rig.cluster.Group("high", 1, "default", "", priority_class);
  rig.cluster.Pod("high-w-0", "high", "2", priority_class.empty() ? 0 : 100);
}

TEST(GangBuying, WhatIsDoneFirstIsAsPreferred) {
  using batch::Prefer;
  struct Row {
    Prefer prefer;
    double preempt_above;
    bool evicts;
  };
  // A machine costs 2 an hour.
  for (const Row& row : {Row{Prefer::kBuying, 0, false}, Row{Prefer::kPreempting, 100, true},
                         Row{Prefer::kByPrice, 3, false}, Row{Prefer::kByPrice, 1, true}}) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(row.prefer) << " " << row.preempt_above);
    Rig rig;
    batch::BuyingOptions options;
    options.prefer = row.prefer;
    options.preempt_above = row.preempt_above;
    rig.cluster.Node("there", "4");
    rig.cluster.Gang("low", 4, "1", "default", 1);
    rig.Start(options);
    rig.cluster.Run(4s);
    ASSERT_EQ(rig.cluster.Bound("low"), 4);
    WantRoomOfOthers(rig, "high");
    rig.cluster.Run(6s);
    EXPECT_EQ(!rig.cluster.deleted.empty(), row.evicts);
    EXPECT_EQ(rig.seller.target, row.evicts ? 0 : 1);
  }
}

TEST(GangBuying, WhatIsTooDearIsBoughtWhenEvictionsDoNotHelp) {
  Rig rig;
  batch::BuyingOptions options;
  options.prefer = batch::Prefer::kByPrice;
  options.preempt_above = 1;
  options.preempt_for = 60s;
  rig.cluster.Node("there", "4");
  rig.cluster.Gang("low", 4, "1", "default", 1);
  rig.Start(options);
  rig.cluster.Run(4s);
  WantRoomOfOthers(rig, "");  // no more important than those who have the room
  rig.cluster.Run(30s);
  EXPECT_THAT(rig.seller.ordered, IsEmpty());
  EXPECT_THAT(rig.buyer->Report()[0].why, HasSubstr("above 1 an hour others are evicted first"));
  rig.cluster.Run(35s);
  EXPECT_EQ(rig.seller.target, 1);
  EXPECT_THAT(rig.cluster.deleted, IsEmpty());
}

// At the start of the process nobody knows yet what is for sale.
TEST(GangBuying, EvictionsWaitForSellersButNotForEver) {
  Rig rig;
  batch::BuyingOptions options;
  options.await_sellers = 30s;
  rig.cluster.Node("there", "4");
  rig.cluster.Gang("low", 4, "1", "default", 1);
  rig.Start(options);
  rig.cluster.Run(4s);
  ASSERT_EQ(rig.cluster.Bound("low"), 4);
  rig.seller.ready = false;
  WantRoomOfOthers(rig, "high");
  rig.cluster.Run(20s);
  EXPECT_THAT(rig.cluster.deleted, IsEmpty()) << "machines may be for sale";
  rig.cluster.Run(20s);
  EXPECT_THAT(rig.cluster.deleted, Not(IsEmpty()));
}

// 404 cores are promised to a gang that nobody has 101 machines for.
void PromiseAlmostAll(Rig& rig) {
  rig.seller.stock["cpu"] = BatchCluster::Amount("410");
  rig.cluster.Group("huge", 101, "default", "404");
  for (int i = 0; i < 101; ++i) rig.cluster.Pod("huge-w-" + std::to_string(i), "huge", "4");
  rig.Start();
  rig.cluster.Run(5s);
  ASSERT_EQ(rig.cluster.PhaseOf("huge"), "Inqueue");
  ASSERT_EQ(rig.seller.target, 0);
}

TEST(GangBuying, AQuoteAdmitsWhomOnlyPromisesToOthersKeepOut) {
  Rig rig;
  PromiseAlmostAll(rig);
  rig.cluster.Group("small", 25, "default", "100");
  for (int i = 0; i < 25; ++i) rig.cluster.Pod("small-w-" + std::to_string(i), "small", "4");
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.PhaseOf("small"), "Inqueue");
  EXPECT_EQ(rig.seller.target, 25);
}

TEST(GangBuying, AQuoteAdmitsNobodyPastACeiling) {
  Rig rig;
  PromiseAlmostAll(rig);
  rig.cluster.Create({"scheduling.volcano.sh/v1beta1", "queues", "", "capped"},
                     R"({"kind":"Queue","spec":{"weight":1,"capability":{"cpu":"50"}},)"
                     R"("status":{"state":"Open"}})");
  rig.cluster.Group("small", 25, "capped", "100");
  for (int i = 0; i < 25; ++i) rig.cluster.Pod("small-w-" + std::to_string(i), "small", "4");
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.PhaseOf("small"), "Pending");
  EXPECT_EQ(rig.seller.target, 0);
  const auto report = rig.buyer->Report();
  const auto small = std::ranges::find(report, "ns/small", &report::WaitingGang::gang);
  ASSERT_NE(small, report.end());
  EXPECT_THAT(small->why, HasSubstr("nothing is bought: it is not admitted to its queue capped ("));
}

TEST(GangBuying, AQuoteThatFailsAdmitsNobody) {
  Rig rig;
  PromiseAlmostAll(rig);
  rig.seller.refusal = "is closed";
  rig.cluster.Group("small", 25, "default", "100");
  for (int i = 0; i < 25; ++i) rig.cluster.Pod("small-w-" + std::to_string(i), "small", "4");
  rig.cluster.Run(5s);
  EXPECT_EQ(rig.cluster.PhaseOf("small"), "Pending");
}

TEST(GangBuying, AGangThatWaitsSaysWhichOfItsTasksWouldGoWhere) {
  Rig rig;
  rig.seller.refusal = "is closed";
  rig.cluster.Node("there", "8");
  rig.cluster.Gang("gang", 3, "4");
  rig.Start();
  rig.cluster.Run(3s);
  const auto report = rig.buyer->Report();
  ASSERT_THAT(report, SizeIs(1));
  EXPECT_THAT(report::GangText(report[0]), HasSubstr("gang-w-0 on there, gang-w-1 on there\n"));
}

}  // namespace
}  // namespace coppice
