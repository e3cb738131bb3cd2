// resource.Quantity exactly as Kubernetes parses, rounds, adds and prints it: "500m", "1.5Gi", "1e3".
//
// A plain value. Most amounts are an int64 times a power of ten; what does not fit is kept exactly in a
// big decimal behind a pointer, as upstream does, because what its accessors then answer (0, or the low 64
// bits) is part of kube-scheduler's verdicts.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace coppice::model {

class Quantity {
 public:
  enum class Format : uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };

  Quantity() = default;  // 0, DecimalSI
  static Result<Quantity> Parse(std::string_view text);
  static Quantity FromUnits(int64_t units, Format format = Format::kDecimalSI);
  static Quantity FromMillis(int64_t millis, Format format = Format::kDecimalSI);

  // Rounded up (away from zero) to whole units / thousandths, with upstream's overflow behaviour.
  int64_t Value() const;
  int64_t MilliValue() const;

  int Sign() const;                          // -1, 0, 1
  int Compare(const Quantity& other) const;  // exact: <0, 0, >0
  void Add(const Quantity& other);           // exact; the format of the first non-zero operand, as upstream
  void Sub(const Quantity& other);
  bool IsZero() const { return Sign() == 0; }
  Format format() const { return format_; }

  std::string ToString() const;   // what upstream prints: right after parsing often the input itself
  std::string Canonical() const;  // the canonical form

  // Same amount, whatever the spelling: 1000m == 1.
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.Compare(b) == 0; }

 private:
  struct Big;  // exact decimal, for what int64 * 10^scale cannot hold

  int64_t value_ = 0;
  int32_t scale_ = 0;  // the amount is value_ * 10^scale_, scale_ >= -9, unless big_ is set
  Format format_ = Format::kDecimalSI;
  bool verbatim_ = false;             // text_ is what ToString() answers
  std::shared_ptr<const Big> big_;
  std::string text_;
};

}  // namespace coppice::model
