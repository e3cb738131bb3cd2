#include "base/log_flags.h"

#include <optional>

namespace coppice {

void AddLogFlags(FlagSet& set, LogFlags& values) {
  set.Group("Logging");
  set.AddNumber("v", values.verbosity, AnyNumber<int>(),
                "Log level as klog counts it: 5 and more shows debug lines.");
  set.AddString("logging-format", values.logging_format,
                "text or json; empty: json, unless standard error is a terminal.");
  set.AddBool("logtostderr", values.log_to_stderr, "Logs go to standard error.");
  set.AddString("log-file", values.log_file,
                "klog's; heeded by upstream with --logtostderr=false only, which is refused here.");
  set.Accept("alsologtostderr", "bool", "false", "logs go to standard error", false);
  set.Accept("stderrthreshold", "string", "2", "logs go to standard error", false);
  for (const char* name : {"one-output", "skip-headers", "skip-log-headers", "add-dir-header",
                           "legacy-stderr-threshold-behavior"}) {
    set.Accept(name, "bool", "false", "it is about klog's own lines and files", false);
  }
  set.Accept("log-dir", "string", "", "no log files are written");
  set.Accept("log-file-max-size", "int", "1800", "no log files are written", false);
  set.Accept("log-flush-frequency", "duration", "5s", "every line is written at once", false);
  set.Accept("log-backtrace-at", "string", ":0", "lines have no Go backtraces");
  set.Accept("vmodule", "string", "", "there are no modules to set apart; use --v");
  set.Accept("feature-gates", "string", "",
             "gates of Go components; what is optional here has a flag of its own");
  for (const char* name : {"log-json-info-buffer-size", "log-text-info-buffer-size"})
    set.Accept(name, "string", "0", "every line is written at once", false);
  for (const char* name : {"log-json-split-stream", "log-text-split-stream"})
    set.Accept(name, "bool", "false", "there is one stream");
}

Status CheckLogFlags(const LogFlags& values) {
  if (!values.log_to_stderr && !values.log_file.empty()) {
    return Unimplemented(
        "--log-file with --logtostderr=false is not supported here: redirect standard error to "
        "the file");
  }
  if (!values.logging_format.empty() && values.logging_format != "text" &&
      values.logging_format != "json") {
    return InvalidArgument("--logging-format=" + values.logging_format + " is not text or json");
  }
  return Status::Ok();
}

Log LogToStderr(const LogFlags& values, const Clock& clock) {
  const LogLevel level = values.verbosity >= 5 ? LogLevel::kDebug : LogLevel::kInfo;
  std::optional<LogFormat> format;
  if (!values.logging_format.empty())
    format = values.logging_format == "json" ? LogFormat::kJson : LogFormat::kText;
  return Log::ToStderr(clock, level, format);
}

}  // namespace coppice
