#include "autoscale/gpu.h"

#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

TEST(GpuCountTest, ANodeHasWhatItCanGive) {
  model::Node node;
  EXPECT_EQ(AllocatableGpus(node), 0);
  node.status.capacity["nvidia.com/gpu"] = model::Quantity::FromUnits(4);
  EXPECT_EQ(AllocatableGpus(node), 0) << "the driver has not come up";
  node.status.allocatable["nvidia.com/gpu"] = model::Quantity::FromUnits(3);
  EXPECT_EQ(AllocatableGpus(node), 3);
}

TEST(GpuCountTest, AskingForNoneIsAsking) {
  model::Pod pod;
  pod.spec.containers.resize(1);
  pod.spec.containers[0].resources.requests["cpu"] = model::Quantity::FromUnits(1);
  EXPECT_FALSE(RequestsGpu(pod));
  pod.spec.containers[0].resources.requests["amd.com/gpu"] = model::Quantity::FromUnits(0);
  EXPECT_TRUE(RequestsGpu(pod));
}

}  // namespace
}  // namespace coppice::autoscale
