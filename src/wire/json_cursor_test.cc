// The JSON that we take is the JSON that simdjson takes, but for what stands in texts: checked on
// rows, and on thousands of damaged documents.

#include "wire/json_cursor.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>
#include <string>
#include <vector>

#include "wire/utf8.h"

namespace coppice::wire {
namespace {

bool WeTake(const std::string& text) {
  JsonCursor in(text);
  return in.Skip() && in.AtEnd();
}

bool SimdjsonTakes(const std::string& text) {
  simdjson::dom::parser parser;
  return parser.parse(simdjson::padded_string(text)).error() == simdjson::SUCCESS;
}

struct Case {
  const char* name;
  std::string text;
  bool valid;
};

class JsonCursorTest : public testing::TestWithParam<Case> {};

TEST_P(JsonCursorTest, Decides) {
  EXPECT_EQ(WeTake(GetParam().text), GetParam().valid);
  EXPECT_EQ(SimdjsonTakes(GetParam().text), GetParam().valid);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, JsonCursorTest,
    testing::ValuesIn(std::vector<Case>{
        {"Everything",
         R"( {"a" : [1, -0.5e+3, true, false, null, "x\u00e9\ud83d\ude00\n"] , "b":{}} )", true},
        {"TrailingComma", "[1,]", false},
        {"MissingComma", "[1 2]", false},
        {"LeadingZero", "[01]", false},
        {"BarePoint", "[1.]", false},
        {"BareMinus", "[-]", false},
        {"Plus", "[+1]", false},
        {"SingleQuotes", "['a']", false},
        {"UnknownWord", "[nul]", false},
        {"ControlCharacter", "[\"a\nb\"]", false},
        {"UnknownEscape", R"(["\x"])", false},
        {"CutEscape", R"(["\u12"])", false},
        {"GoodUtf8", "[\"Z\xC3\xBCrich \xE2\x98\x83\"]", true},
        {"WrongBracket", "[1}", false},
        {"KeyWithoutColon", R"({"a" 1})", false},
        {"NumberAsKey", "{1:2}", false},
        {"TwoDocuments", "{}{}", false},
        {"Nothing", "", false},
    }),
    [](const auto& row) { return row.param.name; });

TEST(JsonCursorTest, WhatIsNotUtf8IsTakenAsItIs) {
  for (const std::string text : {"\xC0\xAF", "\xED\xA0\x80", "\xFF", "a long text with one \xC3"}) {
    const std::string quoted = "\"" + text + "\"";
    EXPECT_TRUE(WeTake("[" + quoted + "]"));
    JsonCursor in(quoted);
    std::string_view value;
    ASSERT_TRUE(in.ReadText(value));
    EXPECT_EQ(value, text);
  }
}

TEST(JsonCursorTest, HalfASurrogatePairIsTheReplacementCharacterAsInGo) {
  for (const auto& [text, want] : std::vector<std::pair<std::string, std::string>>{
           {R"("\ud83d")", "\xEF\xBF\xBD"},
           {R"("\ude00.")", "\xEF\xBF\xBD."},
           {R"("\ud83d\u0041")",
            "\xEF\xBF\xBD"
            "A"},
           {R"("\ud83d\ud83d\ude00")", "\xEF\xBF\xBD\xF0\x9F\x98\x80"}}) {
    EXPECT_TRUE(WeTake(text));
    JsonCursor in(text);
    std::string_view value;
    ASSERT_TRUE(in.ReadText(value));
    EXPECT_EQ(value, want);
  }
}

TEST(JsonCursorTest, AValueThatIsBrokenInsideIsSteppedOverByItsBrackets) {
  for (const std::string value :
       {R"({"a":tru,"b":[1.,{"c":"}\"]"}]})", "7x", R"("\q")", R"([[[[]]]])", "nul"}) {
    const std::string text = value + " , 1";
    JsonCursor in(text);
    (void)in.Skip();
    ASSERT_TRUE(in.SkipLoosely(text.data())) << value;
    EXPECT_EQ(in.at(), text.data() + value.size());
    EXPECT_FALSE(in.failed());
  }
  for (const std::string text : {"", "[}", "[1", R"("a)", R"(["a\"])", "}"}) {
    JsonCursor in(text);
    EXPECT_FALSE(in.SkipLoosely(text.data())) << text;
  }
  const std::string deep(1'000'000, '[');
  EXPECT_FALSE(JsonCursor(deep).SkipLoosely(deep.data()));
}

// Lone surrogates are the one point on which versions of simdjson differ; ours is fixed above.
TEST(JsonCursorTest, AgreesWithSimdjsonOnDamagedDocuments) {
  const std::string document =
      R"({"metadata":{"name":"web-1","labels":{"a":"b","c\"d":"\u00e9"}},"spec":{"n":[1,2.5,-3e7,true,false,null],)"
      "\"text\":\"Z\xC3\xBCrich and a text that is longer than sixteen "
      "bytes\",\"empty\":{},\"list\":[[],[{}]]}}";
  std::mt19937 random(7);
  const std::string alphabet = "{}[]\",:\\0123456789.eE+-truefalsn \n\x01\xC3\xBC";
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = document;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      const size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = alphabet[random() % alphabet.size()];
          break;
        case 1:
          damaged.erase(at, 1 + random() % 3);
          break;
        default:
          damaged.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    ASSERT_EQ(WeTake(damaged), SimdjsonTakes(WithoutBadUtf8(damaged))) << damaged;
  }
}

TEST(JsonCursorTest, TextsAreUnescaped) {
  const std::string text = R"("a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00 and more than sixteen bytes")";
  JsonCursor in(text);
  std::string_view value;
  ASSERT_TRUE(in.ReadText(value));
  EXPECT_EQ(value, "a\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\x98\x80 and more than sixteen bytes");
}

TEST(JsonCursorTest, IntegersAreExactToTheLastOne) {
  int64_t value = 0;
  EXPECT_TRUE(JsonCursor("-9223372036854775808").ReadInteger(value));
  EXPECT_EQ(value, INT64_MIN);
  EXPECT_FALSE(JsonCursor("9223372036854775808").ReadInteger(value));
  EXPECT_FALSE(JsonCursor("1e3").ReadInteger(value));
}

}  // namespace
}  // namespace coppice::wire
