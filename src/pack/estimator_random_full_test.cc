// An estimate by arithmetic is the estimate that trying pod by pod gives.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/fake_clock.h"
#include "pack/counting.h"
#include "test/support/random_cluster.h"

namespace coppice::pack {
namespace {

struct Case {
  cluster::Snapshot snapshot;
  std::vector<PodKind> kinds;
  NodeTemplate node_template;
  EstimateLimits limits;

  std::vector<const PodKind*> pointers() const {
    std::vector<const PodKind*> all;
    for (const PodKind& kind : kinds) all.push_back(&kind);
    return all;
  }
};

void Fill(Case& c, Rng& rng, bool plain) {
  for (uint64_t i = 0; i < rng.Below(5); ++i) {
    MUST(c.snapshot.AddNode(test::RandomNode(rng, "n" + std::to_string(i))));
  }
  for (uint64_t k = 0; k < 1 + rng.Below(6); ++k) {
    const auto pod =
        std::make_shared<const model::Pod>(test::RandomPod(rng, "p" + std::to_string(k), plain));
    PodKind kind;
    for (uint64_t i = 0; i < 1 + rng.Below(rng.Chance(0.3) ? 60 : 4); ++i) {
      kind.push_back({pod, c.snapshot.AddPod(*pod)});
    }
    c.kinds.push_back(std::move(kind));
  }
  c.node_template.node = test::RandomNode(rng, "template");
  if (rng.Chance(0.5)) c.node_template.pods.push_back(test::RandomPod(rng, "daemon", true));
  c.limits = {.max_nodes = static_cast<int>(rng.Below(12)), .group_free = 20};
}

struct Outcome {
  int nodes;
  std::vector<const fit::PendingPod*> pods;
  std::vector<int> per_node;
  size_t last;
};

Outcome EstimateOf(Case& c, bool counting) {
  FakeClock clock;
  fit::Search search(c.snapshot, test::TheFilters());
  Estimator estimator(search, clock, {.counting = counting});
  Estimate first = estimator.Run(c.pointers(), c.node_template, c.limits);
  // Once more: where the search starts is part of the answer.
  Estimate estimate = estimator.Run(c.pointers(), c.node_template, c.limits);
  std::ranges::sort(estimate.pods_per_node);
  EXPECT_EQ(first.nodes, estimate.nodes);
  return {estimate.nodes, estimate.pods, estimate.pods_per_node, search.last()};
}

TEST(EstimatorRandomTest, CountingGivesWhatTryingGives) {
  int counted = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRng rng(seed);
    Case c;
    Fill(c, rng, seed % 3 != 0);
    const Outcome tried = EstimateOf(c, false);
    const Outcome by_counting = EstimateOf(c, true);
    ASSERT_EQ(by_counting.nodes, tried.nodes);
    ASSERT_EQ(by_counting.pods, tried.pods);
    ASSERT_EQ(by_counting.per_node, tried.per_node);
    ASSERT_EQ(by_counting.last, tried.last);
    fit::Search search(c.snapshot, test::TheFilters());
    counted += Counting::For(search, c.pointers(), c.node_template).has_value() ? 1 : 0;
  }
  EXPECT_GT(counted, 300);  // or the comparison compares nothing
}

TEST(EstimatorRandomTest, CountingLeavesNoTraceInTheSnapshot) {
  SeededRng rng(5);
  Case c;
  Fill(c, rng, true);
  const size_t nodes = c.snapshot.nodes().size();
  const size_t pods = c.snapshot.pod_count();
  EstimateOf(c, true);
  EXPECT_EQ(c.snapshot.nodes().size(), nodes);
  EXPECT_EQ(c.snapshot.pod_count(), pods);
  EXPECT_EQ(c.snapshot.forks(), 0u);
}

}  // namespace
}  // namespace coppice::pack
