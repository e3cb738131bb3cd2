#include "pack/limiter.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace coppice::pack {
namespace {

TEST(LimiterTest, TheTightestLimitHoldsAndNoneBeatsAll) {
  FakeClock clock;
  const auto allowed = [&](EstimateLimits limits) {
    Limiter limiter(limits, clock);
    int nodes = 0;
    while (nodes < 50 && limiter.MayAddNode()) ++nodes;
    return nodes;
  };
  EXPECT_EQ(allowed({.group_free = 7}), 7);
  EXPECT_EQ(allowed({.max_nodes = 3, .group_free = 7}), 3);
  EXPECT_EQ(allowed({.group_free = 7, .max_nodes_total = 10, .current_nodes = 8}), 2);
  EXPECT_EQ(allowed({.group_free = 7, .max_nodes_total = 10, .current_nodes = 10}), 0);
  EXPECT_EQ(allowed({.max_nodes = 3, .group_free = 0}), 0);
}

TEST(LimiterTest, TimeEndsAnEstimate) {
  FakeClock clock;
  Limiter limiter({.max_duration = std::chrono::seconds(1), .group_free = 9}, clock);
  EXPECT_TRUE(limiter.MayAddNode());
  clock.Advance(std::chrono::seconds(2));
  EXPECT_FALSE(limiter.MayAddNode());
}

}  // namespace
}  // namespace coppice::pack
