// What one pass of the engine carries from stage to stage. Internal to engine*.cc.

#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "autoscale/engine.h"

namespace coppice::autoscale {

// After a pass that did not come to its end: what it did not see, it cannot name a time for.
constexpr Duration kTryAgain = std::chrono::seconds(10);

class Stopwatch {
 public:
  explicit Stopwatch(const Clock& clock) : clock_(clock), began_(clock.Now()) {}
  // `part` is a literal.
  void Note(std::vector<report::Took>& took, std::string_view part) const {
    took.push_back({part, clock_.Now() - began_});
  }

 private:
  const Clock& clock_;
  const TimePoint began_;
};

struct Engine::PassState {
  explicit PassState(TimePoint at) : now(at), wake(at) { report->at = at; }

  TimePoint now;
  Wakeups wake;
  std::shared_ptr<report::PassReport> report = std::make_shared<report::PassReport>();
  // All registered ones, in list order; after AddUpcoming without those replaced.
  const std::vector<ListedNode>* nodes = nullptr;
  std::vector<ListedNode> fewer_nodes;  // what `nodes` points to if some were replaced
  size_t ready_nodes = 0;
  size_t unknown_nodes = 0;  // of which nobody can say yet whose they are
  std::vector<fit::PendingPod>
      pending;               // Unschedulable, then unprocessed ones of bypassed schedulers
  TimePoint oldest_pending;  // when they were created; for pods that are left to be helped
  TimePoint youngest_pending;
  DeletionsInProgress deleting;  // as of the beginning
  drain::PdbTracker budgets;
  // Stand-ins, with their group; all_nodes points into it while it grows.
  std::deque<std::pair<std::string, pack::NodeTemplate>> upcoming;
  std::vector<Quotas::NodeOf> all_nodes;    // of the snapshot, stand-ins included
  std::vector<report::FittingPod> fitting;  // only if everything is to be told
  bool scale_up_tried = false;              // its events have been emitted
  bool no_scale_down = false;               // every pending pod is new: wait

  std::map<std::string, std::any> extra;  // what processors tell each other

  void Fail(std::string type, std::string text) {
    report->error_type = std::move(type);
    report->error = std::move(text);
  }
};

}  // namespace coppice::autoscale
