#include "base/on_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include "base/fake_clock.h"
#include "test/support/must.h"
#include "test/support/step_workers.h"

namespace coppice {
namespace {

TEST(OnWorkerTest, RunsElsewhereAndGoesOnWithTheExecutor) {
  SystemClock clock;
  Executor executor(clock);
  Pool pool(1, 4);
  std::thread::id there;
  const std::function<void()> work = [&] { there = std::this_thread::get_id(); };
  EXPECT_OK(executor.BlockOn(OnWorker(pool, executor, work)));
  EXPECT_NE(there, std::thread::id());
  EXPECT_NE(there, std::this_thread::get_id());
}

TEST(OnWorkerTest, OthersAreServedWhileTheWorkIsWaitedFor) {
  FakeClock clock;
  Executor executor(clock);
  test::StepWorkers workers;
  bool done = false;
  executor.Spawn([](Executor& e, Workers& w, bool& over) -> Task<void> {
    const std::function<void()> nothing = [] {};
    over = (co_await OnWorker(w, e, nothing)).ok();
  }(executor, workers, done));
  bool other = false;
  executor.Post([&] { other = true; });
  executor.RunUntilIdle();
  EXPECT_TRUE(other);
  EXPECT_FALSE(done);
  workers.StepAll();
  executor.RunUntilIdle();
  EXPECT_TRUE(done);
}

TEST(OnWorkerTest, AFullQueueIsAnAnswer) {
  class Full final : public Workers {
    Status Submit(std::function<void()>) override { return ResourceExhausted("full"); }
  };
  FakeClock clock;
  Executor executor(clock);
  Full full;
  const std::function<void()> never = [] { FAIL(); };
  EXPECT_EQ(executor.BlockOn(OnWorker(full, executor, never)), ResourceExhausted("full"));
}

TEST(OnWorkerTest, WorkThatHasNotBegunIsForgottenWithItsCoroutine) {
  FakeClock clock;
  auto executor = std::make_unique<Executor>(clock);
  test::StepWorkers workers;
  executor->Spawn([](Executor& e, Workers& w) -> Task<void> {
    int local = 0;
    const std::function<void()> touch = [&local] {
      ++local;
      ADD_FAILURE() << "the coroutine is gone";
    };
    (void)co_await OnWorker(w, e, touch);
  }(*executor, workers));
  executor->RunUntilIdle();
  executor.reset();
  workers.StepAll();
}

TEST(OnWorkerTest, WorkThatRunsIsWaitedForBeforeItsCoroutineGoes) {
  SystemClock clock;
  auto executor = std::make_unique<Executor>(clock);
  Pool pool(1, 4);
  std::latch begun(1);
  std::latch may_end(1);
  std::atomic<bool> ended = false;
  executor->Spawn([](Executor& e, Workers& w, std::latch& in, std::latch& out,
                     std::atomic<bool>& over) -> Task<void> {
    auto local = std::make_unique<int>(7);
    const std::function<void()> slow = [&] {
      in.count_down();
      out.wait();
      over = *local == 7;
    };
    (void)co_await OnWorker(w, e, slow);
  }(*executor, pool, begun, may_end, ended));
  executor->RunUntilIdle();
  begun.wait();
  std::thread releases([&] { may_end.count_down(); });
  executor.reset();
  EXPECT_TRUE(ended);
  releases.join();
}

}  // namespace
}  // namespace coppice
