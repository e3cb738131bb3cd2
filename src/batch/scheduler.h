// Scheduler: all of batch in one process: the engine with its configuration file, controllers in the
// place of Volcano's where they are asked for, and who buys machines for gangs where somebody sells
// some. The same on a real cluster and on a model one.
//
// Decision thread.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/metrics.h"
#include "batch/buying/gang_buyer.h"
#include "batch/controllers/job_controller.h"
#include "batch/controllers/pod_group_controller.h"
#include "batch/controllers/queue_controller.h"
#include "batch/engine.h"
#include "batch/scheduler_flags.h"

namespace coppice::batch {

class Scheduler {
 public:
  struct Parts {
    SchedulerFlags flags;
    bool upstream_exact = false;
    cluster::World& world;
    cluster::Writer& writer;
    Executor& executor;
    Workers* workers = nullptr;  // null: every session runs on the decision thread
    Rng& rng;
    const PluginRegistry& plugins;
    const fit::FilterRegistry& filters;
    const Log& log;
    Metrics& metrics;
    std::optional<Conf> conf = std::nullopt;       // instead of a file
    std::function<std::string()> stale = nullptr;  // as of the engine; controllers heed it, too
    std::function<void()> wake = nullptr;          // Due() may be earlier than before
  };
  explicit Scheduler(Parts parts);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Reads the configuration. `sellers` outlive it; none: nothing is bought.
  Status Open(std::vector<market::Seller*> sellers);
  bool open() const { return engine_ != nullptr; }

  // ---- Once it is open.

  TimePoint Due() const;
  // Something that sessions look at has changed. True if that hastens Due().
  bool Changed(TimePoint now) { return engine_ != nullptr && engine_->Changed(now); }
  coppice::Task<std::shared_ptr<const report::SessionReport>> Pass(TimePoint now);
  // Every gang that waits, and why.
  std::vector<report::WaitingGang> Gangs() const;
  size_t holds() const { return buyer_ ? buyer_->holds() : 0; }
  const Engine& engine() const { return *engine_; }
  const ConfFile& conf() const { return conf_; }

 private:
  Status Check(const Conf& conf) const;
  void OpenMarket(std::vector<market::Seller*> sellers);
  void OpenControllers();
  void News();

  const Parts parts_;
  SchedulerMetrics numbers_;
  ConfFile conf_;
  std::optional<market::Market> market_;
  std::optional<GangBuyer> buyer_;
  std::unique_ptr<Engine> engine_;
  std::optional<QueueController> queues_;
  std::optional<PodGroupController> pod_groups_;
  std::optional<JobController> jobs_;
  std::shared_ptr<report::SessionReport> last_;
};

}  // namespace coppice::batch
