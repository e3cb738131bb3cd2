#include "whatif/whatif.h"

#include <algorithm>
#include <map>

#include "autoscale/assembly.h"
#include "autoscale/view.h"
#include "base/fake_clock.h"
#include "base/strings.h"
#include "fit/scheduler_config.h"
#include "sim/pending.h"
#include "whatif/removal.h"
#include "whatif/whatif_cluster.h"
#include "whatif/workloads.h"

namespace coppice::whatif {

namespace {

using report::StayReason;

// Enough for ten minutes of passes on a cluster that drains one node after the other.
constexpr int kMostPasses = 400;
// A pod that is a few seconds old is left alone; nobody wants to hear that of a dump.
constexpr Duration kSettled = std::chrono::seconds(3);

void Newer(std::optional<TimePoint>& newest, const std::optional<model::Time>& time) {
  if (time && (!newest || time->at > *newest)) newest = time->at;
}

// The wait after which a pass may say something else; absent: nothing is waited for.
std::optional<Duration> NextChange(const report::PassReport& report, Duration scan_interval,
                                   Duration fuse_window) {
  std::optional<Duration> next;
  const auto consider = [&](Duration wait) {
    wait = std::max(wait, scan_interval);
    next = next ? std::min(*next, wait) : wait;
  };
  for (const auto* list : {&report.scale_down.staying, &report.scale_down.staying_untold}) {
    for (const report::StayingNode& node : *list) {
      if (node.reason == StayReason::kNotUnneededLongEnough ||
          node.reason == StayReason::kNotUnreadyLongEnough) {
        consider(node.wait - node.waited + std::chrono::seconds(1));
      } else if (node.reason == StayReason::kCooldown) {
        consider(node.wait + std::chrono::seconds(1));
      } else if (node.reason == StayReason::kFused) {
        consider(fuse_window + std::chrono::seconds(1));
      } else if (node.reason == StayReason::kNextPass ||
                 node.reason == StayReason::kCurrentlyBeingDeleted) {
        consider(scan_interval);
      }
    }
  }
  return next;
}

class Simulation {
 public:
  Simulation(WhatIf what_if, const autoscale::Plugins& plugins, const Log& log, TimePoint now)
      : what_if_(std::move(what_if)),
        plugins_(plugins),
        log_(log),
        clock_(now),
        world_(autoscale::ViewOf(what_if_.flags.options)),
        executor_(clock_) {
    plan_.now = now;
  }

  Result<WhatIfPlan> Run();

 private:
  Status SetUp();
  void CountPods();
  Status RemoveNodes();
  Status AskOthersFirst();
  struct Passed {
    std::shared_ptr<const report::PassReport> report;
    bool acted = false;
  };
  Passed Pass();
  // What the pass has set going, to its end: deletions, new machines, bindings.
  void LetItHappen();

