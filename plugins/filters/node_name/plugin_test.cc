#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::node_name {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

constexpr const char* kNo = "node(s) didn't match the requested node name";

TEST(NodeNameTest, APodThatNamesItsNodeRunsThereOrNowhere) {
  test::FilterWorld world(Register, "NodeName");
  world.AddNode("a");
  world.AddNode("b");
  model::Pod pod;
  EXPECT_EQ(world.Ask(pod), Answers{}) << "nothing to check";
  pod.spec.node_name = "b";
  EXPECT_EQ(world.Ask(pod), (Answers{{"a", kNo}, {"b", ""}}));
  pod.spec.node_name = "gone";
  EXPECT_EQ(world.Ask(pod), (Answers{{"a", kNo}, {"b", kNo}}));
}

}  // namespace
}  // namespace coppice::filters::node_name
