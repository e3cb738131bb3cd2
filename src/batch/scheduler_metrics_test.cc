#include "batch/scheduler_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::batch {
namespace {

using testing::HasSubstr;
using testing::Not;

struct SchedulerMetricsTest : testing::Test {
  void Queue(const std::string& name) {
    auto queue = std::make_shared<model::Queue>();
    queue->metadata.name = name;
    queue->spec.weight = 3;
    queue->spec.capability["cpu"] = model::Quantity::Parse("8").value();
    world.Upsert<model::Queue>(std::move(queue));
  }
  std::string Told(const News& news) {
    numbers.Heard(news);
    numbers.Queues(world);
    return metrics.Render();
  }
  static Resource Amount(double cpu, double gpus = 0) {
    Resource amount;
    amount.cpu = cpu;
    if (gpus > 0) amount.Set(InternScalar("nvidia.com/gpu"), gpus);
    return amount;
  }
  // Of the queue q and the job ns/j.
  News Something(double gpus) const {
    News news;
    news.shares.push_back({.queue = &q,
                           .share = 0.4,
                           .deserved = Amount(2500),
                           .allocated = Amount(1000, gpus),
                           .request = Amount(4000),
                           .inqueue = Amount(500),
                           .real_capability = Amount(7000),
                           .overused = true});
    news.jobs.push_back({.namespace_ = "ns", .name = "j", .share = 0.25});
    news.outside.push_back({"http://e", "open", "connection refused"});
    return news;
  }

  // One that placed a pod, evicted some and left one of the group waiting; each step took `some`.
  void EndASession(const std::shared_ptr<model::PodGroup>& group, Duration some) {
    Outcome outcome;
    outcome.binds.emplace_back();
    outcome.numbers = {.transactions = {{"preempt", 2}, {"gangreclaim", 1}},
                       .preemption_attempts = 3,
                       .victims = 4,
                       .opened = {{"gang", some}},
                       .closed = {{"gang", some}},
                       .predicate = {some, some},
                       .scoring = {some}};
    WaitingJob waiting{.id = "ns/j", .group = group};
    waiting.tasks.emplace_back();
    numbers.SessionEnded(outcome, {.opened = some, .actions = {{"allocate", some}}, .whole = some},
                         {waiting});
  }

