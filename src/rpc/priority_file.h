// The priorities of `coppice expander --strategy=priority`: a file instead of a ConfigMap.

#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/status.h"

namespace coppice::rpc {

// Read again when it changes, also when it is a ConfigMap mounted into a pod. Of one thread at a
// time.
class PriorityFile {
 public:
  // Fails when the file cannot be read now.
  static Result<std::unique_ptr<PriorityFile>> Open(std::string path, const Log& log);

  // The current text. A file that is gone or has become too large leaves the last one in force, and
  // that is said once.
  std::string Text();

 private:
  PriorityFile(std::string path, const Log& log) : path_(std::move(path)), log_(log) {}
  Result<std::string> Read() const;

  const std::string path_;
  const Log& log_;
  std::string seen_;
  std::string text_;
};

}  // namespace coppice::rpc
