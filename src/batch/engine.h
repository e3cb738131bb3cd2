// Engine: the batch scheduler on a cluster. Sessions when something has changed; what they decide is
// looked at once more and then done: pods bound, others told to go, statuses written.
//
// It plans on a World of its own that follows the one that all engines share: a session may then ask
// an extender, or take long, while others have their turn. Nothing of it is open while the thread is
// given up: a session runs in one piece, here or on a worker, its World held.
//
// Bindings, evictions and status writes go on between sessions (binder.h, leavers.h, statuses.h).
// Whatever is under way when the process ends is found again by the next one: a pod is bound or is
// not, and the API server binds none twice.
//
// Decision thread.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/executor.h"
#include "base/log.h"
#include "base/pool.h"
#include "batch/binder.h"
#include "batch/conf_file.h"
#include "batch/hyper_node_keeper.h"
#include "batch/leavers.h"
#include "batch/roster.h"
#include "batch/scheduler_metrics.h"
#include "batch/session.h"
#include "batch/statuses.h"
#include "batch/volumes.h"
#include "batch/waiting_jobs.h"
#include "cluster/world.h"
#include "cluster/writer.h"
#include "report/session_report.h"

namespace coppice::batch {

struct EngineOptions {
  Options session;
  Duration schedule_period = std::chrono::seconds(1);  // without news; after the end of the last
  Duration shortest_gap = std::chrono::milliseconds(100);  // between two beginnings
  Duration gather =
      std::chrono::milliseconds(10);  // after the first news, so that more of it comes
  // A session with more pods to place than this is not run on the decision thread.
  size_t most_tasks_here = 2'000;
  Duration volume_limit = std::chrono::seconds(600);
  // Evictions are held against budgets even if the configuration has no plug-in `pdb`.
  bool evict_by_budget = false;
};

class Engine {
 public:
  struct Parts {
    EngineOptions options;
    cluster::World& world;
    cluster::Writer& writer;
    Executor& executor;
    Workers* workers = nullptr;  // null: every session runs on the decision thread
    Rng& rng;
    const PluginRegistry& plugins;
    const fit::FilterRegistry& filters;
    ConfFile& conf;
    const Log& log;
    SchedulerMetrics* metrics = nullptr;
    // Who is told of jobs without a place (waiting_jobs.h). Null: nobody. Outlives the engine.
    WaitingJobs* waiting = nullptr;
    // "", or why nothing may be decided now: the view of the cluster is too old. Null: never.
    std::function<std::string()> stale = nullptr;
    // Due() may be earlier than before. Null: nobody waits for that.
    std::function<void()> wake = nullptr;
  };
  explicit Engine(Parts parts);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  TimePoint Due() const;
  // Something that sessions look at has changed. True if that hastens Due().
  bool Changed(TimePoint now);
  // One session, and what comes of it set going; on a stale view none, and the report says so.
  coppice::Task<std::shared_ptr<report::SessionReport>> Pass(TimePoint now);

  // With all that has been decided and the watch has not shown yet.
  const cluster::World& world() const { return own_; }
  size_t under_way() const {
    return binder_.under_way() + leavers_.under_way() + statuses_.under_way();
  }
  size_t assumed() const { return binder_.assumed(); }

 private:
  struct Ran {
    Status status;
    Outcome outcome;
    std::vector<WaitingJob> waiting;
    SessionTimes times;
    std::vector<report::SessionReport::Queue> queues;
    std::vector<report::SessionReport::Outside> outside;
  };
  // On any thread, our World held.
  Ran RunSession(const Conf& conf, SessionInput input, bool tell_queues);
  SessionInput Input(std::string uid, TimePoint now) const;
  std::vector<WaitingJob> WaitingIn(Session& session) const;
  bool BelongsElsewhere(const Conf& conf) const;
  // How these nodes lie in the network; null: nobody says.
  std::shared_ptr<const HyperNodeTree> HyperNodesOf(const SessionInput& input);
  std::string NewSessionUid();
  void BindAll(const std::vector<Outcome::Bind>& binds, report::SessionReport& report);
  std::map<std::string, std::string> FallShort(const std::vector<Outcome::Bind>& binds) const;
  void TellAssumed(const std::vector<report::SessionReport::Placement>& placements,
                   TimePoint now) const;
  std::string JobOf(const Outcome::Bind& bind) const;
  int PlacedOf(const std::string& job) const;
  void Act(Ran& ran, report::SessionReport& report, TimePoint now);
  void NoteUnreadable(report::SessionReport& report) const;
  // Says why there is no session on such a view, once a minute; false: there is to be one.
  bool TooStale(report::SessionReport& report, TimePoint now);
  void BindingEnded(const cluster::PodPtr& pod, const Status& status, Duration took);
  void Wake() const;

  const Parts parts_;
  cluster::World own_;
  std::unique_ptr<Roster> roster_;
  HyperNodeKeeper hyper_nodes_;
  Volumes volumes_;
  Statuses statuses_;
  Binder binder_;
  Leavers leavers_;
  std::optional<TimePoint> began_;
  TimePoint ended_;
  std::optional<TimePoint> told_stale_;
  std::optional<TimePoint> changed_;                  // the first news that no session has seen
  std::vector<report::SessionReport::Queue> queues_;  // as last told
  std::vector<report::SessionReport::Outside> outside_;
  std::optional<TimePoint> queues_at_;
};

}  // namespace coppice::batch
