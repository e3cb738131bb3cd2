#include "base/yaml.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "test/support/must.h"

namespace coppice::yaml {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::string> Lines(const Problems& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems.all()) lines.push_back(problem.ToString());
  return lines;
}

// What one typed read of `key: TEXT` sets and complains about.
template <class T>
std::pair<T, std::vector<std::string>> ReadOne(const std::string& text, T before) {
  Problems problems;
  MapReader map(MUST(Parse("key: " + text, "f.yaml")), problems);
  map.Read("key", before);
  return {before, Lines(problems)};
}

TEST(YamlParseTest, EveryValueKnowsItsPlaceAndPath) {
  const Node root =
      MUST(Parse("nodeGroups:\n"
                 "  - name: a\n"
                 "    labels: {x: \"1\"}\n"
                 "  - name: b\n",
                 "conf.yaml"));
  ASSERT_EQ(root.kind(), Node::Kind::kMap);
  const Node groups = root.entries()[0].second;
  const Node first = groups.items()[0];
  const Node labels = first.entries()[1].second;
  const Node one = labels.entries()[0].second;
  EXPECT_EQ(one.path(), "nodeGroups[0].labels.x");
  EXPECT_EQ(one.place().file, "conf.yaml");
  EXPECT_EQ(one.place().line, 3);
  EXPECT_EQ(one.place().column, 17);
  EXPECT_TRUE(one.quoted());
  EXPECT_EQ(groups.items()[1].entries()[0].second.path(), "nodeGroups[1].name");
  EXPECT_FALSE(groups.items()[1].entries()[0].second.quoted());
}

TEST(YamlParseTest, NothingIsNull) {
  for (const std::string text : {"", "\n", "# only a comment\n", "---\n", "~", "null"}) {
    EXPECT_EQ(MUST(Parse(text, "f")).kind(), Node::Kind::kNull) << text;
  }
  EXPECT_EQ(Node().kind(), Node::Kind::kAbsent);
  EXPECT_EQ(Node().scalar(), "");
  EXPECT_THAT(Node().items(), IsEmpty());
}

TEST(YamlParseTest, RefusalsNameFileLineAndColumn) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a: 1\nb: 2\na: 3\n", "f.yaml:3:1: error: the key 'a' is here twice, first in line 1"},
      {"a: 1\n---\nb: 2\n", "f.yaml:3:1: error: a second document begins here; only one is read"},
      {"a: *x\n", "f.yaml:1:4: error: the referenced anchor is not defined"},
      {"a: &x [1, *x]\n", "f.yaml:1:11: error: the alias refers to what contains it"},
      {"? [a]\n: b\n", "f.yaml:1:3: error: a key must be a text; put it in quotes"},
      {"a: [1, 2\n", "f.yaml:2:1: error: end of sequence flow not found"},
      {"a:\n\t- b\n", "f.yaml:2:2: error: illegal block entry; indent with spaces, not with tabs"},
      {"a: \"b\nc: 2\nd: 3\n", "f.yaml:1:4: error: the quote that opens here is never closed"},
      {"a: 1\nb: {c: 'it''s, d: 2}\n",
       "f.yaml:2:8: error: the quote that opens here is never closed"},
      {"a: \"\\\"\n", "f.yaml:1:4: error: the quote that opens here is never closed"},
      {"<<: 3\n", "f.yaml:1:5: error: '<<' takes a map or a list of maps"},
  };
  for (const auto& [text, message] : rows) {
    EXPECT_EQ(Parse(text, "f.yaml").status(), InvalidArgument(message)) << text;
  }
}

TEST(YamlParseTest, AnAliasBombIsRefusedQuickly) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string name = "a" + std::to_string(i);
    const std::string below = "*a" + std::to_string(i - 1);
    text += name + ": &" + name + " [";
    for (int k = 0; k < 10; ++k) text += (k == 0 ? "" : ",") + below;
    text += "]\n";
  }
  EXPECT_THAT(Parse(text, "f").status().message(), HasSubstr("more than 1000000 values"));
}

