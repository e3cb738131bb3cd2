#include "autoscale/described_removals.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using testing::SizeIs;

TEST(PrintUtilizationTest, AsGoPrintsIt) {
  EXPECT_EQ(
      PrintUtilization({.cpu = 0.5, .memory = 0.125, .gpu = 0, .resource = "cpu", .value = 0.5}),
      "{0.5 0.125 0 0 cpu 0.5}");
  EXPECT_EQ(PrintUtilization({.cpu = 1.0 / 3, .memory = 0, .gpu = 0, .resource = "", .value = 0}),
            "{0.3333333333333333 0 0 0  0}");
}

class DescribedRemovalsTest : public PlainEngineRig {};

// The whole way: a node with a pod that has room elsewhere.
TEST_F(DescribedRemovalsTest, ADrainedNodeIsToldWithWhoLeavesAndWhereThereIsRoom) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddNode("web-2", "web");
  AddPod("small", "cpu", 1, "web-1");
  AddPod("large", "cpu", 3, "web-2");
  Assemble({"--scale-down-unneeded-time=1s", "--scale-down-delay-after-add=0s"}, inline_, writer_);
  Pass();
  clock_.Advance(std::chrono::seconds(20));
  const auto report = Pass();
  ASSERT_THAT(report->scale_down.removed, SizeIs(1));
  const report::RemovedNode& removed = report->scale_down.removed[0];
  EXPECT_EQ(removed.node, "web-1");
  EXPECT_EQ(removed.group, "web");
  ASSERT_THAT(removed.evicted, SizeIs(1));
  EXPECT_EQ(removed.evicted[0]->metadata.name, "small");
  ASSERT_THAT(removed.moves, SizeIs(1));
  EXPECT_EQ(removed.moves[0].node, "web-2");
  EXPECT_EQ(removed.utilization.value, 0.25);
}

}  // namespace
}  // namespace coppice::autoscale
