// Wakeups: the earliest moment at which something that a pass held back may change by itself, for
// nobody tells it: a pod that is too new, a timer of an unneeded node, a back-off. What changes by
// an event (a pod, a node, an answer) wakes the loop on its own.
//
// Whoever compares a time with now notes here when the answer turns. Pure.

#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

class Wakeups {
 public:
  explicit Wakeups(TimePoint now) : now_(now) {}

  // `why` is a literal. What is not in the future the pass has seen.
  void At(TimePoint when, std::string_view why) {
    if (when <= now_ || when == TimePoint::max()) return;
    if (!earliest_ || when < earliest_->at) earliest_ = {when, why};
  }
  // For comparisons that still say no at `when` itself.
  void After(TimePoint when, std::string_view why) {
    if (when < TimePoint::max()) At(when + Duration(1), why);
  }
  void In(Duration wait, std::string_view why) { At(Later(now_, wait), why); }

  TimePoint now() const { return now_; }
  const std::optional<report::CallAgain>& earliest() const { return earliest_; }

 private:
  TimePoint now_;
  std::optional<report::CallAgain> earliest_;
};

}  // namespace coppice::autoscale
