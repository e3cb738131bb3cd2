#include "provision/pool_seller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "market/intent.h"
#include "market/market.h"
#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
namespace names = model::karpenter;

constexpr char kGang[] = "default/gang";

class PoolSellerTest : public testing::Test {
 protected:
  void Start() { rig_.RunFor(seconds(2)); }
  static market::TaskClass Tasks(int count, int64_t cpu_millis) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = "task";
    pod->metadata.namespace_ = "default";
    pod->spec.scheduler_name = "volcano";
    model::Container container;
    container.resources.requests["cpu"] = model::Quantity::FromMillis(cpu_millis);
    pod->spec.containers.push_back(std::move(container));
    return {.role = "worker", .pod = std::move(pod), .count = count};
  }
  static market::Want Gang(std::vector<market::TaskClass> classes) {
    market::Want want;
    want.gang = kGang;
    want.classes = std::move(classes);
    return want;
  }
  market::Seller& seller() { return rig_.engine().seller(); }
  market::Quotes Ask(market::Want want) {
    market::View view;
    view.now = rig_.Now();
    return rig_.executor().BlockOn(seller().Quote(std::move(want), std::move(view)));
  }
  std::vector<market::Offer> Offers(market::Want want) {
    auto quotes = Ask(std::move(want));
    if (const auto* no = std::get_if<market::Refusal>(&quotes)) {
      ADD_FAILURE() << market::TextOf(*no);
      return {};
    }
    return std::get<std::vector<market::Offer>>(quotes);
  }
  market::Offer Offered(market::Want want) {
    auto offers = Offers(std::move(want));
    EXPECT_THAT(offers, SizeIs(1));
    return offers.empty() ? market::Offer() : offers.front();
  }
  market::Refusal Refused(market::Want want) {
    auto quotes = Ask(std::move(want));
    auto* no = std::get_if<market::Refusal>(&quotes);
    if (no == nullptr) {
      ADD_FAILURE() << "there was an offer";
      return {};
    }
    return *no;
  }
  market::Outcome Ordered(market::Offer offer) {
    return rig_.executor().BlockOn(seller().Order(std::move(offer)));
  }
  static bool IsHeld(const std::vector<model::Taint>& taints) {
    return std::ranges::any_of(taints, [](const model::Taint& taint) {
      return taint.key == market::kHeldForTaint && taint.value == market::HoldValue(kGang);
    });
  }
  void FreeNodes() {
    for (const model::Node& node : rig_.Nodes()) {
      cluster::NodeChange change;
      change.remove_taints.emplace_back(market::kHeldForTaint);
      ASSERT_TRUE(
          rig_.executor().BlockOn(rig_.ChangeNode(node.metadata.name, std::move(change))).ok());
    }
  }

  EngineRig rig_;
};

TEST_F(PoolSellerTest, AGangIsOfferedWholeWithItsPriceAndNothingIsTouched) {
  rig_.AddPool("default");
  Start();
  const market::Offer offer = Offered(Gang({Tasks(5, 1000), Tasks(2, 1500)}));
  EXPECT_EQ(offer.seller, "node pools");
  EXPECT_TRUE(offer.whole);
  EXPECT_EQ(offer.served, 7);
  ASSERT_THAT(offer.lots, SizeIs(1));
  EXPECT_EQ(offer.lots[0].source, "default");
  EXPECT_GT(offer.machines(), 0);
  EXPECT_GT(offer.price_per_hour().value_or(0), 0);
  int seats = 0;
  for (const market::Seat& seat : offer.seats) seats += seat.count;
  EXPECT_EQ(seats, 7);
  EXPECT_THAT(rig_.Claims(), IsEmpty());
  EXPECT_EQ(rig_.cloud.ever_made(), 0u);
}

