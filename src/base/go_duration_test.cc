// The rows were checked against Go's own time.ParseDuration and Duration.String.
#include "base/go_duration.h"

#include <gmock/gmock.h>

#include "test/support/must.h"

namespace coppice {
namespace {

struct Row {
  std::string text;
  int64_t nanos;
  std::string printed;
};

class GoDurationTest : public testing::TestWithParam<Row> {};

TEST_P(GoDurationTest, ParsesAndPrintsAsGo) {
  EXPECT_EQ(MUST(ParseGoDuration(GetParam().text)).count(), GetParam().nanos);
  EXPECT_EQ(FormatGoDuration(Duration(GetParam().nanos)), GetParam().printed);
}

constexpr int64_t kSecond = 1'000'000'000;

INSTANTIATE_TEST_SUITE_P(Rows, GoDurationTest,
                         testing::ValuesIn(std::vector<Row>{
                             {"0", 0, "0s"},
                             {"-0", 0, "0s"},
                             {"+0", 0, "0s"},
                             {"0s", 0, "0s"},
                             {"5s", 5 * kSecond, "5s"},
                             {"+5s", 5 * kSecond, "5s"},
                             {"-5s", -5 * kSecond, "-5s"},
                             {"1478s", 1478 * kSecond, "24m38s"},
                             {"1h", 3600 * kSecond, "1h0m0s"},
                             {"1m", 60 * kSecond, "1m0s"},
                             {"2h45m", 9900 * kSecond, "2h45m0s"},
                             {"-1.5h", -5400 * kSecond, "-1h30m0s"},
                             {"3h2m1s", 10921 * kSecond, "3h2m1s"},
                             {"39h9m14.425s", 140954'425'000'000, "39h9m14.425s"},
                             {"1s2s", 3 * kSecond, "3s"},
                             {"52763797000ns", 52763797000, "52.763797s"},
                             {"300ms", 300'000'000, "300ms"},
                             {"250.5ms", 250'500'000, "250.5ms"},
                             {"10ns", 10, "10ns"},
                             {"11us", 11'000, "11\u00B5s"},
                             {"12\u00B5s", 12'000, "12\u00B5s"},
                             {"12\u03BCs", 12'000, "12\u00B5s"},
                             {"1.5us", 1'500, "1.5\u00B5s"},
                             {".5s", kSecond / 2, "500ms"},
                             {"5.s", 5 * kSecond, "5s"},
                             {"1.004s", 1'004'000'000, "1.004s"},
                             {"0.3333333333333333333h", 20 * 60 * kSecond, "20m0s"},
                             {"0.100000000000000000000h", 6 * 60 * kSecond, "6m0s"},
                             {"0.830103483285477580700h", 2'988'372'539'827, "49m48.372539827s"},
                             {"9007199254.740993s", 9'007'199'254'740'993'000,
                              "2501999h47m34.740993s"},
                             {"9223372036854775807ns", INT64_MAX, "2562047h47m16.854775807s"},
                             {"9223372036854775.807us", INT64_MAX, "2562047h47m16.854775807s"},
                             {"-9223372036854775808ns", INT64_MIN, "-2562047h47m16.854775808s"},
                             {"-9223372036.854775808s", INT64_MIN, "-2562047h47m16.854775808s"},
                             {"0.9999999999999999999999ns", 1, "1ns"},
                         }));

TEST(GoDurationRefusalTest, SaysWhy) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "\"\" is not a duration: it is empty; write for example 30s or 1h30m"},
      {"-", "\"-\" is not a duration: it is empty; write for example 30s or 1h30m"},
      {"30", "\"30\" is not a duration: a unit is missing; write for example 30s"},
      {"00", "\"00\" is not a duration: a unit is missing; write for example 30s"},
      {"1h30", "\"1h30\" is not a duration: a unit is missing; write for example 30s"},
      {"s", "\"s\" is not a duration: a number is missing; write for example 30s or 1h30m"},
      {".", "\".\" is not a duration: a number is missing; write for example 30s or 1h30m"},
      {".s", "\".s\" is not a duration: a number is missing; write for example 30s or 1h30m"},
      {"-.s", "\"-.s\" is not a duration: a number is missing; write for example 30s or 1h30m"},
      {"+-5s", "\"+-5s\" is not a duration: a number is missing; write for example 30s or 1h30m"},
      {"1d", "\"1d\" is not a duration: the units are h, m, s, ms, us and ns"},
      {"1 s", "\"1 s\" is not a duration: the units are h, m, s, ms, us and ns"},
      {"1S", "\"1S\" is not a duration: the units are h, m, s, ms, us and ns"},
      {"1e3s", "\"1e3s\" is not a duration: the units are h, m, s, ms, us and ns"},
      {"9223372036854775808ns",
       "\"9223372036854775808ns\" is not a duration: it does not fit into 292 years"},
      {"9223372036854775.808us",
       "\"9223372036854775.808us\" is not a duration: it does not fit into 292 years"},
      {"9223372036854ms775us808ns",
       "\"9223372036854ms775us808ns\" is not a duration: it does not fit into 292 years"},
      {"3000000h", "\"3000000h\" is not a duration: it does not fit into 292 years"},
      {"-9223372036854775809ns",
       "\"-9223372036854775809ns\" is not a duration: it does not fit into 292 years"},
      {"99999999999999999999s",
       "\"99999999999999999999s\" is not a duration: it does not fit into 292 years"},
  };
  for (const auto& [text, message] : rows) {
    EXPECT_EQ(ParseGoDuration(text).status(), InvalidArgument(message));
  }
}

TEST(GoDurationRefusalTest, QuotesAtMostAHundredBytes) {
  EXPECT_LT(ParseGoDuration(std::string(10'000, 'x')).status().message().size(), 200u);
}

}  // namespace
}  // namespace coppice
