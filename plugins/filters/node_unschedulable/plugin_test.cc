#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::node_unschedulable {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

constexpr const char* kNo = "node(s) were unschedulable";

struct Case {
  std::string name;
  bool cordoned;
  std::vector<model::Toleration> tolerations;
  bool fits;
};

class CordonTest : public testing::TestWithParam<Case> {};

TEST_P(CordonTest, Decides) {
  test::FilterWorld world(Register, "NodeUnschedulable");
  model::Node node;
  node.metadata.name = "n";
  node.spec.unschedulable = GetParam().cordoned;
  world.AddNode(node);
  model::Pod pod;
  pod.spec.tolerations = GetParam().tolerations;
  EXPECT_EQ(world.Ask(pod), (Answers{{"n", GetParam().fits ? "" : kNo}}));
}

INSTANTIATE_TEST_SUITE_P(Rows, CordonTest,
                         testing::ValuesIn(std::vector<Case>{
                             {"AnOpenNodeTakesEveryone", false, {}, true},
                             {"ACordonedNodeTakesNobody", true, {}, false},
                             {"UnlessTheyTolerateIt",
                              true,
                              {{.key = "node.kubernetes.io/unschedulable", .operator_ = "Exists"}},
                              true},
                             {"TolerationOfAnotherEffectIsNone",
                              true,
                              {{.key = "node.kubernetes.io/unschedulable",
                                .operator_ = "Exists",
                                .effect = "NoExecute"}},
                              false},
                         }),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace coppice::filters::node_unschedulable
