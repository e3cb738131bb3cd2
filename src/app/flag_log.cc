#include "app/flag_log.h"

#include <optional>

namespace coppice::app {

Log LogFrom(const autoscale::FlagValues& flags, const Clock& clock) {
  const LogLevel level = flags.verbosity >= 5 ? LogLevel::kDebug : LogLevel::kInfo;
  std::optional<LogFormat> format;
  if (!flags.logging_format.empty())
    format = flags.logging_format == "json" ? LogFormat::kJson : LogFormat::kText;
  return Log::ToStderr(clock, level, format);
}

}  // namespace coppice::app
