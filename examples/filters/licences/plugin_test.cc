#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::licences {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

model::Pod Licensed(const std::string& name) {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.labels["example.com/licensed"] = "";
  return pod;
}

TEST(LicencesTest, ANodeTakesAsManyPodsAsItHasLicences) {
  test::FilterWorld world(Register, "Licences");
  world.AddNode("none");
  world.AddNode("one", {{"example.com/licences", "1"}});
  world.AddNode("two", {{"example.com/licences", "2"}});
  world.Place(Licensed("a"), "one");
  world.Place(Licensed("b"), "two");
  world.Place(model::Pod{}, "two");  // needs none
  EXPECT_EQ(world.Ask(model::Pod{}), Answers{}) << "nothing to check";
  EXPECT_EQ(world.Ask(Licensed("c")), (Answers{{"none", "node(s) had no licences"},
                                               {"one", "node(s) had all their licences taken"},
                                               {"two", ""}}));
}

}  // namespace
}  // namespace coppice::filters::licences
