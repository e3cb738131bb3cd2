#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/conformance/expander_suite.h"
#include "test/support/must.h"

namespace coppice {
namespace expanders::least_nodes {
void Register(expand::ExpanderRegistry& registry);
}

struct LeastNodesUnderTest {
  std::unique_ptr<expand::Expander> Make(const expand::ExpanderContext& context) {
    expand::ExpanderRegistry registry("expander");
    expanders::least_nodes::Register(registry);
    return MUST(registry.Make("least-nodes", context));
  }
  void Surround(expand::Surroundings&) {}
};

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(LeastNodes, ExpanderSuite, LeastNodesUnderTest);
}

namespace expanders::least_nodes {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Left(const std::vector<test::AnOption>& wanted) {
  return conformance::Left<LeastNodesUnderTest>(wanted);
}

TEST(LeastNodesTest, TheFewestNodesWinAndTiesStay) {
  EXPECT_THAT(
      Left({{.group = "a", .nodes = 3}, {.group = "b", .nodes = 2}, {.group = "c", .nodes = 2}}),
      ElementsAre("b", "c"));
}

TEST(LeastNodesTest, NoNodesAtAllAreNoHelp) {
  EXPECT_THAT(Left({{.group = "a", .nodes = 0}, {.group = "b", .nodes = 9}}), ElementsAre("b"));
  EXPECT_THAT(Left({{.group = "a", .nodes = 0}}), testing::IsEmpty());
}

}  // namespace
}  // namespace expanders::least_nodes
}  // namespace coppice