TEST(YamlParseTest, DepthIsBoundedAlsoThroughAliases) {
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_OK(Parse(nested(100), "f"));
  EXPECT_EQ(Parse(nested(101), "f").status(),
            InvalidArgument("f:1:101: error: more than 100 levels"));
  EXPECT_FALSE(Parse(nested(20'000), "f").ok());
  EXPECT_THAT(Parse("- &a " + nested(60) + "\n- " + std::string(60, '[') + "*a" +
                        std::string(60, ']') + "\n",
                    "f")
                  .status()
                  .message(),
              HasSubstr("more than 100 levels, aliases followed"));
}

TEST(YamlParseTest, AliasesAndMergesGiveTheUsersPath) {
  const Node root =
      MUST(Parse("base: &base {image: debian, size: 1}\n"
                 "other: &other {zone: lpg1, size: 2}\n"
                 "one: *base\n"
                 "two:\n"
                 "  <<: [*base, *other]\n"
                 "  image: ubuntu\n",
                 "f"));
  Problems problems;
  MapReader map(root, problems);
  EXPECT_EQ(map.Get("one").entries()[0].second.path(), "one.image");
  std::map<std::string, std::string> two;
  EXPECT_TRUE(map.Read("two", two));
  EXPECT_THAT(two, ElementsAre(Pair("image", "ubuntu"), Pair("size", "1"), Pair("zone", "lpg1")));
}

TEST(YamlParseTest, InOrderEveryEntryIsThereWhereItStands) {
  const Node root =
      MUST(Parse("b: &b {x: 1, y: 1}\n"
                 "c: &c {y: 2}\n"
                 "d: {x: 0, <<: [*b, *c], y: 3, x: 4}\n"
                 "d: {<<: {z: 5}}\n",
                 "f", Duplicates::kInOrder));
  const auto entries = root.entries();
  ASSERT_EQ(entries.size(), 4u);
  const auto texts = [](const Node& map) {
    std::string text;
    for (const auto& [key, value] : map.entries()) text += key + value.scalar() + " ";
    return text;
  };
  EXPECT_EQ(texts(entries[2].second), "x0 y2 x1 y1 y3 x4 ");
  EXPECT_EQ(entries[3].first, "d");
  EXPECT_EQ(texts(entries[3].second), "z5 ");
  EXPECT_FALSE(Parse("{<<: 3}", "f", Duplicates::kInOrder).ok());
  // An alias bomb by way of merges.
  std::string bomb = "a0: &a0 {k: 1, l: 2}\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    const std::string name = "a" + std::to_string(i);
    bomb += name + ": &" + name + " {<<: [" + before + ", " + before + "]}\n";
  }
  EXPECT_THAT(Parse(bomb, "f", Duplicates::kInOrder).status().message(), HasSubstr("values"));
}

TEST(YamlParseTest, OfEqualKeysTheLastOneMayWin) {
  const Node root = MUST(Parse("a: 1\nb: 2\na: 3\n", "f", Duplicates::kLastWins));
  ASSERT_EQ(root.entries().size(), 2u);
  EXPECT_EQ(root.entries()[1].first, "a");
  EXPECT_EQ(root.entries()[1].second.scalar(), "3");
}

TEST(YamlParseTest, TagsAreKept) {
  const auto tag = [](const std::string& text) { return MUST(Parse(text, "f")).tag(); };
  EXPECT_EQ(tag("3"), ScalarTag::kNone);
  EXPECT_EQ(tag("'3'"), ScalarTag::kNone);
  EXPECT_EQ(tag("!!float 3"), ScalarTag::kFloat);
  EXPECT_EQ(tag("!!int '3'"), ScalarTag::kInt);
  EXPECT_EQ(tag("!!bool yes"), ScalarTag::kBool);
  EXPECT_EQ(tag("!!str 3"), ScalarTag::kText);
  EXPECT_EQ(tag("!mine 3"), ScalarTag::kOther);
  EXPECT_TRUE(MUST(Parse("!!str 3", "f")).quoted());
}

TEST(YamlParseTest, FilesThatCannotBeReadSayWhy) {
  EXPECT_EQ(ParseFile("/nowhere/x.yaml").status(),
            NotFound("cannot read /nowhere/x.yaml: No such file or directory"));
  EXPECT_THAT(ParseFile("/").status().message(), HasSubstr("cannot read /: Is a directory"));
}

TEST(YamlParseTest, ReadsAFile) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("yaml_test_" + std::to_string(::getpid()));
  std::ofstream(path) << "a: [1";
  EXPECT_THAT(ParseFile(path).status().message(), HasSubstr(path + ":1:"));
  std::ofstream(path) << "";
  EXPECT_EQ(MUST(ParseFile(path)).kind(), Node::Kind::kNull);
  std::filesystem::remove(path);
}

TEST(MapReaderTest, ReadsEveryType) {
  Problems problems;
  MapReader map(MUST(Parse("text: hello\n"
                           "number_text: 007\n"
                           "flag: true\n"
                           "big: -9223372036854775808\n"
                           "small: 42\n"
                           "ratio: 1.5e-3\n"
                           "wait: 1h30m\n"
                           "list: [a, 2, \"c\"]\n"
                           "labels:\n  a/b: x\n  empty:\n",
                           "f")),
                problems);
  std::string text, number_text;
  bool flag = false;
  int64_t big = 0;
  int small = 0;
  double ratio = 0;
  Duration wait{};
  std::vector<std::string> list;
  std::map<std::string, std::string> labels;
  EXPECT_TRUE(map.Require("text", text));
  EXPECT_TRUE(map.Read("number_text", number_text));
  EXPECT_TRUE(map.Read("flag", flag));
  EXPECT_TRUE(map.Read("big", big));
  EXPECT_TRUE(map.Read("small", small));
  EXPECT_TRUE(map.Read("ratio", ratio));
  EXPECT_TRUE(map.Read("wait", wait));
  EXPECT_TRUE(map.Read("list", list));
  EXPECT_TRUE(map.Read("labels", labels));
  map.Finish();
  EXPECT_THAT(Lines(problems), IsEmpty());
  EXPECT_EQ(text, "hello");
  EXPECT_EQ(number_text, "007");
  EXPECT_TRUE(flag);
  EXPECT_EQ(big, INT64_MIN);
  EXPECT_EQ(small, 42);
  EXPECT_EQ(ratio, 0.0015);
  EXPECT_EQ(wait, std::chrono::minutes(90));
  EXPECT_THAT(list, ElementsAre("a", "2", "c"));
  EXPECT_THAT(labels, ElementsAre(Pair("a/b", "x"), Pair("empty", "")));
}

TEST(MapReaderTest, MalformedValuesAreNamedAndLeaveTheDefault) {
  const auto complaint = [](const std::string& text) {
    return ElementsAre("f.yaml:1:6: error: key: " + text);
  };
  EXPECT_THAT(ReadOne<bool>("yes", false),
              Pair(false, complaint("must be true or false, not \"yes\"; write true")));
  EXPECT_THAT(ReadOne<bool>("Off", true),
              Pair(true, complaint("must be true or false, not \"Off\"; write false")));
  EXPECT_THAT(
      ReadOne<bool>("'true'", false),
      Pair(false, complaint("must be true or false, without quotes, not the text \"true\"")));
  EXPECT_THAT(ReadOne<int>("'8'", 3),
              Pair(3, complaint("must be a whole number, not a text; write \"8\" without quotes")));
  EXPECT_THAT(ReadOne<int>("1.5", 3), Pair(3, complaint("must be a whole number, not \"1.5\"")));
  EXPECT_THAT(
      ReadOne<int>("014", 3),
      Pair(3, complaint("must be a whole number without leading zeros, not \"014\": some read that "
                        "as octal")));
  EXPECT_THAT(ReadOne<int>("3000000000", 3),
              Pair(3, complaint("3000000000 does not fit into 32 bits")));
  EXPECT_THAT(ReadOne<int64_t>("9223372036854775808", 3),
              Pair(3, complaint("\"9223372036854775808\" does not fit into 64 bits")));
  EXPECT_THAT(ReadOne<double>(".nan", 1.0), Pair(1.0, complaint("must be a number, not \".nan\"")));
  EXPECT_THAT(ReadOne<double>("nan", 1.0), Pair(1.0, complaint("must be a number, not \"nan\"")));
  EXPECT_THAT(
      ReadOne<Duration>("30", Duration(1)),
      Pair(Duration(1),
           complaint("\"30\" is not a duration: a unit is missing; write for example 30s")));
  EXPECT_THAT(ReadOne<std::string>("[a]", "x"),
              Pair("x", complaint("must be a single value, not a list")));
  EXPECT_THAT(ReadOne<std::vector<std::string>>("a", {}),
              Pair(IsEmpty(), complaint("must be a list (lines that begin with -)")));
  EXPECT_THAT(ReadOne<std::vector<std::string>>("[a, {}]", {}),
              Pair(IsEmpty(), ElementsAre("f.yaml:1:10: error: key[1]: must be a single value")));
  EXPECT_THAT((ReadOne<std::map<std::string, std::string>>("{a: [1]}", {})),
              Pair(IsEmpty(), ElementsAre("f.yaml:1:10: error: key.a: must be a single value")));
  EXPECT_THAT((ReadOne<std::map<std::string, std::string>>("7", {})),
              Pair(IsEmpty(), complaint("must be a map (key: value lines)")));
}

TEST(MapReaderTest, NullCountsAsAbsent) {
  EXPECT_THAT(ReadOne<int>("", 3), Pair(3, IsEmpty()));
  Problems problems;
  MapReader map(MUST(Parse("group:\n  name:\n", "f")), problems);
  MapReader group(map.Get("group"), problems);
  std::string name;
  EXPECT_FALSE(group.Require("name", name));
  EXPECT_FALSE(group.Require("flavor", name));
  EXPECT_THAT(Lines(problems), ElementsAre("f:2:3: error: group.name: is required",
                                           "f:2:3: error: group.flavor: is required"));
}

TEST(MapReaderTest, UnknownKeysAreWarningsWithTheNearestKnownKey) {
  Problems problems;
  MapReader map(MUST(Parse("groups:\n  - minsize: 1\n    wholly: 2\n", "f")), problems);
  map.EachItem("groups", [&](const Node& item) {
    MapReader group(item, problems);
    int size = 0;
    group.Read("minSize", size);
    group.Read("maxSize", size);
    group.Finish();
  });
  map.Finish();
  EXPECT_THAT(Lines(problems),
              ElementsAre("f:2:5: warning: groups[0].minsize: unknown key; did you mean 'minSize'?",
                          "f:3:5: warning: groups[0].wholly: unknown key"));
  EXPECT_FALSE(problems.has_errors());
  EXPECT_OK(problems.ToStatus());
  EXPECT_EQ(problems.ToStatus(/*strict=*/true).code(), Code::kInvalidArgument);
  map.Complain("groups", "are too few");
  EXPECT_TRUE(problems.has_errors());
  EXPECT_EQ(problems.ToStatus(), InvalidArgument("f:2:3: error: groups: are too few"));
}

TEST(MapReaderTest, WhatIsNotAMapIsAProblem) {
  Problems problems;
  MapReader map(MUST(Parse("- a\n", "f")), problems);
  EXPECT_FALSE(map.Has("a"));
  map.Finish();
  EXPECT_THAT(Lines(problems),
              ElementsAre("f:1:1: error: must be a map (key: value lines), not a list"));
  MapReader empty(MUST(Parse("", "f")), problems);
  empty.Finish();
  EXPECT_EQ(problems.all().size(), 1u);
}

}  // namespace
}  // namespace coppice::yaml