TEST_F(PoolSellerTest, WhatIsBoughtIsHeldForItsGangFromTheFirstMoment) {
  rig_.AddPool("default");
  Start();
  const market::Offer offer = Offered(Gang({Tasks(3, 1000)}));
  const market::Outcome outcome = Ordered(offer);
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  ASSERT_EQ(static_cast<int>(rig_.Claims().size()), offer.machines());
  for (const market::Lot& lot : outcome.lots) EXPECT_TRUE(seller().WasOrdered(outcome, lot));
  EXPECT_EQ(seller().Look(outcome, {}).coming, offer.machines());
  // Somebody else's pod comes while it is on its way, and another one when it is there.
  rig_.AddPod("other", 100);
  rig_.RunFor(minutes(2));
  rig_.AddPod("late", 100);
  rig_.RunFor(minutes(2));
  const market::Delivery delivery = seller().Look(outcome, {});
  EXPECT_EQ(static_cast<int>(delivery.nodes.size()), offer.machines());
  EXPECT_EQ(delivery.coming + delivery.lost, 0);
  for (const model::Node& node : rig_.Nodes()) {
    const bool ours = std::ranges::find(delivery.nodes, node.metadata.name) != delivery.nodes.end();
    EXPECT_EQ(IsHeld(node.spec.taints), ours) << node.metadata.name;
  }
  for (const char* pod : {"other", "late"}) {
    const std::string& node = rig_.FindPod(pod)->spec.node_name;
    EXPECT_FALSE(node.empty()) << pod << " waits for a machine that is a gang's";
    EXPECT_EQ(std::ranges::find(delivery.nodes, node), delivery.nodes.end());
  }
}

TEST_F(PoolSellerTest, WhatIsHeldIsNotConsolidatedAndGoesWhenItIsFreeAndEmpty) {
  rig_.AddPool("default");
  Start();
  const market::Outcome outcome = Ordered(Offered(Gang({Tasks(3, 1000)})));
  const size_t machines = rig_.Claims().size();
  rig_.RunFor(minutes(10));
  EXPECT_EQ(rig_.Claims().size(), machines) << "an empty machine that is held was taken away";
  FreeNodes();
  EXPECT_TRUE(rig_.RunUntil([&] { return rig_.Claims().empty(); }, minutes(5)));
}

TEST_F(PoolSellerTest, LimitsAreKeptAndTheRefusalSaysWhichPoolLacksWhat) {
  rig_.AddPool("small", [](model::NodePool& pool) {
    pool.spec.limits["nodes"] = model::Quantity::FromUnits(2);
  });
  rig_.AddPool("tainted", [](model::NodePool& pool) {
    model::Taint taint;
    taint.key = "gpu";
    taint.effect = model::kNoSchedule;
    pool.spec.template_.spec.taints = {taint};
  });
  Start();
  market::Want want = Gang({Tasks(60, 1500)});
  const market::Refusal no = Refused(want);
  EXPECT_EQ(no.seller, "node pools");
  EXPECT_GT(no.short_of, 0);
  ASSERT_THAT(no.reasons, SizeIs(2));
  for (const market::Refusal::Reason& reason : no.reasons) {
    EXPECT_THAT(reason.text, HasSubstr(reason.source == "tainted" ? "gpu" : "limit"));
    EXPECT_THAT(reason.text, testing::Not(HasSubstr("group")));
  }
  want.in_part = true;
  const market::Offer part = Offered(want);
  EXPECT_FALSE(part.whole);
  EXPECT_EQ(part.machines(), 2);
  EXPECT_EQ(part.served + no.short_of, 60);
}

TEST_F(PoolSellerTest, MachinesOfOneTopologyDomainAreOfferedDomainByDomain) {
  rig_.AddPool("default");
  Start();
  market::Want want = Gang({Tasks(3, 1000)});
  want.topology.key = std::string(model::kZoneLabel);
  const auto offers = Offers(want);
  ASSERT_GT(offers.size(), 1u);
  ASSERT_TRUE(Ordered(offers.back()).status.ok());
  ASSERT_FALSE(rig_.Claims().empty());
  for (const auto& claim : rig_.Claims()) {
    const auto zone = std::ranges::find(claim.spec.requirements, std::string(model::kZoneLabel),
                                        &model::RequirementSpec::key);
    ASSERT_NE(zone, claim.spec.requirements.end());
    EXPECT_THAT(zone->values, SizeIs(1));
  }
}

