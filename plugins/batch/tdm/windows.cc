#include "plugins/batch/tdm/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/strings.h"

namespace coppice::batch::tdm {
namespace {

constexpr Duration kDay = std::chrono::hours(24);

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes one or two digits off the front.
std::optional<int> TakeNumber(std::string_view& text, bool two) {
  if (text.empty() || !IsDigit(text[0])) return std::nullopt;
  if (text.size() < 2 || !IsDigit(text[1])) {
    if (two) return std::nullopt;
    const int value = text[0] - '0';
    text.remove_prefix(1);
    return value;
  }
  const int value = (text[0] - '0') * 10 + (text[1] - '0');
  text.remove_prefix(2);
  return value;
}

// As Go reads "15:04", and with its words if it cannot, for they end up in the events of pods: the
// hour may have one digit, the minute has two.
Result<Duration> TimeOfDay(std::string_view text) {
  const auto cannot = [&](std::string_view rest, std::string_view what) {
    return InvalidArgument(fmt::format(
        "parsing time \"{}\" as \"15:04\": cannot parse \"{}\" as \"{}\"", text, rest, what));
  };
  const auto out_of_range = [&](std::string_view what) {
    return InvalidArgument(fmt::format("parsing time \"{}\": {} out of range", text, what));
  };
  std::string_view rest = text;
  const auto hour = TakeNumber(rest, false);
  if (!hour) return cannot(text, "15");
  if (*hour > 23) return out_of_range("hour");
  if (!rest.starts_with(':')) return cannot(rest, ":");
  rest.remove_prefix(1);
  const std::string_view at_minute = rest;
  const auto minute = TakeNumber(rest, true);
  if (!minute) return cannot(at_minute, "04");
  if (*minute > 59) return out_of_range("minute");
  if (!rest.empty()) {
    return InvalidArgument(fmt::format("parsing time \"{}\": extra text: \"{}\"", text, rest));
  }
  return Duration(std::chrono::hours(*hour) + std::chrono::minutes(*minute));
}

}  // namespace

Result<Window> Window::Parse(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  const size_t dash = trimmed.find('-');
  if (dash == std::string_view::npos || trimmed.find('-', dash + 1) != std::string_view::npos) {
    return InvalidArgument(fmt::format("revocable zone {} format error", text));
  }
  const Duration begin = TRY(TimeOfDay(trimmed.substr(0, dash)));
  const Duration end = TRY(TimeOfDay(trimmed.substr(dash + 1)));
  Window window;
  window.begin_ = begin;
  window.end_ = begin >= end ? end + kDay : end;
  return window;
}

bool Window::Contains(TimePoint now, Duration offset, bool only_today) const {
  const Duration local = now.time_since_epoch() + offset;
  Duration since_midnight = local % kDay;
  if (since_midnight < Duration::zero()) since_midnight += kDay;
  since_midnight = std::chrono::floor<std::chrono::seconds>(since_midnight);
  if (since_midnight >= begin_ && since_midnight <= end_) return true;
  return !only_today && since_midnight + kDay <= end_;  // it began yesterday
}

Result<Duration> ParseUtcOffset(std::string_view text) {
  const auto time = TimeOfDay(text.substr(std::min<size_t>(1, text.size())));
  if (!time.ok() || (text[0] != '+' && text[0] != '-')) {
    return InvalidArgument("'" + std::string(text) + "' is not a distance from UTC such as +08:00");
  }
  return text[0] == '-' ? -*time : *time;
}

}  // namespace coppice::batch::tdm
