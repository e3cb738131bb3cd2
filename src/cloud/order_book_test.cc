#include "cloud/order_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "cloud/fake_cloud.h"
#include "test/support/must.h"
#include "test/support/step_workers.h"

namespace coppice::cloud {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kPoolTag[] = "pool";

const FakeAnswer kOrderRefused = {.status = ResourceExhausted("quota is used up"),
                                  .happens = false};
const FakeAnswer kAnswerLost = {.status = Unavailable("connection reset"), .happens = true};
const FakeAnswer kOrderLost = {.status = Unavailable("connection reset"), .happens = false};

// An owner as node claims are one: a group per pool, one machine at a time.
struct Pools final : OrderBook::Owner {
  Pools(const OrderBookContext& context, OrderBookOptions options)
      : book(context, std::move(options), *this) {}

  std::optional<std::string> GroupOf(const Machine& machine) const override {
    const auto tag = machine.tags.find(kPoolTag);
    return tag == machine.tags.end() ? std::nullopt : std::optional(tag->second);
  }
  bool Serves(std::string_view group) const override { return served.contains(group); }
  void Changed(std::string_view group, bool show) override {
    changed.emplace_back(group);
    shown += show ? 1 : 0;
  }
  void ListTaken() override { ++lists; }
  void BeforeMerge(Deadline) override { lists_before_merge.push_back(lists); }

  OrderBook book;
  std::set<std::string, std::less<>> served = {"spot"};
  std::vector<std::string> changed;
  int shown = 0;
  int lists = 0;
  std::vector<int> lists_before_merge;
};

class OrderBookTest : public testing::Test {
 protected:
  OrderBookTest() {
    workers.now = [this] { return !slow; };
    Restart();
  }
  void Restart() {
    workers.Forget();
    pools = std::make_shared<Pools>(
        OrderBookContext{cloud, workers, clock, rng, log},
        OrderBookOptions{
            .tags = {{kClusterTag, "prod"}}, .orphan_text = "orphan", .limits = limits});
    pools->book.set_owner_life(pools);
  }
  Deadline Soon() { return Deadline::In(clock, std::chrono::seconds(5)); }
  std::shared_ptr<const MachineSpec> What() {
    return std::make_shared<const MachineSpec>(
        MachineSpec{.flavor = "small",
                    .zone = "zone1",
                    .tags = {{kClusterTag, "prod"}, {kPoolTag, "spot"}},
                    .user_data = "#cloud-config"});
  }
  Result<Machine> Buy(const std::string& name) {
    return pools->book.Buy("spot", name, What(), Soon());
  }
  Status End(const std::string& id) { return pools->book.End("spot", id, Soon()); }
  void Pass(Duration time) {
    clock.Advance(time);
    ASSERT_OK(pools->book.Refresh(Soon()));
  }
  void AnswerCreates(std::deque<FakeAnswer> answers) {
    cloud.on_create = [this, answers = std::move(answers)](const MachineSpec&) mutable {
      ++creates;
      if (answers.empty()) return FakeAnswer{};
      FakeAnswer answer = answers.front();
      answers.pop_front();
      return answer;
    };
  }
  GroupCounts Count() {
    const OrderBook::Lock lock(pools->book.mutex());
    return pools->book.Count("spot");
  }

