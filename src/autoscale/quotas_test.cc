#include "autoscale/quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

model::Node WithCapacity(int64_t cores, int64_t gib, int64_t gpus = 0) {
  model::Node node;
  node.status.capacity["cpu"] = model::Quantity::FromUnits(cores);
  node.status.capacity["memory"] = model::Quantity::FromUnits(gib << 30);
  if (gpus > 0) {
    node.metadata.labels["gpu"] = "a100";
    node.status.allocatable["nvidia.com/gpu"] = model::Quantity::FromUnits(gpus);
  }
  return node;
}

class QuotasTest : public testing::Test {
 protected:
  QuotasTest() {
    options_.cores_total = {4, 20};
    options_.memory_total = {0, int64_t{64} << 30};
  }
  Options options_;
  const model::Node node_ = WithCapacity(4, 16);
};

TEST_F(QuotasTest, AsManyNodesAsTheScarcestResourceLets) {
  Quotas quotas = Quotas::ToMaxima(options_, {{&node_, "web"}}, "");
  // 16 cores and 48 GiB are left: four by cpu, three by memory.
  EXPECT_EQ(quotas.Check({&node_, "web"}, 3).allowed, 3);
  EXPECT_THAT(quotas.Check({&node_, "web"}, 3).exceeded, IsEmpty());
  const QuotaAnswer four = quotas.Check({&node_, "web"}, 4);
  EXPECT_EQ(four.allowed, 3);
  EXPECT_THAT(four.exceeded, ElementsAre("memory"));
  EXPECT_THAT(quotas.Check({&node_, "web"}, 5).exceeded, ElementsAre("cpu", "memory"));
  EXPECT_THAT(quotas.Missing({&node_, "web"}, 5),
              ElementsAre(Pair("cpu", 4), Pair("memory", int64_t{32} << 30)));
}

TEST_F(QuotasTest, OnlyWhatIsAllowedWholeIsTaken) {
  Quotas quotas = Quotas::ToMaxima(options_, {}, "");
  EXPECT_EQ(quotas.Consume({&node_, "web"}, 5).allowed, 4);
  EXPECT_EQ(quotas.Consume({&node_, "web"}, 4).allowed, 4) << "the five were not taken";
  EXPECT_EQ(quotas.Check({&node_, "web"}, 1).allowed, 0);
}

TEST_F(QuotasTest, WhatIsUsedBeyondALimitIsMissingToo) {
  const model::Node large = WithCapacity(24, 1);
  Quotas quotas = Quotas::ToMaxima(options_, {{&large, "large"}}, "");
  EXPECT_EQ(quotas.Check({&node_, "web"}, 1).allowed, 0);
  EXPECT_THAT(quotas.Missing({&node_, "web"}, 1), ElementsAre(Pair("cpu", 8)));
}

TEST_F(QuotasTest, NodesOfAGroupCountLikeTheFirstAndVirtualKubeletsNotAtAll) {
  const model::Node larger = WithCapacity(8, 16);
  model::Node fargate = WithCapacity(100, 100);
  fargate.metadata.labels["type"] = "virtual-kubelet";
  Quotas quotas =
      Quotas::ToMaxima(options_, {{&node_, "web"}, {&larger, "web"}, {&fargate, ""}}, "");
  EXPECT_THAT(quotas.Missing({&node_, "web"}, 4),
              ElementsAre(Pair("cpu", 4), Pair("memory", int64_t{32} << 30)))
      << "12 cores and 32 GiB are left: both count for four and sixteen";
}

TEST_F(QuotasTest, GpusCountUnderTheValueOfTheLabel) {
  options_.gpu_total["a100"] = {0, 3};
  const model::Node gpu = WithCapacity(1, 1, 2);
  Quotas quotas = Quotas::ToMaxima(options_, {}, "gpu");
  EXPECT_THAT(quotas.Check({&gpu, "ml"}, 2).exceeded, ElementsAre("a100"));
  EXPECT_THAT(Quotas::GpusOf(gpu, ""), IsEmpty()) << "a cloud without a label has none";
  EXPECT_THAT(Quotas::GpusOf(node_, "gpu"), IsEmpty());
}

TEST_F(QuotasTest, MinimaLimitOnlyWhatHasOne) {
  Quotas quotas = Quotas::ToMinima(options_, {{&node_, "web"}, {&node_, "web"}}, "");
  EXPECT_EQ(quotas.Check({&node_, "web"}, 1).allowed, 1) << "four cores may go";
  EXPECT_EQ(quotas.Check({&node_, "web"}, 2).allowed, 1);
  options_.cores_total.min = 0;
  Quotas none = Quotas::ToMinima(options_, {{&node_, "web"}}, "");
  EXPECT_EQ(none.Check({&node_, "web"}, 100).allowed, 100);
}

}  // namespace
}  // namespace coppice::autoscale
