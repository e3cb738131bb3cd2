// What recordings of the real scheduler (`coppice-replay conf`) do not hold: texts in which an entry
// meets one that is there already, tags, and numbers at the edges. The answers are yaml.v2's.

#include "batch/conf.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"

namespace coppice::batch {
namespace {

using testing::HasSubstr;

std::string TextOf(const ArgumentValue& value);

std::string TextOf(const ArgumentValue::Map& map) {
  std::string text;
  for (const auto& [key, value] : map)
    text += (text.empty() ? "" : " ") + key + "=" + TextOf(value);
  return "{" + text + "}";
}

std::string TextOf(const ArgumentValue& value) {
  if (value.AsBool()) return *value.AsBool() ? "true" : "false";
  if (value.AsInt()) return fmt::format("int:{}", *value.AsInt());
  if (value.AsUnsigned()) return fmt::format("uint:{}", *value.AsUnsigned());
  if (value.AsFloat()) return fmt::format("float:{}", *value.AsFloat());
  if (value.AsText()) return "'" + *value.AsText() + "'";
  if (value.AsMap()) return TextOf(*value.AsMap());
  if (!value.AsList()) return "null";
  std::string text;
  for (const ArgumentValue& item : *value.AsList())
    text += (text.empty() ? "" : " ") + TextOf(item);
  return "[" + text + "]";
}

// A configuration with `lines` before the one plug-in of its one tier.
Result<Conf> WithPlugin(std::string_view plugin, std::string_view lines = "") {
  return ParseConf(fmt::format("actions: allocate\n{}tiers: [{{plugins: [{}]}}]\n", lines, plugin));
}

struct PluginCase {
  std::string_view plugin;
  std::string_view shown;  // its name and its arguments
  std::string_view lines = "";
};

void ExpectPlugins(const std::vector<PluginCase>& cases) {
  for (const PluginCase& c : cases) {
    const auto conf = WithPlugin(c.plugin, c.lines);
    ASSERT_OK(conf) << c.plugin;
    const PluginOption& plugin = conf->tiers.at(0).plugins.at(0);
    EXPECT_EQ(plugin.name + TextOf(plugin.arguments.values()), c.shown) << c.plugin;
  }
}

TEST(ConfTest, ArgumentsThatComeTwiceAreMerged) {
  ExpectPlugins({
      {"{name: a, arguments: {x: 1, y: 1}, arguments: {y: 2, z: 3}}", "a{x=int:1 y=int:2 z=int:3}"},
      {"{name: a, arguments: {x: 1}, arguments: }", "a{}"},
      {"{name: a, arguments: {x: 1}, arguments: ~}", "a{}"},
      {"{name: a, arguments: {x: 1}, arguments: {}}", "a{x=int:1}"},
      {"{name: a, arguments: {x: {p: 1, q: 1}}, arguments: {x: {q: 2}}}", "a{x={q=int:2}}"},
      {"{name: a, arguments: {x: [1, 2]}, arguments: {x: [4]}}", "a{x=[int:4]}"},
      {"{name: a, arguments: {m: {a: 1, a: 2}}}", "a{m={a=int:2}}"},
      {"{name: a, name: }", "{}"},
  });
  EXPECT_FALSE(WithPlugin("{name: a, arguments: {x: 1}, arguments: 7}").ok());
}

TEST(ConfTest, WhatIsMergedInStandsWhereItIsWritten) {
  constexpr std::string_view kBase = "base: &b {name: q, arguments: {a: 1, b: 1}}\n";
  constexpr std::string_view kTwo =
      "b: &b {name: q, arguments: {a: 1, b: 1}}\nc: &c {name: r, arguments: {b: 2, c: 2}}\n";
  constexpr std::string_view kPlain = "b: &b {a: 1, c: 2}\nc: &c {c: 5, <<: *b}\n";
  ExpectPlugins({
      {"{<<: *b, name: p, arguments: {b: 2}}", "p{a=int:1 b=int:2}", kBase},
      {"{name: p, arguments: {b: 2}, <<: *b}", "q{a=int:1 b=int:1}", kBase},
      {"{name: p, <<: *b}", "q{a=int:1 b=int:1}", kBase},
      {"{<<: [*b, *c]}", "q{a=int:1 b=int:1 c=int:2}", kTwo},
      {"{<<: *b, <<: *c}", "r{a=int:1 b=int:2 c=int:2}", kTwo},
      {"{arguments: {n: {c: 3, <<: *b}}}", "{n={a=int:1 c=int:2}}", kPlain},
      {"{arguments: {n: {<<: *b, c: 3}}}", "{n={a=int:1 c=int:3}}", kPlain},
      {"{arguments: {n: {<<: *c}}}", "{n={a=int:1 c=int:2}}", kPlain},
      {"{arguments: {'<<': {a: 1}}}", "{<<={a=int:1}}"},
      {"{name: p, <<: []}", "p{}"},
  });
  for (const std::string_view bad : {"{<<: 7}", "{<<: [7]}", "{<<: ~}", "{<<: }"}) {
    EXPECT_EQ(WithPlugin(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST(ConfTest, TheOtherEntriesThatComeTwice) {
  const auto metrics = [](std::string_view text) {
    const Conf conf = MUST(ParseConf("actions: allocate\n" + std::string(text)));
    return conf.metrics;
  };
  using Map = std::map<std::string, std::string>;
  EXPECT_EQ(metrics("metrics: {a: b, c: d}\nmetrics: {c: e, f: g}\n"),
            (Map{{"a", "b"}, {"c", "e"}, {"f", "g"}}));
  EXPECT_EQ(metrics("metrics: {a: b, c: d}\nmetrics: {a: ~}\n"), (Map{{"a", ""}, {"c", "d"}}));
  EXPECT_EQ(metrics("metrics: {a: b}\nmetrics:\n"), std::nullopt);

  const Conf tiers =
      MUST(ParseConf("actions: allocate\ntiers: [{plugins: [{name: a}]}]\n"
                     "tiers: [{plugins: [{name: b}], plugins: [{name: c}]}]\n"));
  ASSERT_EQ(tiers.tiers.size(), 1u);
  ASSERT_EQ(tiers.tiers[0].plugins.size(), 1u);
  EXPECT_EQ(tiers.tiers[0].plugins[0].name, "c");
  EXPECT_TRUE(MUST(WithPlugin("{}", "tiers: [{}]\n")).tiers[0].plugins.size() == 1);
  EXPECT_EQ(MUST(ParseConf("actions: backfill\n<<: {actions: allocate}\n")).actions.front(),
            "allocate");

  // A flag that is null is as if it were not there.
  const Conf flag = MUST(WithPlugin("{enableJobOrder: false, enableJobOrder: ~}"));
  EXPECT_TRUE(flag.tiers[0].plugins[0].enabled(Flag::kJobOrder));
  const Conf merged = MUST(WithPlugin("{enableJobOrder: true, <<: {enableJobOrder: false}}"));
  EXPECT_FALSE(merged.tiers[0].plugins[0].enabled(Flag::kJobOrder));
}

TEST(ConfTest, ATagSaysWhatAValueIs) {
  ExpectPlugins({
      {"{arguments: {a: !!float 3, b: !!float '3', c: !!float 017, d: !!float .inf}}",
       "{a=float:3 b=float:3 c=float:15 d=float:inf}"},
      {"{arguments: {a: !!int 3, b: !!int '4', c: !!int 18446744073709551615}}",
       "{a=int:3 b=int:4 c=uint:18446744073709551615}"},
      {"{arguments: {a: !!str 3, b: ! 3, c: !mine 3, d: !!other 3}}", "{a='3' b='3' c='3' d='3'}"},
      {"{arguments: {a: !!bool yes, b: !!bool 'yes', c: !!null null}}", "{a=true b=true c=null}"},
      {"{name: !!int 3}", "3{}"},
  });
  for (const std::string_view bad :
       {"!!int abc", "!!int 3.5", "!!int 1e3", "!!int 99999999999999999999", "!!float abc",
        "!!float 18446744073709551615", "!!bool abc", "!!bool 1", "!!null abc"}) {
    const auto conf = WithPlugin("{arguments: {a: " + std::string(bad) + "}}");
    EXPECT_EQ(conf.status().code(), Code::kInvalidArgument) << bad;
    EXPECT_THAT(conf.status().message(), HasSubstr("as its tag says")) << bad;
    // Nobody reads what stands behind a key that nobody knows.
    EXPECT_OK(WithPlugin("{other: " + std::string(bad) + "}")) << bad;
  }
  EXPECT_FALSE(WithPlugin("{name: !!int x}").ok());
  EXPECT_FALSE(WithPlugin("{enableJobOrder: !!str true}").ok());
}

TEST(ConfTest, NumbersAtTheEdges) {
  ExpectPlugins({
      {"{arguments: {a: 9223372036854775807, b: 9223372036854775808, c: 18446744073709551615}}",
       "{a=int:9223372036854775807 b=uint:9223372036854775808 c=uint:18446744073709551615}"},
      {"{arguments: {a: 0xffffffffffffffff, b: 01777777777777777777777, c: 1_8446744073709551615}}",
       "{a=uint:18446744073709551615 b=uint:18446744073709551615 c=uint:18446744073709551615}"},
      {"{arguments: {a: 18446744073709551616, b: +9223372036854775808, c: -9223372036854775809}}",
       "{a=float:1.8446744073709552e+19 b=float:9.223372036854776e+18 "
       "c=float:-9.223372036854776e+18}"},
      {"{arguments: {a: 1e-400, b: -1e-400, c: 1e-324, d: 4.9e-324, e: 0.0000e-999999}}",
       "{a=float:0 b=float:-0 c=float:0 d=float:5e-324 e=float:0}"},
      {"{arguments: {a: 1e400, b: -1e400, c: 0xfffffffffffffffff}}",
       "{a='1e400' b='-1e400' c='0xfffffffffffffffff'}"},
  });
}

TEST(ConfTest, NoGetterTakesAnIntThatIsTooLargeForOne) {
  const Conf conf = MUST(WithPlugin("{arguments: {a: 9223372036854775808}}"));
  const Arguments& arguments = conf.tiers[0].plugins[0].arguments;
  int64_t number = 7;
  double real = 7.5;
  bool flag = true;
  std::string text = "default";
  arguments.Get("a", number);
  arguments.Get("a", real);
  arguments.Get("a", flag);
  arguments.Get("a", text);
  EXPECT_EQ(number, 7);
  EXPECT_EQ(real, 7.5);
  EXPECT_TRUE(flag);
  EXPECT_EQ(text, "default");
}

}  // namespace
}  // namespace coppice::batch
