#include "base/task.h"

#include <gmock/gmock.h>

#include <memory>

#include "base/executor.h"
#include "base/fake_clock.h"
#include "test/support/must.h"

namespace coppice {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

class TaskTest : public testing::Test {
 protected:
  FakeClock clock_;
  Executor executor_{clock_};
};

Task<int> Number(int number) { co_return number; }

Task<int> Sum(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await Number(1);
  co_return sum;
}

Task<Result<int>> HalfLater(int number) {
  if (number % 2 != 0) co_return InvalidArgument("odd");
  co_return number / 2;
}

Task<Result<int>> QuarterLater(int number) {
  CO_TRY(const int half, co_await HalfLater(number));
  CO_TRY(const int quarter, co_await HalfLater(half));
  co_return quarter;
}

Task<std::unique_ptr<int>> Owned(int number) { co_return std::make_unique<int>(number); }

TEST_F(TaskTest, YieldsItsValue) { EXPECT_EQ(executor_.BlockOn(Number(7)), 7); }

TEST_F(TaskTest, MovesWhatCannotBeCopied) { EXPECT_EQ(*executor_.BlockOn(Owned(7)), 7); }

TEST_F(TaskTest, AMillionAwaitsDoNotGrowTheStack) {
  EXPECT_EQ(executor_.BlockOn(Sum(1'000'000)), 1'000'000);
}

Task<int> Deep(Executor& executor, int depth) {
  if (depth == 0) {
    co_await executor.Sleep(seconds(1));
    co_return 0;
  }
  const int below = co_await Deep(executor, depth - 1);
  co_return below + 1;
}

TEST_F(TaskTest, AChainOfAThousandUnwinds) {
  EXPECT_EQ(executor_.BlockOn(Deep(executor_, 1'000)), 1'000);
}

TEST_F(TaskTest, CoTryLeavesWithTheFailure) {
  EXPECT_EQ(MUST(executor_.BlockOn(QuarterLater(12))), 3);
  EXPECT_EQ(executor_.BlockOn(QuarterLater(6)).status(), InvalidArgument("odd"));
  EXPECT_EQ(executor_.BlockOn(QuarterLater(5)).status(), InvalidArgument("odd"));
}

Task<> Touch(std::shared_ptr<int> what) {
  ++*what;
  co_return;
}

TEST_F(TaskTest, NothingRunsBeforeItIsAwaitedAndNothingLeaks) {
  const auto counter = std::make_shared<int>(0);
  {
    const Task<> never = Touch(counter);
    EXPECT_EQ(counter.use_count(), 2);
  }
  EXPECT_EQ(*counter, 0);
  EXPECT_EQ(counter.use_count(), 1);
  executor_.BlockOn(Touch(counter));
  EXPECT_EQ(*counter, 1);
  EXPECT_EQ(counter.use_count(), 1);
}

Task<int> NumberAfter(Executor& executor, Duration wait, int number, std::vector<int>& order) {
  if (wait > Duration::zero()) co_await executor.Sleep(wait);
  order.push_back(number);
  co_return number;
}

TEST_F(TaskTest, WhenAllInterleavesAndKeepsTheOrderOfResults) {
  std::vector<int> order;
  std::vector<Task<int>> tasks;
  tasks.push_back(NumberAfter(executor_, seconds(3), 1, order));
  tasks.push_back(NumberAfter(executor_, seconds(0), 2, order));
  tasks.push_back(NumberAfter(executor_, seconds(1), 3, order));
  const TimePoint start = clock_.Now();
  EXPECT_THAT(executor_.BlockOn(WhenAll(std::move(tasks))), ElementsAre(1, 2, 3));
  EXPECT_THAT(order, ElementsAre(2, 3, 1));
  EXPECT_EQ(clock_.Now() - start, seconds(3)) << "together, not one after the other";
}

TEST_F(TaskTest, WhenAllOfNothingAndOfWhatIsDoneAtOnce) {
  EXPECT_THAT(executor_.BlockOn(WhenAll(std::vector<Task<int>>())), ElementsAre());
  const auto counter = std::make_shared<int>(0);
  std::vector<Task<>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(Touch(counter));
  executor_.BlockOn(WhenAll(std::move(tasks)));
  EXPECT_EQ(*counter, 5);
}

Task<> AwaitTwice() {
  Task<int> task = Number(1);
  co_await std::move(task);
  co_await std::move(task);  // NOLINT: that is the mistake
}

TEST(TaskDeathTest, AwaitingTwiceIsABug) {
  FakeClock clock;
  EXPECT_DEATH(Executor(clock).BlockOn(AwaitTwice()), "CHECK failed");
}

}  // namespace
}  // namespace coppice
