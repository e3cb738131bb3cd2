#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::data_class {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

TEST(DataClassTest, TheLabelOfThePodMustBeThatOfTheNode) {
  constexpr const char* kNo = "node(s) were not meant for the pod's class of data";
  test::FilterWorld world(Register, "DataClass");
  world.AddNode("open");
  world.AddNode("secret", {{"example.com/data-class", "secret"}});
  world.AddNode("public", {{"example.com/data-class", "public"}});
  model::Pod pod;
  EXPECT_EQ(world.Ask(pod), Answers{}) << "nothing to check";
  pod.metadata.labels["example.com/data-class"] = "secret";
  EXPECT_EQ(world.Ask(pod), (Answers{{"open", kNo}, {"secret", ""}, {"public", kNo}}));
}

}  // namespace
}  // namespace coppice::filters::data_class
