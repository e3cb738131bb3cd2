#include "base/executor.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/fake_clock.h"
#include "base/pool.h"
#include "base/promise.h"
#include "test/support/must.h"

namespace coppice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;

class ExecutorTest : public testing::Test {
 public:  // the coroutines below are lambdas without captures
  FakeClock clock_;
  Executor executor_{clock_};
  std::vector<std::pair<std::string, Duration>> seen_;
  const TimePoint start_ = clock_.Now();

  void See(std::string what) { seen_.emplace_back(std::move(what), clock_.Now() - start_); }
  Task<> Ticks(std::string name, Duration every, int count) {
    for (int i = 0; i < count; ++i) {
      co_await executor_.Sleep(every);
      See(name);
    }
  }
};

TEST_F(ExecutorTest, TimersFireInOrderAndTogetherInTheOrderAskedFor) {
  executor_.Spawn(Ticks("a", seconds(2), 2));
  executor_.Spawn(Ticks("b", seconds(1), 4));
  executor_.RunFor(seconds(3));
  EXPECT_THAT(seen_, ElementsAre(Pair("b", seconds(1)), Pair("a", seconds(2)),
                                 Pair("b", seconds(2)), Pair("b", seconds(3))));
  EXPECT_EQ(executor_.tasks(), 2u);
  EXPECT_EQ(executor_.next_timer(), start_ + seconds(4));
  seen_.clear();
  executor_.RunFor(seconds(10));
  EXPECT_THAT(seen_, ElementsAre(Pair("a", seconds(4)), Pair("b", seconds(4))));
  EXPECT_EQ(executor_.tasks(), 0u);
  EXPECT_EQ(executor_.next_timer(), std::nullopt);
  EXPECT_EQ(clock_.Now() - start_, seconds(13));
}

TEST_F(ExecutorTest, ADayOfTicksTakesMilliseconds) {
  int ticks = 0;
  const auto count = [](Executor& executor, int& total) -> Task<> {
    for (;;) {
      co_await executor.Sleep(seconds(10));
      ++total;
    }
  };
  executor_.Spawn(count(executor_, ticks));
  executor_.RunFor(hours(24));
  EXPECT_EQ(ticks, 8'640);
}

TEST_F(ExecutorTest, RunUntilIdleDoesNotTouchTheClock) {
  executor_.Spawn(Ticks("a", seconds(1), 1));
  executor_.RunUntilIdle();
  EXPECT_THAT(seen_, ElementsAre());
  EXPECT_EQ(clock_.Now(), start_);
  clock_.Advance(seconds(1));
  executor_.RunUntilIdle();
  EXPECT_THAT(seen_, ElementsAre(Pair("a", seconds(1))));
}

TEST_F(ExecutorTest, ThousandsOfTimersComeBackSorted) {
  const auto sleeper = [](ExecutorTest& test, Duration wait) -> Task<> {
    co_await test.executor_.Sleep(wait);
    test.See("x");
  };
  for (int i = 0; i < 5'000; ++i) executor_.Spawn(sleeper(*this, milliseconds(i * 7919 % 5'003)));
  executor_.RunFor(minutes(1));
  ASSERT_EQ(seen_.size(), 5'000u);
  EXPECT_TRUE(std::ranges::is_sorted(seen_, {}, &std::pair<std::string, Duration>::second));
}

TEST_F(ExecutorTest, SleepingZeroLetsTheOthersHaveATurn) {
  executor_.Spawn(Ticks("a", seconds(0), 2));
  executor_.Spawn(Ticks("b", seconds(0), 2));
  executor_.RunUntilIdle();
  EXPECT_THAT(seen_, ElementsAre(Pair("a", seconds(0)), Pair("b", seconds(0)),
                                 Pair("a", seconds(0)), Pair("b", seconds(0))));
}

