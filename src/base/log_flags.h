// The flags of the log, for every command that runs on: klog's names, because that is what
// manifests hold. `-v` chooses the level; what steers klog's own files and lines is understood and
// has no effect.

#pragma once

#include <string>

#include "base/flag_set.h"
#include "base/log.h"

namespace coppice {

struct LogFlags {
  int verbosity = 0;           // --v
  std::string logging_format;  // text, json; "": what fits the destination
  bool log_to_stderr = true;
  std::string log_file;
};

void AddLogFlags(FlagSet& set, LogFlags& values);
// What single flags cannot tell.
Status CheckLogFlags(const LogFlags& values);
Log LogToStderr(const LogFlags& values, const Clock& clock);

}  // namespace coppice
