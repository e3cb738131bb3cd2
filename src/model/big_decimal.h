// BigDecimal: an exact decimal number of any size, for the few quantities that int64 * 10^scale
// cannot hold.
//
// Only what Quantity needs: shifting by powers of ten and two, adding, comparing, printing. The
// number of digits after the point is part of the value, because how upstream rounds depends on it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coppice::model {

class BigDecimal {
 public:
  BigDecimal() = default;  // 0
  BigDecimal(int64_t unscaled, int32_t digits_after_point);

  // `digits` are decimal digits and nothing else.
  static BigDecimal FromDigits(std::string_view digits, int32_t digits_after_point);

  int sign() const { return limbs_.empty() ? 0 : negative_ ? -1 : 1; }
  int32_t digits_after_point() const { return digits_after_point_; }
  void set_digits_after_point(int32_t digits) { digits_after_point_ = digits; }
  void Negate() { negative_ = !negative_ && !limbs_.empty(); }

  void MultiplyByPowerOfTwo(int exponent);
  // To exactly that many digits after the point, away from zero. True if nothing was lost.
  bool RoundTo(int32_t digits_after_point);

  // What is left of the unscaled number in 64 bits of two's complement.
  int64_t LowUnscaled() const;
  // The unscaled number is below 2^63 - 1 (every negative one is).
  bool UnscaledBelowMax() const;
  // The low 64 bits of the unscaled number divided by 10^digits, rounded down; `exact` tells
  // whether it was even.
  int64_t LowFloorDivided(int32_t digits, bool& exact) const;

  // Takes all factors out of the unscaled number and returns how many there were. Not for 0.
  int32_t RemoveFactors(uint32_t factor);
  void MultiplyUnscaled(uint32_t factor) { Multiply(factor); }
  std::string UnscaledText() const;

  void Add(const BigDecimal& other);
  int Compare(const BigDecimal& other) const;

 private:
  void Multiply(uint32_t factor);
  void AddMagnitude(uint32_t small);
  uint32_t Divide(uint32_t divisor);  // returns the remainder
  void MultiplyByPowerOfTen(int64_t digits);
  bool DivideByPowerOfTen(int64_t digits);  // truncates; true if nothing was lost
  int CompareMagnitude(const BigDecimal& other) const;

  std::vector<uint32_t> limbs_;  // little end first, no leading zeros; empty is 0
  int32_t digits_after_point_ = 0;
  bool negative_ = false;
};

}  // namespace coppice::model
