// Plays every scenario of test/scenario/*.scn. README.md has the words.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "test/scenario/stage.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"

namespace coppice::scenario {
namespace {

using test::TheFilters;
using test::ThePlugins;

std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(COPPICE_SCENARIOS)) {
    if (entry.path().extension() == ".scn") files.push_back(entry.path().filename().string());
  }
  std::ranges::sort(files);
  return files;
}

class ScenarioTest : public testing::TestWithParam<std::string> {};

TEST_P(ScenarioTest, GoesAsItSays) {
  std::ifstream in(std::filesystem::path(COPPICE_SCENARIOS) / GetParam());
  std::stringstream text;
  text << in.rdbuf();
  const auto scenarios = MUST(ReadScenarios(text.str()));
  EXPECT_FALSE(scenarios.empty());
  for (const Scenario& scenario : scenarios) {
    for (const std::string& wrong : Stage::Play(scenario, ThePlugins(), TheFilters()))
      ADD_FAILURE() << GetParam() << ", " << wrong << "\n  in: " << scenario.title;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ScenarioTest, testing::ValuesIn(Files()), [](const auto& row) {
  std::string name;
  bool upper = true;
  for (const char c : std::filesystem::path(row.param).stem().string()) {
    if (c == '_' || c == '-') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name;
});

// A scenario that expects too much must fail, or none of the others proves anything.
TEST(ScenarioRunnerTest, AWrongExpectationIsReportedWithItsLine) {
  const auto scenarios =
      MUST(ReadScenarios("scenario a lie\ngroup a\npods web count=1 cpu=1\nat 10s\npass\n"
                         "expect bought a=2\nexpect bought a=1\n"));
  EXPECT_THAT(Stage::Play(scenarios[0], ThePlugins(), TheFilters()),
              testing::ElementsAre(testing::HasSubstr("line 6: bought: expected a=2, is a=1")));
}

TEST(ScenarioRunnerTest, WordsThatItDoesNotKnowAreMistakes) {
  for (const char* text :
       {"scenario x\ngroup a\nfrobnicate\n", "scenario x\ngroup a\npass\nexpect luck\n",
        "scenario x\ngroup a\nnodes n group=b\n"}) {
    const auto scenarios = MUST(ReadScenarios(text));
    EXPECT_THAT(Stage::Play(scenarios[0], ThePlugins(), TheFilters()), testing::SizeIs(1)) << text;
  }
  EXPECT_FALSE(ReadScenarios("group a\n").ok());
  EXPECT_FALSE(ReadScenarios("scenario x\npods \"web\n").ok());
}

}  // namespace
}  // namespace coppice::scenario
