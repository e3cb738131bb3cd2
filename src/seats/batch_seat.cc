#include "seats/batch_seat.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"
#include "batch/ended_pod.h"
#include "batch/scheduler.h"
#include "cluster/view_age.h"
#include "kube/custom_codec.h"
#include "model/added_kinds.h"
#include "report/batch_text.h"

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
        scheduler_({.flags = flags,
                    .upstream_exact = parts.flags.upstream_exact,
                    .world = parts.world,
                    .writer = parts.writer,
                    .executor = parts.executor,
                    .workers = &parts.workers,
                    .rng = parts.rng,
                    .plugins = parts.plugins.batch,
                    .filters = parts.plugins.filters,
                    .log = parts.log,
                    .metrics = parts.metrics,
                    .stale = StaleView(parts),
                    .wake = parts.look_again}) {}

  host::Engine& engine() override { return *this; }

  void AddKinds(EngineKinds& kinds) override {
    AddAll<model::BatchKinds>(kinds);
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
                         {.field_selector = kEndedPods, .name = "EndedPod"});
    if (!batch::ReadsVolcanoJobs(flags_, parts_.flags.upstream_exact, sellers_ != nullptr)) return;
    feed.Add<batch::VolcanoJob>(VolcanoJobCodec(),
                                {.upsert =
                                     [this](std::shared_ptr<const batch::VolcanoJob> job) {
                                       parts_.world.Upsert(std::move(job));
                                       News();
                                     },
                                 .remove =
                                     [this](std::string_view namespace_, std::string_view name) {
                                       parts_.world.Erase<batch::VolcanoJob>(namespace_, name);
                                       News();
                                     }},
                                {.name = "VolcanoJob"});
  }

  Task<Status> Open() override {
    co_return scheduler_.Open(sellers_ ? sellers_() : std::vector<market::Seller*>());
  }

  std::string_view name() const override { return "batch"; }
  TimePoint Due() const override { return scheduler_.Due(); }
  bool Told(const host::Event&, TimePoint now) override { return scheduler_.Changed(now); }
  Task<host::PassEnd> Pass(TimePoint now) override {
    const std::shared_ptr<const report::SessionReport> report = co_await scheduler_.Pass(now);
    Tell(*report);
    if (parts_.session_ended) parts_.session_ended(report);
    const bool succeeded = report->error.empty();
    {
      const MutexLock lock(mutex_);
      report_ = report;
    }
    co_return host::PassEnd{.succeeded = succeeded};
  }

  // ?gang=NAMESPACE/NAME, or ?group= as Volcano calls it; a group without a namespace is somebody
  // else's: a node group.
  std::optional<Result<std::string>> Explain(const net::ServerRequest& request) override {
    const std::string* named = request.Query("gang");
    if (named == nullptr || named->empty()) {
      named = request.Query("group");
      if (named == nullptr || named->find('/') == std::string::npos) return std::nullopt;
    }
    std::shared_ptr<const report::SessionReport> report;
    {
      const MutexLock lock(mutex_);
      report = report_;
    }
    if (report == nullptr) return Result<std::string>(Unavailable("no session has run yet"));
    std::string unreadable;
    for (const auto& pod : report->unreadable) {
      if (pod.group == *named)
        unreadable += fmt::format(
            "its pod {} cannot be read, so it is not placed and nothing is "
            "bought for it: {}\n",
            pod.pod, pod.why);
    }
    const auto gang = std::ranges::find(report->gangs, *named, &report::WaitingGang::gang);
    if (gang != report->gangs.end())
      return Result<std::string>(report::GangText(*gang) + unreadable);
    const auto seen =
        std::ranges::find(report->groups, *named, &report::SessionReport::Group::group);
    if (!unreadable.empty()) return Result<std::string>(std::move(unreadable));
    if (seen == report->groups.end())
      return Result<std::string>(
          NotFound("there is no group " + *named + ", or its queue does not exist"));
    return Result<std::string>(
        fmt::format("{} is {}: no pod of it waits for a place\n", *named, seen->phase));
  }

 private:
  // By the process's limit; there is none under --upstream-exact, as for node groups.
  static std::function<std::string()> StaleView(const ProcessParts& parts) {
    const auto& limits = parts.flags.options.deviations;
    if (!limits.fuses) return nullptr;
    kube::ClusterFeed& feed = parts.server.feed();
    return [view = cluster::ViewAge{limits.fuse_max_view_age, "--fuse-max-view-age",
                                    [&feed] { return feed.view_age(); },
                                    [&feed] { return feed.oldest_kind(); }}] {
      return view.Stale("nothing is bound, evicted or bought");
    };
  }

  void News() {
    if (scheduler_.Changed(parts_.clock.Now())) parts_.look_again();
  }

  void Tell(const report::SessionReport& report) const {
    if (report.placements.empty() && report.evictions.empty() && report.refused.empty()) return;
    parts_.log.Info(parts_.flags.dry_run ? "dry run: what a session would have done" : "session",
                    {{"took", report.took},
                     {"bound", report.placements.size()},
                     {"evicted", report.evictions.size()},
                     {"not_carried_out", report.refused.size()},
                     {"jobs_waiting", report.waiting.size()}});
  }

  const batch::SchedulerFlags& flags_;
  const ProcessParts parts_;
  const std::function<std::vector<market::Seller*>()> sellers_;
  batch::Scheduler scheduler_;
  Mutex mutex_;
  std::shared_ptr<const report::SessionReport> report_ COPPICE_GUARDED_BY(mutex_);
};

}  // namespace

kube::KindCodec VolcanoJobCodec() {
  const kube::CustomKind kind{std::string(batch::kVolcanoJobApi), "Job",
                              std::string(batch::kVolcanoJobResource)};
  return kube::CustomCodecOf<batch::VolcanoJob>(kind, batch::ReadVolcanoJob);
}

std::unique_ptr<EngineSeat> MakeBatchSeat(const batch::SchedulerFlags& flags,
                                          const ProcessParts& parts,
                                          std::function<std::vector<market::Seller*>()> sellers) {
  return std::make_unique<BatchSeat>(flags, parts, std::move(sellers));
}

}  // namespace coppice::seats
