// Reading single values of flags, and what is said of those that cannot be taken.

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <concepts>

#include "base/flag_set.h"
#include "base/go_duration.h"

namespace coppice {
namespace {

template <class T>
std::string RangeText(const T& least, const T& most, bool bounded_below, bool bounded_above,
                      std::string (*write)(T)) {
  if (bounded_below && bounded_above) return write(least) + " to " + write(most);
  if (bounded_below) return "at least " + write(least);
  return "at most " + write(most);
}

template <class T>
std::string WriteNumber(T value) {
  return fmt::format("{}", value);
}
std::string WriteDuration(Duration value) { return FormatGoDuration(value); }

}  // namespace

Status BadFlagValue(std::string_view value, std::string_view wanted) {
  return InvalidArgument("'" + std::string(value) + "' is not " + std::string(wanted));
}

template <class T>
Result<T> FlagNumber(std::string_view text, Between<T> range) {
  constexpr std::string_view kind = std::integral<T> ? "a whole number" : "a number";
  const bool below = range.least != std::numeric_limits<T>::lowest();
  const bool above = range.most != std::numeric_limits<T>::max();
  const std::string wanted =
      std::string(kind) +
      (below || above ? ", " + RangeText<T>(range.least, range.most, below, above, WriteNumber<T>)
                      : "");
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);  // as Go takes it
  T value{};
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range)
    return InvalidArgument("'" + std::string(text) + "' is out of range: " + wanted);
  // Where there is nothing below nought the sign is what is wrong.
  int64_t negative = 0;
  if (std::unsigned_integral<T> && digits.starts_with('-')) {
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), negative);
    if (problem == std::errc() && end == digits.data() + digits.size())
      return InvalidArgument("'" + std::string(text) + "' is out of range: " + std::string(kind) +
                             ", at least 0");
  }
  if (error != std::errc() || rest != digits.data() + digits.size())
    return BadFlagValue(text, wanted);
  if constexpr (std::floating_point<T>) {
    if (!std::isfinite(value)) return BadFlagValue(text, wanted);
  }
  if (value < range.least || value > range.most)
    return InvalidArgument("'" + std::string(text) + "' is out of range: " + wanted);
  return value;
}
template Result<int> FlagNumber<int>(std::string_view, Between<int>);
template Result<int64_t> FlagNumber<int64_t>(std::string_view, Between<int64_t>);
template Result<uint64_t> FlagNumber<uint64_t>(std::string_view, Between<uint64_t>);
template Result<double> FlagNumber<double>(std::string_view, Between<double>);

// What Go's strconv.ParseBool takes.
Result<bool> FlagBool(std::string_view text) {
  for (const char* yes : {"true", "True", "TRUE", "t", "T", "1"})
    if (text == yes) return true;
  for (const char* no : {"false", "False", "FALSE", "f", "F", "0"})
    if (text == no) return false;
  return BadFlagValue(text, "true or false");
}

Result<Duration> FlagDuration(std::string_view text, Between<Duration> range) {
  const Duration value = TRY(ParseGoDuration(text));
  if (value >= range.least && value <= range.most) return value;
  return InvalidArgument("'" + std::string(text) + "' is out of range: a time, " +
                         RangeText<Duration>(range.least, range.most,
                                             range.least != Duration::min(),
                                             range.most != Duration::max(), WriteDuration));
}

}  // namespace coppice
