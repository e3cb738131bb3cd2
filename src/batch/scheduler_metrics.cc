#include "batch/scheduler_metrics.h"

#include <array>
#include <cmath>

#include "batch/resource.h"
#include "model/batch.h"

namespace coppice::batch {
namespace {

std::vector<double> Exponential(double first, double last, int count) {
  std::vector<double> bounds;
  const double step = std::pow(last / first, 1.0 / (count - 1));
  double bound = first;
  for (int i = 0; i < count; ++i, bound *= step) bounds.push_back(bound);
  return bounds;
}

double InMilliseconds(Duration took) {
  return std::chrono::duration<double, std::milli>(took).count();
}

constexpr std::string_view kStageName = "volcano_scheduling_stage_duration_milliseconds";
constexpr std::string_view kStageHelp = "A stage of placing a pod";

constexpr std::string_view kJobStart = "volcano_e2e_job_scheduling_start_time";
constexpr std::string_view kJobLast = "volcano_e2e_job_scheduling_last_time";
constexpr std::string_view kJobDuration = "volcano_e2e_job_scheduling_duration";

MetricLabels LabelsOf(const model::PodGroup& group, const std::string& default_queue) {
  return {{"job_name", group.metadata.name},
          {"queue", group.spec.queue.empty() ? default_queue : group.spec.queue},
          {"job_namespace", group.metadata.namespace_}};
}

double UnixSeconds(TimePoint when) {
  return static_cast<double>(
      std::chrono::floor<std::chrono::seconds>(when).time_since_epoch().count());
}

std::string_view HelpOf(std::string_view queue_metric) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kHelp{{
      {"allocated", "What pods of the queue hold"},
      {"request", "What the queue's jobs ask for"},
      {"deserved", "What the queue has a claim to"},
      {"capacity", "What the queue may use at most"},
      {"real_capacity", "What the queue can use at most, for others have guarantees"},
      {"inqueue", "What jobs of the queue that were let in do not hold yet"},
      {"share", "What the queue holds of what it has a claim to"},
      {"overused", "1 if the queue holds all that it has a claim to"},
      {"weight", "The queue's weight"},
  }};
  queue_metric.remove_prefix(std::string_view("volcano_queue_").size());
  for (const auto& [name, help] : kHelp) {
    if (queue_metric.starts_with(name)) return help;
  }
  return "";
}

}  // namespace

void SchedulerMetrics::Milliseconds(std::string_view name, std::string_view help,
                                    const std::vector<double>& bounds, Duration took,
                                    const MetricLabels& labels) {
  metrics_.GetHistogram(name, help, bounds, labels).Observe(InMilliseconds(took));
}

