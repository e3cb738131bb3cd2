#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/conformance/expander_suite.h"
#include "test/support/must.h"

namespace coppice {
namespace expanders::most_pods {
void Register(expand::ExpanderRegistry& registry);
}

struct MostPodsUnderTest {
  std::unique_ptr<expand::Expander> Make(const expand::ExpanderContext& context) {
    expand::ExpanderRegistry registry("expander");
    expanders::most_pods::Register(registry);
    return MUST(registry.Make("most-pods", context));
  }
  void Surround(expand::Surroundings&) {}
};

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(MostPods, ExpanderSuite, MostPodsUnderTest);
}

namespace expanders::most_pods {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Left(const std::vector<test::AnOption>& wanted) {
  return conformance::Left<MostPodsUnderTest>(wanted);
}

TEST(MostPodsTest, TheMostPodsWinAndTiesStay) {
  EXPECT_THAT(
      Left({{.group = "a", .pods = 1}, {.group = "b", .pods = 4}, {.group = "c", .pods = 4}}),
      ElementsAre("b", "c"));
}

TEST(MostPodsTest, HowManyNodesDoesNotMatter) {
  EXPECT_THAT(Left({{.group = "a", .nodes = 1, .pods = 1}, {.group = "b", .nodes = 50, .pods = 2}}),
              ElementsAre("b"));
}

}  // namespace
}  // namespace expanders::most_pods
}  // namespace coppice
