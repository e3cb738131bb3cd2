#include "provision/disruption/cron.h"

#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "base/go_duration.h"

namespace coppice::provision {

namespace {

constexpr uint64_t kStar = uint64_t{1} << 63;

struct CronField {
  const char* name;
  uint64_t least;
  uint64_t most;
  const char* names;  // three letters each, from `least` on; null if it has none
};

constexpr std::array<CronField, 5> kCronFields = {{
    {"minute", 0, 59, nullptr},
    {"hour", 0, 23, nullptr},
    {"day of month", 1, 31, nullptr},
    {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {"day of week", 0, 6, "sunmontuewedthufrisat"},
}};

bool IsCronSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::vector<std::string_view> CronWords(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    if (IsCronSpace(text[at])) {
      ++at;
      continue;
    }
    const size_t from = at;
    while (at < text.size() && !IsCronSpace(text[at])) ++at;
    words.push_back(text.substr(from, at - from));
  }
  return words;
}

std::vector<std::string_view> CronSplit(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  size_t from = 0;
  for (size_t at; (at = text.find(by, from)) != std::string_view::npos; from = at + 1) {
    parts.push_back(text.substr(from, at - from));
  }
  parts.push_back(text.substr(from));
  return parts;
}

Result<uint64_t> CronNumber(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      number > static_cast<uint64_t>(INT64_MAX)) {
    return InvalidArgument("'" + std::string(text) + "' is no number");
  }
  return number;
}

Result<uint64_t> CronNumberOrName(std::string_view text, const CronField& field) {
  if (field.names != nullptr && text.size() == 3) {
    std::string lower(text);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const std::string_view names = field.names;
    for (size_t i = 0; i < names.size(); i += 3) {
      if (names.substr(i, 3) == lower) return field.least + i / 3;
    }
  }
  return CronNumber(text);
}

// "*", "5", "1-5", each perhaps with "/step".
Result<uint64_t> CronRange(std::string_view text, const CronField& field) {
  const auto with_step = CronSplit(text, '/');
  const auto ends = CronSplit(with_step[0], '-');
  if (with_step.size() > 2)
    return InvalidArgument("too many slashes in '" + std::string(text) + "'");
  uint64_t from = field.least;
  uint64_t to = field.most;
  uint64_t star = 0;
  if (ends[0] == "*" || ends[0] == "?") {
    star = kStar;
  } else {
    if (ends.size() > 2) return InvalidArgument("too many hyphens in '" + std::string(text) + "'");
    from = TRY(CronNumberOrName(ends[0], field));
    to = ends.size() == 1 ? from : TRY(CronNumberOrName(ends[1], field));
  }
  uint64_t step = 1;
  if (with_step.size() == 2) {
    step = TRY(CronNumber(with_step[1]));
    if (ends.size() == 1) to = field.most;  // "5/10" is "5-59/10"
    if (step > 1) star = 0;
  }
  if (from < field.least || to > field.most || from > to) {
    return InvalidArgument("'" + std::string(text) + "' is not within " +
                           std::to_string(field.least) + "-" + std::to_string(field.most));
  }
  if (step == 0) return InvalidArgument("a step of 0 in '" + std::string(text) + "'");
  uint64_t bits = star;
  for (uint64_t value = from; value <= to; value += step) bits |= uint64_t{1} << value;
  return bits;
}

Result<uint64_t> CronBits(std::string_view text, const CronField& field) {
  uint64_t bits = 0;
  for (const std::string_view part : CronSplit(text, ',')) {
    if (part.empty()) continue;  // the peer overlooks them
    bits |= TRY(CronRange(part, field).Context(field.name));
  }
  return bits;
}

// The five fields behind a word; empty if it is none.
std::string_view CronDescriptor(std::string_view word) {
  if (word == "@yearly" || word == "@annually") return "0 0 1 1 *";
  if (word == "@monthly") return "0 0 1 * *";
  if (word == "@weekly") return "0 0 * * 0";
  if (word == "@daily" || word == "@midnight") return "0 0 * * *";
  if (word == "@hourly") return "0 * * * *";
  return "";
}

bool CronHas(uint64_t bits, uint64_t value) { return (bits >> value & 1) != 0; }

}  // namespace

Result<CronSchedule> CronSchedule::Parse(std::string_view text) {
  while (!text.empty() && IsCronSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsCronSpace(text.back())) text.remove_suffix(1);
  CronSchedule schedule;
  constexpr std::string_view kEvery = "@every ";
  if (text.starts_with(kEvery)) {
    const Duration every = TRY(ParseGoDuration(text.substr(kEvery.size())));
    using std::chrono::seconds;
    schedule.every_ = std::max<Duration>(std::chrono::floor<seconds>(every), seconds(1));
    return schedule;
  }
  if (text.starts_with('@')) {
    const std::string_view fields = CronDescriptor(text);
    if (fields.empty()) return InvalidArgument("'" + std::string(text) + "' is no known schedule");
    text = fields;
  }
  const auto words = CronWords(text);
  if (words.size() != kCronFields.size()) {
    return InvalidArgument("a schedule has 5 fields, not " + std::to_string(words.size()));
  }
  schedule.minutes_ = TRY(CronBits(words[0], kCronFields[0]));
  schedule.hours_ = TRY(CronBits(words[1], kCronFields[1]));
  schedule.days_ = TRY(CronBits(words[2], kCronFields[2]));
  schedule.months_ = TRY(CronBits(words[3], kCronFields[3]));
  schedule.weekdays_ = TRY(CronBits(words[4], kCronFields[4]));
  return schedule;
}

bool CronSchedule::DayMatches(std::chrono::year_month_day day) const {
  const bool by_date = CronHas(days_, static_cast<unsigned>(day.day()));
  const std::chrono::weekday weekday{std::chrono::sys_days(day)};
  const bool by_weekday = CronHas(weekdays_, weekday.c_encoding());
  const bool restricted_by_one = ((days_ | weekdays_) & kStar) != 0;
  return restricted_by_one ? by_date && by_weekday : by_date || by_weekday;
}

std::optional<TimePoint> CronSchedule::Next(TimePoint after) const {
  using namespace std::chrono;  // NOLINT: the calendar's names
  const auto second = floor<seconds>(after);
  if (every_) return Later(TimePoint(second), *every_);
  const auto start = second + seconds(1);
  const auto first_minute = ceil<minutes>(start);  // hits are on second 0
  auto day = floor<days>(first_minute);
  const year last_year = year_month_day(floor<days>(start)).year() + years(5);
  int64_t from = duration_cast<minutes>(first_minute - day).count();
  while (true) {
    const year_month_day date(day);
    if (date.year() > last_year) return std::nullopt;
    if (!CronHas(months_, static_cast<unsigned>(date.month()))) {
      day = sys_days((date.year() / date.month() + months(1)) / 1);
      from = 0;
      continue;
    }
    if (DayMatches(date)) {
      for (int64_t minute = from; minute < 24 * 60; ++minute) {
        if (!CronHas(hours_, static_cast<uint64_t>(minute / 60))) {
          minute += 59 - minute % 60;  // to the end of this hour
          continue;
        }
        if (CronHas(minutes_, static_cast<uint64_t>(minute % 60))) {
          return TimePoint(day + minutes(minute));
        }
      }
    }
    day += days(1);
    from = 0;
  }
}

}  // namespace coppice::provision
