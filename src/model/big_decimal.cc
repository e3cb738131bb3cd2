#include "model/big_decimal.h"

#include <algorithm>

#include "base/check.h"

namespace coppice::model {
namespace {

constexpr uint32_t kBillion = 1'000'000'000;
constexpr int kBillionDigits = 9;

uint32_t PowerOfTen(int64_t exponent) {  // up to 9
  uint32_t power = 1;
  for (int64_t i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace

BigDecimal::BigDecimal(int64_t unscaled, int32_t digits_after_point)
    : digits_after_point_(digits_after_point), negative_(unscaled < 0) {
  // Negated as unsigned, where the most negative number has a counterpart.
  uint64_t magnitude = static_cast<uint64_t>(unscaled);
  if (negative_) magnitude = ~magnitude + 1;
  for (; magnitude != 0; magnitude >>= 32) limbs_.push_back(static_cast<uint32_t>(magnitude));
}

BigDecimal BigDecimal::FromDigits(std::string_view digits, int32_t digits_after_point) {
  BigDecimal result;
  result.digits_after_point_ = digits_after_point;
  for (size_t at = 0; at < digits.size(); at += kBillionDigits) {
    const std::string_view chunk = digits.substr(at, kBillionDigits);
    uint32_t number = 0;
    for (const char c : chunk) number = number * 10 + static_cast<uint32_t>(c - '0');
    result.Multiply(PowerOfTen(static_cast<int64_t>(chunk.size())));
    result.AddMagnitude(number);
  }
  return result;
}

void BigDecimal::Multiply(uint32_t factor) {
  uint64_t carry = 0;
  for (uint32_t& limb : limbs_) {
    carry += static_cast<uint64_t>(limb) * factor;
    limb = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  if (carry != 0) limbs_.push_back(static_cast<uint32_t>(carry));
}

void BigDecimal::AddMagnitude(uint32_t small) {
  uint64_t carry = small;
  for (size_t i = 0; carry != 0; ++i) {
    if (i == limbs_.size()) limbs_.push_back(0);
    carry += limbs_[i];
    limbs_[i] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
}

uint32_t BigDecimal::Divide(uint32_t divisor) {
  uint64_t remainder = 0;
  for (size_t i = limbs_.size(); i-- > 0;) {
    remainder = remainder << 32 | limbs_[i];
    limbs_[i] = static_cast<uint32_t>(remainder / divisor);
    remainder %= divisor;
  }
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  return static_cast<uint32_t>(remainder);
}

void BigDecimal::MultiplyByPowerOfTen(int64_t digits) {
  if (limbs_.empty()) return;
  for (; digits > 0; digits -= kBillionDigits) {
    Multiply(PowerOfTen(std::min<int64_t>(digits, kBillionDigits)));
  }
}

bool BigDecimal::DivideByPowerOfTen(int64_t digits) {
  bool exact = true;
  // Ends early at 0, so that an absurd exponent costs no more than the digits there are.
  for (; digits > 0 && !limbs_.empty(); digits -= kBillionDigits) {
    exact = Divide(PowerOfTen(std::min<int64_t>(digits, kBillionDigits))) == 0 && exact;
  }
  return exact;
}

void BigDecimal::MultiplyByPowerOfTwo(int exponent) {
  for (; exponent > 0; exponent -= 30) Multiply(1U << std::min(exponent, 30));
}

bool BigDecimal::RoundTo(int32_t digits_after_point) {
  const int64_t shift = int64_t{digits_after_point} - digits_after_point_;
  digits_after_point_ = digits_after_point;
  if (shift >= 0) {
    MultiplyByPowerOfTen(shift);
    return true;
  }
  const bool exact = DivideByPowerOfTen(-shift);
  if (!exact) AddMagnitude(1);
  return exact;
}

int64_t BigDecimal::LowUnscaled() const {
  uint64_t low = limbs_.empty() ? 0 : limbs_[0];
  if (limbs_.size() > 1) low |= static_cast<uint64_t>(limbs_[1]) << 32;
  return static_cast<int64_t>(negative_ ? ~low + 1 : low);
}

bool BigDecimal::UnscaledBelowMax() const {
  if (negative_) return true;
  return limbs_.size() <= 2 &&
         static_cast<uint64_t>(LowUnscaled()) < static_cast<uint64_t>(INT64_MAX);
}

int64_t BigDecimal::LowFloorDivided(int32_t digits, bool& exact) const {
  BigDecimal quotient = *this;
  exact = quotient.DivideByPowerOfTen(digits);
  if (negative_ && !exact) quotient.AddMagnitude(1);
  return quotient.LowUnscaled();
}

int32_t BigDecimal::RemoveFactors(uint32_t factor) {
  CHECK(!limbs_.empty());
  int32_t times = 0;
  for (;; ++times) {
    BigDecimal quotient = *this;
    if (quotient.Divide(factor) != 0) return times;
    limbs_ = std::move(quotient.limbs_);
  }
}

std::string BigDecimal::UnscaledText() const {
  if (limbs_.empty()) return "0";
  std::string reversed;
  BigDecimal rest = *this;
  while (!rest.limbs_.empty()) {
    uint32_t chunk = rest.Divide(kBillion);
    for (int i = 0; i < kBillionDigits && (chunk != 0 || !rest.limbs_.empty()); ++i, chunk /= 10) {
      reversed.push_back(static_cast<char>('0' + chunk % 10));
    }
  }
  if (negative_) reversed.push_back('-');
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

int BigDecimal::CompareMagnitude(const BigDecimal& other) const {
  if (limbs_.size() != other.limbs_.size()) return limbs_.size() < other.limbs_.size() ? -1 : 1;
  for (size_t i = limbs_.size(); i-- > 0;) {
    if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i] ? -1 : 1;
  }
  return 0;
}

void BigDecimal::Add(const BigDecimal& other) {
  BigDecimal addend = other;
  const int32_t digits = std::max(digits_after_point_, addend.digits_after_point_);
  RoundTo(digits);
  addend.RoundTo(digits);
  if (negative_ != addend.negative_ && CompareMagnitude(addend) < 0) {
    std::swap(limbs_, addend.limbs_);
    std::swap(negative_, addend.negative_);
  }
  // Now the sign of the sum is ours: the signs agree, or our magnitude is not the smaller one.
  const bool subtract = negative_ != addend.negative_;
  if (limbs_.size() < addend.limbs_.size()) limbs_.resize(addend.limbs_.size(), 0);
  int64_t carry = 0;
  for (size_t i = 0; i < limbs_.size(); ++i) {
    const int64_t limb = i < addend.limbs_.size() ? addend.limbs_[i] : 0;
    carry += int64_t{limbs_[i]} + (subtract ? -limb : limb);
    limbs_[i] = static_cast<uint32_t>(carry & 0xFFFFFFFF);
    carry >>= 32;
  }
  if (carry > 0) limbs_.push_back(static_cast<uint32_t>(carry));
  while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
  if (limbs_.empty()) negative_ = false;
}

int BigDecimal::Compare(const BigDecimal& other) const {
  if (sign() != other.sign()) return sign() < other.sign() ? -1 : 1;
  BigDecimal a = *this;
  BigDecimal b = other;
  const int32_t digits = std::max(digits_after_point_, other.digits_after_point_);
  a.RoundTo(digits);
  b.RoundTo(digits);
  const int by_magnitude = a.CompareMagnitude(b);
  return negative_ ? -by_magnitude : by_magnitude;
}

}  // namespace coppice::model
