#include "base/strings.h"

#include <gmock/gmock.h>

#include <sstream>

#include "base/secret.h"

namespace coppice {
namespace {

using testing::ElementsAre;

std::string Json(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

TEST(StringsTest, JoinAndSplitAreInverse) {
  EXPECT_EQ(Join({}, ","), "");
  EXPECT_EQ(Join({"a"}, ","), "a");
  EXPECT_EQ(Join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_THAT(Split("", ','), ElementsAre(""));
  EXPECT_THAT(Split("a,,b,", ','), ElementsAre("a", "", "b", ""));
}

TEST(StringsTest, TrimTakesWhiteSpaceOffBothEnds) {
  EXPECT_EQ(Trim(" \t\na b\r\n"), "a b");
  EXPECT_EQ(Trim(" \n "), "");
  EXPECT_EQ(Trim(""), "");
}

TEST(StringsTest, LowerKnowsAsciiOnly) { EXPECT_EQ(Lower("AbZ-\xC3\x84"), "abz-\xC3\x84"); }

TEST(JsonStringTest, EscapesWhatJsonWantsEscaped) {
  EXPECT_EQ(Json("say \"hi\" \\ there"), R"("say \"hi\" \\ there")");
  EXPECT_EQ(Json("a\nb\tc\rd"), R"("a\nb\tc\rd")");
  EXPECT_EQ(Json(std::string_view("\0\x1b[31m\x7f", 7)), R"("\u0000\u001b[31m\u007f")");
  EXPECT_EQ(Json("\xC2\x9B"), R"("\u009b")") << "a terminal takes it for an escape sequence";
}

TEST(JsonStringTest, KeepsUtf8AndReplacesWhatIsNot) {
  EXPECT_EQ(Json("Z\xC3\xBCrich \xE2\x9C\x93 \xF0\x9F\x8C\xB3"),
            "\"Z\xC3\xBCrich \xE2\x9C\x93 \xF0\x9F\x8C\xB3\"");
  const std::string replaced = "\"\xEF\xBF\xBD\"";
  EXPECT_EQ(Json("\xFF"), replaced);
  EXPECT_EQ(Json("\xC3"), replaced) << "cut off";
  EXPECT_EQ(Json("\xC0\xAF"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"") << "over-long";
  EXPECT_EQ(Json("\xED\xA0\x80").size(), 2 + 3 * 3u) << "surrogate";
  EXPECT_EQ(Json("\xF4\x90\x80\x80").size(), 2 + 4 * 3u) << "past U+10FFFF";
  EXPECT_EQ(ValidUtf8("a\xE2\x82z"), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
}

TEST(NearestTest, FindsTheWordThatWasMeant) {
  const std::vector<std::string> keys = {"minSize", "maxSize", "flavor", "image", "labels"};
  EXPECT_EQ(Nearest("minsize", keys), "minSize");
  EXPECT_EQ(Nearest("mniSize", keys), "minSize");
  EXPECT_EQ(Nearest("flavour", keys), "flavor");
  EXPECT_EQ(Nearest("label", keys), "labels");
}

TEST(NearestTest, DoesNotGuess) {
  EXPECT_EQ(Nearest("network", {"minSize", "image"}), "");
  EXPECT_EQ(Nearest("", {"a"}), "");
  EXPECT_EQ(Nearest("x", {"y"}), "");
  EXPECT_EQ(Nearest("abc", {}), "");
  EXPECT_EQ(Nearest(std::string(10'000, 'a'), {std::string(10'000, 'a')}), "") << "too long to try";
}

TEST(SecretTest, PrintsAsStars) {
  std::ostringstream out;
  out << Secret("hunter2");
  EXPECT_EQ(out.str(), "***");
  EXPECT_EQ(Secret("hunter2").Reveal(), "hunter2");
}

}  // namespace
}  // namespace coppice
