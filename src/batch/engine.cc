#include "batch/engine.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/on_worker.h"
#include "batch/actions.h"
#include "batch/buying/trial.h"
#include "batch/ended_pod.h"

namespace coppice::batch {
namespace {

// Sessions may be many in a second; who looks at shares does so at leisure.
constexpr Duration kTellQueues = std::chrono::seconds(1);

bool HasPlugin(const Conf& conf, std::string_view name) {
  return std::ranges::any_of(conf.tiers, [&](const Tier& tier) {
    return std::ranges::any_of(tier.plugins,
                               [&](const PluginOption& option) { return option.name == name; });
  });
}

bool AsksOutside(const Conf& conf) {
  return HasPlugin(conf, "extender") || (conf.extenders && !conf.extenders->is_null());
}

// What was said against a group in this session: what a plug-in has refused it for, else how far it
// has come, which the end of every session says of everybody who waits.
std::map<std::string, std::string> ReasonsIn(const Outcome& outcome) {
  std::map<std::string, std::vector<std::string_view>> refusals;
  std::map<std::string, std::string> reasons;
  for (const Outcome::EventNote& note : outcome.events) {
    if (note.kind != "PodGroup" || note.reason != "Unschedulable") continue;
    const std::string group = note.namespace_ + "/" + note.name;
    if (note.type == "Warning") {
      reasons[group] = note.message;
      continue;
    }
    std::vector<std::string_view>& own = refusals[group];
    if (std::ranges::find(own, note.message) == own.end()) own.push_back(note.message);
  }
  for (const auto& [group, own] : refusals) {
    std::string& text = reasons[group];
    text.clear();
    for (const std::string_view refusal : own)
      text += (text.empty() ? "" : "; ") + std::string(refusal);
  }
  return reasons;
}

}  // namespace

Engine::Engine(Parts parts)
    : parts_(std::move(parts)),
      volumes_({parts_.world, parts_.writer, parts_.executor, parts_.options.volume_limit}),
      statuses_({parts_.world, own_, parts_.writer, parts_.executor, parts_.log}),
      binder_({parts_.world, own_, parts_.writer, parts_.executor, parts_.rng, parts_.log, volumes_,
               parts_.workers,
               [this](const cluster::PodPtr& pod, Duration took) {
                 if (parts_.metrics == nullptr) return;
                 parts_.metrics->Prepared(took);
                 parts_.metrics->TaskReached("PreBound", *pod, parts_.executor.clock().Now());
               },
               [this](const cluster::PodPtr& pod, const Status& status, Duration took) {
                 BindingEnded(pod, status, took);
               }}),
      leavers_({own_, parts_.writer, parts_.executor, parts_.rng, parts_.log,
                [this](const Status& status) {
                  if (!status.ok()) Wake();
                }}),
      ended_(parts_.executor.clock().Now()) {
  own_.Follow(parts_.world);
  roster_ = std::make_unique<Roster>(
      own_, parts_.options.session.scheduler_names, [this](const cluster::PodPtr& pod) {
        if (parts_.metrics != nullptr)
          parts_.metrics->TaskReached("Watched", *pod, parts_.executor.clock().Now());
      });
}

TimePoint Engine::Due() const {
  if (!began_) return ended_;
  const TimePoint by_period = Later(ended_, parts_.options.schedule_period);
  if (parts_.options.session.upstream_exact) return by_period;
  TimePoint due = by_period;
  if (changed_) {
    // A session that takes long leaves the others as much time as it took.
    const TimePoint soonest =
        std::max(Later(*began_, parts_.options.shortest_gap), Later(ended_, ended_ - *began_));
    due = std::min(due, std::max(Later(*changed_, parts_.options.gather), soonest));
  }
  return due;
}

bool Engine::Changed(TimePoint now) {
  if (changed_) return false;
  changed_ = now;
  return true;
}

void Engine::Wake() const {
  if (parts_.wake) parts_.wake();
}

std::string Engine::NewSessionUid() {
  const uint64_t high = parts_.rng.Next();
  const uint64_t low = parts_.rng.Next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xfff, 0x8000 | (low >> 48 & 0x3fff), low & 0xffffffffffff);
}

