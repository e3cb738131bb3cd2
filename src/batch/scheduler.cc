#include "batch/scheduler.h"

#include <algorithm>
#include <utility>

namespace coppice::batch {
namespace {

EngineOptions EngineOptionsOf(const Scheduler::Parts& parts) {
  EngineOptions options = parts.flags.engine;
  options.session.upstream_exact = parts.upstream_exact;
  return options;
}

// Nobody buys for anybody: what the session had to say.
report::WaitingGang WithoutMarket(const report::SessionReport::Waiting& waiting) {
  report::WaitingGang told;
  told.gang = waiting.job;
  told.queue = waiting.queue;
  told.admitted = waiting.admitted;
  told.min_available = waiting.min_available;
  told.placed = waiting.placed;
  told.session = told.why = waiting.why;
  if (!waiting.admitted) told.state = report::WaitingGang::State::kBlocked;
  return told;
}

}  // namespace

Scheduler::Scheduler(Parts parts)
    : parts_(std::move(parts)),
      numbers_(parts_.metrics),
      conf_(
          parts_.flags.scheduler_conf, [this](const Conf& conf) { return Check(conf); },
          parts_.log) {}

Status Scheduler::Check(const Conf& conf) const {
  const Status known =
      Session::CheckPlugins(conf, EngineOptionsOf(parts_).session, parts_.plugins, parts_.filters);
  if (known.ok() || !parts_.upstream_exact) return known;
  parts_.log.Warning("a plug-in is passed over, as upstream does", {{"error", known}});
  return Status::Ok();
}

Status Scheduler::Open(std::vector<market::Seller*> sellers) {
  TRY(conf_.Open(parts_.flags.default_conf));
  if (parts_.conf) conf_.Use(*parts_.conf);
  OpenMarket(std::move(sellers));
  engine_ = std::make_unique<Engine>(Engine::Parts{.options = EngineOptionsOf(parts_),
                                                   .world = parts_.world,
                                                   .writer = parts_.writer,
                                                   .executor = parts_.executor,
                                                   .workers = parts_.workers,
                                                   .rng = parts_.rng,
                                                   .plugins = parts_.plugins,
                                                   .filters = parts_.filters,
                                                   .conf = conf_,
                                                   .log = parts_.log,
                                                   .metrics = &numbers_,
                                                   .waiting = buyer_ ? &*buyer_ : nullptr,
                                                   .stale = parts_.stale,
                                                   .wake = [this] { News(); }});
  OpenControllers();
  return Status::Ok();
}

// Whoever sells machines in this process sells to gangs.
void Scheduler::OpenMarket(std::vector<market::Seller*> sellers) {
  if (parts_.upstream_exact || !parts_.flags.buys || sellers.empty()) return;
  market_.emplace(std::move(sellers));
  buyer_.emplace(GangBuyer::Parts{.options = parts_.flags.buying,
                                  .market = *market_,
                                  .world = parts_.world,
                                  .writer = parts_.writer,
                                  .executor = parts_.executor,
                                  .log = parts_.log,
                                  .assumed = [this]() -> const cluster::World* {
                                    return engine_ == nullptr ? nullptr : &engine_->world();
                                  },
                                  .wake = [this] { News(); }});
}

void Scheduler::OpenControllers() {
  const SchedulerFlags::Controllers& which = parts_.flags.controllers;
  const Options& session = parts_.flags.engine.session;
  const std::function<void()> wake = [this] { News(); };
  if (which.queues) {
    queues_.emplace(QueueController::Parts{parts_.world, parts_.writer, parts_.executor, parts_.log,
                                           session.default_queue, wake});
  }
  if (which.pod_groups) {
    pod_groups_.emplace(PodGroupController::Parts{parts_.world, parts_.writer, parts_.executor,
                                                  parts_.log, session.scheduler_names,
                                                  session.default_queue, wake});
  }
  if (which.jobs) {
    jobs_.emplace(JobController::Parts{parts_.world, parts_.writer, parts_.executor, parts_.log,
                                       wake, [this](Duration after) { numbers_.PodMade(after); }});
  }
}

void Scheduler::News() {
  if (Changed(parts_.executor.clock().Now()) && parts_.wake) parts_.wake();
}

TimePoint Scheduler::Due() const {
  if (engine_ == nullptr) return TimePoint::max();
  return jobs_ ? std::min(engine_->Due(), jobs_->Next()) : engine_->Due();
}

coppice::Task<std::shared_ptr<const report::SessionReport>> Scheduler::Pass(TimePoint now) {
  if (!parts_.stale || parts_.stale().empty()) {
    if (queues_) {
      queues_->Sync();
      numbers_.GroupsOfQueues(queues_->phases());
    }
    if (jobs_) jobs_->Sync(now);
    if (pod_groups_) pod_groups_->Sync();
  }
  last_ = co_await engine_->Pass(now);
  last_->gangs = Gangs();
  co_return last_;
}

std::vector<report::WaitingGang> Scheduler::Gangs() const {
  std::vector<report::WaitingGang> gangs;
  if (buyer_) {
    gangs = buyer_->Report();
  } else if (last_ != nullptr) {
    for (const report::SessionReport::Waiting& waiting : last_->waiting)
      gangs.push_back(WithoutMarket(waiting));
  }
  return gangs;
}

}  // namespace coppice::batch
