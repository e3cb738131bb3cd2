#include "provision/claim_order.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace coppice::provision {
namespace {

// Go's sort, run in full before every placement.
struct FullSort {
  std::vector<uint32_t> order;
  std::vector<uint32_t> pods;
  void Sort() {
    GoSort(order, [this](uint32_t a, uint32_t b) { return pods[a] < pods[b]; });
  }
};

TEST(ClaimOrderTest, IsWhatGosSortMakesOfItAfterEveryStep) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SeededRng rng(seed);
    ClaimOrder fast;
    FullSort full;
    for (int step = 0; step < 1500; ++step) {
      fast.Sort();
      full.Sort();
      ASSERT_EQ(fast.order(), full.order) << "seed " << seed << ", step " << step;
      // Mostly the first that take a pod, sometimes any, sometimes a new one.
      if (full.order.empty() || rng.Below(5) == 0) {
        fast.Append();
        full.order.push_back(static_cast<uint32_t>(full.pods.size()));
        full.pods.push_back(1);
        continue;
      }
      const size_t bound = rng.Below(3) == 0 ? full.order.size() : 1 + full.order.size() / 10;
      const size_t position = rng.Below(bound);
      fast.GotPod(position);
      ++full.pods[full.order[position]];
    }
  }
}

}  // namespace
}  // namespace coppice::provision