bool Engine::BelongsElsewhere(const Conf& conf) const {
  if (parts_.workers == nullptr) return false;
  return AsksOutside(conf) || roster_->waiting() > parts_.options.most_tasks_here;
}

SessionInput Engine::Input(std::string uid, TimePoint now) const {
  SessionInput input;
  input.uid = std::move(uid);
  input.now = now;
  if (parts_.metrics != nullptr) input.clock = &parts_.executor.clock();
  input.nodes.reserve(roster_->nodes().size());
  for (const NodeInfo* node : roster_->nodes())
    input.nodes.push_back({.object = node->object, .index = node->snapshot_index, .images = {}});
  own_.objects<model::Queue>().ForEach([&](const auto& queue) {
    if (!queue->metadata.unreadable) input.queues.push_back(*queue);
  });
  own_.objects<model::PriorityClass>().ForEach(
      [&](const auto& priority) { input.priority_classes.push_back(*priority); });
  own_.objects<model::ResourceQuota>().ForEach(
      [&](const auto& quota) { input.quotas.push_back(*quota); });
  own_.objects<model::PodDisruptionBudget>().ForEach(
      [&](const auto& budget) { input.budgets.push_back(*budget); });
  return input;
}

std::shared_ptr<const HyperNodeTree> Engine::HyperNodesOf(const SessionInput& input) {
  const auto& objects = own_.objects<model::HyperNode>();
  if (objects.size() == 0) return nullptr;
  std::vector<cluster::NodePtr> nodes;
  nodes.reserve(input.nodes.size());
  for (const SessionInput::NodeEntry& node : input.nodes) nodes.push_back(node.object);
  if (hyper_nodes_.Refresh(objects, std::move(nodes))) {
    for (const std::string& complaint : hyper_nodes_.tree()->complaints())
      parts_.log.Warning("not all of the network is known", {{"why", complaint}});
  }
  return hyper_nodes_.tree();
}

std::vector<WaitingJob> Engine::WaitingIn(Session& session) const {
  std::vector<WaitingJob> waiting;
  for (const Job* job : session.jobs()) {
    // A group that has not started, and somebody has more pods to make: its controller, or whoever
    // made those that are there.
    const bool more = (job->IsPending() || job->group.status.phase == "Inqueue") &&
                      (model::ControllerOf(job->group.metadata) != nullptr || !job->tasks.empty());
    const int32_t uncreated =
        more ? job->min_available - static_cast<int32_t>(job->tasks.size()) : 0;
    if (job->counts.of(TaskStatus::kPending) == 0 && uncreated <= 0) continue;
    WaitingJob one{.id = job->id,
                   .group = std::make_shared<const model::PodGroup>(job->group),
                   .queue = job->queue_name,
                   .priority = job->priority,
                   .admitted = !job->IsPending(),
                   .ready = job->IsReady(),
                   .min_available = job->min_available,
                   .placed = job->counts.Ready() + job->counts.Waiting()};
    for (const Task* task : job->tasks) {
      if (task->status != TaskStatus::kPending || task->gated) continue;
      one.tasks.push_back({task->pod, std::string(task->role)});
    }
    one.uncreated = std::max(0, uncreated);
    if (one.tasks.empty() && one.uncreated == 0) continue;
    one.why = job->FitErrorText();
    waiting.push_back(std::move(one));
  }
  const size_t most = parts_.waiting == nullptr ? 0 : parts_.waiting->MostTried();
  if (most > 0 && !waiting.empty() && !session.upstream_exact() && !session.failed())
    TryWaiting(session, waiting, most);
  return waiting;
}

