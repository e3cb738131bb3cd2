// LoopTrigger: when the next pass is due. Upstream's rule (at once after a productive pass, else
// after the scan interval or when an unschedulable pod appears), and ours on top: a pod that
// appears waits until no other has come for a moment, so that a Deployment of a hundred is one
// decision.
//
// Pure; decision thread.

#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include "autoscale/flags.h"
#include "model/pod.h"

namespace coppice::app {

class LoopTrigger {
 public:
  explicit LoopTrigger(const autoscale::FlagValues& flags);

  // A pod without a node was seen. True if it is news that hastens the next pass.
  bool PodSeen(const model::Pod& pod, TimePoint now);

  struct LastPass {
    TimePoint began;
    TimePoint ended;
    TimePoint last_scale_up;  // of all time
    TimePoint last_scale_down;
    bool waits_for_quiet = false;  // every pending pod was too new
  };
  void PassEnded(const LastPass& pass);

  // When the next pass is due, as far as is known now.
  TimePoint Due() const;

 private:
  const Duration scan_interval_;
  const bool frequent_;
  const bool debounce_;
  const Duration quiet_;
  const Duration longest_wait_;
  const std::vector<std::string> bypassed_;

  std::optional<TimePoint> before_last_;  // start of the pass before the last
  std::optional<LastPass> last_;
  bool productive_ = false;
  std::optional<TimePoint> first_nudge_;
  TimePoint last_nudge_;
  std::unordered_set<std::string> nudged_;  // uid and transition: each hastens once
};

}  // namespace coppice::app
