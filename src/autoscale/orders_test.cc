#include "autoscale/orders.h"

#include <gmock/gmock.h>

#include <limits>

#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "test/support/held_workers.h"
#include "test/support/must.h"

namespace coppice::autoscale {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

class OrdersTest : public testing::Test {
 protected:
  OrdersTest() {
    groups_.Add({.info = {.id = "a", .min_size = 0, .max_size = 10}, .target = 2});
    groups_.Add({.info = {.id = "b", .min_size = 0, .max_size = 10}, .target = 0});
  }
  // The order is placed, and the answer, if it came in time, is in `answers_`.
  void Place(const std::string& group, int delta) {
    executor_.Spawn(PlaceOne(group, delta));
    executor_.RunUntilIdle();
  }
  Task<void> PlaceOne(std::string group, int delta) {
    const Orders::Heard late = [this](const Status& status) { late_.push_back(status.message()); };
    answers_.push_back(
        co_await orders_.Place(group, delta, false, clock_.Now() + milliseconds(200), late));
  }
  int Target(const std::string& group) { return MUST(orders_.groups().TargetSize(group)); }
  std::vector<std::string> Sent() {
    std::vector<std::string> sent;
    for (const auto& call : groups_.calls())
      if (call.method == "Increase") sent.push_back(call.group + "+" + std::to_string(call.delta));
    return sent;
  }

  FakeClock clock_;
  cloud::FakeNodeGroups groups_;
  test::HeldWorkers workers_;
  Executor executor_{clock_};
  CloudCalls cloud_{groups_, workers_, executor_};
  Orders orders_{groups_, cloud_, executor_};
  std::vector<std::optional<Status>> answers_;
  std::vector<std::string> late_;
};

TEST_F(OrdersTest, AQuickAnswerIsTheAnswer) {
  Place("a", 3);
  EXPECT_TRUE(answers_.empty());
  workers_.RunAll();
  executor_.RunUntilIdle();
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0] && answers_[0]->ok());
  EXPECT_TRUE(late_.empty());
  EXPECT_EQ(Target("a"), 5);
}

TEST_F(OrdersTest, AnOrderThatIsNotAnsweredGoesOnAndCountsAsOrdered) {
  Place("a", 3);
  executor_.RunFor(milliseconds(250));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_FALSE(answers_[0]);
  EXPECT_EQ(orders_.unanswered(), 1U);
  EXPECT_EQ(MUST(groups_.TargetSize("a")), 2);  // the provider does not show it yet
  EXPECT_EQ(Target("a"), 5);
  EXPECT_EQ(Target("b"), 0);

  workers_.RunAll();
  executor_.RunUntilIdle();
  EXPECT_THAT(late_, ElementsAre(""));
  EXPECT_EQ(orders_.unanswered(), 0U);
  EXPECT_EQ(Target("a"), 5);
}

// What a refresh said that began before the answer may be from before the order.
TEST_F(OrdersTest, AnAnsweredOrderCountsUntilARefreshHasSeenIt) {
  Place("a", 3);
  const uint64_t before = orders_.answers();  // a refresh begins
  workers_.RunAll();
  executor_.RunUntilIdle();
  groups_.Change("a", [](auto& group) { group.target = 2; });  // it read the old target
  orders_.Refreshed(before);
  EXPECT_EQ(Target("a"), 5);
  orders_.Refreshed(orders_.answers());
  EXPECT_EQ(Target("a"), 2);
}

TEST_F(OrdersTest, AnOrderThatFailsLateIsTakenBackAndTold) {
  Place("a", 3);
  executor_.RunFor(milliseconds(250));
  groups_.Fail("Increase", Status(Code::kResourceExhausted, "no more machines"));
  workers_.RunAll();
  executor_.RunUntilIdle();
  EXPECT_THAT(late_, ElementsAre("no more machines"));
  EXPECT_EQ(Target("a"), 2);
}

TEST_F(OrdersTest, OrdersOfOneGroupGoOutOneAfterTheOther) {
  Place("a", 1);
  Place("a", 2);
  Place("b", 4);
  EXPECT_EQ(Target("a"), 5);
  EXPECT_EQ(workers_.waiting(), 2U);  // of a the first only
  workers_.RunAll();
  executor_.RunUntilIdle();
  EXPECT_THAT(Sent(), ElementsAre("a+1", "b+4"));
  workers_.RunAll();
  executor_.RunUntilIdle();
  EXPECT_THAT(Sent(), ElementsAre("a+1", "b+4", "a+2"));
  EXPECT_EQ(Target("a"), 5);
}

TEST_F(OrdersTest, WhatWaitsBehindAFailureIsNotPlaced) {
  Place("a", 1);
  Place("a", 2);
  groups_.Fail("Increase", Status(Code::kUnavailable, "away"));
  workers_.RunAll();
  executor_.RunUntilIdle();
  groups_.Fail("Increase", Status::Ok());
  EXPECT_EQ(workers_.waiting(), 0U);
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_FALSE(answers_[1]->ok());
  EXPECT_EQ(Target("a"), 2);
  // The next one waits for nobody.
  Place("a", 1);
  workers_.RunAll();
  executor_.RunUntilIdle();
  EXPECT_TRUE(answers_[2] && answers_[2]->ok());
}

TEST_F(OrdersTest, WithoutPatienceThePassWaits) {
  std::optional<Status> answer;
  const auto place = [&]() -> Task<void> {
    answer = co_await orders_.Place("a", 1, false, TimePoint::max(), nullptr);
  };
  executor_.Spawn(place());
  executor_.RunFor(seconds(3));
  EXPECT_FALSE(answer);
  workers_.RunAll();
  executor_.RunUntilIdle();
  EXPECT_TRUE(answer && answer->ok());
}

TEST_F(OrdersTest, AnAbsurdTargetIsNobodysNumber) {
  groups_.Change("a", [](auto& group) { group.target = std::numeric_limits<int>::min(); });
  groups_.Change("b", [](auto& group) { group.target = std::numeric_limits<int>::max(); });
  EXPECT_EQ(Target("a"), 0);
  EXPECT_EQ(Target("b"), 1'000'000);
}

TEST_F(OrdersTest, TheVersionGrowsWithEveryChangeOfATarget) {
  const uint64_t first = orders_.groups().Version();
  Place("a", 1);
  const uint64_t placed = orders_.groups().Version();
  EXPECT_GT(placed, first);
  workers_.RunAll();
  executor_.RunUntilIdle();
  EXPECT_GT(orders_.groups().Version(), placed);
}

}  // namespace
}  // namespace coppice::autoscale
