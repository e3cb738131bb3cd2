// The text of a quantity: a sign, digits, a suffix. Only Quantity needs this.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/quantity.h"

namespace coppice::model {

// Views into the text.
struct QuantityText {
  bool negative = false;
  bool has_digits = true;     // false for "." and "+Ei"
  std::string_view whole;     // without leading zeros, but at least "0"
  std::string_view fraction;  // as written
  std::string_view suffix;    // Ki, m, e3, or none
};

Result<QuantityText> SplitQuantity(std::string_view text);

struct Suffix {
  int32_t exponent =
      0;  // of two for BinarySI, of ten otherwise; absurd ones are cut to +-kAbsurdExponent
  Quantity::Format format = Quantity::Format::kDecimalSI;
};
inline constexpr int32_t kAbsurdExponent = 1'000'000'000;

Result<Suffix> InterpretSuffix(std::string_view suffix);

// How many digits the amount has before its point, with the exponent of ten counted in; 0 and less
// for what is below 0.1. Meaningless for zero.
int64_t DigitsBeforePoint(const QuantityText& text, int32_t exponent);

// The digits that can matter, all in a row: what lies so far behind the point that it only shows
// whether there is anything at all is put down as one digit. So a long text costs no more than a
// long number.
struct CutDigits {
  std::string digits;          // at least one
  int32_t digits_after_point;  // before the exponent is applied
};
CutDigits DigitsThatMatter(const QuantityText& text, int32_t exponent);

// Empty if there is none for that exponent: upstream then prints the bare number, although that is
// another amount.
std::string_view DecimalSuffix(int32_t exponent);
std::string_view BinarySuffix(int32_t exponent);

// Whether upstream takes the text for canonical, and so prints it as it came. Its test is a quick
// one: "+1" and "1.500k" pass it.
bool KeepsItsText(const QuantityText& text, int64_t number, int32_t scale, bool binary);

}  // namespace coppice::model