TEST_F(ExecutorTest, UnfinishedTasksAreDestroyedWithIt) {
  const auto held = std::make_shared<int>(0);
  {
    Executor executor(clock_);
    const auto sleeper = [](Executor& e, std::shared_ptr<int>) -> Task<> {
      co_await e.Sleep(hours(1));
    };
    std::vector<Task<>> branches;
    branches.push_back(sleeper(executor, held));
    branches.push_back(sleeper(executor, held));
    executor.Spawn(WhenAll(std::move(branches)));
    executor.Spawn(sleeper(executor, held));
    executor.RunUntilIdle();
    executor.Spawn(sleeper(executor, held));  // never started
    executor.Post([held] {});
    EXPECT_EQ(held.use_count(), 6);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(ExecutorTest, APromiseSetBeforeOrAfterTheAwait) {
  const Promise<int> early(executor_);
  const Promise<int> late(executor_);
  int sum = 0;
  const auto add = [](Future<int> a, Future<int> b, int& total) -> Task<> {
    total += co_await a;
    total += co_await b;
  };
  EXPECT_TRUE(early.Set(1));
  EXPECT_FALSE(early.Set(100)) << "the first counts";
  executor_.Spawn(add(early.future(), late.future(), sum));
  executor_.RunUntilIdle();
  EXPECT_EQ(sum, 1);
  EXPECT_TRUE(early.future().ready());
  EXPECT_FALSE(late.future().ready());
  late.Set(2);
  executor_.RunUntilIdle();
  EXPECT_EQ(sum, 3);
}

TEST_F(ExecutorTest, WaitingForAPromiseMayHaveALimit) {
  const Promise<std::unique_ptr<int>> promise(executor_);
  const auto wait = [](ExecutorTest& test, Future<std::unique_ptr<int>> future) -> Task<> {
    for (;;) {
      const TimePoint limit = test.clock_.Now() + seconds(10);
      const auto answer = co_await future.Until(limit);
      test.See(answer ? "answer" : "nothing");
      if (answer) co_return;
    }
  };
  const auto set = [](Executor& executor, Promise<std::unique_ptr<int>> p) -> Task<> {
    co_await executor.Sleep(seconds(25));
    p.Set(std::make_unique<int>(1));
  };
  executor_.Spawn(wait(*this, promise.future()));
  executor_.Spawn(set(executor_, promise));
  executor_.RunFor(minutes(1));
  EXPECT_THAT(seen_, ElementsAre(Pair("nothing", seconds(10)), Pair("nothing", seconds(20)),
                                 Pair("answer", seconds(25))));
  EXPECT_EQ(executor_.next_timer(), std::nullopt) << "the limit's timer is gone";
}

TEST_F(ExecutorTest, APromiseMayOutliveItsExecutor) {
  std::optional<Promise<int>> promise;
  {
    Executor executor(clock_);
    promise.emplace(executor);
    const auto wait = [](Future<int> future) -> Task<> { co_await future; };
    executor.Spawn(wait(promise->future()));
    executor.RunUntilIdle();
  }
  EXPECT_TRUE(promise->Set(1));
}

TEST(ExecutorThreadsTest, ServesOtherThreadsUntilStopped) {
  SystemClock clock;
  Executor executor(clock);
  std::vector<int> received;  // executor's thread only
  std::thread runner([&] { executor.Run(); });
  std::vector<std::thread> posters;
  for (int t = 0; t < 4; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < 250; ++i) executor.Post([&received, t] { received.push_back(t); });
    });
  }
  for (std::thread& poster : posters) poster.join();
  executor.Post([&] { executor.Stop(); });
  runner.join();
  EXPECT_EQ(received.size(), 1'000u);
}

TEST(ExecutorThreadsTest, TasksWaitForWorkOfAPool) {
  SystemClock clock;
  Executor executor(clock);
  Pool pool(2, 100);
  const auto square = [](Executor& e, Pool& p, int number) -> Task<int> {
    const Promise<int> promise(e);
    EXPECT_OK(p.Submit([promise, number] { promise.Set(number * number); }));
    co_return co_await promise.future();
  };
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 50; ++i) tasks.push_back(square(executor, pool, i));
  const std::vector<int> squares = executor.BlockOn(WhenAll(std::move(tasks)));
  ASSERT_EQ(squares.size(), 50u);
  EXPECT_EQ(squares[7], 49);
}

TEST(ExecutorThreadsTest, RunSleepsUntilATimer) {
  SystemClock clock;
  Executor executor(clock);
  const auto stop = [](Executor& e) -> Task<> {
    co_await e.Sleep(milliseconds(2));
    e.Stop();
  };
  const TimePoint start = clock.Now();
  executor.Spawn(stop(executor));
  executor.Run();
  EXPECT_GE(clock.Now() - start, milliseconds(2));
}

TEST(ExecutorThreadsTest, AFakeClockWaitsForThreadsWhenNoTimerIsLeft) {
  FakeClock clock;
  Executor executor(clock);
  Pool pool(1, 1);
  const auto answer = [](Executor& e, Pool& p) -> Task<int> {
    const Promise<int> promise(e);
    EXPECT_OK(p.Submit([promise] { promise.Set(42); }));
    co_return co_await promise.future();
  };
  EXPECT_EQ(executor.BlockOn(answer(executor, pool)), 42);
}

}  // namespace
}  // namespace coppice
