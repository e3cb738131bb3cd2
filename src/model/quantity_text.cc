#include "model/quantity_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace coppice::model {
namespace {

struct Entry {
  std::string_view suffix;
  int32_t exponent;
};
constexpr std::array<Entry, 10> kDecimal{{{"n", -9},
                                          {"u", -6},
                                          {"m", -3},
                                          {"", 0},
                                          {"k", 3},
                                          {"M", 6},
                                          {"G", 9},
                                          {"T", 12},
                                          {"P", 15},
                                          {"E", 18}}};
constexpr std::array<Entry, 6> kBinary{
    {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t SkipDigits(std::string_view text, size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

bool IsSign(std::string_view text, size_t at) {
  return at < text.size() && (text[at] == '+' || text[at] == '-');
}

Status Malformed() {
  return InvalidArgument(
      "quantities must match the regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

template <class Table>
std::string_view SuffixOf(const Table& table, int32_t exponent) {
  const auto it = std::find_if(table.begin(), table.end(),
                               [&](const Entry& e) { return e.exponent == exponent; });
  return it == table.end() ? std::string_view() : it->suffix;
}

}  // namespace

Result<QuantityText> SplitQuantity(std::string_view text) {
  constexpr std::string_view kSuffixLetters = "eEinumkKMGTP";
  if (text.empty()) return Malformed();

  QuantityText parts;
  size_t at = IsSign(text, 0) ? 1 : 0;
  parts.negative = text[0] == '-';
  const size_t first = at;
  while (at < text.size() && text[at] == '0') ++at;
  const size_t whole = at;
  at = SkipDigits(text, at);
  parts.whole = at > whole ? text.substr(whole, at - whole) : "0";
  size_t digits = at - first;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = ++at;
    at = SkipDigits(text, at);
    parts.fraction = text.substr(fraction, at - fraction);
    digits += parts.fraction.size();
  }
  // A bare sign is taken for zero; a sign with a suffix is zero only where the small form suffices.
  parts.has_digits = digits > 0 || first == text.size();

  parts.suffix = text.substr(at);
  while (at < text.size() && kSuffixLetters.find(text[at]) != std::string_view::npos) ++at;
  if (IsSign(text, at)) ++at;
  if (SkipDigits(text, at) != text.size()) return Malformed();
  return parts;
}

Result<Suffix> InterpretSuffix(std::string_view suffix) {
  for (const Entry& entry : kDecimal) {
    if (entry.suffix == suffix) return Suffix{entry.exponent, Quantity::Format::kDecimalSI};
  }
  for (const Entry& entry : kBinary) {
    if (entry.suffix == suffix) return Suffix{entry.exponent, Quantity::Format::kBinarySI};
  }
  if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E')) {
    std::string_view number = suffix.substr(1);
    if (number.size() > 1 && number[0] == '+' && IsDigit(number[1])) number.remove_prefix(1);
    int64_t exponent = 0;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), exponent);
    if (error == std::errc() && end == number.data() + number.size()) {
      exponent = std::clamp<int64_t>(exponent, -kAbsurdExponent, kAbsurdExponent);
      return Suffix{static_cast<int32_t>(exponent), Quantity::Format::kDecimalExponent};
    }
  }
  return InvalidArgument("unable to parse quantity's suffix");
}

int64_t DigitsBeforePoint(const QuantityText& text, int32_t exponent) {
  if (text.whole != "0") return static_cast<int64_t>(text.whole.size()) + exponent;
  const size_t zeros = std::min(text.fraction.find_first_not_of('0'), text.fraction.size());
  return exponent - static_cast<int64_t>(zeros);
}

CutDigits DigitsThatMatter(const QuantityText& text, int32_t exponent) {
  // A billionth is the finest that is kept, and times 2^60 a boundary between two of them has 69
  // digits behind the point: beyond that a digit can only say "a little more".
  constexpr int64_t kFinest = 128;
  const auto whole = static_cast<int64_t>(text.whole.size());
  const int64_t all = whole + static_cast<int64_t>(text.fraction.size());
  const int64_t kept = std::clamp<int64_t>(whole + exponent + kFinest, 0, all);
  const std::string_view whole_kept = text.whole.substr(0, static_cast<size_t>(kept));
  const std::string_view fraction_kept =
      text.fraction.substr(0, static_cast<size_t>(std::max<int64_t>(0, kept - whole)));
  const auto has_more = [](std::string_view rest) {
    return rest.find_first_not_of('0') != std::string_view::npos;
  };
  const bool more = has_more(text.whole.substr(whole_kept.size())) ||
                    has_more(text.fraction.substr(fraction_kept.size()));
  CutDigits cut{.digits = std::string(whole_kept) + std::string(fraction_kept),
                .digits_after_point = static_cast<int32_t>(kept - whole)};
  if (more) {
    cut.digits += '1';
    ++cut.digits_after_point;
  }
  if (cut.digits.empty()) cut.digits = "0";
  return cut;
}

std::string_view DecimalSuffix(int32_t exponent) { return SuffixOf(kDecimal, exponent); }
std::string_view BinarySuffix(int32_t exponent) { return SuffixOf(kBinary, exponent); }

bool KeepsItsText(const QuantityText& text, int64_t number, int32_t scale, bool binary) {
  if (binary) return (number & 7) != 0;
  return scale % 3 == 0 && text.whole[0] != '0' && number % 1000 != 0;
}

}  // namespace coppice::model
