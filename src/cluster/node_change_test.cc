#include "cluster/node_change.h"

#include <gtest/gtest.h>

namespace coppice::cluster {
namespace {

TEST(NodeChangeTest, ATaintTakesThePlaceOfOneWithItsKey) {
  model::Node node;
  node.spec.taints = {{.key = "a", .value = "old"}, {.key = "b"}};
  const model::Node changed = Changed(
      node, {.add_taints = {{.key = "a", .value = "new"}}, .remove_taints = {"b", "never-there"}});
  ASSERT_EQ(changed.spec.taints.size(), 1u);
  EXPECT_EQ(changed.spec.taints[0].value, "new");
  EXPECT_FALSE(changed.spec.unschedulable) << "nothing was said about it";
}

TEST(NodeChangeTest, CordonedAndBack) {
  model::Node node;
  EXPECT_TRUE(Changed(node, {.unschedulable = true}).spec.unschedulable);
  node.spec.unschedulable = true;
  EXPECT_TRUE(Changed(node, {}).spec.unschedulable);
  EXPECT_FALSE(Changed(node, {.unschedulable = false}).spec.unschedulable);
}

}  // namespace
}  // namespace coppice::cluster
