// StatusWriter: the status ConfigMap, written in the background and one at a time; what has been
// overtaken meanwhile is not written. The last that was handed in always is, also at the end of the
// process: with it goes what the next one is to know.
//
// Decision thread.

#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/executor.h"
#include "base/log.h"
#include "kube/kube_writer.h"

namespace coppice::host {

class StatusWriter {
 public:
  StatusWriter(kube::KubeWriter& writer, Executor& executor, const Log& log, std::string in,
               std::string name)
      : writer_(writer),
        executor_(executor),
        log_(log),
        namespace_(std::move(in)),
        name_(std::move(name)) {}

  void Put(std::string text, kube::KubeWriter::Annotations annotations);
  bool writing() const { return writing_; }
  const std::string& last() const { return last_; }  // "": none yet

 private:
  Task<void> Write();

  kube::KubeWriter& writer_;
  Executor& executor_;
  const Log& log_;
  const std::string namespace_;
  const std::string name_;
  std::string last_;
  std::optional<std::pair<std::string, kube::KubeWriter::Annotations>> next_;
  bool writing_ = false;
};

}  // namespace coppice::host
