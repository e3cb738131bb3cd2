#include "market/market.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/executor.h"
#include "base/fake_clock.h"
#include "market/choose.h"
#include "market/fake_seller.h"
#include "market/intent.h"

namespace coppice::market {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Offer AnOffer(std::string seller, int machines, std::optional<double> price) {
  Offer offer{.seller = std::move(seller), .gang = "ns/gang"};
  offer.lots.push_back({.source = "g", .machines = machines, .price_per_hour = price});
  return offer;
}

template <class T>
T Now(Task<T> task) {
  FakeClock clock;
  Executor executor(clock);
  std::optional<T> answer;
  const auto keep = [](Task<T> inner, std::optional<T>& out) -> Task<void> {
    out.emplace(co_await std::move(inner));
  };
  executor.Spawn(keep(std::move(task), answer));
  executor.RunUntilIdle();
  return *std::move(answer);
}

Want AWant(int tasks) {
  Want want{.gang = "ns/gang"};
  want.classes.push_back({.role = "worker", .pod = std::make_shared<model::Pod>(), .count = tasks});
  return want;
}

TEST(ChooseTest, TheCheapestWholeOfferWins) {
  const std::vector<Offer> offers = {AnOffer("a", 2, 4.0), AnOffer("b", 9, 3.5),
                                     AnOffer("c", 1, 5.0)};
  EXPECT_EQ(BestOf(offers)->seller, "b");
}

TEST(ChooseTest, AnOfferWithoutAPriceLosesToOneWith) {
  const std::vector<Offer> offers = {AnOffer("a", 1, std::nullopt), AnOffer("b", 9, 100.0)};
  EXPECT_EQ(BestOf(offers)->seller, "b");
}

TEST(ChooseTest, OneLotWithoutAPriceLeavesTheOfferWithoutOne) {
  Offer half = AnOffer("a", 1, 1.0);
  half.lots.push_back({.source = "h", .machines = 1});
  EXPECT_EQ(half.price_per_hour(), std::nullopt);
  EXPECT_TRUE(IsBetter(AnOffer("b", 9, 100.0), half));
}

TEST(ChooseTest, AtTheSamePriceFewerMachinesWinThenTheName) {
  EXPECT_TRUE(IsBetter(AnOffer("z", 1, 2.0), AnOffer("a", 2, 2.0)));
  EXPECT_TRUE(IsBetter(AnOffer("a", 2, 2.0), AnOffer("b", 2, 2.0)));
  EXPECT_FALSE(IsBetter(AnOffer("b", 2, 2.0), AnOffer("a", 2, 2.0)));
}

TEST(ChooseTest, WhatIsOnItsWayCostsNothingAndBeatsEveryPurchase) {
  const Offer nothing{.seller = "z", .gang = "ns/gang"};
  EXPECT_TRUE(IsBetter(nothing, AnOffer("a", 1, 0.01)));
}

TEST(ChooseTest, AWholeOfferBeatsACheaperPartOfIt) {
  Offer part = AnOffer("a", 1, 1.0);
  part.whole = false;
  EXPECT_TRUE(IsBetter(AnOffer("b", 9, 100.0), part));
}

TEST(ChooseTest, NoOfferIsNoChoice) { EXPECT_EQ(BestOf({}), nullptr); }

TEST(MarketTest, TakesTheBestOfAllSellersAndKeepsTheRefusals) {
  FakeSeller groups("node groups");
  groups.price_per_machine = 3;
  FakeSeller pools("node pools");
  pools.price_per_machine = 2;
  FakeSeller closed("closed");
  closed.refusal = "is closed";
  Market market({&groups, &pools, &closed});
  const Market::Answer answer = Now(market.Quote(AWant(4), {}));
  ASSERT_TRUE(answer.best.has_value());
  EXPECT_EQ(answer.best->seller, "node pools");
  EXPECT_THAT(answer.others, SizeIs(1));
  ASSERT_THAT(answer.refusals, SizeIs(1));
  EXPECT_EQ(TextOf(answer.refusals[0]), "closed: is closed");
}

TEST(MarketTest, AGangIsNotOfferedAPartOfWhatItNeeds) {
  FakeSeller groups("node groups");
  groups.max = 3;
  Market market({&groups});
  const Market::Answer none = Now(market.Quote(AWant(4), {}));
  EXPECT_FALSE(none.best.has_value());
  ASSERT_THAT(none.refusals, SizeIs(1));
  EXPECT_EQ(none.refusals[0].short_of, 1);
  Want some = AWant(4);
  some.in_part = true;
  const Market::Answer part = Now(market.Quote(some, {}));
  ASSERT_TRUE(part.best.has_value());
  EXPECT_EQ(part.best->served, 3);
}

TEST(MarketTest, OrdersGoBackToWhoOffered) {
  FakeSeller groups("node groups");
  FakeSeller pools("node pools");
  Market market({&groups, &pools});
  const Outcome outcome = Now(market.Order(AnOffer("node pools", 2, 1.0)));
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_EQ(pools.target, 2);
  EXPECT_EQ(groups.target, 0);
  EXPECT_TRUE(Now(market.Cancel(outcome)).ok());
  EXPECT_EQ(pools.target, 0);
}

TEST(MarketTest, AnOrderOfASellerThatIsGoneIsRefusedByName) {
  Market market({});
  const Outcome outcome = Now(market.Order(AnOffer("node pools", 2, 1.0)));
  EXPECT_THAT(outcome.status.message(), HasSubstr("node pools"));
  // Nobody knows better than that it may still come.
  Outcome old{
      .status = {}, .seller = "node pools", .gang = "ns/gang", .lots = {}, .ordered_at = {}};
  old.lots.push_back({.source = "p", .machines = 3});
  EXPECT_EQ(market.Look(old, {}).coming, 3);
}

TEST(MarketTest, StockIsTheSumOfAllSellers) {
  FakeSeller a("a");
  a.stock["cpu"] = *model::Quantity::Parse("4");
  FakeSeller b("b");
  b.stock["cpu"] = *model::Quantity::Parse("500m");
  const Market market({&a, &b});
  EXPECT_EQ(market.Stock({}).Find("cpu")->MilliValue(), 4500);
}

Outcome APurchase(std::string seller, std::vector<Lot> lots) {
  return {.status = {},
          .seller = std::move(seller),
          .gang = "",
          .lots = std::move(lots),
          .ordered_at = TimePoint(std::chrono::seconds(100))};
}

TEST(IntentTest, SurvivesBeingWritten) {
  Intent intent{.attempt = 3, .until = TimePoint(std::chrono::seconds(700))};
  intent.bought = {
      APurchase("node groups", {{.source = "a",
                                 .machines = 2,
                                 .claimed = 1,
                                 .before = 1,
                                 .after = 3,
                                 .price_per_hour = 0.5},
                                {.source = "b", .machines = 1, .before = 0, .after = 1}}),
      APurchase("node pools", {{.source = "a", .machines = 4}})};
  intent.ordering = APurchase("node pools", {{.source = "c", .machines = 5}});
  const auto read = ParseIntent(FormatIntent(intent));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->attempt, 3);
  EXPECT_EQ(read->until, intent.until);
  ASSERT_THAT(read->bought, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->bought[i].seller, intent.bought[i].seller);
    EXPECT_EQ(read->bought[i].ordered_at, intent.bought[i].ordered_at);
    EXPECT_EQ(read->bought[i].lots, intent.bought[i].lots);
  }
  ASSERT_TRUE(read->ordering.has_value());
  EXPECT_EQ(read->ordering->lots, intent.ordering->lots);
  intent.ordering.reset();
  EXPECT_FALSE(ParseIntent(FormatIntent(intent))->ordering.has_value());
}

