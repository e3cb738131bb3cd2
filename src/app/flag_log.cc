#include "app/flag_log.h"

#include <unistd.h>

#include <cerrno>

namespace coppice::app {
namespace {

void ToStderr(std::string_view line) {
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    line.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

Log LogFrom(const autoscale::FlagValues& flags, const Clock& clock) {
  const LogLevel level = flags.verbosity >= 5 ? LogLevel::kDebug : LogLevel::kInfo;
  if (flags.logging_format.empty()) return Log::ToStderr(clock, level);
  return {clock, ToStderr, flags.logging_format == "json" ? LogFormat::kJson : LogFormat::kText,
          level};
}

}  // namespace coppice::app
