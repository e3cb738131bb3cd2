// LoopTrigger: when the next pass is due. Upstream's rule (at once after a productive pass, else
// after the scan interval or when an unschedulable pod appears), and ours on top:
//
//   a pod that appears waits until no other has come for a moment, so that a Deployment of a
//   hundred is one decision; the last pass has said when it wants to be called again
//   (PassReport::call_again); something that went on after its pass has ended: at once; pods that
//   went, nodes that came or changed: soon. Such passes are few in a row, for each asks the cloud:
//   in a cluster where pods come and go all the time they would be every pass there is. What comes
//   after those is seen within ten seconds, however long the scan interval. Pods and
//   nodes each have their own few: the nodes of a burst must not use up those for its end.
//
// With --wake-when-due=false only upstream's rule and the first of these are left.
//
// Pure; decision thread.

#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include "autoscale/options.h"
#include "model/pod.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

class LoopTrigger {
 public:
  explicit LoopTrigger(TriggerOptions options);

  // True if it is news that hastens the next pass, all four.
  //
  // A pod without a node was seen.
  bool PodSeen(const model::Pod& pod, TimePoint now);
  bool PodGone(TimePoint now);
  bool NodesChanged(TimePoint now);
  // What a pass left under way has ended.
  bool Ended(TimePoint now);

  struct LastPass {
    TimePoint began;
    TimePoint ended;
    TimePoint last_scale_up;  // of all time
    TimePoint last_scale_down;
    bool waits_for_quiet = false;  // every pending pod was too new
    std::optional<report::CallAgain> call_again = std::nullopt;
    // How much of it the thread was at work; the rest it waited, for a cloud say. Absent: all.
    std::optional<Duration> worked = std::nullopt;
  };
  void PassEnded(const LastPass& pass);

  // When the next pass is due, as far as is known now, and what for (a literal).
  report::CallAgain Next() const;
  TimePoint Due() const { return Next().at; }

 private:
  const Duration scan_interval_;
  const Duration change_interval_;  // the same for changes that have used up their hasty passes
  const bool frequent_;
  const bool debounce_;
  const bool wakes_;
  const Duration quiet_;
  const Duration longest_wait_;
  const std::vector<std::string> bypassed_;

  std::optional<TimePoint> before_last_;  // start of the pass before the last
  std::optional<LastPass> last_;
  bool productive_ = false;
  std::optional<TimePoint> first_nudge_;
  TimePoint last_nudge_;
  std::unordered_set<std::string> nudged_;  // uid and transition: each hastens once
  std::optional<TimePoint> ended_;          // since the last pass began: the last one that did
  // Changes of one sort.
  struct Changes {
    std::optional<TimePoint> first;  // that no pass has seen
    TimePoint last;
    double hasty = 0;  // passes that they may still hasten, as of `last_->ended`

    bool Note(TimePoint now);
    void SeenBy(const LastPass& pass, double regained);
  };
  Changes pods_;
  Changes nodes_;
};

}  // namespace coppice::autoscale