  FakeClock clock;
  FakeCloud cloud{clock};
  test::StepWorkers workers;
  SeededRng rng{7};
  Log log = Log::Null();
  LedgerLimits limits;
  bool slow = false;
  int creates = 0;
  std::shared_ptr<Pools> pools;
};

TEST_F(OrderBookTest, ANameIsBoughtOnceHoweverOftenItIsAskedFor) {
  AnswerCreates({});
  const Machine first = MUST(Buy("claim-1"));
  EXPECT_EQ(first.name, "claim-1");
  EXPECT_EQ(first.tags.at(kPoolTag), "spot");
  EXPECT_EQ(MUST(Buy("claim-1")).id, first.id);
  EXPECT_NE(MUST(Buy("claim-2")).id, first.id);
  EXPECT_EQ(creates, 2);
  EXPECT_EQ(cloud.alive().size(), 2u);
}

TEST_F(OrderBookTest, TheOrderCarriesWhatWasAskedForUnderItsName) {
  (void)MUST(Buy("claim-1"));
  const FakeCloud::Entry made = cloud.everything().at(0);
  EXPECT_EQ(made.spec.name, "claim-1");
  EXPECT_EQ(made.spec.user_data, "#cloud-config");
}

// A crash between the create and its answer: the next process finds the machine by its name.
TEST_F(OrderBookTest, AfterARestartTheMachineIsFoundByItsName) {
  const Machine first = MUST(Buy("claim-1"));
  Restart();
  EXPECT_EQ(MUST(Buy("claim-1")).id, first.id);
  EXPECT_EQ(cloud.everything().size(), 1u);
}

TEST_F(OrderBookTest, ARefusalIsToldAndTheNextAttemptIsANewOrder) {
  AnswerCreates({kOrderRefused});
  EXPECT_EQ(Buy("claim-1").code(), Code::kResourceExhausted);
  EXPECT_EQ(Count().ordered, 0);
  EXPECT_OK(Buy("claim-1").status());
  EXPECT_EQ(creates, 2);
}

TEST_F(OrderBookTest, ARefusalThatCameTooLateIsToldToWhoeverAsksNext) {
  EXPECT_OK(pools->book.Refresh(Soon()));
  AnswerCreates({kOrderRefused});
  slow = true;
  EXPECT_EQ(Buy("claim-1").code(), Code::kUnavailable);  // nobody has answered by the deadline
  EXPECT_EQ(Count().ordered, 1);
  workers.StepAll();
  EXPECT_EQ(Buy("claim-1").code(), Code::kResourceExhausted);
  EXPECT_EQ(Count().ordered, 0);
  EXPECT_EQ(creates, 1);
}

TEST_F(OrderBookTest, WhoeverAsksWhileTheOrderIsUnderWayGetsItsMachine) {
  EXPECT_OK(pools->book.Refresh(Soon()));
  AnswerCreates({});
  slow = true;
  EXPECT_EQ(Buy("claim-1").code(), Code::kUnavailable);
  EXPECT_EQ(Buy("claim-1").code(), Code::kUnavailable);
  EXPECT_EQ(workers.waiting(), 1u);  // one order, not two
  workers.StepAll();
  EXPECT_EQ(MUST(Buy("claim-1")).name, "claim-1");
  EXPECT_EQ(creates, 1);
}

TEST_F(OrderBookTest, ALostAnswerIsNeitherRepeatedNorForgottenBeforeAListTells) {
  AnswerCreates({kAnswerLost});
  EXPECT_EQ(Buy("claim-1").code(), Code::kUnavailable);
  EXPECT_THAT(Buy("claim-1").status().message(), HasSubstr("was lost"));
  EXPECT_EQ(creates, 1);
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(MUST(Buy("claim-1")).name, "claim-1");
  EXPECT_EQ(creates, 1);
}

TEST_F(OrderBookTest, AnOrderThatNeverArrivedIsRepeatedUnderItsNameByALateList) {
  AnswerCreates({kOrderLost});
  EXPECT_EQ(Buy("claim-1").code(), Code::kUnavailable);
  Pass(limits.list_lag / 2);
  EXPECT_EQ(creates, 1);
  Pass(limits.list_lag);
  EXPECT_EQ(creates, 2);
  EXPECT_EQ(MUST(Buy("claim-1")).name, "claim-1");
  EXPECT_EQ(cloud.everything().size(), 1u);
}

TEST_F(OrderBookTest, TheLastOfTooManyAttemptsIsToldAsAFailure) {
  AnswerCreates({kOrderLost, kOrderLost, kOrderLost});
  EXPECT_EQ(Buy("claim-1").code(), Code::kUnavailable);
  for (int i = 0; i < limits.max_attempts; ++i) Pass(limits.list_lag + std::chrono::seconds(1));
  EXPECT_EQ(creates, limits.max_attempts);
  EXPECT_THAT(Buy("claim-1").status().message(), HasSubstr("3 attempts"));
  EXPECT_OK(Buy("claim-1").status());
}

TEST_F(OrderBookTest, ADeletedMachineIsGoneOnceListsHaveForgottenIt) {
  const Machine machine = MUST(Buy("claim-1"));
  EXPECT_OK(End(machine.id));
  EXPECT_OK(End(machine.id));  // agreed already
  EXPECT_THAT(Buy("claim-1").status().message(), HasSubstr("being deleted"));
  Pass(limits.list_lag + std::chrono::seconds(1));
  EXPECT_EQ(End(machine.id).code(), Code::kNotFound);
  EXPECT_EQ(cloud.alive().size(), 0u);
  EXPECT_NE(MUST(Buy("claim-1")).id, machine.id);
}

TEST_F(OrderBookTest, ARefusedDeletionLeavesTheMachineCounted) {
  const Machine machine = MUST(Buy("claim-1"));
  cloud.on_delete = [](const ProviderId&) {
    return FakeAnswer{.status = PermissionDenied("locked"), .happens = false};
  };
  EXPECT_EQ(End(machine.id).code(), Code::kPermissionDenied);
  EXPECT_EQ(Count().existing, 1);
  EXPECT_EQ(End("fake://nobody").code(), Code::kNotFound);
}

TEST_F(OrderBookTest, AMachineThatComesAfterItWasGivenUpIsDeletedAgain) {
  EXPECT_OK(pools->book.Refresh(Soon()));
  slow = true;
  EXPECT_EQ(Buy("claim-1").code(), Code::kUnavailable);
  {
    const OrderBook::Lock lock(pools->book.mutex());
    pools->book.ledger().At("spot").orders.at("claim-1").doomed = true;
  }
  workers.StepAll();
  EXPECT_THAT(cloud.alive(), IsEmpty());
  EXPECT_EQ(cloud.everything().size(), 1u);
}

TEST_F(OrderBookTest, MachinesOfAGroupThatNobodyServesAreOrphansToldOnce) {
  std::vector<std::string> told;
  const Log heard(
      clock,
      [&](std::string_view line) {
        if (line.find("orphan") != std::string_view::npos) told.emplace_back(line);
      },
      LogFormat::kText);
  pools = std::make_shared<Pools>(
      OrderBookContext{cloud, workers, clock, rng, heard},
      OrderBookOptions{.tags = {{kClusterTag, "prod"}}, .orphan_text = "orphan"});
  pools->book.set_owner_life(pools);
  const ProviderId id = cloud.Plant("old-1", {{kClusterTag, "prod"}, {kPoolTag, "old"}});
  cloud.Plant("foreign", {{kClusterTag, "prod"}});
  Pass(std::chrono::seconds(1));
  Pass(std::chrono::seconds(1));
  EXPECT_EQ(told.size(), 1u);
  const OrderBook::Lock lock(pools->book.mutex());
  const std::vector<Machine> orphans = pools->book.Orphans();
  ASSERT_EQ(orphans.size(), 1u);
  EXPECT_EQ(orphans[0].id, id);
  EXPECT_EQ(pools->book.Count("old").existing, 1);
}

TEST_F(OrderBookTest, NothingIsOrderedForAGroupThatNobodyServes) {
  EXPECT_EQ(pools->book.Buy("other", "claim-1", What(), Soon()).code(), Code::kNotFound);
  EXPECT_OK(pools->book.Refresh(Soon()));
  slow = true;
  EXPECT_EQ(Buy("claim-1").code(), Code::kUnavailable);
  pools->served.clear();  // while the order waits
  workers.StepAll();
  EXPECT_THAT(cloud.everything(), IsEmpty());
}

TEST_F(OrderBookTest, WhatElseIsAskedIsAskedBeforeTheListIsTakenIn) {
  Pass(std::chrono::seconds(1));
  Pass(std::chrono::seconds(1));
  EXPECT_THAT(pools->lists_before_merge, ElementsAre(0, 1));
  EXPECT_EQ(pools->lists, 2);
}

TEST_F(OrderBookTest, NothingIsBoughtOnAListThatCouldNotBeRead) {
  cloud.on_list = [] { return FakeAnswer{.status = Unavailable("down"), .happens = false}; };
  EXPECT_THAT(Buy("claim-1").status().message(), HasSubstr("reading what exists"));
  EXPECT_THAT(cloud.everything(), IsEmpty());
}

TEST_F(OrderBookTest, DrainingDropsWhatWasNotSentAndRefusesTheRest) {
  EXPECT_OK(pools->book.Refresh(Soon()));
  slow = true;
  EXPECT_EQ(Buy("claim-1").code(), Code::kUnavailable);
  EXPECT_FALSE(pools->book.Drain(Soon()).ok());  // a piece waits that has nothing left to do
  EXPECT_EQ(Count().ordered, 0);
  workers.StepAll();
  EXPECT_OK(pools->book.Drain(Soon()));
  EXPECT_THAT(cloud.everything(), IsEmpty());
  EXPECT_EQ(Buy("claim-2").code(), Code::kUnavailable);
}

// What waits in the fan-out when its owner is destroyed must not touch it.
TEST_F(OrderBookTest, WorkThatWaitsIsDroppedWithItsOwner) {
  EXPECT_OK(pools->book.Refresh(Soon()));
  slow = true;
  EXPECT_EQ(Buy("claim-1").code(), Code::kUnavailable);
  pools.reset();
  workers.StepAll();
  EXPECT_THAT(cloud.everything(), IsEmpty());
}

TEST_F(OrderBookTest, NamesThatAreDrawnAreNobodyElses) {
  (void)MUST(Buy("spot-00000000"));
  const OrderBook::Lock lock(pools->book.mutex());
  std::set<std::string> names;
  for (int i = 0; i < 50; ++i) {
    for (const std::string& name : pools->book.NewNames("spot", 20)) {
      EXPECT_TRUE(names.insert(name).second);
      EXPECT_TRUE(name.starts_with("spot-"));
      EXPECT_EQ(name.size(), 13u);
    }
  }
}

}  // namespace
}  // namespace coppice::cloud
