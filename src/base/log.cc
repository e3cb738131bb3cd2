#include "base/log.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "base/strings.h"

namespace coppice {

namespace {

constexpr std::string_view kLevels[] = {"debug", "info", "warning", "error"};

// RFC 3339 in UTC with milliseconds. By hand: g++ 12 has calendars but no std::format for them.
void AppendTime(std::string& out, TimePoint when) {
  using namespace std::chrono;
  const auto day = floor<days>(when);
  const year_month_day date(day);
  const hh_mm_ss time(floor<milliseconds>(when - day));
  fmt::format_to(std::back_inserter(out), FMT_COMPILE("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z"),
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), time.hours().count(), time.minutes().count(),
                 time.seconds().count(), time.subseconds().count());
}

void AppendNumber(std::string& out, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), value);
  } else {
    // JSON has no such numbers; a line that no parser takes would be lost.
    out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"+Inf\"" : "\"-Inf\"";
  }
}

// For a person's eye: quotes only where the value would not read as one word.
void AppendTextValue(std::string& out, std::string_view text) {
  const size_t start = out.size();
  AppendJsonString(out, text);
  const bool escaped = out.size() - start != text.size() + 2;
  if (escaped || text.empty() || text.find_first_of(" =") != std::string_view::npos) return;
  out.pop_back();
  out.erase(start, 1);
}

struct ValueAppender {
  std::string& out;
  LogFormat format;

  void operator()(std::string_view text) const {
    format == LogFormat::kJson ? AppendJsonString(out, text) : AppendTextValue(out, text);
  }
  void operator()(const std::string& text) const { (*this)(std::string_view(text)); }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(int64_t value) const { out += fmt::format_int(value).c_str(); }
  void operator()(uint64_t value) const { out += fmt::format_int(value).c_str(); }
  void operator()(double value) const { AppendNumber(out, value); }
  void operator()(Duration value) const {
    AppendNumber(out, std::chrono::duration<double>(value).count());
  }
};

std::string JsonLine(TimePoint now, LogLevel level, std::string_view sentence, LogFields fields) {
  std::string line;
  line.reserve(256);
  line += R"({"time":")";
  AppendTime(line, now);
  line += R"(","level":")";
  line += kLevels[static_cast<size_t>(level)];
  line += R"(","msg":)";
  AppendJsonString(line, sentence);
  for (const LogField& field : fields) {
    line += ',';
    AppendJsonString(line, field.key);
    line += ':';
    std::visit(ValueAppender{line, LogFormat::kJson}, field.value.value());
  }
  line += "}\n";
  return line;
}

std::string TextLine(TimePoint now, LogLevel level, std::string_view sentence, LogFields fields) {
  std::string line;
  line.reserve(256);
  AppendTime(line, now);
  fmt::format_to(std::back_inserter(line), FMT_COMPILE(" {:<7} "),
                 kLevels[static_cast<size_t>(level)]);
  line += sentence;  // a constant of ours: nothing to escape
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    std::visit(ValueAppender{line, LogFormat::kText}, field.value.value());
  }
  line += '\n';
  return line;
}

// What cannot be written is lost: there is nowhere left to complain to.
void WriteToStderr(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    line.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

Log::Log(const Clock& clock, LogSink sink, LogFormat format, LogLevel lowest)
    : clock_(&clock),
      sink_(std::move(sink)),
      mutex_(std::make_shared<std::mutex>()),
      format_(format),
      lowest_(lowest) {}

Log Log::ToStderr(const Clock& clock, LogLevel lowest, std::optional<LogFormat> format) {
  const LogFormat usual = ::isatty(STDERR_FILENO) ? LogFormat::kText : LogFormat::kJson;
  return {clock, WriteToStderr, format.value_or(usual), lowest};
}

Log Log::Null() {
  static const SystemClock clock;  // never asked, but never dangling either
  return {clock, nullptr, LogFormat::kJson, LogLevel::kError};
}

void Log::Write(LogLevel level, std::string_view sentence, LogFields fields) const {
  if (!Enabled(level)) return;
  const TimePoint now = clock_->Now();
  const std::string line = format_ == LogFormat::kJson ? JsonLine(now, level, sentence, fields)
                                                       : TextLine(now, level, sentence, fields);
  const std::lock_guard lock(*mutex_);
  sink_(line);
}

}  // namespace coppice