TEST_F(PoolSellerTest, OneClaimThatCannotBeCreatedTakesTheOthersBack) {
  rig_.AddPool("default");
  Start();
  const market::Offer offer = Offered(Gang({Tasks(60, 3000)}));
  ASSERT_GT(offer.machines(), 1);
  int creates = 0;
  rig_.before_write = [&](std::string_view what) {
    return what == "create" && ++creates == 2 ? InvalidArgument("no more than one") : Status::Ok();
  };
  const market::Outcome outcome = Ordered(offer);
  EXPECT_FALSE(outcome.status.ok());
  EXPECT_THAT(outcome.lots, IsEmpty());
  rig_.before_write = nullptr;
  EXPECT_TRUE(
      rig_.RunUntil([&] { return rig_.Claims().empty() && rig_.Machines().empty(); }, minutes(3)));
}

TEST_F(PoolSellerTest, AnOfferIsGoodForOneOrder) {
  rig_.AddPool("default");
  Start();
  const market::Offer offer = Offered(Gang({Tasks(1, 1000)}));
  EXPECT_TRUE(Ordered(offer).status.ok());
  EXPECT_EQ(Ordered(offer).status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(rig_.Claims(), SizeIs(1));
}

TEST_F(PoolSellerTest, TheNextProcessFindsWhatWasOrderedAndCanGiveItBack) {
  rig_.AddPool("default");
  Start();
  market::Outcome outcome = Ordered(Offered(Gang({Tasks(3, 1000)})));
  const int machines = static_cast<int>(rig_.Claims().size());
  rig_.RunFor(minutes(2));
  rig_.Restart();
  EXPECT_FALSE(seller().Ready()) << "it has not looked yet";
  Start();
  for (const market::Lot& lot : outcome.lots) EXPECT_TRUE(seller().WasOrdered(outcome, lot));
  EXPECT_EQ(static_cast<int>(seller().Look(outcome, {}).nodes.size()), machines);
  EXPECT_TRUE(rig_.executor().BlockOn(seller().Cancel(outcome)).ok());
  EXPECT_TRUE(rig_.RunUntil([&] { return rig_.Claims().empty(); }, minutes(5)));
  outcome.gang = "default/other";
  for (const market::Lot& lot : outcome.lots) EXPECT_FALSE(seller().WasOrdered(outcome, lot));
}

TEST_F(PoolSellerTest, AMachineThatSomebodyUsesIsNotGivenBack) {
  rig_.AddPool("default");
  Start();
  const market::Outcome outcome = Ordered(Offered(Gang({Tasks(1, 1000)})));
  rig_.RunFor(minutes(2));
  FreeNodes();
  rig_.AddPod("user", 500);
  rig_.RunFor(seconds(5));
  ASSERT_FALSE(rig_.FindPod("user")->spec.node_name.empty());
  EXPECT_TRUE(rig_.executor().BlockOn(seller().Cancel(outcome)).ok());
  EXPECT_THAT(rig_.Claims(), SizeIs(1));
  EXPECT_FALSE(rig_.Claims()[0].metadata.deletion_timestamp);
}

TEST_F(PoolSellerTest, ALaunchThatIsGivenUpIsLost) {
  rig_.AddPool("default");
  Start();
  rig_.cloud.on_create = [](const model::NodeClaim&) {
    return cloud::FakeAnswer{.status = ResourceExhausted("sold out"), .happens = false};
  };
  const market::Outcome outcome = Ordered(Offered(Gang({Tasks(1, 1000)})));
  rig_.RunFor(seconds(10));
  EXPECT_EQ(seller().Look(outcome, {}).lost, 1);
}

TEST_F(PoolSellerTest, StockIsWhatLimitsLeave) {
  rig_.AddPool("default", [](model::NodePool& pool) {
    pool.spec.limits["cpu"] = model::Quantity::FromUnits(10);
  });
  Start();
  rig_.AddPod("p", 1000);
  rig_.RunFor(minutes(2));
  const auto used = rig_.Pool("default").status.resources.Find("cpu")->MilliValue();
  ASSERT_GT(used, 0);
  EXPECT_EQ(seller().Stock(rig_.Now()).Find("cpu")->MilliValue(), 10'000 - used);
}

}  // namespace
}  // namespace coppice::provision
