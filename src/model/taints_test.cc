#include "model/taints.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coppice::model {
namespace {

const Taint kGpu{.key = "gpu", .value = "yes", .effect = "NoSchedule"};

struct Case {
  std::string name;
  Toleration toleration;
  bool tolerates;
};

class TolerationTest : public testing::TestWithParam<Case> {};

TEST_P(TolerationTest, Decides) {
  EXPECT_EQ(Tolerates(GetParam().toleration, kGpu), GetParam().tolerates);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, TolerationTest,
    testing::ValuesIn(std::vector<Case>{
        {"EqualIsTheDefault", {.key = "gpu", .value = "yes"}, true},
        {"EqualWantsTheValue", {.key = "gpu", .operator_ = "Equal", .value = "no"}, false},
        {"ExistsIgnoresTheValue", {.key = "gpu", .operator_ = "Exists", .value = "no"}, true},
        {"AnotherKey", {.key = "cpu", .operator_ = "Exists"}, false},
        {"AnotherEffect", {.key = "gpu", .operator_ = "Exists", .effect = "NoExecute"}, false},
        {"SameEffect", {.key = "gpu", .operator_ = "Exists", .effect = "NoSchedule"}, true},
        {"EmptyKeyWithExistsIsEverything", {.operator_ = "Exists"}, true},
        {"EmptyKeyWithEqualStillComparesValues", {.value = "yes"}, true},
        {"EmptyKeyWithAnotherValue", {.value = "no"}, false},
        {"LessThanIsGatedOff", {.key = "gpu", .operator_ = "Lt", .value = "yes"}, false},
        {"UnknownOperator", {.key = "gpu", .operator_ = "exists"}, false},
    }),
    [](const auto& row) { return row.param.name; });

TEST(TaintsTest, PreferNoScheduleKeepsNobodyOut) {
  const std::vector<Taint> taints = {{.key = "wish", .effect = "PreferNoSchedule"}, kGpu};
  const Taint* first = FirstUntolerated(taints, {});
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->key, "gpu");
  EXPECT_EQ(FirstUntolerated(taints, {{.operator_ = "Exists"}}), nullptr);
}

TEST(TaintsTest, PrintsAsKubernetesDoes) {
  EXPECT_EQ(ToString(kGpu), "gpu=yes:NoSchedule");
  EXPECT_EQ(ToString(Taint{.key = "a", .effect = "NoExecute"}), "a:NoExecute");
  EXPECT_EQ(ToString(Taint{.key = "a", .value = "b"}), "a=b:");
  EXPECT_EQ(ToString(Taint{.key = "a"}), "a");
}

}  // namespace
}  // namespace coppice::model
