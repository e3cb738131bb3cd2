#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/conformance/expander_suite.h"
#include "test/support/must.h"

namespace coppice {
namespace expanders::priority {
void Register(expand::ExpanderRegistry& registry);
}

struct PriorityUnderTest {
  std::unique_ptr<expand::Expander> Make(const expand::ExpanderContext& context) {
    expand::ExpanderRegistry registry("expander");
    expanders::priority::Register(registry);
    return MUST(registry.Make("priority", context));
  }
  void Surround(expand::Surroundings& around) {
    around.config_map = [](std::string_view, std::string_view) -> Result<std::string> {
      return std::string("10: [\".*\"]\n50: [\"7$\", \"no template\"]\n");
    };
    around.warn = [](std::string_view, std::string) {};
  }
};

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(Priority, ExpanderSuite, PriorityUnderTest);
}

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PriorityTest : public testing::Test {
 protected:
  std::vector<std::string> Left(const Result<std::string>& priorities) {
    expand::Surroundings around;
    around.config_map = [&](std::string_view name, std::string_view key) -> Result<std::string> {
      EXPECT_EQ(name, "cluster-autoscaler-priority-expander");
      EXPECT_EQ(key, "priorities");
      return priorities;
    };
    around.warn = [this](std::string_view reason, const std::string& text) {
      warnings_.push_back(std::string(reason) + ": " + text);
    };
    return conformance::Left<PriorityUnderTest>(
        {{.group = "spot-a"}, {.group = "spot-b"}, {.group = "steady"}}, around);
  }

  std::vector<std::string> warnings_;
};

TEST_F(PriorityTest, TheHighestNumberWins) {
  EXPECT_THAT(Left(std::string("10: [steady]\n20: [spot]\n")), ElementsAre("spot-a", "spot-b"));
  EXPECT_THAT(Left(std::string("30: [steady]\n20: [spot]\n")), ElementsAre("steady"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(PriorityTest, PatternsMatchAnywhereUnlessTheyAreAnchored) {
  EXPECT_THAT(Left(std::string("1: [b]")), ElementsAre("spot-b"));
  EXPECT_THAT(Left(std::string("1: ['^steady$', '^spot$']")), ElementsAre("steady"));
}

TEST_F(PriorityTest, AGroupThatMatchesNothingIsLeftOutWithAWarning) {
  EXPECT_THAT(Left(std::string("1: [spot]")), ElementsAre("spot-a", "spot-b"));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("PriorityConfigMapNotMatchedGroup")));
}

TEST_F(PriorityTest, WithoutAMapAllStay) {
  EXPECT_THAT(Left(NotFound("no map")), ElementsAre("spot-a", "spot-b", "steady"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(PriorityTest, AMapThatCannotBeReadKeepsAllAndSaysSo) {
  for (const char* bad : {"", "1: [", "x: [a]", "1: spot", "1: ['(']", "[1, 2]"}) {
    warnings_.clear();
    EXPECT_THAT(Left(std::string(bad)), ElementsAre("spot-a", "spot-b", "steady")) << bad;
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("PriorityConfigMapInvalid"))) << bad;
  }
}

TEST_F(PriorityTest, IfNothingMatchesAllStay) {
  EXPECT_THAT(Left(std::string("1: [other]")), ElementsAre("spot-a", "spot-b", "steady"));
  EXPECT_THAT(warnings_.back(), HasSubstr("PriorityConfigMapNoGroupMatched"));
}

TEST_F(PriorityTest, WhereThereAreNoConfigMapsAllStay) {
  EXPECT_THAT(conformance::Left<PriorityUnderTest>({{.group = "a"}, {.group = "b"}}),
              ElementsAre("a", "b"));
}

}  // namespace
}  // namespace coppice
