// Actuator: carries a scale-down plan out. Taints the nodes, waits, looks again whether they may
// still go, drains them, deletes their machines; and takes the taints back where something came in
// between.
//
// Everything that takes time is a coroutine on the decision thread; several nodes are under way at
// once. What is under way, and how it ended, is state of this object; nothing else outlives a pass.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autoscale/cloud_calls.h"
#include "autoscale/deletion_limits.h"
#include "autoscale/group_states.h"
#include "autoscale/last_look.h"
#include "autoscale/options.h"
#include "autoscale/shown_removals.h"
#include "drain/evictor.h"
#include "report/pass_report.h"

namespace coppice::autoscale {

class Actuator {
 public:
  struct Parts {
    const DeletionOptions& options;
    const DrainOptions& drain;
    const PodOptions& pods;
    const Deviations& deviations;
    CloudCalls& cloud;
    cluster::Writer& writer;
    Executor& executor;
    cluster::World& world;
    GroupStates::OptionsOf options_of;
    std::function<bool(const model::Pod&)> counts;  // expendable pods do not keep a node
    std::function<void(std::string_view type, std::string_view reason, std::string text)>
        status_event;
    // A node of the group went; a machine could not be deleted.
    std::function<void(std::string_view group, std::string_view node, TimePoint now)> removed;
    std::function<void(std::string_view group, TimePoint now)> failed;
    // A deletion has ended, well or not: there is room for another one. Null: nobody waits for it.
    std::function<void()> ended;
    // Proof of ownership, right before the machine goes: "" or why not.
    std::function<std::string(const cloud::NodeRef& node, std::string_view group)> may_delete;
  };
  explicit Actuator(Parts parts);

  struct Started {
    report::ScaleDownResult result = report::ScaleDownResult::kNoNodeDeleted;
    std::vector<report::RemovedNode> nodes;
    Status error;  // tainting failed; nothing of that kind was started
  };
  // Taints, then starts the deletions and returns. `describe` gives utilisation and evicted pods
  // for the report.
  using Describe = std::function<report::RemovedNode(const RemovableNode&, bool drain)>;
  Task<Started> Start(CroppedDeletions deletions, Describe describe);

  DeletionsInProgress InProgress() const;
  // Of a dry run: takes out what it has shown to its end already, and gives it back.
  std::vector<RemovableNode> LeaveOutShown(NodesToDelete& nodes) const {
    return shown_.LeaveOut(nodes);
  }
  std::vector<report::DeletionOutcome> TakeOutcomes();
  // Soft taints: what is no longer needed is marked, what is needed again is unmarked, within the
  // budget. True: there was more to do than the budget allows.
  Task<bool> UpdateSoftTaints(std::vector<cluster::NodePtr> needed,
                              std::vector<cluster::NodePtr> unneeded);
  // Taints of a process before us, taken away once at the start.
  Task<void> CleanUp(std::vector<cluster::NodePtr> owned, std::vector<cluster::NodePtr> all);

 private:
  struct Under {
    std::string group;
    bool drain = false;
  };

  // Nodes of an all-or-nothing group that go in one attempt. Its failure is its own: the next
  // attempt on the same group starts without it, and this one does not forget it.
  struct Attempt {
    size_t expected = 0;
    bool failed = false;
    std::vector<Leaving> arrived;  // ready to go, and waiting for the rest
  };
  using AttemptPtr = std::shared_ptr<Attempt>;  // null: the node goes by itself
  using Attempts = std::map<std::string, AttemptPtr>;
  struct Ready {
    Leaving leaving;
    AttemptPtr attempt;
  };

  static Attempts AttemptsOf(const CroppedDeletions& deletions);
  Task<void> DeleteBatch(DeletionBatch batch, AttemptPtr attempt, bool drain);
  Task<void> WaitForPass();
  Status StillMayGo(const RemovableNode& node, bool drain, std::vector<cluster::PodPtr>& pods);
  Task<void> DeleteOne(Leaving leaving, std::vector<cluster::PodPtr> pods, AttemptPtr attempt);
  Task<void> WaitForDelayAnnotations(std::string node);
  Task<void> HandOver(Leaving leaving, AttemptPtr attempt);
  Task<std::vector<cloud::NodeRef>> LookAgain(std::vector<Ready>& ready);
  Task<void> DeleteMachines(std::vector<Ready> ready, std::string group);
  Task<void> Abort(Leaving leaving, AttemptPtr attempt, bool drain, std::string result,
                   std::string error);
  Task<void> GiveUp(AttemptPtr attempt);

  Task<Status> Taint(std::vector<std::string> nodes);
  Task<Status> TaintOne(std::string node);
  Task<Status> Untaint(std::string node);
  Task<void> TakeMarkBack(std::string node);
  Task<void> TryToTakeMarkBack(std::string node);
  bool ShowsMark(const std::string& node) const;
  Task<void> WaitForView(std::vector<std::string> nodes);
  Task<void> MeasureTaintLatency(std::vector<std::string> nodes, TimePoint started);
  Duration DelayAfterTaint() const;
  cluster::Event NodeEvent(const std::string& node, std::string type, std::string reason,
                           std::string text) const;

  Parts parts_;
  drain::Evictor evictor_;
  LastLook look_;
  ShownRemovals shown_;
  std::vector<drain::Rule> rules_;
  std::vector<std::pair<std::string, Under>>
      under_way_;  // by node, in the order in which they were started
  std::vector<report::DeletionOutcome> outcomes_;
  std::map<std::string, std::vector<Ready>> waiting_for_batch_;  // --node-deletion-batcher-interval
  // --dynamic-node-delete-delay-after-taint-enabled: when a taint was seen, and how long after it
  // was asked for.
  std::vector<std::pair<TimePoint, Duration>> taint_latencies_;
};

}  // namespace coppice::autoscale
