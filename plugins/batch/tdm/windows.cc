#include "plugins/batch/tdm/windows.h"

#include <string>

#include "base/strings.h"

namespace coppice::batch::tdm {
namespace {

constexpr Duration kDay = std::chrono::hours(24);

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// One or two digits up to `most`.
std::optional<int> Number(std::string_view text, size_t least_digits, int most) {
  int value = 0;
  if (text.size() < least_digits || text.size() > 2) return std::nullopt;
  for (const char c : text) {
    if (!IsDigit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value <= most ? std::optional(value) : std::nullopt;
}

// As Go reads "15:04": the hour may have one digit, the minute has two.
std::optional<Duration> TimeOfDay(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto hour = Number(text.substr(0, colon), 1, 23);
  const auto minute = Number(text.substr(colon + 1), 2, 59);
  if (!hour || !minute) return std::nullopt;
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute);
}

}  // namespace

Result<Window> Window::Parse(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  const size_t dash = trimmed.find('-');
  std::optional<Duration> begin;
  std::optional<Duration> end;
  if (dash != std::string_view::npos) {
    begin = TimeOfDay(trimmed.substr(0, dash));
    end = TimeOfDay(trimmed.substr(dash + 1));
  }
  if (!begin || !end) {
    return InvalidArgument("'" + std::string(text) + "' is not a window such as 10:00-21:00");
  }
  Window window;
  window.begin_ = *begin;
  window.end_ = *begin >= *end ? *end + kDay : *end;
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
  const auto time = text.size() > 1 ? TimeOfDay(text.substr(1)) : std::nullopt;
  if (!time || (text[0] != '+' && text[0] != '-')) {
    return InvalidArgument("'" + std::string(text) + "' is not a distance from UTC such as +08:00");
  }
  return text[0] == '-' ? -*time : *time;
}

}  // namespace coppice::batch::tdm
