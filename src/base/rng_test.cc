#include "base/rng.h"

#include <gtest/gtest.h>

#include <array>

namespace coppice {
namespace {

TEST(RngTest, TheSameSeedGivesTheSameSequenceEverywhere) {
  // Computed once; a change here breaks every recorded seed.
  SeededRng rng(0);
  EXPECT_EQ(rng.Next(), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(rng.Next(), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(rng.Next(), 0x06C45D188009454Fu);
}

TEST(RngTest, BelowIsUniform) {
  SeededRng rng(7);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts[rng.Below(6)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
}

TEST(RngTest, BelowOneIsZero) {
  SeededRng rng(7);
  EXPECT_EQ(rng.Below(1), 0u);
  EXPECT_LT(rng.Below(UINT64_MAX), UINT64_MAX);
}

TEST(RngTest, UnitStaysBelowOne) {
  SeededRng rng(7);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double unit = rng.Unit();
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
    sum += unit;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(RngTest, ChanceKeepsItsPromiseAtBothEnds) {
  SeededRng rng(7);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(rng.Chance(0));
    EXPECT_TRUE(rng.Chance(1));
  }
}

TEST(RngTest, SystemSeedsDiffer) { EXPECT_NE(SeedFromSystem(), SeedFromSystem()); }

}  // namespace
}  // namespace coppice
