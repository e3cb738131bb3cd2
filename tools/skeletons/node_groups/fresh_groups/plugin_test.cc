#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/node_groups.h"
#include "cloud/node_groups_context.h"
#include "test/support/must.h"

namespace coppice::node_groups::fresh_groups {

void Register(cloud::NodeGroupsRegistry& registry);

namespace {

// test/conformance/node_groups_suite.h has what every provider must do: instantiate it when the
// verbs are there.
TEST(FreshGroupsTest, IsRegisteredAndAnswers) {
  cloud::NodeGroupsRegistry registry{"node group provider"};
  Register(registry);
  FakeClock clock;
  Metrics metrics;
  const Log log = Log::Null();
  const auto groups = MUST(registry.Make(
      "fresh-groups", cloud::NodeGroupsContext{
                          .clock = clock, .log = log, .metrics = metrics, .cloud_config = ""}));
  EXPECT_OK(groups->Refresh(Deadline::In(clock, std::chrono::seconds(1))));
  EXPECT_TRUE(groups->Groups().empty());
}

}  // namespace
}  // namespace coppice::node_groups::fresh_groups
