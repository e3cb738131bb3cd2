#include "base/go_duration.h"

#include <array>
#include <cstdint>
#include <optional>

#include "base/strings.h"

namespace coppice {

namespace {

// The magnitude is summed unsigned, so that the most negative duration can be written.
constexpr uint64_t kMostNegative = uint64_t{1} << 63;

struct Unit {
  std::string_view name;
  uint64_t nanos;
};
constexpr std::array<Unit, 8> kUnits = {{
    {"ns", 1},
    {"us", 1'000},
    {"\u00B5s", 1'000},  // micro sign
    {"\u03BCs", 1'000},  // Greek letter mu
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"m", 60'000'000'000},
    {"h", 3'600'000'000'000},
}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Digits before the point, taken off the front of `text`. Nothing when they exceed 2^63.
std::optional<uint64_t> TakeWhole(std::string_view& text) {
  uint64_t value = 0;
  while (!text.empty() && IsDigit(text.front())) {
    if (value > kMostNegative / 10) return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(text.front() - '0');
    if (value > kMostNegative) return std::nullopt;
    text.remove_prefix(1);
  }
  return value;
}

struct Fraction {
  uint64_t digits = 0;
  double scale = 1;  // what `digits` is to be divided by
};

// Digits after the point. Those that no longer fit are dropped: they are far below a nanosecond.
Fraction TakeFraction(std::string_view& text) {
  Fraction fraction;
  bool full = false;
  while (!text.empty() && IsDigit(text.front())) {
    const auto digit = static_cast<uint64_t>(text.front() - '0');
    text.remove_prefix(1);
    full = full || fraction.digits > (kMostNegative - 1) / 10 ||
           fraction.digits * 10 + digit > kMostNegative;
    if (full) continue;
    fraction.digits = fraction.digits * 10 + digit;
    fraction.scale *= 10;
  }
  return fraction;
}

Status Refuse(std::string_view text, std::string_view why) {
  std::string message;
  AppendJsonString(message, text.substr(0, 100));
  message += " is not a duration: ";
  message += why;
  return InvalidArgument(std::move(message));
}

// One number with its unit, in nanoseconds.
Result<uint64_t> TakeTerm(std::string_view& rest, std::string_view whole_text) {
  constexpr std::string_view kTooLong = "it does not fit into 292 years";
  const size_t before = rest.size();
  const std::optional<uint64_t> whole = TakeWhole(rest);
  if (!whole) return Refuse(whole_text, kTooLong);
  bool digits = rest.size() != before;
  Fraction fraction;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    const size_t point = rest.size();
    fraction = TakeFraction(rest);
    digits = digits || rest.size() != point;
  }
  if (!digits) return Refuse(whole_text, "a number is missing; write for example 30s or 1h30m");

  size_t length = 0;
  while (length < rest.size() && rest[length] != '.' && !IsDigit(rest[length])) ++length;
  if (length == 0) return Refuse(whole_text, "a unit is missing; write for example 30s");
  const std::string_view name = rest.substr(0, length);
  rest.remove_prefix(length);
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (*whole > kMostNegative / unit.nanos) return Refuse(whole_text, kTooLong);
    uint64_t nanos = *whole * unit.nanos;
    if (fraction.digits > 0) {
      // In this order of operations and in double, as Go does it, or the last nanosecond differs.
      nanos += static_cast<uint64_t>(static_cast<double>(fraction.digits) *
                                     (static_cast<double>(unit.nanos) / fraction.scale));
      if (nanos > kMostNegative) return Refuse(whole_text, kTooLong);
    }
    return nanos;
  }
  return Refuse(whole_text, "the units are h, m, s, ms, us and ns");
}

// Digits of `value` with `places` of them behind the point, without trailing zeros.
std::string Decimal(uint64_t value, int places) {
  std::string digits = std::to_string(value);
  if (digits.size() <= static_cast<size_t>(places)) {
    digits.insert(0, static_cast<size_t>(places) + 1 - digits.size(), '0');
  }
  if (places == 0) return digits;
  digits.insert(digits.size() - static_cast<size_t>(places), 1, '.');
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

}  // namespace

Result<Duration> ParseGoDuration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (negative || (!rest.empty() && rest.front() == '+')) rest.remove_prefix(1);
  if (rest == "0") return Duration::zero();
  if (rest.empty()) return Refuse(text, "it is empty; write for example 30s or 1h30m");
  uint64_t sum = 0;
  while (!rest.empty()) {
    sum += TRY(TakeTerm(rest, text));
    if (sum > kMostNegative) return Refuse(text, "it does not fit into 292 years");
  }
  // Two's complement wraps 2^63 to the most negative value, which is the one that is meant.
  if (negative) return Duration(static_cast<int64_t>(uint64_t{0} - sum));
  if (sum == kMostNegative) return Refuse(text, "it does not fit into 292 years");
  return Duration(static_cast<int64_t>(sum));
}

std::string FormatGoDuration(Duration duration) {
  const bool negative = duration.count() < 0;
  const auto count = static_cast<uint64_t>(duration.count());
  const uint64_t nanos = negative ? uint64_t{0} - count : count;
  const std::string sign = negative ? "-" : "";
  if (nanos == 0) return "0s";
  if (nanos < 1'000) return sign + Decimal(nanos, 0) + "ns";
  if (nanos < 1'000'000) return sign + Decimal(nanos, 3) + "\u00B5s";
  if (nanos < 1'000'000'000) return sign + Decimal(nanos, 6) + "ms";
  const uint64_t minutes = nanos / 60'000'000'000;
  std::string text = sign;
  if (minutes >= 60) text += std::to_string(minutes / 60) + "h";
  if (minutes > 0) text += std::to_string(minutes % 60) + "m";
  return text + Decimal(nanos % 60'000'000'000, 9) + "s";
}

}  // namespace coppice