void SchedulerMetrics::SessionEnded(const Outcome& outcome, const SessionTimes& times,
                                    const std::vector<WaitingJob>& waiting) {
  static const std::vector<double> kSession = Exponential(1, 5'000, 20);
  static const std::vector<double> kAction = Exponential(1, 2'000, 20);
  Milliseconds("volcano_e2e_scheduling_latency_milliseconds",
               "A session from its beginning to its end", kSession, times.whole);
  Milliseconds("volcano_open_session_duration_milliseconds", "Opening a session", kSession,
               times.opened);
  for (const auto& [action, took] : times.actions) {
    Milliseconds("volcano_action_scheduling_latency_milliseconds", "One action of a session",
                 kAction, took, {{"action", action}});
  }
  const auto attempts = [&](const char* result, size_t count) {
    if (count == 0) return;
    metrics_
        .GetCounter("volcano_schedule_attempts_total", "Pods that a session looked at, by result",
                    {{"result", result}})
        .Add(static_cast<double>(count));
  };
  attempts("scheduled", outcome.binds.size());
  size_t unplaced = 0;
  for (const WaitingJob& job : waiting) unplaced += job.tasks.size();
  attempts("unschedulable", unplaced);
  attempts("error", outcome.failure.ok() ? 0 : 1);
  Counted(outcome.numbers);
  Jobs(waiting);
}

void SchedulerMetrics::Counted(const Outcome::Numbers& numbers) {
  static const std::vector<double> kPlugin = Exponential(0.1, 100, 15);
  static const std::vector<double> kStage = Exponential(0.1, 500, 20);
  const auto plugins = [&](const auto& times, const char* when) {
    for (const auto& [plugin, took] : times) {
      Milliseconds("volcano_plugin_scheduling_latency_milliseconds",
                   "A plug-in when a session opens or closes", kPlugin, took,
                   {{"plugin", plugin}, {"OnSession", when}});
    }
  };
  plugins(numbers.opened, "OnSessionOpen");
  plugins(numbers.closed, "OnSessionClose");
  const auto stage = [&](const std::vector<Duration>& times, const char* name) {
    if (times.empty()) return;
    Histogram& histogram = metrics_.GetHistogram(kStageName, kStageHelp, kStage, {{"stage", name}});
    for (const Duration took : times) histogram.Observe(InMilliseconds(took));
  };
  stage(numbers.predicate, "Predicate");
  stage(numbers.scoring, "Scoring");
  if (numbers.victims) {
    metrics_
        .GetGauge("volcano_pod_preemption_victims",
                  "Pods that could go, on the last node that preempt looked at")
        .Set(static_cast<double>(*numbers.victims));
  }
  if (numbers.preemption_attempts > 0) {
    metrics_
        .GetCounter("volcano_total_preemption_attempts",
                    "Nodes on which preempt tried to make room")
        .Add(numbers.preemption_attempts);
  }
  for (const auto& [action, count] : numbers.transactions) {
    metrics_
        .GetCounter("volcano_eviction_transactions_total",
                    "Decisions that evict somebody, by the action that made them",
                    {{"action", action}})
        .Add(count);
  }
}

void SchedulerMetrics::Jobs(const std::vector<WaitingJob>& waiting) {
  constexpr std::string_view kTasks = "volcano_unschedule_task_count";
  std::set<std::string> now;
  for (const WaitingJob& job : waiting) {
    const std::string& name = job.group->metadata.name;
    now.insert(name);
    metrics_.GetGauge(kTasks, "Tasks of the job without a place", {{"job_id", name}})
        .Set(static_cast<double>(job.tasks.size()));
    if (!job.ready) {
      metrics_
          .GetCounter("volcano_job_retry_counts", "Sessions that did not place the job",
                      {{"job_id", name}})
          .Increment();
    }
  }
  for (const std::string& name : waiting_jobs_) {
    if (!now.contains(name)) metrics_.RemoveGauge(kTasks, {{"job_id", name}});
  }
  waiting_jobs_ = std::move(now);
  metrics_.GetGauge("volcano_unschedule_job_count", "Jobs without a place")
      .Set(static_cast<double>(waiting_jobs_.size()));
}

// Upstream's label has the name alone: of two jobs of one name in a namespace there is one.
void SchedulerMetrics::Shares(const std::vector<News::OfJob>& jobs) {
  constexpr std::string_view kShare = "volcano_job_share";
  const auto labels = [](const auto& key) {
    return MetricLabels{{"job_ns", key.first}, {"job_id", key.second}};
  };
  std::map<std::pair<std::string, std::string>, double> now;
  for (const News::OfJob& job : jobs) now[{job.namespace_, job.name}] = job.share;
  for (const auto& [key, share] : now) {
    const auto before = job_shares_.find(key);
    if (before != job_shares_.end() && before->second == share) continue;
    metrics_.GetGauge(kShare, "The job's dominant share of the cluster", labels(key)).Set(share);
  }
  for (const auto& [key, share] : job_shares_) {
    if (!now.contains(key)) metrics_.RemoveGauge(kShare, labels(key));
  }
  job_shares_ = std::move(now);
}

void SchedulerMetrics::Breakers(const std::vector<report::SessionReport::Outside>& outside) {
  constexpr std::string_view kBreaker = "coppice_batch_extender_breaker";
  constexpr std::string_view kStates[] = {"closed", "trying", "open"};
  const auto labels = [](const std::string& url, std::string_view state) {
    return MetricLabels{{"extender", url}, {"state", std::string(state)}};
  };
  std::set<std::string> now;
  for (const auto& extender : outside) {
    now.insert(extender.name);
    for (const std::string_view state : kStates) {
      metrics_
          .GetGauge(kBreaker, "1 for the state in which the extender's breaker is",
                    labels(extender.name, state))
          .Set(state == extender.state ? 1 : 0);
    }
  }
  for (const std::string& url : extenders_) {
    if (now.contains(url)) continue;
    for (const std::string_view state : kStates) metrics_.RemoveGauge(kBreaker, labels(url, state));
  }
  extenders_ = std::move(now);
}

void SchedulerMetrics::Heard(const News& news) {
  worked_out_.clear();
  for (const News::Share& share : news.shares) {
    worked_out_[share.queue->name] = {share.share,   share.deserved, share.allocated,
                                      share.request, share.inqueue,  share.real_capability,
                                      share.overused};
  }
  Shares(news.jobs);
  Breakers(news.outside);
}

SchedulerMetrics::QueueSeries SchedulerMetrics::SeriesOf(const ShownQueue& shown) {
  QueueSeries series;
  const auto amounts = [&](std::string_view what, const Resource& resource) {
    const std::string name = "volcano_queue_" + std::string(what);
    series[{name + "_milli_cpu", ""}] = resource.cpu;
    series[{name + "_memory_bytes", ""}] = resource.memory;
    for (const Resource::Scalar& scalar : resource.scalars())
      series[{name + "_scalar_resources", ScalarName(scalar.key)}] = scalar.value;
  };
  amounts("allocated", shown.worked_out ? shown.worked_out->allocated : shown.allocated);
  if (shown.worked_out) {
    amounts("deserved", shown.worked_out->deserved);
    amounts("request", shown.worked_out->request);
    amounts("inqueue", shown.worked_out->inqueue);
    amounts("real_capacity", shown.worked_out->real_capability);
    series[{"volcano_queue_share", ""}] = shown.worked_out->share;
    series[{"volcano_queue_overused", ""}] = shown.worked_out->overused ? 1 : 0;
  } else if (shown.deserved) {
    amounts("deserved", *shown.deserved);
  }
  if (shown.capacity) amounts("capacity", *shown.capacity);
  series[{"volcano_queue_weight", ""}] = shown.weight;
  return series;
}

void SchedulerMetrics::Show(const std::string& queue, const QueueSeries& before,
                            const QueueSeries& now) {
  const auto labels = [&](const std::string& resource) {
    MetricLabels all{{"queue_name", queue}};
    if (!resource.empty()) all["resource"] = resource;
    return all;
  };
  for (const auto& [key, value] : now)
    metrics_.GetGauge(key.first, HelpOf(key.first), labels(key.second)).Set(value);
  for (const auto& [key, value] : before) {
    if (!now.contains(key)) metrics_.RemoveGauge(key.first, labels(key.second));
  }
}

void SchedulerMetrics::Queues(const cluster::World& world) {
  std::map<std::string, KnownQueue> now;
  world.objects<model::Queue>().ForEach([&](const auto& queue) {
    const std::string& name = queue->metadata.name;
    ShownQueue shown{.weight = static_cast<double>(queue->spec.weight)};
    if (const auto own = worked_out_.find(name); own != worked_out_.end())
      shown.worked_out = own->second;
    shown.allocated = Resource::From(queue->status.allocated);
    if (!queue->spec.deserved.empty()) shown.deserved = Resource::From(queue->spec.deserved);
    if (!queue->spec.capability.empty()) shown.capacity = Resource::From(queue->spec.capability);
    KnownQueue& own = now[name];
    const auto before = queues_.find(name);
    if (before != queues_.end() && before->second.shown == shown) {
      own = std::move(before->second);
      queues_.erase(before);
      return;
    }
    own.series = SeriesOf(shown);
    own.shown = std::move(shown);
    Show(name, before == queues_.end() ? QueueSeries() : before->second.series, own.series);
    if (before != queues_.end()) queues_.erase(before);
  });
  for (const auto& [name, gone] : queues_) Show(name, gone.series, {});
  queues_ = std::move(now);
}

void SchedulerMetrics::Groups(const cluster::World& world, const std::string& default_queue) {
  const auto& store = world.objects<model::PodGroup>();
  if (store.version() == groups_version_) return;
  groups_version_ = store.version();
  std::map<std::string, MetricLabels> now;
  store.ForEach([&](const std::shared_ptr<const model::PodGroup>& group) {
    if (!group->metadata.creation_timestamp) return;
    const std::string id = group->metadata.namespace_ + "/" + group->metadata.name;
    if (auto known = groups_.extract(id); !known.empty()) {
      now.insert(std::move(known));
      return;
    }
    const MetricLabels& labels = now[id] = LabelsOf(*group, default_queue);
    metrics_.GetGauge(kJobStart, "When the job was made, in seconds", labels)
        .Set(UnixSeconds(group->metadata.creation_timestamp->at));
  });
  for (const auto& [id, labels] : groups_) {
    for (const std::string_view name : {kJobStart, kJobLast, kJobDuration})
      metrics_.RemoveGauge(name, labels);
  }
  groups_ = std::move(now);
}

void SchedulerMetrics::JobPlaced(const model::PodGroup& group, const std::string& default_queue,
                                 TimePoint now) {
  static const std::vector<double> kJob = Exponential(100, 120'000, 30);
  if (!group.metadata.creation_timestamp) return;
  const Duration took = now - group.metadata.creation_timestamp->at;
  const MetricLabels labels = LabelsOf(group, default_queue);
  metrics_
      .GetGauge(kJobDuration, "From the job's making to its last pod with a node, milliseconds",
                labels)
      .Set(InMilliseconds(took));
  metrics_.GetGauge(kJobLast, "When a pod of the job was last given a node, in seconds", labels)
      .Set(UnixSeconds(now));
  Milliseconds("volcano_e2e_job_scheduling_latency_milliseconds",
               "From a job's making to the last of its pods that a session gave a node", kJob,
               took);
}

void SchedulerMetrics::GroupsOfQueues(const std::map<std::string, GroupPhases>& phases) {
  using Count = int32_t GroupPhases::*;
  static constexpr std::pair<std::string_view, Count> kCounts[] = {
      {"volcano_queue_pod_group_inqueue_count", &GroupPhases::inqueue},
      {"volcano_queue_pod_group_pending_count", &GroupPhases::pending},
      {"volcano_queue_pod_group_running_count", &GroupPhases::running},
      {"volcano_queue_pod_group_unknown_count", &GroupPhases::unknown},
      {"volcano_queue_pod_group_completed_count", &GroupPhases::completed}};
  if (phases == phases_) return;
  for (const auto& [name, count] : kCounts) {
    for (const auto& [queue, now] : phases) {
      metrics_.GetGauge(name, "Groups of the queue in this phase", {{"queue_name", queue}})
          .Set(now.*count);
    }
    for (const auto& [queue, gone] : phases_) {
      if (!phases.contains(queue)) metrics_.RemoveGauge(name, {{"queue_name", queue}});
    }
  }
  phases_ = phases;
}

void SchedulerMetrics::Prepared(Duration took) {
  static const std::vector<double> kStage = Exponential(0.1, 500, 20);
  Milliseconds(kStageName, kStageHelp, kStage, took, {{"stage", "PreBind"}});
}

void SchedulerMetrics::PodMade(Duration after) {
  static const std::vector<double> kTask = Exponential(50, 60'000, 30);
  Milliseconds("volcano_controller_job_to_pod_creation_latency_milliseconds",
               "From a Volcano Job's making to that of a pod of it", kTask, after);
}

void SchedulerMetrics::BindingEnded(const Status& status, Duration took) {
  static const std::vector<double> kStage = Exponential(0.1, 500, 20);
  Milliseconds(kStageName, kStageHelp, kStage, took, {{"stage", "Bind"}});
  metrics_
      .GetCounter("coppice_batch_bindings_total", "Bindings that have ended, by result",
                  {{"result", status.ok() ? "bound" : std::string(ToString(status.code()))}})
      .Increment();
}

void SchedulerMetrics::TaskReached(std::string_view stage, const model::Pod& pod, TimePoint now) {
  static const std::vector<double> kTask = Exponential(50, 60'000, 30);
  if (!pod.metadata.creation_timestamp) return;
  Milliseconds("volcano_task_scheduling_latency_milliseconds", "From a pod's creation to a stage",
               kTask, now - pod.metadata.creation_timestamp->at, {{"stage", std::string(stage)}});
}

}  // namespace coppice::batch
