#include "model/gpu.h"

#include <gtest/gtest.h>

namespace coppice::model {
namespace {

TEST(GpuTest, TheFirstVendorOfWhichThereIsAnyCounts) {
  Node node;
  EXPECT_EQ(AllocatableGpuResource(node), "");
  node.status.allocatable["amd.com/gpu"] = Quantity::FromUnits(2);
  EXPECT_EQ(AllocatableGpuResource(node), "amd.com/gpu");
  node.status.allocatable["nvidia.com/gpu"] = Quantity::FromUnits(0);
  EXPECT_EQ(AllocatableGpuResource(node), "amd.com/gpu") << "none is not some";
  node.status.allocatable["nvidia.com/gpu"] = Quantity::FromUnits(1);
  EXPECT_EQ(AllocatableGpuResource(node), "nvidia.com/gpu");
}

TEST(GpuTest, CapacityWithoutAllocatableIsNoGpu) {
  Node node;
  node.status.capacity["nvidia.com/gpu"] = Quantity::FromUnits(1);
  EXPECT_EQ(AllocatableGpuResource(node), "");
}

}  // namespace
}  // namespace coppice::model
