#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::taint_toleration {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

constexpr const char* kNo = "node(s) had untolerated taint(s)";

struct Case {
  std::string name;
  std::vector<model::Taint> taints;
  std::vector<model::Toleration> tolerations;
  bool fits;
};

class TaintTolerationTest : public testing::TestWithParam<Case> {};

TEST_P(TaintTolerationTest, Decides) {
  test::FilterWorld world(Register, "TaintToleration");
  model::Node node;
  node.metadata.name = "n";
  node.spec.taints = GetParam().taints;
  world.AddNode(node);
  model::Pod pod;
  pod.spec.tolerations = GetParam().tolerations;
  EXPECT_EQ(world.Ask(pod), (Answers{{"n", GetParam().fits ? "" : kNo}}));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, TaintTolerationTest,
    testing::ValuesIn(std::vector<Case>{
        {"NoTaintsLetEveryoneIn", {}, {}, true},
        {"TaintKeepsStrangersOut", {{.key = "gpu", .effect = "NoSchedule"}}, {}, false},
        {"ExistsIgnoresTheValue",
         {{.key = "gpu", .value = "yes", .effect = "NoSchedule"}},
         {{.key = "gpu", .operator_ = "Exists"}},
         true},
        {"OneOfTwoIsNotEnough",
         {{.key = "a", .effect = "NoSchedule"}, {.key = "b", .effect = "NoExecute"}},
         {{.key = "a", .operator_ = "Exists"}},
         false},
        {"PreferNoScheduleIsAWish", {{.key = "a", .effect = "PreferNoSchedule"}}, {}, true},
    }),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace coppice::filters::taint_toleration
