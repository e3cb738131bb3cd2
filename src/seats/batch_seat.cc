#include "seats/batch_seat.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "batch/buying/gang_buyer.h"
#include "batch/controllers/job_controller.h"
#include "batch/controllers/pod_group_controller.h"
#include "batch/controllers/queue_controller.h"
#include "batch/ended_pod.h"
#include "batch/engine.h"
#include "kube/custom_codec.h"
#include "model/batch.h"

namespace coppice::seats {
namespace {

// Those that have ended: the feed of all engines leaves them out.
constexpr char kEndedPods[] = "status.phase!=Pending,status.phase!=Running,status.phase!=Unknown";

class BatchSeat final : public EngineSeat, public host::Engine {
 public:
  BatchSeat(const batch::SchedulerFlags& flags, const ProcessParts& parts,
            std::function<std::vector<market::Seller*>()> sellers)
      : flags_(flags),
        parts_(parts),
        sellers_(std::move(sellers)),
        options_(EngineOptionsOf(flags, parts)),
        numbers_(parts.metrics),
        conf_(
            flags.scheduler_conf,
            [this](const batch::Conf& conf) {
              return batch::CheckPlugins(conf, parts_.plugins.batch);
            },
            parts.log) {}

  host::Engine& engine() override { return *this; }

  void AddKinds(EngineKinds& kinds) override {
    kinds.Add<model::PodGroup>();
    kinds.Add<model::Queue>();
    kinds.Add<model::PriorityClass>();
    kinds.Add<model::ResourceQuota>();
    kube::ClusterFeed& feed = parts_.server.feed();
    feed.Add<model::Pod>({.upsert =
                              [this](std::shared_ptr<const model::Pod> pod) {
                                // Of no group: nobody counts it.
                                if (batch::JobIdOf(*pod).empty()) return;
                                auto ended = std::make_shared<batch::EndedPod>();
                                static_cast<model::Pod&>(*ended) = *pod;
                                parts_.world.Upsert<batch::EndedPod>(std::move(ended));
                                News();
                              },
                          .remove =
                              [this](std::string_view namespace_, std::string_view name) {
                                parts_.world.Erase<batch::EndedPod>(namespace_, name);
                                News();
                              }},
                         {.field_selector = kEndedPods});
    if (!flags_.controllers.jobs) return;
    const kube::CustomKind kind{std::string(batch::kVolcanoJobApi), "Job",
                                std::string(batch::kVolcanoJobResource)};
    feed.Add<batch::VolcanoJob>(kube::CustomCodecOf<batch::VolcanoJob>(kind, batch::ReadVolcanoJob),
                                {.upsert =
                                     [this](std::shared_ptr<const batch::VolcanoJob> job) {
                                       parts_.world.Upsert(std::move(job));
                                       News();
                                     },
                                 .remove =
                                     [this](std::string_view namespace_, std::string_view name) {
                                       parts_.world.Erase<batch::VolcanoJob>(namespace_, name);
                                       News();
                                     }});
  }

  Task<Status> Open() override {
    const Status conf = conf_.Open(flags_.default_conf);
    if (!conf.ok()) co_return conf;
    batch::Engine::Parts parts{.options = options_,
                               .world = parts_.world,
                               .writer = parts_.writer,
                               .executor = parts_.executor,
                               .workers = &parts_.workers,
                               .rng = parts_.rng,
                               .plugins = parts_.plugins.batch,
                               .filters = parts_.plugins.filters,
                               .conf = conf_,
                               .log = parts_.log,
                               .metrics = &numbers_,
                               .wake = [this] { News(); }};
    OpenMarket();
    if (buyer_) parts.waiting = &*buyer_;
    engine_ = std::make_unique<batch::Engine>(std::move(parts));
    OpenControllers();
    co_return Status::Ok();
  }

  std::string_view name() const override { return "batch"; }
  TimePoint Due() const override {
    if (engine_ == nullptr) return TimePoint::max();
    return jobs_ ? std::min(engine_->Due(), jobs_->Next()) : engine_->Due();
  }
  bool Told(const host::Event&, TimePoint now) override {
    return engine_ != nullptr && engine_->Changed(now);
  }
  Task<host::PassEnd> Pass(TimePoint now) override {
    if (queues_) queues_->Sync();
    if (jobs_) jobs_->Sync(now);
    if (pod_groups_) pod_groups_->Sync();
    const auto report = co_await engine_->Pass(now);
    Tell(*report);
    const bool succeeded = report->error.empty();
    {
      const std::lock_guard lock(mutex_);
      report_ = report;
      if (buyer_) gangs_ = buyer_->Report();
    }
    if (parts_.session_ended) {
      auto shown = std::make_shared<report::SessionReport>(*report);
      shown->gangs = gangs_;
      parts_.session_ended(std::move(shown));
    }
    co_return host::PassEnd{.succeeded = succeeded};
  }