  QueueInfo q{.name = "q"};
  cluster::World world;
  Metrics metrics;
  SchedulerMetrics numbers{metrics};
};

TEST_F(SchedulerMetricsTest, TellsWhatPluginsHaveWorkedOut) {
  Queue("q");
  const std::string text = Told(Something(2000));
  for (const char* line : {
           "volcano_queue_allocated_milli_cpu{queue_name=\"q\"} 1000\n",
           "volcano_queue_allocated_scalar_resources{queue_name=\"q\",resource=\"nvidia.com/gpu\"} "
           "2000\n",
           "volcano_queue_request_milli_cpu{queue_name=\"q\"} 4000\n",
           "volcano_queue_deserved_milli_cpu{queue_name=\"q\"} 2500\n",
           "volcano_queue_capacity_milli_cpu{queue_name=\"q\"} 8000\n",
           "volcano_queue_real_capacity_milli_cpu{queue_name=\"q\"} 7000\n",
           "volcano_queue_inqueue_milli_cpu{queue_name=\"q\"} 500\n",
           "volcano_queue_share{queue_name=\"q\"} 0.4\n",
           "volcano_queue_overused{queue_name=\"q\"} 1\n",
           "volcano_queue_weight{queue_name=\"q\"} 3\n",
           "volcano_job_share{job_id=\"j\",job_ns=\"ns\"} 0.25\n",
           "coppice_batch_extender_breaker{extender=\"http://e\",state=\"open\"} 1\n",
           "coppice_batch_extender_breaker{extender=\"http://e\",state=\"closed\"} 0\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(SchedulerMetricsTest, TakesAwayTheSeriesOfWhatIsGone) {
  Queue("q");
  Queue("stays");
  EXPECT_THAT(Told(Something(2000)), HasSubstr("resource=\"nvidia.com/gpu\""));
  world.Erase<model::Queue>("", "q");
  const std::string text = Told(News());
  EXPECT_THAT(text, Not(HasSubstr("queue_name=\"q\"")));
  EXPECT_THAT(text, HasSubstr("queue_name=\"stays\""));
  EXPECT_THAT(text, Not(HasSubstr("job_id=\"j\"")));
  EXPECT_THAT(text, Not(HasSubstr("extender=\"http://e\"")));
}

TEST_F(SchedulerMetricsTest, AResourceThatAQueueNoLongerHoldsIsTakenAway) {
  Queue("q");
  EXPECT_THAT(Told(Something(2000)), HasSubstr("nvidia.com/gpu"));
  EXPECT_THAT(Told(Something(0)), Not(HasSubstr("nvidia.com/gpu")));
}

TEST_F(SchedulerMetricsTest, WhatWasHeardStaysUntilThereIsMore) {
  Queue("q");
  Told(Something(0));
  numbers.Queues(world);
  EXPECT_THAT(metrics.Render(), HasSubstr("volcano_queue_share{queue_name=\"q\"} 0.4\n"));
}

constexpr const char* kUpstreamsSeries[] = {
    "e2e_scheduling_latency_milliseconds_count",
    "open_session_duration_milliseconds_count",
    "e2e_job_scheduling_latency_milliseconds_count",
    "plugin_scheduling_latency_milliseconds_count{OnSession=\"OnSessionOpen\",",
    "plugin_scheduling_latency_milliseconds_count{OnSession=\"OnSessionClose\",",
    "action_scheduling_latency_milliseconds_count{action=\"allocate\"}",
    "task_scheduling_latency_milliseconds_count{stage=\"Watched\"}",
    "task_scheduling_latency_milliseconds_count{stage=\"Assumed\"}",
    "task_scheduling_latency_milliseconds_count{stage=\"PreBound\"}",
    "task_scheduling_latency_milliseconds_count{stage=\"Bound\"}",
    "scheduling_stage_duration_milliseconds_count{stage=\"Predicate\"} 2",
    "scheduling_stage_duration_milliseconds_count{stage=\"Scoring\"} 1",
    "scheduling_stage_duration_milliseconds_count{stage=\"PreBind\"} 1",
    "scheduling_stage_duration_milliseconds_count{stage=\"Bind\"} 1",
    "e2e_job_scheduling_duration{job_name=\"j\",job_namespace=\"ns\",queue=\"default\"} "
    "3000",
    "e2e_job_scheduling_start_time{job_name=\"j\",job_namespace=\"ns\",queue=\"default\"} "
    "3597",
    "e2e_job_scheduling_last_time{job_name=\"j\",job_namespace=\"ns\",queue=\"default\"} "
    "3600",
    "pod_preemption_victims 4",
    "unschedule_task_count{job_id=\"j\"} 1",
    "unschedule_job_count 1",
    "job_share{",
    "queue_allocated_milli_cpu{",
    "queue_allocated_memory_bytes{",
    "queue_allocated_scalar_resources{",
    "queue_request_milli_cpu{",
    "queue_request_memory_bytes{",
    "queue_deserved_milli_cpu{",
    "queue_deserved_memory_bytes{",
    "queue_capacity_milli_cpu{",
    "queue_capacity_memory_bytes{",
    "queue_real_capacity_milli_cpu{",
    "queue_real_capacity_memory_bytes{",
    "queue_inqueue_milli_cpu{",
    "queue_inqueue_memory_bytes{",
    "queue_share{",
    "queue_weight{",
    "queue_overused{",
    "schedule_attempts_total{result=\"scheduled\"} 1",
    "total_preemption_attempts 3",
    "eviction_transactions_total{action=\"preempt\"} 2",
    "eviction_transactions_total{action=\"gangreclaim\"} 1",
    "job_retry_counts{job_id=\"j\"} 1",
    "queue_pod_group_inqueue_count{queue_name=\"q\"} 0",
    "queue_pod_group_pending_count{queue_name=\"q\"} 1",
    "queue_pod_group_running_count{",
    "queue_pod_group_unknown_count{",
    "queue_pod_group_completed_count{",
    "controller_job_to_pod_creation_latency_milliseconds_count",
};

// spec of upstream's metrics, section 8: what its dashboards and alerts go by. Not the three gauges
// of namespaces, which upstream declares and never sets.
TEST_F(SchedulerMetricsTest, HasAllOfUpstreamsMetrics) {
  Queue("q");
  const TimePoint now(std::chrono::hours(1));
  auto group = std::make_shared<model::PodGroup>();
  group->metadata = {.name = "j", .namespace_ = "ns"};
  group->metadata.creation_timestamp = model::Time{now - std::chrono::seconds(3)};
  world.Upsert<model::PodGroup>(group);
  model::Pod pod;
  pod.metadata.creation_timestamp = group->metadata.creation_timestamp;

  const Duration some = std::chrono::milliseconds(2);
  EndASession(group, some);
  numbers.Groups(world, "default");
  numbers.JobPlaced(*group, "default", now);
  numbers.GroupsOfQueues({{"q", {.pending = 1}}});
  numbers.Prepared(some);
  numbers.BindingEnded(Status::Ok(), some);
  numbers.PodMade(some);
  for (const char* stage : {"Watched", "Assumed", "PreBound", "Bound"})
    numbers.TaskReached(stage, pod, now);
  const std::string text = Told(Something(2000));
  for (const char* series : kUpstreamsSeries) {
    EXPECT_THAT(text, HasSubstr(std::string("volcano_") + series));
  }
  world.Erase<model::PodGroup>("ns", "j");
  numbers.Groups(world, "default");
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("e2e_job_scheduling_last_time{")));
}

}  // namespace
}  // namespace coppice::batch
