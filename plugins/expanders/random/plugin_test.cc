#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "test/conformance/expander_suite.h"
#include "test/support/must.h"

namespace coppice {
namespace expanders::random {
void Register(expand::ExpanderRegistry& registry);
}

struct RandomUnderTest {
  std::unique_ptr<expand::Expander> Make(const expand::ExpanderContext& context) {
    expand::ExpanderRegistry registry("expander");
    expanders::random::Register(registry);
    return MUST(registry.Make("random", context));
  }
  void Surround(expand::Surroundings&) {}
};

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(Random, ExpanderSuite, RandomUnderTest);
}

namespace expanders::random {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Left(const std::vector<test::AnOption>& wanted) {
  return conformance::Left<RandomUnderTest>(wanted);
}

TEST(RandomTest, EveryOptionComesUp) {
  const conformance::Fresh<RandomUnderTest> expander;
  const test::OptionSet set({{.group = "a"}, {.group = "b"}, {.group = "c"}});
  std::map<std::string, int> seen;
  for (int i = 0; i < 300; ++i) ++seen[expander->Narrow(set.options(), {}).at(0)->group];
  EXPECT_EQ(seen.size(), 3U);
  for (const auto& [group, count] : seen) EXPECT_GT(count, 60) << group;
}

TEST(RandomTest, OneIsAllThatIsLeft) { EXPECT_THAT(Left({{.group = "a"}}), ElementsAre("a")); }

}  // namespace
}  // namespace expanders::random
}  // namespace coppice
