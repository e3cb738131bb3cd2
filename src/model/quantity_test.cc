#include "model/quantity.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "model/scaled_int.h"
#include "test/support/must.h"

namespace coppice::model {
namespace {

using Format = Quantity::Format;

Quantity Q(std::string_view text) { return MUST(Quantity::Parse(text)); }

struct ParseCase {
  std::string name;
  std::string text;
  int64_t value;
  int64_t milli_value;
  std::string printed;
  std::string canonical;
  Format format;
};

class QuantityParseTest : public testing::TestWithParam<ParseCase> {};

TEST_P(QuantityParseTest, ReadsRoundsAndPrints) {
  const ParseCase& row = GetParam();

  const Quantity quantity = Q(row.text);

  EXPECT_EQ(quantity.Value(), row.value);
  EXPECT_EQ(quantity.MilliValue(), row.milli_value);
  EXPECT_EQ(quantity.ToString(), row.printed);
  EXPECT_EQ(quantity.Canonical(), row.canonical);
  EXPECT_EQ(quantity.format(), row.format);
}

constexpr int64_t kMax = INT64_MAX;

INSTANTIATE_TEST_SUITE_P(
    Rows, QuantityParseTest,
    testing::ValuesIn(std::vector<ParseCase>{
        {"Zero", "0", 0, 0, "0", "0", Format::kDecimalSI},
        {"NegativeZero", "-0", 0, 0, "0", "0", Format::kDecimalSI},
        {"BareSignIsZero", "-", 0, 0, "0", "0", Format::kDecimalSI},
        {"HalfACore", "500m", 1, 500, "500m", "500m", Format::kDecimalSI},
        {"Fraction", "0.5", 1, 500, "500m", "500m", Format::kDecimalSI},
        {"Mebibytes", "128Mi", 134217728, 134217728000, "128Mi", "128Mi", Format::kBinarySI},
        {"FractionOfGibibyte", "1.5Gi", 1610612736, 1610612736000, "1536Mi", "1536Mi",
         Format::kBinarySI},
        {"BelowOneByteTurnsDecimal", "0.0001Ki", 1, 103, "102400u", "102400u", Format::kDecimalSI},
        {"ThousandsMoveUp", "1000k", 1000000, 1000000000, "1M", "1M", Format::kDecimalSI},
        {"Exponent", "1e3", 1000, 1000000, "1e3", "1e3", Format::kDecimalExponent},
        {"BigLetterExponentKeepsItsText", "1E3", 1000, 1000000, "1E3", "1e3",
         Format::kDecimalExponent},
        {"PlusSignIsKept", "+1Gi", 1073741824, 1073741824000, "+1Gi", "1Gi", Format::kBinarySI},
        {"TrailingZerosAreKept", "1.500k", 1500, 1500000, "1.500k", "1500", Format::kDecimalSI},
        {"FinerThanNanoRoundsUp", "0.0000000001", 1, 1, "1n", "1n", Format::kDecimalSI},
        {"NegativeRoundsAwayFromZero", "-1500m", -2, -1500, "-1500m", "-1500m", Format::kDecimalSI},
        {"NegativeInBigFormRoundsTowardsZero", "-1.5Ki", -1536, -1536000, "-1536", "-1536",
         Format::kBinarySI},
        {"BinaryIsCappedAtInt64", "8Ei", kMax, -1000, "9223372036854775807", "9223372036854775807",
         Format::kBinarySI},
        {"LargeDecimalReadsAsItsLowBits", "18446744073709551617", 1, 1000, "18446744073709551617",
         "18446744073709551617", Format::kDecimalSI},
        {"MillisOfAnExaOverflowToZero", "1E", 1000000000000000000, 0, "1E", "1E",
         Format::kDecimalSI},
        {"MillisOfEighteenDigitsWrap", "999999999999999999", 999999999999999999,
         3875820019684211736, "999999999999999999", "999999999999999999", Format::kDecimalSI},
        {"NoSuffixAboveExa", "1000E", 0, 0, "1", "1", Format::kDecimalSI},
        {"ZeroWithAbsurdExponent", "0e999999", 0, 0, "0", "0", Format::kDecimalExponent},
        {"TinyExponentIsOneNano", "1e-999999", 1, 1, "1e-9", "1e-9", Format::kDecimalExponent},
    }),
    [](const auto& row) { return row.param.name; });

TEST(QuantityTest, RefusesWhatKubernetesRefuses) {
  for (const char* text :
       {"",  " ",     "1 ",  " 1",  "1i",   "1K",  "1ki",  "1KI",   "1e",  "1e+", "1e1.5", "e",
        "i", "1.2.3", "--1", "1k2", "1MiB", "NaN", "0x10", "1_000", ".Ei", "+Ei", "5e2Ki"}) {
    EXPECT_FALSE(Quantity::Parse(text).ok()) << text;
  }
}

TEST(QuantityTest, AbsurdAmountsSaturateByTheirSign) {
  const Quantity largest = Q("1e4096");
  const std::string digits(1 << 20, '9');
  for (const std::string& text :
       {std::string("1e5000"), std::string("100e4998"), std::string("1e999999999"),
        std::string("1E9223372036854775807"), std::string("123456789012345678901e5000"), digits,
        digits + "k", digits + "e-9", digits + "." + digits, "0." + digits + "e5000"}) {
    const Quantity quantity = Q(text);
    EXPECT_EQ(quantity.Sign(), 1) << text.substr(0, 30);
    EXPECT_EQ(quantity, largest) << text.substr(0, 30);
    EXPECT_EQ(Q("-" + text).Compare(Q("-1e4096")), 0) << text.substr(0, 30);
    // As upstream's amounts of that size: kube-scheduler sees none of it.
    EXPECT_EQ(quantity.Value(), 0);
    EXPECT_EQ(quantity.MilliValue(), 0);
  }
  EXPECT_GT(largest.Compare(Q(digits.substr(0, 4096))), 0);
  EXPECT_EQ(Q(digits + "Ki").Value(), INT64_MAX);  // upstream's cap of binary suffixes
  EXPECT_EQ(Q("-" + digits + "Ki").Value(), -INT64_MAX);
}

TEST(QuantityTest, ALongTextOfASmallAmountIsThatAmount) {
  const std::string zeros(1 << 20, '0');
  EXPECT_EQ(Q("1." + zeros), Q("1"));
  EXPECT_EQ(Q(zeros + "7"), Q("7"));
  EXPECT_EQ(Q("7" + zeros + "e-1048576"), Q("7"));
  EXPECT_EQ(Q("0." + zeros + "1"), Q("1n"));  // who asks for something gets something
  EXPECT_EQ(Q("1." + zeros + "1").MilliValue(), 1001);
  EXPECT_EQ(Q("1." + zeros + "1"), Q("1.000000001"));
  EXPECT_EQ(Q("1." + zeros + "1Ki").Value(), 1025);
  EXPECT_EQ(Q("-1." + zeros + "1"), Q("-1.000000001"));
}

TEST(QuantityTest, AddsExactlyAndRoundsOnlyWhenAsked) {
  Quantity sum;
  for (int i = 0; i < 3; ++i) sum.Add(Q("0.4m"));
  EXPECT_EQ(sum.MilliValue(), 2);
  EXPECT_EQ(sum.ToString(), "1200u");
}

TEST(QuantityTest, SumTakesTheFormatOfTheFirstThatIsNotZero) {
  Quantity sum;
  sum.Add(Q("0Ki"));
  sum.Add(Q("2Mi"));
  sum.Add(Q("1M"));
  EXPECT_EQ(sum.format(), Format::kBinarySI);
  EXPECT_EQ(sum.ToString(), "3097152");
}

TEST(QuantityTest, SumBeyondInt64GoesOnExactly) {
  Quantity sum = Q("9223372036854775807");
  sum.Add(Q("1"));
  EXPECT_EQ(sum.ToString(), "9223372036854775808");
  EXPECT_EQ(sum.Value(), INT64_MIN);
  sum.Sub(Q("9223372036854775807"));
  EXPECT_EQ(sum, Q("1"));
}

TEST(QuantityTest, AddingItselfDoubles) {
  for (const char* text : {"3", "1.5Gi", "123456789012345678901"}) {
    Quantity doubled = Q(text);
    doubled.Add(doubled);
    Quantity twice = Q(text);
    twice.Add(Q(text));
    EXPECT_EQ(doubled, twice) << text;
  }
}

TEST(QuantityTest, SubtractingToZeroIsZero) {
  for (const char* text : {"3", "-3m", "1.5Gi", "123456789012345678901", "-9223372036854775808"}) {
    Quantity rest = Q(text);
    rest.Sub(Q(text));
    EXPECT_TRUE(rest.IsZero()) << text;
    EXPECT_EQ(rest.ToString(), "0") << text;
  }
}

TEST(QuantityTest, BigFormAnswersAsUpstreamsDoesAtTheLimits) {
  Quantity quantity = Q("1E");
  EXPECT_EQ(quantity.MilliValue(), 0);
  quantity.ToBig();
  EXPECT_EQ(quantity, Q("1E"));
  EXPECT_EQ(quantity.MilliValue(), INT64_MIN);
  EXPECT_EQ(quantity.ToString(), "1E");
}

TEST(QuantityTest, ComparesAmountsAndNotSpellings) {
  const std::vector<std::string> rising = {"-123456789012345678901",
                                           "-1.5Gi",
                                           "-1",
                                           "-1n",
                                           "0",
                                           "1n",
                                           "999u",
                                           "1m",
                                           "999m",
                                           "1",
                                           "1k",
                                           "1Ki",
                                           "1025",
                                           "1M",
                                           "1Mi",
                                           "1E",
                                           "1Ei",
                                           "8Ei",
                                           "1e20",
                                           "1e4000"};
  for (size_t i = 0; i < rising.size(); ++i) {
    for (size_t j = 0; j < rising.size(); ++j) {
      const int compared = Q(rising[i]).Compare(Q(rising[j]));
      EXPECT_EQ(compared < 0, i < j) << rising[i] << " and " << rising[j];
      EXPECT_EQ(compared == 0, i == j) << rising[i] << " and " << rising[j];
    }
  }
  EXPECT_EQ(Q("1000m"), Q("1"));
  EXPECT_EQ(Q("1024Ki"), Q("1Mi"));
  EXPECT_EQ(Q("0.5"), Q("500m"));
}

// Against 128-bit arithmetic, in units of 10^-9.
TEST(QuantityTest, ArithmeticAgreesWithWideIntegers) {
  std::mt19937_64 random(7);
  const auto draw = [&](Wide& nanos) {
    const int32_t scale = static_cast<int32_t>(random() % 16) - 9;
    const auto value = static_cast<int64_t>(random() % 2'000'000'000'000) - 1'000'000'000'000;
    nanos = Wide{value} * PowerOfTen(scale + 9);
    return Q(std::to_string(value) + "e" + std::to_string(scale));
  };
  for (int round = 0; round < 5000; ++round) {
    Wide a = 0;
    Wide b = 0;
    Wide c = 0;
    Quantity sum = draw(a);
    const Quantity more = draw(b);
    const Quantity less = draw(c);
    sum.Add(more);
    sum.Sub(less);
    const Wide total = a + b - c;
    ASSERT_EQ(sum.Sign(), total == 0 ? 0 : total < 0 ? -1 : 1);
    ASSERT_EQ(more.Compare(less) < 0, b < c);
    if (!sum.is_big()) {
      const Wide unit = 1'000'000'000;
      const Wide rounded = total / unit + (total % unit == 0 ? 0 : total < 0 ? -1 : 1);
      ASSERT_EQ(sum.Value(), static_cast<int64_t>(rounded)) << sum.ToString();
    }
    ASSERT_EQ(Q(sum.ToString()), sum);
  }
}

TEST(QuantityTest, StaysSmall) { EXPECT_EQ(sizeof(Quantity), 32U); }

}  // namespace
}  // namespace coppice::model
