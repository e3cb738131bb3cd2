// The report, the command line, and that documentation and rules name each other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/strings.h"
#include "conform/command.h"
#include "conform/report.h"
#include "test/support/must.h"

namespace coppice::conform {
namespace {

using testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The address of a heading as GitHub makes it: lower case, hyphens for blanks, nothing else.
std::string Anchor(std::string_view heading) {
  std::string anchor;
  for (const char c : Lower(Trim(heading))) {
    if (c == ' ' || c == '-') anchor += '-';
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_') anchor += c;
  }
  return anchor;
}

bool HasHeading(const std::string& text, const std::string& anchor) {
  for (const std::string& line : Split(text, '\n')) {
    if (line.starts_with('#') && Anchor(line.substr(line.find_first_not_of('#'))) == anchor) {
      return true;
    }
  }
  return false;
}

TEST(ConformDocsTest, EveryRuleIsInTheDocumentationAndItsSectionExists) {
  const std::string page = ReadFile("docs/conform.md");
  for (const char* contract : {"provider", "expander", "extender", "cloud"}) {
    const auto rules = MUST(RulesOf(contract));
    EXPECT_FALSE(rules.empty());
    for (const RuleText& rule : rules) {
      EXPECT_THAT(
          page, HasSubstr("| `" + std::string(rule.name) + "` | " + std::string(rule.says) + " |"));
      const auto parts = Split(rule.section, '#');
      ASSERT_EQ(parts.size(), 2u) << rule.section;
      EXPECT_TRUE(HasHeading(ReadFile(parts[0]), parts[1])) << rule.section;
    }
  }
}

Report AReport() {
  return {.contract = "provider",
          .target = "here:1",
          .rules = {{"good", "it is good", "docs/a.md#b", Passed("3 of them")},
                    {"bad", "a < b", "docs/a.md#b", Failed("\"x\" & <y>\n\x1b[31mred")},
                    {"none", "it may be", "docs/a.md#b", NotApplicable("no such thing")}}};
}

TEST(ConformReportTest, TextHasAReasonAndASectionForWhatFailed) {
  EXPECT_EQ(ToText(AReport()),
            "passed  good: 3 of them\n"
            "FAILED  bad: \"x\" & <y>  [31mred\n"
            "        a < b\n"
            "        docs/a.md#b\n"
            "n/a     none: no such thing\n"
            "provider at here:1: 1 passed, 1 failed, 1 not applicable\n");
}

TEST(ConformReportTest, JUnitEscapesWhateverAServerSays) {
  const std::string xml = ToJUnit(AReport());
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"&quot;x&quot; &amp; &lt;y&gt;\n [31mred\">a &lt; "
                             "b\ndocs/a.md#b</failure>"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"no such thing\"/>"));
}

TEST(ConformReportTest, TheExitCodeSaysWhetherARuleFailed) {
  Report report = AReport();
  EXPECT_EQ(report.ExitCode(), 1);
  report.rules.erase(report.rules.begin() + 1);
  EXPECT_EQ(report.ExitCode(), 0);
  report.rules.erase(report.rules.begin());
  EXPECT_EQ(report.ExitCode(), 1) << "nothing was tried";
}

TEST(ConformCommandTest, ReadsFlagsInEitherForm) {
  const Command command = MUST(ParseArguments({"provider", "here:1", "--grow=workers", "--at-most",
                                               "2", "--timeout=3s", "--skip=refresh"}));
  EXPECT_EQ(command.contract, "provider");
  EXPECT_EQ(command.address, "here:1");
  EXPECT_EQ(command.grow, "workers");
  EXPECT_EQ(command.at_most, 2);
  EXPECT_EQ(command.timeout, std::chrono::seconds(3));
  const Command extender =
      MUST(ParseArguments({"extender", "http://x", "--verb=predicate=filter"}));
  EXPECT_EQ(extender.verbs.at("predicate"), "filter");
}

TEST(ConformCommandTest, RefusesWithASentence) {
  const auto refused = [](const std::vector<std::string>& args) {
    const auto command = ParseArguments(args);
    EXPECT_FALSE(command.ok());
    return command.status().message();
  };
  EXPECT_THAT(refused({}), HasSubstr("an extender or a cloud"));
  EXPECT_THAT(refused({"cluster", "x"}), HasSubstr("'cluster'"));
  EXPECT_THAT(refused({"provider"}), HasSubstr("where is the provider?"));
  EXPECT_THAT(refused({"provider", "x:1", "--gruw=a"}), HasSubstr("--grow"));
  EXPECT_THAT(refused({"provider", "x:1", "--skip=nothing"}), HasSubstr("no rule nothing"));
  EXPECT_THAT(refused({"provider", "x:1", "--cert=a"}), HasSubstr("belong together"));
  EXPECT_THAT(refused({"expander", "x:1", "--grow=a"}), HasSubstr("of providers and clouds"));
  EXPECT_THAT(refused({"extender", "x:1", "--verb=fly=a"}), HasSubstr("predicate"));
  EXPECT_THAT(refused({"provider", "x:1", "--at-most=-1"}), HasSubstr("--at-most"));
  EXPECT_THAT(refused({"provider", "x:1", "y"}), HasSubstr("one argument too many"));
}

TEST(ConformCommandTest, NobodyThereAndNoCertificatesAreNoVerdict) {
  SystemClock clock;
  const Log log = Log::Null();
  Command command = MUST(ParseArguments({"provider", "unix:/nonexistent/socket"}));
  EXPECT_THAT(conform::Run(command, clock, log, nullptr).status().message(),
              HasSubstr("nobody answers"));
  command.address = "provider.example.com:8086";
  EXPECT_THAT(conform::Run(command, clock, log, nullptr).status().message(),
              HasSubstr("--plaintext"));
  command = MUST(ParseArguments({"extender", "http://127.0.0.1:1/"}));
  EXPECT_THAT(conform::Run(command, clock, log, nullptr).status().message(),
              HasSubstr("nobody answers"));
}

}  // namespace
}  // namespace coppice::conform
