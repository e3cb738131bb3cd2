#include "base/metrics.h"

#include <gmock/gmock.h>

#include <thread>

namespace coppice {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MetricsTest, RendersThePageThatPrometheusReads) {
  Metrics metrics;
  metrics.GetGauge("pool_size", "machines", {{"group", "b"}}).Set(2);
  metrics.GetGauge("pool_size", "machines", {{"group", "a"}}).Set(1.5);
  metrics.GetCounter("calls_total", "calls").Increment();
  Histogram& took = metrics.GetHistogram("call_seconds", "time", {0.1, 1}, {{"op", "list"}});
  took.Observe(0.05);
  took.Observe(0.5);
  took.Observe(5);
  EXPECT_EQ(metrics.Render(),
            "# HELP call_seconds time\n"
            "# TYPE call_seconds histogram\n"
            "call_seconds_count{op=\"list\"} 3\n"
            "call_seconds_sum{op=\"list\"} 5.55\n"
            "call_seconds_bucket{op=\"list\",le=\"0.1\"} 1\n"
            "call_seconds_bucket{op=\"list\",le=\"1\"} 2\n"
            "call_seconds_bucket{op=\"list\",le=\"+Inf\"} 3\n"
            "# HELP calls_total calls\n"
            "# TYPE calls_total counter\n"
            "calls_total 1\n"
            "# HELP pool_size machines\n"
            "# TYPE pool_size gauge\n"
            "pool_size{group=\"a\"} 1.5\n"
            "pool_size{group=\"b\"} 2\n");
}

TEST(MetricsTest, TheSameNameAndLabelsAreTheSameMetric) {
  Metrics metrics;
  Counter& first = metrics.GetCounter("calls_total", "calls", {{"op", "list"}});
  Counter& again = metrics.GetCounter("calls_total", "other help", {{"op", "list"}});
  EXPECT_EQ(&first, &again);
  first.Add(2);
  EXPECT_EQ(again.value(), 2);
  EXPECT_THAT(metrics.Render(), HasSubstr("# HELP calls_total calls\n"));
}

TEST(MetricsTest, CountersDoNotFall) {
  Metrics metrics;
  Counter& counter = metrics.GetCounter("calls_total", "calls");
  counter.Add(3);
  counter.Add(-1);
  EXPECT_EQ(counter.value(), 3);
}

TEST(MetricsTest, RemovedSeriesAreGoneFromThePage) {
  Metrics metrics;
  metrics.GetGauge("size", "s", {{"group", "a"}}).Set(1);
  metrics.GetGauge("size", "s", {{"group", "b"}}).Set(2);
  metrics.RemoveGauge("size", {{"group", "a"}});
  metrics.RemoveGauge("size", {{"group", "never there"}});
  metrics.RemoveGauge("never there", {});
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("group=\"a\"")));
  EXPECT_THAT(metrics.Render(), HasSubstr("size{group=\"b\"} 2\n"));
  EXPECT_EQ(metrics.GetGauge("size", "s", {{"group", "a"}}).value(), 0) << "comes back afresh";
}

TEST(MetricsTest, LabelValuesFromOutsideCannotBreakThePage) {
  Metrics metrics;
  metrics.GetGauge("size", "s", {{"group", "a\"b\\c\nd\xFF"}}).Set(1);
  EXPECT_THAT(metrics.Render(), HasSubstr("size{group=\"a\\\"b\\\\c\\nd\xEF\xBF\xBD\"} 1\n"));
}

TEST(MetricsDeathTest, OneNameHasOneType) {
  Metrics metrics;
  metrics.GetGauge("size", "s");
  EXPECT_DEATH(metrics.GetCounter("size", "s"), "must be well-formed and of one type");
  EXPECT_DEATH(metrics.GetGauge("not-a-name", "s"), "must be well-formed and of one type");
}

TEST(MetricsTest, ThreadsMayCountAndRenderTogether) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&metrics, t] {
      const std::string name = std::to_string(t % 2);
      for (int i = 0; i < 500; ++i) {
        metrics.GetCounter("calls_total", "c", {{"op", name}}).Increment();
        metrics.GetGauge("size", "s", {{"op", name}}).Set(i);
        if (i % 100 == 0) (void)metrics.Render();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(metrics.GetCounter("calls_total", "c", {{"op", "0"}}).value(), 1'000);
}

}  // namespace
}  // namespace coppice
