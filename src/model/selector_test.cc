#include "model/selector.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/support/must.h"

namespace coppice::model {
namespace {

Selector S(std::string_view text) { return MUST(Selector::Parse(text)); }

TEST(SelectorTest, PrintsCanonically) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", ""},
      {" x ", "x"},
      {"! x", "!x"},
      {"b=1,a=2", "a=2,b=1"},
      {"x == 1", "x==1"},
      {"x!=", "x!="},
      {"x in (c, a,b,a)", "x in (a,b,c)"},
      {"x in ()", "x in ()"},
      {"x in (,a)", "x in (,a)"},
      {"x notin (a,,b)", "x notin (,a,b)"},
      {"in in (in,notin)", "in in (in,notin)"},
      {"x=in", "x=in"},
      {"x<2,x>0", "x<2,x>0"},
      {"example.com/role = front", "example.com/role=front"},
      {"\tx\n", "x"},
  };
  for (const auto& [text, canonical] : rows) EXPECT_EQ(S(text).Canonical(), canonical) << text;
}

TEST(SelectorTest, RefusesWhatKubernetesRefuses) {
  for (const char* text : {",",
                           "a,,b",
                           "a,",
                           "x y",
                           "x in a",
                           "x in (a",
                           "x in (a b)",
                           "x in (a),",
                           "!",
                           "!!x",
                           "!x=1",
                           "x===a",
                           "x>",
                           "x>a",
                           "x> -1",
                           "=a",
                           "(x)",
                           "x! =1",
                           "x!1",
                           "/x",
                           "x/",
                           "a/b/c",
                           "example.com/=a",
                           "Example.com/x",
                           "-x",
                           "x=a b",
                           "x=-a",
                           "x=\xC3\xA9",
                           "exists(x)"}) {
    EXPECT_FALSE(Selector::Parse(text).ok()) << text;
  }
}

TEST(SelectorTest, ZeroByteEndsAWordAsUpstreamReadsIt) {
  using std::string_literals::operator""s;
  EXPECT_EQ(S("x=a\0,y"s).Canonical(), "x=a,y");
  EXPECT_EQ(S("x \0garbage ((("s).Canonical(), "x");
}

TEST(SelectorTest, ComplaintNamesWhatWasFound) {
  const Status status = Selector::Parse("x in a").status();
  EXPECT_EQ(status.message(), "in a label selector: found 'a', expected '('");
}

struct MatchCase {
  std::string selector;
  Labels labels;
  bool matches;
};

TEST(SelectorTest, Matches) {
  const std::vector<MatchCase> rows = {
      {"", {}, true},
      {"x", {{"x", ""}}, true},
      {"x", {}, false},
      {"!x", {}, true},
      {"!x", {{"x", ""}}, false},
      {"x=1", {{"x", "1"}}, true},
      {"x=1", {{"x", "01"}}, false},
      {"x=", {}, false},
      {"x!=1", {}, true},
      {"x notin (1,2)", {{"x", "2"}}, false},
      {"x notin (1,2)", {}, true},
      {"x in (1,2)", {{"x", "2"}}, true},
      {"x>5", {{"x", "6"}}, true},
      {"x>5", {{"x", "5"}}, false},
      {"x>5", {{"x", "six"}}, false},
      {"x<5", {{"x", "-6"}}, true},
      {"x<5", {}, false},
      {"x,x!=2", {{"x", "2"}}, false},
  };
  for (const MatchCase& row : rows)
    EXPECT_EQ(S(row.selector).Matches(row.labels), row.matches) << row.selector;
}

TEST(SelectorTest, AbsentObjectSelectsNothingAndEmptyOneEverything) {
  const Selector absent = MUST(Selector::From(std::optional<LabelSelector>()));
  EXPECT_FALSE(absent.Matches({}));
  EXPECT_TRUE(absent.matches_nothing());
  EXPECT_FALSE(absent.empty());
  const Selector empty = MUST(Selector::From(LabelSelector{}));
  EXPECT_TRUE(empty.Matches({{"x", "1"}}));
  EXPECT_TRUE(empty.empty());
  EXPECT_FALSE(absent == empty);
}

TEST(SelectorTest, ObjectIsCompiledWithItsLabelsFirst) {
  const LabelSelector object{
      .match_labels = {{"tier", "web"}},
      .match_expressions = {{"tier", "In", {"web", "db"}}, {"app", "DoesNotExist", {}}}};
  EXPECT_EQ(MUST(Selector::From(object)).Canonical(), "!app,tier=web,tier in (db,web)");
}

TEST(SelectorTest, ObjectIsValidated) {
  const auto bad = [](LabelSelectorRequirement requirement) {
    return !Selector::From(LabelSelector{.match_expressions = {std::move(requirement)}}).ok();
  };
  EXPECT_TRUE(bad({"x", "Gt", {"1"}}));
  EXPECT_TRUE(bad({"x", "", {}}));
  EXPECT_TRUE(bad({"x", "In", {}}));
  EXPECT_TRUE(bad({"x", "Exists", {"a"}}));
  EXPECT_TRUE(bad({"", "Exists", {}}));
  EXPECT_TRUE(bad({std::string(64, 'k'), "Exists", {}}));
  EXPECT_TRUE(bad({"x", "In", {std::string(64, 'v')}}));
  EXPECT_FALSE(bad({std::string(63, 'k'), "Exists", {}}));
}

TEST(SelectorTest, LabelsAreTakenUnvalidated) {
  EXPECT_TRUE(Selector::FromLabels({{"bad key", "bad value"}}).Matches({{"bad key", "bad value"}}));
  EXPECT_TRUE(Selector::FromLabels({}).empty());
}

TEST(SelectorTest, WithAddsRequirementsAndNothingStaysNothing) {
  const auto requirement = MUST(Requirement::Create("a", Requirement::Operator::kEquals, {"1"}));
  EXPECT_EQ(S("b").With({requirement}).Canonical(), "a=1,b");
  EXPECT_TRUE(Selector::Nothing().With({requirement}).matches_nothing());
}

}  // namespace
}  // namespace coppice::model
