#include "whatif/model_host.h"

#include <algorithm>

#include "autoscale/restart_memory.h"
#include "autoscale/view.h"
#include "base/check.h"
#include "provision/view.h"

namespace coppice::whatif {

Result<std::unique_ptr<ModelHost>> ModelHost::Create(Parts parts) {
  std::unique_ptr<ModelHost> host(new ModelHost(std::move(parts)));
  TRY(host->Restart());
  return host;
}

ModelHost::~ModelHost() = default;

Status ModelHost::Restart() {
  process_.reset();
  auto next = std::make_unique<Process>(parts_.seed + static_cast<uint64_t>(++starts_));
  next->world = std::make_unique<cluster::World>(View());
  next->view = std::make_unique<sim::View>(parts_.model.cluster, *next->world);
  next->executor = std::make_unique<Executor>(parts_.clock);
  if (parts_.node_groups) TRY(OpenAutoscaler(*next));
  next->turns =
      std::make_unique<ModelTurns>(*next->executor, *next->world, *next->view, parts_.model);
  ModelTurns* turns = next->turns.get();
  std::vector<market::Seller*> sellers;
  if (parts_.node_groups) sellers.push_back(&next->assembly->engine().seller());
  for (const MakeModelEngine& make : parts_.engines) {
    auto made = TRY(make({.model = parts_.model,
                          .world = *next->world,
                          .clock = parts_.clock,
                          .executor = *next->executor,
                          .workers = workers_,
                          .rng = next->rng,
                          .log = parts_.log,
                          .metrics = parts_.metrics,
                          .look_again = [turns] { turns->LookAgain(); },
                          .sellers = sellers}));
    if (market::Seller* const seller = made->seller(); seller != nullptr) sellers.push_back(seller);
    turns->Add(std::move(made));
  }
  turns->Start();
  process_ = std::move(next);
  return Status::Ok();
}

// As seats::ViewOf.
cluster::WorldOptions ModelHost::View() const {
  if (!parts_.node_groups) return {};
  cluster::WorldOptions view = autoscale::ViewOf(parts_.flags.options);
  if (!parts_.engines.empty()) view.marks = cluster::Together(view.marks, provision::MarksOnPods());
  return view;
}

Status ModelHost::OpenAutoscaler(Process& next) {
  next.groups = TRY(cloud::CloudNodeGroups::Create(
      {.cloud = parts_.model.cloud,
       .workers = workers_,
       .clock = parts_.clock,
       .rng = next.rng,
       .log = parts_.log,
       .metrics = parts_.metrics},
      {.cluster = sim::kClusterName,
       .audit = parts_.audit ? parts_.audit : [](const cloud::AuditEntry&) {}},
      parts_.model.groups()));
  sim::View* view = next.view.get();
  next.assembly = TRY(autoscale::Assembly::Create({.flags = parts_.flags,
                                                   .plugins = parts_.plugins,
                                                   .world = *next.world,
                                                   .writer = parts_.model.api,
                                                   .executor = *next.executor,
                                                   .workers = workers_,
                                                   .rng = next.rng,
                                                   .log = parts_.log,
                                                   .metrics = parts_.metrics,
                                                   .groups = *next.groups,
                                                   .view_age = [view] { return view->age(); },
                                                   .wake =
                                                       [this] {
                                                         if (on_wake) on_wake();
                                                       }}));
  if (const auto memory = autoscale::ParseMemory(left_); memory.ok())
    next.assembly->engine().Recall(*memory, parts_.clock.Now());
  return Status::Ok();
}

std::shared_ptr<const report::PassReport> ModelHost::Pass() {
  CHECK(parts_.node_groups);
  parts_.model.agenda.RunDue();
  process_->turns->Notice();
  const auto began = std::chrono::steady_clock::now();
  auto report = process_->executor->BlockOn(engine().Pass(parts_.clock.Now()));
  last_pass_took_ = std::chrono::steady_clock::now() - began;
  if (report->status) left_ = autoscale::FormatMemory(engine().Remember(parts_.clock.Now())).text;
  return report;
}

void ModelHost::AdvanceTo(TimePoint when, const std::function<bool()>& stop) {
  for (;;) {
    parts_.model.agenda.RunDue();
    process_->turns->Notice();
    process_->executor->RunUntilIdle();
    // What the engine did just now may be due in the model at once.
    if (const auto next = parts_.model.agenda.next(); next && *next <= parts_.clock.Now()) continue;
    if (parts_.clock.Now() >= when || (stop && stop())) return;
    TimePoint next = when;
    if (const auto due = parts_.model.agenda.next()) next = std::min(next, *due);
    if (const auto due = process_->executor->next_timer()) next = std::min(next, *due);
    if (parts_.pace) parts_.pace(next);
    parts_.clock.Set(next);
  }
}

}  // namespace coppice::whatif
