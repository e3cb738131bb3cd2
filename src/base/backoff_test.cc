#include "base/backoff.h"

#include <gtest/gtest.h>

namespace coppice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(BackoffTest, GrowsToTheLongestAndStartsOverAfterASuccess) {
  SeededRng rng(1);
  Backoff backoff({.first = milliseconds(100), .longest = seconds(1), .factor = 3, .jitter = 0},
                  rng);
  EXPECT_EQ(backoff.Next(), milliseconds(100));
  EXPECT_EQ(backoff.Next(), milliseconds(300));
  EXPECT_EQ(backoff.Next(), milliseconds(900));
  EXPECT_EQ(backoff.Next(), seconds(1));
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(backoff.Next(), seconds(1)) << "never overflows";
  EXPECT_EQ(backoff.attempts(), 10'004);
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), milliseconds(100));
}

TEST(BackoffTest, JitterStaysWithinItsShareAndUsesAllOfIt) {
  SeededRng rng(1);
  Backoff backoff({.first = seconds(10), .longest = seconds(10), .jitter = 0.2}, rng);
  Duration shortest = Duration::max();
  Duration longest = Duration::zero();
  for (int i = 0; i < 1'000; ++i) {
    const Duration wait = backoff.Next();
    shortest = std::min(shortest, wait);
    longest = std::max(longest, wait);
  }
  EXPECT_GE(shortest, seconds(8));
  EXPECT_LT(shortest, milliseconds(8'100));
  EXPECT_LE(longest, seconds(12));
  EXPECT_GT(longest, milliseconds(11'900));
}

TEST(BackoffTest, TheLongestDurationDoesNotOverflow) {
  SeededRng rng(1);
  Backoff backoff({.first = Duration::max(), .longest = Duration::max(), .jitter = 0.5}, rng);
  for (int i = 0; i < 10; ++i) EXPECT_GT(backoff.Next(), seconds(0));
}

}  // namespace
}  // namespace coppice
