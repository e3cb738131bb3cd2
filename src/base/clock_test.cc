#include "base/clock.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/fake_clock.h"

namespace coppice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(SystemClockTest, NeverGoesBackAndIsNearTheWallClock) {
  const SystemClock clock;
  TimePoint last = clock.Now();
  for (int i = 0; i < 1'000; ++i) {
    const TimePoint now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_LT(std::chrono::abs(std::chrono::system_clock::now() - last), seconds(60));
}

TEST(SystemClockTest, WaitEndsWhenDone) {
  SystemClock clock;
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  std::thread other([&] {
    const std::lock_guard lock(mutex);
    done = true;
    wake.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(clock.WaitUntil(lock, wake, TimePoint::max(), [&] { return done; }));
  }
  other.join();
}

TEST(SystemClockTest, WaitEndsAtTheDeadline) {
  SystemClock clock;
  std::mutex mutex;
  std::condition_variable wake;
  std::unique_lock lock(mutex);
  const TimePoint deadline = clock.Now() + milliseconds(2);
  EXPECT_FALSE(clock.WaitUntil(lock, wake, deadline, [] { return false; }));
  EXPECT_GE(clock.Now(), deadline);
  EXPECT_FALSE(clock.WaitUntil(lock, wake, TimePoint::min(), [] { return false; }));
}

TEST(FakeClockTest, MovesOnlyWhenToldOrWaitedOn) {
  FakeClock clock;
  const TimePoint start = clock.Now();
  clock.Advance(hours(24));
  EXPECT_EQ(clock.Now() - start, hours(24));
  clock.SleepFor(seconds(5));
  EXPECT_EQ(clock.Now() - start, hours(24) + seconds(5));
  clock.Set(start);
  EXPECT_EQ(clock.Now() - start, hours(24) + seconds(5)) << "a clock does not go back";
}

TEST(FakeClockTest, DoesNotMoveWhenThereIsNothingToWaitFor) {
  FakeClock clock;
  const TimePoint start = clock.Now();
  std::mutex mutex;
  std::condition_variable wake;
  std::unique_lock lock(mutex);
  EXPECT_TRUE(clock.WaitUntil(lock, wake, start + hours(1), [] { return true; }));
  EXPECT_EQ(clock.Now(), start);
}

TEST(DeadlineTest, PassesAndShortens) {
  FakeClock clock;
  const Deadline deadline = Deadline::In(clock, seconds(10));
  EXPECT_FALSE(deadline.Passed(clock));
  EXPECT_EQ(deadline.Left(clock), seconds(10));
  EXPECT_EQ(deadline.Earlier(Deadline::In(clock, seconds(3))).Left(clock), seconds(3));
  EXPECT_EQ(deadline.Earlier(Deadline::Never()).Left(clock), seconds(10));
  clock.Advance(seconds(11));
  EXPECT_TRUE(deadline.Passed(clock));
  EXPECT_EQ(deadline.Left(clock), Duration::zero());
}

TEST(DeadlineTest, TheLongestTimeDoesNotOverflow) {
  const FakeClock clock;
  EXPECT_EQ(Deadline::In(clock, Duration::max()).at, TimePoint::max());
  EXPECT_FALSE(Deadline::Never().Passed(clock));
}

}  // namespace
}  // namespace coppice
