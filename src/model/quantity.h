// resource.Quantity exactly as Kubernetes parses, rounds, adds and prints it: "500m", "1.5Gi",
// "1e3".
//
// A plain value of 32 bytes. Most amounts are an int64 times a power of ten; what does not fit is
// kept exactly in a big decimal behind a pointer, as upstream does, because what its accessors then
// answer (0, or the low 64 bits) is part of kube-scheduler's verdicts. In the same way one amount
// can round differently in its two forms, so the form is part of the value, too: see ToBig().
//
// A text that upstream takes is never refused, however absurd: an amount of more than kMaxExponent
// digits before the point counts as 10^kMaxExponent of its sign and is not calculated (one of them
// can keep upstream busy for hours). What is asked of it is as with upstream's amounts of that
// size: Value() and MilliValue() have none of its bits, so they answer 0, as kube-scheduler reads
// it.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace coppice::model {

class BigDecimal;

class Quantity {
 public:
  enum class Format : uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };
  static constexpr int32_t kMaxExponent = 4096;

  Quantity() = default;  // 0, DecimalSI
  static Result<Quantity> Parse(std::string_view text);
  static Quantity FromUnits(int64_t units, Format format = Format::kDecimalSI);
  static Quantity FromMillis(int64_t millis, Format format = Format::kDecimalSI);

  // Rounded up (away from zero) to whole units / thousandths, with upstream's overflow behaviour:
  // wrapped, 0, or the low 64 bits, by the form and the power of ten. A negative amount in big form
  // rounds towards zero.
  int64_t Value() const { return ScaledValue(0); }
  int64_t MilliValue() const { return ScaledValue(-3); }

  int Sign() const;                          // -1, 0, 1
  int Compare(const Quantity& other) const;  // exact: <0, 0, >0
  void Add(const Quantity& other);  // exact; the format of the first non-zero operand, as upstream
  void Sub(const Quantity& other);
  bool IsZero() const { return Sign() == 0; }
  Format format() const { return format_; }

  // Upstream changes an amount to its big form when it compares it with a big one, and never back.
  // Sums that have to be equal to upstream's to the last bit follow it.
  bool is_big() const { return is_big_; }
  void ToBig();

  // How it is written down: the digits that were read and the power of ten beside them, both 0 for
  // a big one, and whether upstream has kept the text that ToString() answers beside them. It does
  // only if it can tell at a glance that the text is canonical.
  int64_t unscaled() const { return value_; }
  int32_t scale() const { return scale_; }
  bool keeps_text() const { return keeps_text_; }

  std::string ToString() const;  // what upstream prints: right after parsing often the input itself
  std::string Canonical() const;  // the canonical form

  // Same amount, whatever the spelling: 1000m == 1.
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.Compare(b) == 0; }

 private:
  struct Rest;  // what few quantities have: a big decimal, or a text that is not the canonical one

  Quantity(int64_t value, int32_t scale, Format format)
      : value_(value), scale_(scale), format_(format) {}
  static Quantity FromBig(BigDecimal big, Format format);
  static Quantity Absurd(bool negative, Format format);
  BigDecimal AsBig() const;
  int64_t ScaledValue(int32_t scale) const;
  bool AddSmall(int64_t value, int32_t scale);  // false: does not fit, and nothing was done

  int64_t value_ = 0;
  int32_t scale_ = 0;  // the amount is value_ * 10^scale_, unless it is big
  Format format_ = Format::kDecimalSI;
  bool is_big_ = false;
  bool keeps_text_ = false;
  std::shared_ptr<const Rest> rest_;  // null for most
};

std::string_view ToString(Quantity::Format format);  // DecimalSI, BinarySI, DecimalExponent

}  // namespace coppice::model
