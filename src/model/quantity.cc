#include "model/quantity.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "model/big_decimal.h"
#include "model/quantity_text.h"
#include "model/scaled_int.h"

namespace coppice::model {

static_assert(sizeof(Quantity) == 32, "it sits in vectors by the million");

struct Quantity::Rest {
  BigDecimal big;    // meaningful if is_big_
  std::string text;  // what ToString() answers, unless empty
};

namespace {

constexpr int32_t kNano = -9;

// Upstream's answer for a big amount. `after_point` and `wanted` count digits after the point. Not
// the same as rounding up: a negative amount moves towards zero, and what leaves 64 bits is cut
// off.
int64_t ScaledBig(const BigDecimal& big, int32_t wanted) {
  const int32_t drop = big.digits_after_point() - wanted;
  if (drop <= 0) {
    // 10^19 and more does not fit; the conversion from floating point then yields the most negative
    // number.
    const uint64_t factor =
        -drop <= 18 ? static_cast<uint64_t>(PowerOfTen(-drop)) : uint64_t{1} << 63;
    return static_cast<int64_t>(static_cast<uint64_t>(big.LowUnscaled()) * factor);
  }
  if (big.UnscaledBelowMax() && drop < 19) {
    const int64_t divisor = PowerOfTen(drop);
    const int64_t low = big.LowUnscaled();
    return low / divisor + (low % divisor != 0 ? 1 : 0);
  }
  bool exact = false;
  const int64_t floor = big.LowFloorDivided(drop, exact);
  return exact ? floor : static_cast<int64_t>(static_cast<uint64_t>(floor) + 1);
}

bool HasOnlyZeros(const QuantityText& text) {
  return text.whole == "0" && text.fraction.find_first_not_of('0') == std::string_view::npos;
}

struct Mantissa {
  std::string digits;
  int32_t exponent = 0;
};

// Of value * 10^exponent, with the exponent a multiple of three.
Mantissa DecimalMantissa(BigDecimal big) {
  int32_t exponent = -big.digits_after_point() + big.RemoveFactors(10);
  for (; exponent % 3 != 0; --exponent) big.MultiplyUnscaled(10);
  return {big.UnscaledText(), exponent};
}

Mantissa DecimalMantissa(int64_t value, int32_t scale) {
  int64_t amount = value;
  int32_t exponent = scale;
  for (; amount % 10 == 0; ++exponent) amount /= 10;  // never called for 0
  const int32_t surplus = ((exponent % 3) + 3) % 3;
  if (__builtin_mul_overflow(amount, PowerOfTen(surplus), &amount)) {
    return DecimalMantissa(BigDecimal(value, -scale));
  }
  return {std::to_string(amount), exponent - surplus};
}

std::string BinaryText(BigDecimal whole) {
  const int32_t times = whole.RemoveFactors(1024);
  return whole.UnscaledText() + std::string(BinarySuffix(times * 10));
}

std::string BinaryText(int64_t value) {
  int32_t times = 0;
  // The most negative number has no positive counterpart to take factors from, and stays whole.
  for (; value % 1024 == 0 && value != INT64_MIN; ++times) value /= 1024;
  return std::to_string(value) + std::string(BinarySuffix(times * 10));
}

}  // namespace

Quantity Quantity::FromUnits(int64_t units, Format format) { return {units, 0, format}; }
Quantity Quantity::FromMillis(int64_t millis, Format format) { return {millis, -3, format}; }

Quantity Quantity::FromBig(BigDecimal big, Format format) {
  Quantity result(0, 0, format);
  result.is_big_ = true;
  result.rest_ = std::make_shared<const Rest>(Rest{.big = std::move(big), .text = {}});
  return result;
}

// Neither calculated nor told apart: more than any amount that is.
Quantity Quantity::Absurd(bool negative, Format format) {
  return {negative ? -1 : 1, kMaxExponent, format};
}

Result<Quantity> Quantity::Parse(std::string_view text) {
  const QuantityText parts = TRY(SplitQuantity(text));
  const Suffix suffix = TRY(InterpretSuffix(parts.suffix));
  const bool binary = suffix.format == Format::kBinarySI;

  // The small form, if the digits surely fit: 18 decimal ones, or as many as upstream thinks that
  // the binary suffix leaves room for.
  const auto digits = static_cast<int32_t>(parts.whole.size() + parts.fraction.size());
  bool small = digits <= 18;
  if (binary) small = parts.fraction.empty() && digits <= 14 - suffix.exponent * 3 / 10;
  const int32_t exponent_of_ten = binary ? 0 : suffix.exponent;
  const int32_t scale = exponent_of_ten - static_cast<int32_t>(parts.fraction.size());
  if (small && scale >= kNano) {
    int64_t number = 0;
    for (const char c : parts.whole) number = number * 10 + (c - '0');
    for (const char c : parts.fraction) number = number * 10 + (c - '0');
    int64_t product = 0;
    if (!__builtin_mul_overflow(number, binary ? int64_t{1} << suffix.exponent : 1, &product)) {
      if (number != 0 && DigitsBeforePoint(parts, exponent_of_ten) > kMaxExponent)
        return Absurd(parts.negative, suffix.format);
      Quantity result(parts.negative ? -product : product, scale, suffix.format);
      result.keeps_text_ = text == "0" || KeepsItsText(parts, number, scale, binary);
      if (result.keeps_text_ && result.Canonical() != text) {
        result.rest_ = std::make_shared<const Rest>(Rest{.big = {}, .text = std::string(text)});
      }
      return result;
    }
  }

  if (!parts.has_digits) return InvalidArgument("unable to parse numeric part of quantity");
  const bool absurd =
      DigitsBeforePoint(parts, exponent_of_ten) > kMaxExponent && !HasOnlyZeros(parts);
  if (absurd && !binary) return Absurd(parts.negative, suffix.format);
  BigDecimal big(INT64_MAX, -1);  // enough for an absurd amount that is cut below: a binary one
  if (!absurd) {
    const CutDigits cut = DigitsThatMatter(parts, exponent_of_ten);
    big = BigDecimal::FromDigits(cut.digits, cut.digits_after_point);
    if (binary) big.MultiplyByPowerOfTwo(suffix.exponent);
    big.set_digits_after_point(big.digits_after_point() - exponent_of_ten);
  }
  // Who asks for something gets something: too fine an amount becomes one billionth, not zero.
  if (big.sign() != 0) {
    big.RoundTo(-kNano);
  } else if (big.digits_after_point() > kMaxExponent) {
    big.set_digits_after_point(
        kMaxExponent);  // or whatever is added to it would get as many digits
  }
  Format format = suffix.format;
  if (binary) {
    const BigDecimal max(INT64_MAX, 0);
    if (big.Compare(max) > 0) big = max;
    if (big.sign() > 0 && big.Compare(BigDecimal(1, 0)) < 0) format = Format::kDecimalSI;
  }
  if (parts.negative) big.Negate();
  return FromBig(std::move(big), format);
}

BigDecimal Quantity::AsBig() const { return is_big_ ? rest_->big : BigDecimal(value_, -scale_); }

void Quantity::ToBig() {
  if (is_big_) return;
  std::string text = rest_ ? rest_->text : std::string();
  Rest rest{.big = AsBig(), .text = std::move(text)};
  is_big_ = true;
  value_ = 0;
  scale_ = 0;
  rest_ = std::make_shared<const Rest>(std::move(rest));
}

int64_t Quantity::ScaledValue(int32_t scale) const {
  if (is_big_) return ScaledBig(rest_->big, -scale);
  bool exact = false;
  if (scale_ < scale) return DivideRoundingUp(value_, scale - scale_, exact);
  int64_t scaled = 0;
  (void)MultiplyByPowerOfTen(value_, scale_ - scale,
                             scaled);  // upstream, too, looks away when it overflows
  return scaled;
}

int Quantity::Sign() const {
  if (is_big_) return rest_->big.sign();
  return value_ == 0 ? 0 : value_ < 0 ? -1 : 1;
}

int Quantity::Compare(const Quantity& other) const {
  if (!is_big_ && !other.is_big_ && scale_ == other.scale_) {
    return value_ == other.value_ ? 0 : value_ < other.value_ ? -1 : 1;
  }
  if (Sign() != other.Sign()) return Sign() < other.Sign() ? -1 : 1;
  if (Sign() == 0) return 0;
  if (!is_big_ && !other.is_big_ && std::abs(scale_ - other.scale_) <= 18) {
    const int32_t low = std::min(scale_, other.scale_);
    const Wide a = Wide{value_} * PowerOfTen(scale_ - low);
    const Wide b = Wide{other.value_} * PowerOfTen(other.scale_ - low);
    return a == b ? 0 : a < b ? -1 : 1;
  }
  return AsBig().Compare(other.AsBig());
}

bool Quantity::AddSmall(int64_t value, int32_t scale) {
  if (value == 0) return true;
  if (value_ == 0) {
    value_ = value;
    scale_ = scale;
    return true;
  }
  const int32_t low = std::min(scale_, scale);
  int64_t a = 0;
  int64_t b = 0;
  int64_t sum = 0;
  if (!MultiplyByPowerOfTen(value_, scale_ - low, a) ||
      !MultiplyByPowerOfTen(value, scale - low, b) || __builtin_add_overflow(a, b, &sum)) {
    return false;
  }
  value_ = sum;
  scale_ = low;
  return true;
}

void Quantity::Add(const Quantity& other) {
  const Quantity addend = other;  // q.Add(q) is fine
  if (IsZero()) format_ = addend.format_;
  if (!is_big_) {
    rest_.reset();
    keeps_text_ = false;
    if (!addend.is_big_ && AddSmall(addend.value_, addend.scale_)) return;
  }
  BigDecimal sum = AsBig();
  sum.Add(addend.AsBig());
  *this = FromBig(std::move(sum), format_);
}

void Quantity::Sub(const Quantity& other) {
  Quantity negated = other;
  if (negated.is_big_ || negated.value_ == INT64_MIN) {
    BigDecimal big = negated.AsBig();
    big.Negate();
    negated = FromBig(std::move(big), negated.format_);
  } else {
    negated.value_ = -negated.value_;
  }
  Add(negated);
}

std::string Quantity::ToString() const {
  return rest_ && !rest_->text.empty() ? rest_->text : Canonical();
}

std::string Quantity::Canonical() const {
  if (IsZero()) return "0";
  Format format = format_;
  if (format == Format::kBinarySI) {
    format = Format::kDecimalSI;  // below 1024, and for fractions, which would be lost
    const bool small = Compare(FromUnits(-1024)) > 0 && Compare(FromUnits(1024)) < 0;
    if (!small && is_big_) {
      BigDecimal whole = rest_->big;
      if (whole.RoundTo(0)) return BinaryText(std::move(whole));
    } else if (!small && scale_ < 0) {
      bool exact = false;
      const int64_t whole = DivideRoundingUp(value_, -scale_, exact);
      if (exact) return BinaryText(whole);
    } else if (!small) {
      int64_t whole = 0;
      if (MultiplyByPowerOfTen(value_, scale_, whole)) return BinaryText(whole);
      BigDecimal big = AsBig();
      big.RoundTo(0);
      return BinaryText(std::move(big));
    }
  }
  const Mantissa mantissa = is_big_ ? DecimalMantissa(rest_->big) : DecimalMantissa(value_, scale_);
  if (format == Format::kDecimalSI)
    return mantissa.digits + std::string(DecimalSuffix(mantissa.exponent));
  return mantissa.exponent == 0 ? mantissa.digits
                                : mantissa.digits + "e" + std::to_string(mantissa.exponent);
}

std::string_view ToString(Quantity::Format format) {
  switch (format) {
    case Quantity::Format::kDecimalSI:
      return "DecimalSI";
    case Quantity::Format::kBinarySI:
      return "BinarySI";
    case Quantity::Format::kDecimalExponent:
      return "DecimalExponent";
  }
  return "";
}

}  // namespace coppice::model
