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

}  // namespace
}  // namespace coppice::batch
