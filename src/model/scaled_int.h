// int64 and powers of ten, for Quantity: with upstream's answers where 64 bits are not enough.

#pragma once

#include <cstdint>

namespace coppice::model {

__extension__ using Wide = __int128;

// Up to 10^18.
constexpr int64_t PowerOfTen(int32_t exponent) {
  int64_t power = 1;
  for (int32_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// False if value * 10^digits does not fit. Then `out` is what upstream's arithmetic leaves and its
// callers go on with: the wrapped product for the powers that it knows by heart, 0 for those that
// it reaches in a loop.
inline bool MultiplyByPowerOfTen(int64_t value, int32_t digits, int64_t& out) {
  const bool by_heart = digits <= 3 || digits == 6 || digits == 9;
  out = 0;
  if (value == 0) return true;
  if (digits > 18) return false;
  if (!__builtin_mul_overflow(value, PowerOfTen(digits), &out)) return true;
  if (!by_heart || value == INT64_MIN) out = 0;
  return false;
}

// value / 10^digits, away from zero.
inline int64_t DivideRoundingUp(int64_t value, int32_t digits, bool& exact) {
  if (digits > 18) {
    exact = value == 0;
    return value == 0 ? 0 : value < 0 ? -1 : 1;
  }
  const int64_t divisor = PowerOfTen(digits);
  exact = value % divisor == 0;
  return value / divisor + (exact ? 0 : value < 0 ? -1 : 1);
}

}  // namespace coppice::model
