// With filters made of lambdas; the whole chain is tried in estimator_random_full_test.

#include "pack/estimator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "fit/room_rig.h"

namespace coppice::pack {
namespace {

using fit::Named;

class EstimatorTest : public fit::RoomRig {
 protected:
  FakeClock clock;
};

TEST_F(EstimatorTest, AnEstimateFillsOneNodeAfterTheOtherAndLeavesNoTrace) {
  room = 4;
  AddNodes(2);
  const PodKind kind = Kind(10);
  Estimator estimator(*search, clock);
  const Estimate estimate = estimator.Run({&kind}, {Named("template"), {}}, {.group_free = 100});
  EXPECT_EQ(estimate.nodes, 3);
  EXPECT_EQ(estimate.pods.size(), 10u);
  EXPECT_THAT(estimate.pods_per_node, testing::UnorderedElementsAre(4, 4, 2));
  EXPECT_EQ(snapshot.nodes().size(), 2u);
}

TEST_F(EstimatorTest, AnEstimateStopsAtItsLimit) {
  room = 4;
  const PodKind kind = Kind(10);
  Estimator estimator(*search, clock);
  const NodeTemplate node_template{Named("template"), {}};
  EXPECT_EQ(estimator.Run({&kind}, node_template, {.max_nodes = 2, .group_free = 9}).nodes, 2);
  EXPECT_EQ(estimator.Run({&kind}, node_template, {.group_free = 0}).nodes, 0);
  room = 0;  // a fresh node takes nobody: one is tried, none is counted
  EXPECT_EQ(estimator.Run({&kind}, node_template, {.group_free = 9}).nodes, 0);
}

}  // namespace
}  // namespace coppice::pack