  WhatIf what_if_;
  const autoscale::Plugins& plugins_;
  const Log& log_;
  FakeClock clock_;
  InlineWorkers workers_;
  SeededRng rng_{1};
  Metrics metrics_;
  cluster::World world_;
  DumpGroups groups_;
  std::unique_ptr<fit::Chain> filters_;
  std::unique_ptr<WhatIfCluster> cluster_;
  std::unique_ptr<autoscale::Assembly> assembly_;
  std::unique_ptr<GangLook> gangs_;
  WhatIfPlan plan_;
  Executor executor_;  // goes first: what is under way refers to the rest
};

Status Simulation::SetUp() {
  for (DumpGroups::Group& group : what_if_.groups.groups) groups_.Add(std::move(group));
  groups_.set_gpu_label(GuessGpuLabel(what_if_.cluster.nodes));
  plan_.groups_how = what_if_.groups.how;
  plan_.notes = what_if_.groups.notes;
  fit::SchedulerConfig config;
  const std::string& file = what_if_.flags.scheduler_config_file;
  if (!file.empty()) config = TRY(fit::LoadSchedulerConfig(file, plugins_.filters.names()));
  filters_ = std::make_unique<fit::Chain>(TRY(fit::Chain::Create(plugins_.filters, config)));
  cluster_ = std::make_unique<WhatIfCluster>(world_, groups_, *filters_, clock_);
  cluster_->Load(what_if_.cluster);
  const ClusterObjects added =
      ExpandWorkloads(what_if_.added, what_if_.cluster, clock_.Now(), plan_.notes);
  plan_.added = added.pods.size();
  cluster_->Load(added);
  const bool gangs =
      what_if_.batch_plugins != nullptr && !world_.objects<model::PodGroup>().List().empty();
  if (gangs) {
    what_if_.flags.options.gang_scheduler_names = GangLook::SchedulerNames();
    cluster_->LeaveToOthers(GangLook::SchedulerNames());
    GangLook::AddMissingQueues(world_, plan_.notes);
  }
  what_if_.flags.options.explain_checks = -1;
  plan_.min_sizes = what_if_.flags.options.enforce_node_group_min_size;
  assembly_ = TRY(autoscale::Assembly::Create({.flags = what_if_.flags,
                                               .plugins = plugins_,
                                               .world = world_,
                                               .writer = *cluster_,
                                               .executor = executor_,
                                               .workers = workers_,
                                               .rng = rng_,
                                               .log = log_,
                                               .metrics = metrics_,
                                               .groups = groups_,
                                               .first_of_tie = true}));
  if (gangs) {
    gangs_ =
        std::make_unique<GangLook>(GangLook::Parts{.world = world_,
                                                   .executor = executor_,
                                                   .rng = rng_,
                                                   .plugins = *what_if_.batch_plugins,
                                                   .filters = plugins_.filters,
                                                   .log = log_,
                                                   .metrics = metrics_,
                                                   .sellers = {&assembly_->engine().seller()}});
  }
  return Status::Ok();
}

void Simulation::CountPods() {
  plan_.nodes = world_.node_count();
  plan_.pods = world_.pod_count();
  for (const cluster::World::PodEntry* entry : world_.Unbound()) {
    const model::Pod& pod = *entry->pod;
    if (entry->index == cluster::kNone || pod.metadata.deletion_timestamp) continue;
    ++(sim::IsRefused(pod) ? plan_.pending : plan_.unscheduled);
  }
  plan_.groups_before = groups_.groups();
}

Status Simulation::RemoveNodes() {
  for (const std::string& name : what_if_.remove_nodes) {
    RemovalAnswer answer = TRY(TryRemoval(name, world_, *filters_, what_if_.flags.options,
                                          what_if_.flags.options.deviations, clock_.Now()));
    const cluster::NodePtr node = world_.FindNode(name);
    const auto group = groups_.GroupOf({node->spec.provider_id, name});
    answer.group = group.ok() ? group->value_or("") : "";
    if (answer.drains) {
      cluster_->Drain(name);
      cluster_->Schedule();
    }
    plan_.removals.push_back(std::move(answer));
  }
  return Status::Ok();
}

Status Simulation::AskOthersFirst() {
  if (!what_if_.asked_first) return Status::Ok();
  ClusterObjects objects = what_if_.cluster;
  objects.nodes = world_.Nodes();
  objects.pods.clear();
  for (const cluster::World::PodEntry* entry : world_.Pods()) objects.pods.push_back(entry->pod);
  TRY(what_if_.asked_first(objects));
  cluster_->Become(objects);
  return Status::Ok();
}

Simulation::Passed Simulation::Pass() {
  ++plan_.passes;
  WhatIfStep step{.after = clock_.Now() - plan_.now};
  std::map<std::string, int> targets;
  for (const DumpGroups::Group& group : groups_.groups()) targets[group.name] = group.target;
  auto report = executor_.BlockOn(assembly_->engine().Pass(clock_.Now()));
  step.report = report;
  // Not the report's resizes: a salvo has many rounds, and the report tells of the last.
  for (const DumpGroups::Group& group : groups_.groups()) {
    if (group.target > targets[group.name])
      step.bought.push_back({group.name, targets[group.name], group.target, group.max});
  }
  LetItHappen();
  step.new_nodes = cluster_->Settle(assembly_->engine().templates());
  cluster_->Schedule();
  const bool acted = !step.bought.empty() || !report->scale_down.removed.empty();
  if (acted) plan_.steps.push_back(std::move(step));
  return {report, acted};
}

void Simulation::LetItHappen() {
  // A drain waits for minutes at most; everything here answers at once.
  for (int i = 0; i < 100; ++i) {
    const auto deleting = assembly_->engine().actuator().InProgress();
    if (deleting.empty.empty() && deleting.drained.empty()) return;
    executor_.RunFor(std::chrono::seconds(5));
  }
}

Result<WhatIfPlan> Simulation::Run() {
  TRY(SetUp());
  CountPods();
  TRY(RemoveNodes());
  TRY(AskOthersFirst());
  const Duration scan =
      std::max(what_if_.flags.options.scan_interval, Duration(std::chrono::seconds(1)));
  const TimePoint end = clock_.Now() + what_if_.horizon;
  while (true) {
    if (what_if_.stop && what_if_.stop())
      return DeadlineExceeded("stopped after " + std::to_string(plan_.passes) + " passes");
    const auto [report, acted] = Pass();
    if (plan_.passes == 1) {
      plan_.fitting = report->scale_up.fitting;
      if (gangs_ != nullptr) plan_.gangs = TRY(gangs_->Look(clock_.Now()));
    }
    plan_.last = report;
    if (!report->error.empty()) {
      plan_.notes.push_back("a pass failed: " + report->error);
      break;
    }
    const bool too_new = report->scale_up.result == report::ScaleUpResult::kInCooldown;
    auto wait = acted || too_new
                    ? std::optional<Duration>(scan)
                    : NextChange(*report, scan, what_if_.flags.options.deviations.fuse_window);
    if (!wait) break;
    if (clock_.Now() + *wait > end || plan_.passes >= kMostPasses) {
      plan_.settled = false;
      break;
    }
    clock_.Advance(*wait);
  }
  plan_.took = clock_.Now() - plan_.now;
  plan_.groups_after = groups_.groups();
  return std::move(plan_);
}

}  // namespace

bool WhatIfPlan::everybody_helped() const {
  const bool drains = std::ranges::all_of(removals, &RemovalAnswer::drains);
  if (gangs && !gangs->everybody_helped()) return false;
  return drains && last != nullptr && about_pods().unhelped.empty() &&
         about_pods().unserved.empty() && last->error.empty();
}

std::optional<TimePoint> NewestTime(const ClusterObjects& objects) {
  std::optional<TimePoint> newest;
  for (const auto& node : objects.nodes) {
    Newer(newest, node->metadata.creation_timestamp);
    for (const auto& condition : node->status.conditions) {
      Newer(newest, condition.last_heartbeat_time);
      Newer(newest, condition.last_transition_time);
    }
  }
  for (const auto& pod : objects.pods) {
    Newer(newest, pod->metadata.creation_timestamp);
    Newer(newest, pod->status.start_time);
    for (const auto& condition : pod->status.conditions)
      Newer(newest, condition.last_transition_time);
  }
  return newest;
}

void GiveProviderIds(ClusterObjects& objects) {
  for (auto& node : objects.nodes) {
    if (!node->spec.provider_id.empty()) continue;
    model::Node named = *node;
    named.spec.provider_id = "dump://" + node->metadata.name;
    node = std::make_shared<const model::Node>(std::move(named));
  }
}

Result<WhatIfPlan> RunWhatIf(WhatIf what_if, const autoscale::Plugins& plugins, const Log& log) {
  TimePoint now;
  if (what_if.now) {
    now = *what_if.now;
  } else if (const auto newest = NewestTime(what_if.cluster)) {
    now = *newest + kSettled;
  } else {
    now = SystemClock().Now();
  }
  return Simulation(std::move(what_if), plugins, log, now).Run();
}

}  // namespace coppice::whatif
