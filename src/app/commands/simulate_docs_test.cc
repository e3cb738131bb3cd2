// The examples of docs/simulate.md print what the page says they print.

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "app/commands/commands.h"
#include "app/main.h"
#include "base/strings.h"

namespace coppice::app {
namespace {

struct Example {
  std::vector<std::string> args;
  std::string output;
};

std::vector<Example> ExamplesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<Example> examples;
  constexpr std::string_view kPrompt = "$ coppice simulate ";
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kPrompt)) {
      inside = true;
      examples.push_back({Split(line.substr(kPrompt.size()), ' '), ""});
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      examples.back().output += line + "\n";
    }
  }
  return examples;
}

TEST(SimulateDocsTest, TheExamplesPrintWhatThePageSays) {
  Plugins plugins;
  RegisterDiscoveredPlugins(plugins);
  const std::vector<Example> examples = ExamplesOf("docs/simulate.md");
  ASSERT_GE(examples.size(), 3u);
  for (const Example& example : examples) {
    testing::internal::CaptureStdout();
    const int code = RunSimulate(example.args, plugins);
    const std::string output = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(code == 0 || code == 3) << code;
    EXPECT_EQ(output, example.output) << Join(example.args, " ");
  }
}

TEST(SimulateCommandTest, ExitCodesAreAsTheHelpSays) {
  Plugins plugins;
  RegisterDiscoveredPlugins(plugins);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunSimulate({"--help"}, plugins), 0);
  EXPECT_EQ(RunSimulate({}, plugins), 2);
  EXPECT_EQ(RunSimulate({"--cluster"}, plugins), 2);
  EXPECT_EQ(
      RunSimulate({"--cluster", "examples/simulate/cluster.yaml", "--scan-intervall=3s"}, plugins),
      2);
  EXPECT_EQ(RunSimulate({"--cluster", "no/such/file"}, plugins), 1);
  EXPECT_EQ(RunSimulate({"--cluster=docs/simulate.md"}, plugins), 1);
  EXPECT_EQ(RunSimulate({"--cluster=examples/simulate/cluster.yaml", "--output=json"}, plugins), 3);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::HasSubstr("Exit codes"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("--cluster needs a value"),
                             testing::HasSubstr("no/such/file: cannot be opened")));
}

}  // namespace
}  // namespace coppice::app