Engine::Ran Engine::RunSession(const Conf& conf, SessionInput input, bool tell_queues) {
  const Clock& clock = parts_.executor.clock();
  Ran ran;
  const TimePoint began = clock.Now();
  cluster::Snapshot& snapshot = own_.snapshot();
  // A node that somebody hopes for is not one that it has.
  const cluster::ScopedFork fork(snapshot);
  const auto& names = parts_.options.session.scheduler_names;
  for (const cluster::World::PodEntry* pod : own_.Unbound()) {
    if (pod->index != cluster::kNone && snapshot.node_of(pod->index) != cluster::kNone &&
        std::ranges::find(names, pod->pod->spec.scheduler_name) != names.end()) {
      snapshot.Unplace(pod->index);
    }
  }
  auto session = Session::Open(conf, parts_.options.session, parts_.plugins, parts_.filters,
                               snapshot, std::move(input), *roster_);
  if (!session.ok()) {
    ran.status = session.status();
    return ran;
  }
  ran.times.opened = clock.Now() - began;
  for (const std::string& action : conf.actions) {
    if ((*session)->failed()) break;
    const TimePoint start = clock.Now();
    RunAction(action, **session);
    ran.times.actions.emplace_back(action, clock.Now() - start);
  }
  ran.waiting = WaitingIn(**session);
  if (tell_queues) {
    News news = (*session)->GatherNews();
    if (parts_.metrics != nullptr) parts_.metrics->Heard(news);
    ran.queues = QueuesOf((*session)->queues(), news);
    ran.outside = std::move(news.outside);
  }
  ran.outcome = (*session)->Close();
  ran.status = ran.outcome.failure;
  const auto reasons = ReasonsIn(ran.outcome);
  for (WaitingJob& job : ran.waiting) {
    if (const auto reason = reasons.find(job.id); reason != reasons.end()) job.why = reason->second;
  }
  ran.times.whole = clock.Now() - began;
  return ran;
}

coppice::Task<std::shared_ptr<report::SessionReport>> Engine::Pass(TimePoint now) {
  auto report = std::make_shared<report::SessionReport>();
  report->began = now;
  began_ = now;
  changed_.reset();
  parts_.conf.Look(now);
  const Conf conf = parts_.conf.conf();
  binder_.Settle(now);
  leavers_.Settle(now);
  statuses_.Settle(now);
  if (TooStale(*report, now)) {
    report->queues = queues_;
    report->outside = outside_;
    ended_ = now;
    co_return report;
  }
  report->uid = NewSessionUid();
  roster_->Refresh([this, now](const model::Pod& pod) { return binder_.HeldBack(pod, now); });
  NoteUnreadable(*report);
  SessionInput input = Input(report->uid, now);
  input.hyper_nodes = HyperNodesOf(input);
  if (parts_.waiting != nullptr && !parts_.options.session.upstream_exact)
    parts_.waiting->Prepare(input);
  report->nodes = input.nodes.size();
  report->pods = own_.pod_count();
  Ran ran;
  const bool tell_queues = !queues_at_ || now - *queues_at_ >= kTellQueues;
  own_.Hold();
  if (BelongsElsewhere(conf)) {
    const std::function<void()> work = [&] {
      ran = RunSession(conf, std::move(input), tell_queues);
    };
    const Status taken = co_await OnWorker(*parts_.workers, parts_.executor, work);
    if (!taken.ok()) ran.status = taken;
  } else {
    ran = RunSession(conf, std::move(input), tell_queues);
  }
  own_.ApplyHeld();
  const TimePoint done = parts_.executor.clock().Now();
  if (!ran.status.ok()) {
    report->error = ran.status.message();
    parts_.log.Error("the session failed", {{"error", ran.status}});
  } else {
    Act(ran, *report, done);
  }
  if (ran.status.ok() && tell_queues) {
    queues_ = std::move(ran.queues);
    outside_ = std::move(ran.outside);
    queues_at_ = now;
  }
  report->queues = queues_;
  report->outside = outside_;
  ended_ = parts_.executor.clock().Now();
  report->took = ended_ - now;
  if (ran.status.ok()) {
    report->stages.emplace_back("open", ran.times.opened);
    for (const auto& [action, time] : ran.times.actions) report->stages.emplace_back(action, time);
  }
  if (parts_.metrics != nullptr) {
    parts_.metrics->SessionEnded(ran.outcome, ran.times, ran.waiting);
    parts_.metrics->Queues(own_);
    if (tell_queues) parts_.metrics->Groups(own_, parts_.options.session.default_queue);
  }
  if (ran.status.ok() && parts_.waiting != nullptr)
    parts_.waiting->SessionEnded(ran.waiting, ended_);
  co_return report;
}

