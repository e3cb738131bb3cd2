#include "wire/time_text.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdint>

namespace coppice::wire {
namespace {

using std::chrono::seconds;

// What int64 nanoseconds hold, less a day at each end so that a zone offset cannot push it over.
constexpr int64_t kLastSecond = INT64_MAX / 1'000'000'000 - 86'400;

struct Text {
  std::string_view left;

  bool Digits(size_t count, int& out) {
    if (left.size() < count) return false;
    out = 0;
    for (size_t i = 0; i < count; ++i) {
      if (left[i] < '0' || left[i] > '9') return false;
      out = out * 10 + (left[i] - '0');
    }
    left.remove_prefix(count);
    return true;
  }
  bool Char(char c) {
    if (left.empty() || left.front() != c) return false;
    left.remove_prefix(1);
    return true;
  }
  // Digits after the point; beyond nanoseconds they are read and dropped.
  bool Fraction(int64_t& nanos, size_t& count) {
    nanos = 0;
    count = 0;
    int64_t unit = 100'000'000;
    while (!left.empty() && left.front() >= '0' && left.front() <= '9') {
      nanos += unit * (left.front() - '0');
      unit /= 10;
      left.remove_prefix(1);
      ++count;
    }
    return count > 0;
  }
};

bool ParseZone(Text& text, seconds& offset) {
  offset = seconds(0);
  if (text.Char('Z')) return true;
  const bool west = !text.left.empty() && text.left.front() == '-';
  if (!text.Char('+') && !text.Char('-')) return false;
  int hours = 0;
  int minutes = 0;
  if (!text.Digits(2, hours) || !text.Char(':') || !text.Digits(2, minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  offset = seconds(hours * 3600 + minutes * 60);
  if (west) offset = -offset;
  return true;
}

std::optional<TimePoint> Parse(std::string_view whole, bool six_digits) {
  Text text{whole};
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!(text.Digits(4, year) && text.Char('-') && text.Digits(2, month) && text.Char('-') &&
        text.Digits(2, day) && text.Char('T') && text.Digits(2, hour) && text.Char(':') &&
        text.Digits(2, minute) && text.Char(':') && text.Digits(2, second))) {
    return std::nullopt;
  }
  int64_t nanos = 0;
  size_t digits = 0;
  if (text.Char('.') && !text.Fraction(nanos, digits)) return std::nullopt;
  if (six_digits && digits != 6) return std::nullopt;
  seconds offset;
  if (!ParseZone(text, offset) || !text.left.empty()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  // Go takes no leap seconds, so neither do we.
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int64_t since_1970 = days * 86'400 + hour * 3600 + minute * 60 + second - offset.count();
  TimePoint result;
  if (!FromSecondsAndNanos(since_1970, static_cast<int32_t>(nanos), result)) return std::nullopt;
  return result;
}

struct Civil {
  int year;
  unsigned month, day;
  int64_t hour, minute, second, micros;
};

Civil ToCivil(TimePoint time) {
  using namespace std::chrono;  // NOLINT: floor of several units
  const auto day_start = floor<days>(time);
  const year_month_day date{day_start};
  const int64_t micros = floor<microseconds>(time - day_start).count();
  const int64_t second = micros / 1'000'000;
  return {int(date.year()),  unsigned(date.month()), unsigned(date.day()),
          second / 3600,     second / 60 % 60,       second % 60,
          micros % 1'000'000};
}

}  // namespace

bool FromSecondsAndNanos(int64_t since_1970, int32_t nanos, TimePoint& out) {
  if (since_1970 > kLastSecond || since_1970 < -kLastSecond) return false;
  if (nanos < 0 || nanos > 999'999'999) return false;
  out = TimePoint(seconds(since_1970) + std::chrono::nanoseconds(nanos));
  return true;
}

std::optional<TimePoint> ParseRfc3339(std::string_view text) { return Parse(text, false); }
std::optional<TimePoint> ParseRfc3339Micro(std::string_view text) { return Parse(text, true); }

bool IsGoZeroTime(std::string_view text) {
  return text == "0001-01-01T00:00:00Z" || text == "0001-01-01T00:00:00.000000Z";
}

std::string FormatRfc3339(TimePoint time) {
  const Civil c = ToCivil(time);
  return fmt::format(FMT_COMPILE("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z"), c.year, c.month, c.day,
                     c.hour, c.minute, c.second);
}

std::string FormatRfc3339Micro(TimePoint time) {
  const Civil c = ToCivil(time);
  return fmt::format(FMT_COMPILE("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z"), c.year, c.month,
                     c.day, c.hour, c.minute, c.second, c.micros);
}

}  // namespace coppice::wire
