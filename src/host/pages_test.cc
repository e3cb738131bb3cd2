#include "host/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace coppice::host {
namespace {

using ::testing::HasSubstr;

class PagesTest : public testing::Test {
 protected:
  net::ServerResponse Get(const std::string& path, const std::string& method = "GET") {
    net::ServerRequest request;
    request.method = method;
    request.path = path;
    return pages_.Answer(request);
  }

  FakeClock clock_;
  HealthCheck health_{{}, clock_};
  Metrics metrics_;
  MetricSources metric_sources_;
  std::string trouble_;
  int asked_ = 0;
  Pages pages_{{.health = health_,
                .metrics = metrics_,
                .metric_sources = metric_sources_,
                .not_ready = [this] { return trouble_; },
                .before_metrics = [this] { ++asked_; }}};
};

TEST_F(PagesTest, ReadyAndHealthyUntilSomebodySaysWhyNot) {
  EXPECT_EQ(Get("/readyz").status, 200);
  EXPECT_EQ(Get("/readyz").body, "ok");
  trouble_ = "not read yet: Pod";
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Get("/readyz").body, "not read yet: Pod");
  EXPECT_EQ(Get("/health-check").body, "OK");
  health_.StartMonitoring();
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(Get("/health-check").status, 500);
  EXPECT_THAT(Get("/health-check").body, HasSubstr("last activity"));
}

TEST_F(PagesTest, MetricsAreBroughtUpToDateAndThoseOfTheProcessAreAmongThem) {
  metrics_.GetGauge("trees", "How many").Set(3);
  const net::ServerResponse page = Get("/metrics");
  EXPECT_EQ(asked_, 1);
  EXPECT_THAT(page.body, HasSubstr("trees 3"));
  EXPECT_THAT(page.body, HasSubstr("process_resident_memory_bytes"));
}

TEST_F(PagesTest, WhatNobodyAddedIsNotThereAndNobodyMayWrite) {
  EXPECT_EQ(Get("/explain").status, 404);
  pages_.Add("/explain", [](const net::ServerRequest&) { return PlainText(std::string("so\n")); });
  EXPECT_EQ(Get("/explain").body, "so\n");
  EXPECT_EQ(Get("/explain", "HEAD").status, 200);
  EXPECT_EQ(Get("/explain", "POST").status, 405);
}

TEST(PlainTextTest, AFailureHasTheStatusOfItsCode) {
  EXPECT_EQ(PlainText(InvalidArgument("ask otherwise")).status, 400);
  EXPECT_EQ(PlainText(InvalidArgument("ask otherwise")).body, "ask otherwise\n");
  EXPECT_EQ(PlainText(NotFound("nothing")).status, 404);
  EXPECT_EQ(PlainText(Unavailable("later")).status, 503);
}

}  // namespace
}  // namespace coppice::host
