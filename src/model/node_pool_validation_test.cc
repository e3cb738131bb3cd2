#include "model/node_pool_validation.h"

#include <gmock/gmock.h>

#include <functional>

namespace coppice::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NodePool AValidPool() {
  NodePool pool;
  pool.metadata.name = "default";
  pool.spec.template_.spec.node_class_ref = {"coppice.dev", "NodeClass", "default"};
  pool.spec.template_.spec.requirements = {
      {.key = "topology.kubernetes.io/zone", .operator_ = "In", .values = {"a"}}};
  pool.spec.template_.labels = {{"team", "blue"}};
  FillDefaults(pool);
  return pool;
}

struct ValidationRow {
  const char* name;
  std::function<void(NodePool&)> change;
  const char* complaint;
};

class NodePoolValidationTest : public testing::TestWithParam<ValidationRow> {};

TEST(NodePoolValidationTest, APoolAsTheApiServerStoresItIsFine) {
  EXPECT_THAT(WrongWith(AValidPool(), LabelRules::Default()), IsEmpty());
}

TEST_P(NodePoolValidationTest, IsSaidWithItsField) {
  NodePool pool = AValidPool();
  GetParam().change(pool);
  EXPECT_THAT(WrongWith(pool, LabelRules::Default()), ElementsAre(HasSubstr(GetParam().complaint)));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, NodePoolValidationTest,
    testing::ValuesIn(std::vector<ValidationRow>{
        {"RestrictedLabel", [](NodePool& p) { p.spec.template_.labels["karpenter.sh/x"] = "y"; },
         "using label karpenter.sh/x is not allowed"},
        {"BadLabelValue", [](NodePool& p) { p.spec.template_.labels["x"] = "not a value"; },
         "for label[x]"},
        {"TaintTwice",
         [](NodePool& p) {
           p.spec.template_.spec.taints = {{"a", "", "NoSchedule"}};
           p.spec.template_.spec.startup_taints = {{"a", "x", "NoSchedule"}};
         },
         "startupTaints: duplicate taint Key/Effect pair a=NoSchedule"},
        {"UnknownEffect",
         [](NodePool& p) { p.spec.template_.spec.taints = {{"a", "", "Sometimes"}}; },
         "\"Sometimes\" is no effect"},
        {"InWithoutValues",
         [](NodePool& p) { p.spec.template_.spec.requirements[0].values.clear(); },
         "must have a value defined"},
        {"NoClass", [](NodePool& p) { p.spec.template_.spec.node_class_ref.reset(); },
         "nodeClassRef"},
        {"StaticWithWeight",
         [](NodePool& p) {
           p.spec.replicas = 3;
           p.spec.weight = 10;
         },
         "'weight' is not supported"},
        {"StaticWithOtherLimits",
         [](NodePool& p) {
           p.spec.replicas = 3;
           p.spec.limits["cpu"] = Quantity::FromUnits(1);
         },
         "only 'limits.nodes'"},
        {"FractionOfAnHour", [](NodePool& p) { p.spec.disruption.consolidate_after = "1.5h"; },
         "spec.disruption.consolidateAfter: \"1.5h\""},
        {"ScheduleAlone",
         [](NodePool& p) { p.spec.disruption.budgets->front().schedule = "@daily"; },
         "'schedule' must be set with 'duration'"},
        {"TooManyPercent", [](NodePool& p) { p.spec.disruption.budgets->front().nodes = "101%"; },
         "budgets[0]: nodes"},
        {"UnknownReason",
         [](NodePool& p) { p.spec.disruption.budgets->front().reasons = {{"Bored"}}; },
         "\"Bored\" is no reason"},
        {"UnknownPolicy", [](NodePool& p) { p.spec.disruption.consolidation_policy = "Sometimes"; },
         "consolidationPolicy: \"Sometimes\""},
    }),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace coppice::model