std::string Engine::JobOf(const Outcome::Bind& bind) const {
  const cluster::PodPtr pod = own_.FindPod(bind.pod.namespace_, bind.pod.name);
  if (pod != nullptr && pod->metadata.uid == bind.pod.uid) return JobIdOf(*pod);
  // It is gone: the session's own list has it still.
  for (const Task& task : roster_->tasks()) {
    if (task.uid == bind.pod.uid && task.job != nullptr) return task.job->id;
  }
  return "";
}

// Pods of the job that have a node and stay, or are through.
int Engine::PlacedOf(const std::string& job) const {
  int placed = 0;
  for (const cluster::World::PodEntry* entry : own_.Pods()) {
    const model::Pod& pod = *entry->pod;
    placed +=
        !pod.spec.node_name.empty() && !pod.metadata.deletion_timestamp && JobIdOf(pod) == job;
  }
  own_.objects<EndedPod>().ForEach(
      [&](const auto& pod) { placed += pod->status.phase == "Succeeded" && JobIdOf(*pod) == job; });
  return placed;
}

// Jobs that would start in part, and why: one of their pods cannot be bound any more, and the rest
// is less than the minimum.
std::map<std::string, std::string> Engine::FallShort(
    const std::vector<Outcome::Bind>& binds) const {
  struct Gang {
    int can = 0;
    std::string against;  // a pod that cannot be bound, and why
  };
  std::map<std::string, Gang> gangs;
  for (const Outcome::Bind& bind : binds) {
    Gang& gang = gangs[JobOf(bind)];
    const Status speaks = binder_.Check(bind);
    if (speaks.ok()) {
      ++gang.can;
    } else {
      gang.against = bind.pod.key() + ": " + speaks.message();
    }
  }
  std::map<std::string, std::string> short_of;
  for (const auto& [job, gang] : gangs) {
    if (gang.against.empty() || job.empty()) continue;
    const size_t slash = job.find('/');
    const auto* group =
        own_.objects<model::PodGroup>().Find(job.substr(0, slash), job.substr(slash + 1));
    if (group != nullptr && PlacedOf(job) + gang.can < group->spec.min_member)
      short_of[job] = "another pod of its gang cannot be bound (" + gang.against + ")";
  }
  return short_of;
}

void Engine::Act(Ran& ran, report::SessionReport& report, TimePoint now) {
  const bool by_budget = parts_.options.evict_by_budget || HasPlugin(parts_.conf.conf(), "pdb");
  for (const Outcome::Eviction& eviction : ran.outcome.evictions) {
    const Status begun = leavers_.Begin(eviction, by_budget, now);
    if (begun.ok()) {
      report.evictions.push_back({eviction.pod.key(), eviction.reason});
      parts_.log.Info("a pod is evicted", {{"pod", eviction.pod.key()}, {"why", eviction.reason}});
    } else {
      report.refused.push_back({eviction.pod.key(), begun.message()});
    }
  }
  BindAll(ran.outcome.binds, report);
  TellAssumed(report.placements, now);
  statuses_.Put(ran.outcome, now);
  for (const Outcome::GroupStatus& group : ran.outcome.groups)
    report.groups.push_back(
        {group.namespace_ + "/" + group.name, group.status.phase, group.changed});
  for (const WaitingJob& job : ran.waiting) {
    report.waiting.push_back({.job = job.id,
                              .queue = job.queue,
                              .admitted = job.admitted,
                              .min_available = job.min_available,
                              .placed = job.placed,
                              .pods = job.tasks.size(),
                              .why = job.why});
  }
  // What was decided changes what the next one sees: a group whose pods are bound runs.
  if (!report.placements.empty()) Changed(now);
}

}  // namespace coppice::batch
