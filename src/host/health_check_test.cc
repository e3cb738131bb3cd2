#include "host/health_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace coppice::host {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(HealthCheckTest, FollowsUpstreamsRules) {
  FakeClock clock;
  HealthCheck health({}, clock);
  clock.Advance(minutes(100));
  EXPECT_EQ(health.Trouble(), "");  // not leading: not monitored
  health.StartMonitoring();
  clock.Advance(minutes(19));
  EXPECT_EQ(health.Trouble(), "");
  clock.Advance(minutes(2));
  EXPECT_THAT(health.Trouble(), HasSubstr("last activity"));
  health.Succeeded();
  EXPECT_EQ(health.Trouble(), "");
  clock.Advance(minutes(9));
  health.Active();
  clock.Advance(minutes(7));
  EXPECT_THAT(health.Trouble(), HasSubstr("last successful"));
}

TEST(HealthCheckTest, AKindThatIsNotReadAnyMoreShows) {
  FakeClock clock;
  HealthCheck health({}, clock);
  std::string stale;
  health.stale_kinds = [&stale] { return stale; };
  health.StartMonitoring();
  health.Succeeded();
  EXPECT_EQ(health.Trouble(), "");
  stale = "Pod has not been read since noon";
  EXPECT_EQ(health.Trouble(), "Error: Pod has not been read since noon");
}

}  // namespace
}  // namespace coppice::host
