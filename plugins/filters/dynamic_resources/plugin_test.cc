#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::dynamic_resources {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

TEST(DynamicResourcesTest, APodWithClaimsIsRefusedEverywhereAndOthersAreSkipped) {
  test::FilterWorld world(Register, "DynamicResources");
  world.AddNode("n");
  model::Pod pod;
  EXPECT_EQ(world.Ask(pod), Answers{});
  pod.spec.resource_claims.push_back({.name = "gpu", .resource_claim_name = "gpu"});
  EXPECT_THAT(world.Ask(pod)["*"], testing::HasSubstr("not supported yet"));
}

}  // namespace
}  // namespace coppice::filters::dynamic_resources