TEST(IntentTest, PurchasesOfOneSellerAndSourceAreOneLotAndOthersStayApart) {
  std::vector<Outcome> bought;
  AddPurchase(bought, APurchase("x", {{.source = "a", .machines = 2, .after = 2}}));
  AddPurchase(bought, APurchase("y", {{.source = "a", .machines = 3, .after = 3}}));
  AddPurchase(bought, APurchase("x", {{.source = "a", .machines = 1, .claimed = 1, .after = 4},
                                      {.source = "b", .machines = 7, .after = 7}}));
  AddPurchase(bought, APurchase("x", {}));
  ASSERT_THAT(bought, SizeIs(3));
  ASSERT_THAT(bought[0].lots, SizeIs(1));
  EXPECT_EQ(bought[0].lots[0],
            (Lot{.source = "a", .machines = 3, .claimed = 1, .before = 0, .after = 4}));
  EXPECT_EQ(bought[1].lots[0].machines, 3);
  ASSERT_THAT(bought[2].lots, SizeIs(1));
  EXPECT_EQ(bought[2].lots[0].source, "b");
}

TEST(IntentTest, TextThatIsNoneIsAnErrorAndNeverACrash) {
  for (const char* text :
       {"", "[]", "{", "7", R"({"bought":1})", R"({"bought":[1]})", R"({"bought":[{"lots":1}]})",
        R"({"bought":[{"lots":[1]}]})", R"({"bought":[{"lots":[{"machines":1}]}]})",
        R"({"ordering":7})", R"({"attempt":-1})", R"({"attempt":18446744073709551615})",
        R"({"bought":[{"at":"yesterday"}]})"}) {
    EXPECT_FALSE(ParseIntent(text).ok()) << text;
  }
  EXPECT_TRUE(ParseIntent("{}").ok());
}

TEST(IntentTest, HoldValuesFitIntoATaintAndTellLongNamesApart) {
  EXPECT_EQ(HoldValue("ns/gang"), "ns.gang");
  const std::string name(100, 'a');
  EXPECT_EQ(HoldValue("ns/" + name).size(), 63U);
  EXPECT_NE(HoldValue("ns/" + name), HoldValue("ns/" + name + "b"));
}

}  // namespace
}  // namespace coppice::market
