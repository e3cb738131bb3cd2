// Reasons: what the last pass had to say, for whoever asks while the loop runs.
//
// A node that could go but for a pod, a budget or a fuse is told to the log once, when that begins
// or changes; the everyday reasons (in use, not idle for long enough, the group at its minimum) are
// not. GET /explain?pod=NAMESPACE/NAME and GET /explain?node=NAME answer with all there is to say.
//
// Any thread may ask; the decision thread tells.

#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/mutex.h"
#include "base/status.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

class Reasons {
 public:
  explicit Reasons(const Log& log) : log_(log) {}

  void PassEnded(std::shared_ptr<const report::PassReport> report);
  // All there is to say, a line each, about a pod (NAMESPACE/NAME) or a node: one of the two.
  // kInvalidArgument: asked wrongly; kUnavailable: no pass has ended; kNotFound: there is nothing.
  Result<std::string> Explain(const std::string* pod, const std::string* node) const;

 private:
  void TellNodes(const report::ScaleDown& scale_down);

  const Log& log_;
  std::map<std::string, std::string> told_;  // node to what was said of it last
  mutable Mutex mutex_;
  std::shared_ptr<const report::PassReport> last_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace coppice::autoscale