  std::optional<Result<std::string>> Explain(const net::ServerRequest& request) override {
    const std::string* named = request.Query("group");
    if (named == nullptr || named->empty()) return std::nullopt;
    const std::string& group = *named;
    std::shared_ptr<const report::SessionReport> report;
    std::string bought;  // what is said of machines for it
    {
      const std::lock_guard lock(mutex_);
      report = report_;
      const auto gang = std::ranges::find(gangs_, group, &report::WaitingGang::gang);
      if (gang != gangs_.end() && !gang->why.empty()) bought = gang->why + "\n";
    }
    if (report == nullptr) return Result<std::string>(Unavailable("no session has run yet"));
    const auto waiting =
        std::ranges::find(report->waiting, group, &report::SessionReport::Waiting::job);
    if (waiting != report->waiting.end()) {
      return Result<std::string>(fmt::format(
          "{} waits in queue {}: {} of its pods have a place, {} are needed, {} wait\n{}{}\n{}",
          group, waiting->queue, waiting->placed, waiting->min_available, waiting->pods,
          waiting->admitted ? "" : "its queue holds it back: ", waiting->why, bought));
    }
    const auto seen =
        std::ranges::find(report->groups, group, &report::SessionReport::Group::group);
    if (seen == report->groups.end())
      return Result<std::string>(
          NotFound("there is no group " + group + ", or its queue does not exist"));
    return Result<std::string>(
        fmt::format("{} is {}: no pod of it waits for a place\n", group, seen->phase));
  }

 private:
  static batch::EngineOptions EngineOptionsOf(const batch::SchedulerFlags& flags,
                                              const ProcessParts& parts) {
    batch::EngineOptions options = flags.engine;
    options.session.upstream_exact = parts.flags.upstream_exact;
    return options;
  }

  // Whoever sells machines in this process sells to gangs.
  void OpenMarket() {
    if (options_.session.upstream_exact) return;
    std::vector<market::Seller*> sellers = sellers_();
    if (sellers.empty()) return;
    market_.emplace(std::move(sellers));
    buyer_.emplace(batch::GangBuyer::Parts{.options = {},
                                           .market = *market_,
                                           .world = parts_.world,
                                           .writer = parts_.writer,
                                           .executor = parts_.executor,
                                           .log = parts_.log,
                                           .assumed = [this]() -> const cluster::World* {
                                             return engine_ == nullptr ? nullptr
                                                                       : &engine_->world();
                                           },
                                           .wake = [this] { News(); }});
  }

  void OpenControllers() {
    const auto& which = flags_.controllers;
    const std::function<void()> wake = [this] { News(); };
    if (which.queues) {
      queues_.emplace(batch::QueueController::Parts{parts_.world, parts_.writer, parts_.executor,
                                                    parts_.log, options_.session.default_queue,
                                                    wake});
    }
    if (which.pod_groups) {
      pod_groups_.emplace(batch::PodGroupController::Parts{parts_.world, parts_.writer,
                                                           parts_.executor, parts_.log,
                                                           options_.session.scheduler_names, wake});
    }
    if (which.jobs) {
      jobs_.emplace(batch::JobController::Parts{parts_.world, parts_.writer, parts_.executor,
                                                parts_.log, wake});
    }
  }

  void News() {
    if (engine_ != nullptr && engine_->Changed(parts_.clock.Now())) parts_.look_again();
  }

  void Tell(const report::SessionReport& report) const {
    if (report.placements.empty() && report.evictions.empty() && report.refused.empty()) return;
    parts_.log.Info("session", {{"took", report.took},
                                {"bound", report.placements.size()},
                                {"evicted", report.evictions.size()},
                                {"not_carried_out", report.refused.size()},
                                {"jobs_waiting", report.waiting.size()}});
  }

  const batch::SchedulerFlags& flags_;
  const ProcessParts parts_;
  const std::function<std::vector<market::Seller*>()> sellers_;
  const batch::EngineOptions options_;
  batch::SchedulerMetrics numbers_;
  batch::ConfFile conf_;
  std::optional<market::Market> market_;
  std::optional<batch::GangBuyer> buyer_;
  std::unique_ptr<batch::Engine> engine_;
  std::optional<batch::QueueController> queues_;
  std::optional<batch::PodGroupController> pod_groups_;
  std::optional<batch::JobController> jobs_;
  std::mutex mutex_;
  std::shared_ptr<const report::SessionReport> report_;
  std::vector<report::WaitingGang> gangs_;
};

}  // namespace

std::unique_ptr<EngineSeat> MakeBatchSeat(const batch::SchedulerFlags& flags,
                                          const ProcessParts& parts,
                                          std::function<std::vector<market::Seller*>()> sellers) {
  return std::make_unique<BatchSeat>(flags, parts, std::move(sellers));
}

}  // namespace coppice::seats
