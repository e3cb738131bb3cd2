#include "base/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "test/support/must.h"

namespace coppice {
namespace {

TEST(PoolTest, RunsEverythingBeforeItIsDestroyed) {
  std::atomic<int> done = 0;
  {
    Pool pool(2, 100);
    for (int i = 0; i < 100; ++i) EXPECT_OK(pool.Submit([&] { ++done; }));
  }
  EXPECT_EQ(done, 100);
}

TEST(PoolTest, StoppedItForgetsWhatHasNotBegunAndWaitsForWhatRuns) {
  SystemClock clock;
  std::latch begun(1);
  std::latch go(1);
  std::atomic<int> done = 0;
  Pool pool(1, 10);
  EXPECT_OK(pool.Submit([&] {
    begun.count_down();
    go.wait();
    ++done;
  }));
  EXPECT_OK(pool.Submit([&] { done += 100; }));
  begun.wait();
  EXPECT_EQ(pool.Stop(clock, Deadline::In(clock, Duration::zero())), 1u) << "no time to wait";
  go.count_down();
  EXPECT_EQ(pool.Stop(clock, Deadline::Never()), 0u);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(pool.Submit([] {}).code(), Code::kUnavailable);
}

TEST(PoolTest, RefusesWhatDoesNotFitIntoTheQueue) {
  std::latch go(1);
  std::atomic<int> done = 0;
  {
    Pool pool(2, 3);
    const auto work = [&] {
      go.wait();
      ++done;
    };
    for (int i = 0; i < 5; ++i) EXPECT_OK(pool.Submit(work)) << i;
    EXPECT_EQ(pool.queued(), 3u);
    const Status status = pool.Submit(work);
    EXPECT_EQ(status.code(), Code::kResourceExhausted);
    EXPECT_EQ(status.message(), "all 2 workers are busy and 3 pieces of work wait already");
    go.count_down();
  }
  EXPECT_EQ(done, 5) << "what was accepted is done, what was refused is not";
}

TEST(PoolTest, TakesWorkAgainWhenAWorkerIsFree) {
  Pool pool(1, 0);
  for (int i = 0; i < 50; ++i) {
    std::latch done(1);
    // Between the end of a piece and the worker's return to the queue there is a moment of "busy".
    Status status = pool.Submit([&] { done.count_down(); });
    while (!status.ok()) status = pool.Submit([&] { done.count_down(); });
    done.wait();
  }
}

TEST(PoolTest, WorkMaySubmitWork) {
  std::latch done(1);
  Pool pool(1, 1);
  EXPECT_OK(pool.Submit([&] { EXPECT_OK(pool.Submit([&] { done.count_down(); })); }));
  done.wait();
}

TEST(PoolTest, WorkerRunsOnAnotherThread) {
  std::thread::id worker;
  {
    Pool pool(1, 1);
    EXPECT_OK(pool.Submit([&] { worker = std::this_thread::get_id(); }));
  }
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(InlineWorkersTest, RunsOnTheCallersThread) {
  InlineWorkers workers;
  std::thread::id worker;
  EXPECT_OK(workers.Submit([&] { worker = std::this_thread::get_id(); }));
  EXPECT_EQ(worker, std::this_thread::get_id());
}

}  // namespace
}  // namespace coppice
