// Structured log: a constant sentence and keys.
//
//   log.Info("scale-up decided", {{"group", id}, {"delta", 3}});
//
// One line per event, written with one write(2), so that lines of several threads and processes do
// not mix. JSON unless the destination is a terminal, then text. Any thread may log. Secrets are
// never logged: wrap what might hold one in Secret (base/secret.h), which prints as "***".

#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/status.h"

namespace coppice {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kJson, kText };

class LogValue {
 public:
  LogValue(std::string_view text) : value_(text) {}  // NOLINT: implicit on purpose, all of these
  LogValue(const char* text) : value_(std::string_view(text)) {}         // NOLINT
  LogValue(const std::string& text) : value_(std::string_view(text)) {}  // NOLINT
  LogValue(bool value) : value_(value) {}                                // NOLINT
  template <std::signed_integral T>
  LogValue(T value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  LogValue(T value) : value_(static_cast<uint64_t>(value)) {}  // NOLINT
  LogValue(double value) : value_(value) {}                    // NOLINT
  template <class Rep, class Period>                           // written as seconds
  LogValue(std::chrono::duration<Rep, Period> value) : value_(Duration(value)) {}  // NOLINT
  LogValue(const Status& status) : value_(status.ToString()) {}                    // NOLINT

  using Variant =
      std::variant<std::string_view, std::string, bool, int64_t, uint64_t, double, Duration>;
  const Variant& value() const { return value_; }

 private:
  Variant value_;
};

struct LogField {
  std::string_view key;
  LogValue value;
};
using LogFields = std::initializer_list<LogField>;

// Where finished lines go, newline included: a file descriptor, or a test's string. Called by one
// thread at a time.
using LogSink = std::function<void(std::string_view line)>;

class Log {
 public:
  Log(const Clock& clock, LogSink sink, LogFormat format, LogLevel lowest = LogLevel::kInfo);

  // To standard error; without a format JSON, or text when that is a terminal.
  static Log ToStderr(const Clock& clock, LogLevel lowest = LogLevel::kInfo,
                      std::optional<LogFormat> format = std::nullopt);
  // Swallows everything; for tests and defaults.
  static Log Null();

  void Debug(std::string_view sentence, LogFields fields = {}) const {
    Write(LogLevel::kDebug, sentence, fields);
  }
  void Info(std::string_view sentence, LogFields fields = {}) const {
    Write(LogLevel::kInfo, sentence, fields);
  }
  void Warning(std::string_view sentence, LogFields fields = {}) const {
    Write(LogLevel::kWarning, sentence, fields);
  }
  void Error(std::string_view sentence, LogFields fields = {}) const {
    Write(LogLevel::kError, sentence, fields);
  }

  bool Enabled(LogLevel level) const { return level >= lowest_ && sink_; }
  void Write(LogLevel level, std::string_view sentence, LogFields fields) const;

 private:
  const Clock* clock_;
  LogSink sink_;
  std::shared_ptr<std::mutex> mutex_;  // shared by copies, as the sink is
  LogFormat format_;
  LogLevel lowest_;
};

}  // namespace coppice
