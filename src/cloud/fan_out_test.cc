#include "cloud/fan_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "base/fake_clock.h"
#include "test/support/step_workers.h"

namespace coppice::cloud {
namespace {

TEST(FanOutTest, NeverRunsMoreThanTheBoundAndKeepsTheOrder) {
  test::StepWorkers workers;
  FanOut fan_out(workers, 2);
  std::vector<int> ran;
  for (int i = 0; i < 5; ++i) fan_out.Run([&ran, i] { ran.push_back(i); });
  EXPECT_EQ(workers.waiting(), 2u);
  EXPECT_EQ(fan_out.running(), 2u);
  EXPECT_EQ(fan_out.waiting(), 5u);
  workers.StepAll();
  EXPECT_THAT(ran, testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(fan_out.running(), 0u);
}

TEST(FanOutTest, BoundHoldsOnRealThreads) {
  Pool pool(16, 1'000);
  FanOut fan_out(pool, 3);
  SystemClock clock;
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  for (int i = 0; i < 200; ++i) {
    fan_out.Run([&] {
      const int now = ++running;
      int seen = most;
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      clock.SleepFor(std::chrono::microseconds(50));
      --running;
      ++done;
    });
  }
  EXPECT_TRUE(fan_out.WaitIdle(clock, Deadline::In(clock, std::chrono::seconds(30))));
  EXPECT_EQ(done, 200);
  EXPECT_LE(most, 3);
}

// A pool whose queue is full.
class FullWorkers final : public Workers {
 public:
  Status Submit(std::function<void()>) override { return ResourceExhausted("full"); }
};

TEST(FanOutTest, WithAFullPoolTheCallerDoesTheWork) {
  FullWorkers workers;
  FanOut fan_out(workers, 2);
  int ran = 0;
  fan_out.Run([&] { ++ran; });
  fan_out.Run([&] { ++ran; });
  EXPECT_EQ(ran, 2);
}

TEST(FanOutTest, WaitingForIdlenessEndsAtTheDeadline) {
  FakeClock clock;
  test::StepWorkers workers;
  FanOut fan_out(workers, 1);
  fan_out.Run([] {});
  EXPECT_FALSE(fan_out.WaitIdle(clock, Deadline::In(clock, std::chrono::seconds(1))));
  workers.StepAll();
  EXPECT_TRUE(fan_out.WaitIdle(clock, Deadline::In(clock, std::chrono::seconds(1))));
}

}  // namespace
}  // namespace coppice::cloud
