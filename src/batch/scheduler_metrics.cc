#include "batch/scheduler_metrics.h"

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

constexpr std::string_view kAllocatedHelp = "What pods of the queue hold";

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
  static const std::vector<double> kPlugin = Exponential(0.1, 100, 15);
  Milliseconds("volcano_e2e_scheduling_latency_milliseconds",
               "A session from its beginning to its end", kSession, times.whole);
  Milliseconds("volcano_open_session_duration_milliseconds", "Opening a session", kSession,
               times.opened);
  for (const auto& [action, took] : times.actions) {
    Milliseconds("volcano_action_scheduling_latency_milliseconds", "One action of a session",
                 kAction, took, {{"action", action}});
  }
  for (const auto& [plugin, took] : times.plugins) {
    Milliseconds("volcano_plugin_scheduling_latency_milliseconds", "A plug-in when a session opens",
                 kPlugin, took, {{"plugin", plugin}, {"OnSession", "OnSessionOpen"}});
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
  if (!outcome.evictions.empty()) {
    metrics_
        .GetGauge("volcano_pod_preemption_victims", "Pods evicted by the last session that evicted")
        .Set(static_cast<double>(outcome.evictions.size()));
    metrics_.GetCounter("volcano_total_preemption_attempts", "Sessions that evicted somebody")
        .Increment();
  }
  for (const Outcome::Eviction& eviction : outcome.evictions) {
    metrics_
        .GetCounter("volcano_eviction_transactions_total", "Evictions, by the action that asked",
                    {{"action", eviction.reason}})
        .Increment();
  }
  Jobs(waiting);
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

void SchedulerMetrics::Amounts(const std::string& what, const std::string& queue,
                               const model::ResourceList& amounts) {
  const std::string name = "volcano_queue_" + what;
  const Resource resource = Resource::From(amounts);
  const MetricLabels labels = {{"queue_name", queue}};
  metrics_.GetGauge(name + "_milli_cpu", kAllocatedHelp, labels).Set(resource.cpu);
  metrics_.GetGauge(name + "_memory_bytes", kAllocatedHelp, labels).Set(resource.memory);
  for (const auto& [resource_name, amount] : amounts) {
    if (resource_name == "cpu" || resource_name == "memory") continue;
    metrics_
        .GetGauge(name + "_scalar_resources", kAllocatedHelp,
                  {{"queue_name", queue}, {"resource", resource_name}})
        .Set(resource.Get(InternScalar(resource_name)));
  }
}

void SchedulerMetrics::Queues(const cluster::World& world) {
  std::set<std::string> now;
  world.objects<model::Queue>().ForEach([&](const auto& queue) {
    const std::string& name = queue->metadata.name;
    now.insert(name);
    Amounts("allocated", name, queue->status.allocated);
    if (!queue->spec.deserved.empty()) Amounts("deserved", name, queue->spec.deserved);
    if (!queue->spec.capability.empty()) Amounts("capacity", name, queue->spec.capability);
    metrics_.GetGauge("volcano_queue_weight", "The queue's weight", {{"queue_name", name}})
        .Set(queue->spec.weight);
  });
  for (const std::string& name : queues_) {
    if (now.contains(name)) continue;
    const MetricLabels labels = {{"queue_name", name}};
    for (const char* what : {"allocated", "deserved", "capacity"}) {
      metrics_.RemoveGauge("volcano_queue_" + std::string(what) + "_milli_cpu", labels);
      metrics_.RemoveGauge("volcano_queue_" + std::string(what) + "_memory_bytes", labels);
    }
    metrics_.RemoveGauge("volcano_queue_weight", labels);
  }
  queues_ = std::move(now);
}

void SchedulerMetrics::BindingEnded(const Status& status, Duration took) {
  static const std::vector<double> kStage = Exponential(0.1, 500, 20);
  Milliseconds("volcano_scheduling_stage_duration_milliseconds", "A stage of placing a pod", kStage,
               took, {{"stage", "Bind"}});
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
