#include "autoscale/status_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"

namespace coppice::autoscale {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(StatusMapTest, IsUpstreamsYaml) {
  FakeClock clock;
  StatusMap map;
  report::ClusterStatus status;
  status.running = true;
  status.probed = status.scale_down_probed = clock.Now();
  status.counts.registered = status.counts.ready = 2;
  status.candidates = 1;
  report::GroupStatus group;
  group.group = "pool";
  group.counts = status.counts;
  group.target = 2;
  group.max = 5;
  group.candidates = 1;
  group.scale_up = "Backoff";
  group.backoff_code = "QUOTA";
  group.backoff_message = "no more: " + std::string(600, 'x');
  status.groups.push_back(group);
  const std::string first = map.Render(status, clock.Now());
  EXPECT_THAT(first, HasSubstr(R"(autoscalerStatus: Running
clusterWide:
  health:
    lastProbeTime: "2026-01-01T00:00:00Z"
    lastTransitionTime: "2026-01-01T00:00:00Z"
    nodeCounts:
      longUnregistered: 0
      registered:
        notStarted: 0
        ready: 2
        suspended: 0
        total: 2
        unready:
          resourceUnready: 0
          total: 0
      unregistered: 0
    status: Healthy
  scaleDown:
    candidates: 1
    lastProbeTime: "2026-01-01T00:00:00Z"
    lastTransitionTime: "2026-01-01T00:00:00Z"
    status: CandidatesPresent
  scaleUp:
    lastProbeTime: "2026-01-01T00:00:00Z"
    lastTransitionTime: "2026-01-01T00:00:00Z"
    status: NoActivity
nodeGroups:
- health:
    cloudProviderTarget: 2
)"));
  EXPECT_THAT(first, HasSubstr("errorCode: QUOTA"));
  EXPECT_THAT(first, HasSubstr("xxx<truncated>"));
  EXPECT_THAT(first, HasSubstr("time: \"2026-01-01 00:00:00 +0000 UTC\""));
  clock.Advance(seconds(10));
  status.probed = status.scale_down_probed = clock.Now();
  status.healthy = false;
  const std::string second = map.Render(status, clock.Now());
  EXPECT_THAT(second, HasSubstr("lastTransitionTime: \"2026-01-01T00:00:00Z\""));
  EXPECT_THAT(second, HasSubstr(R"(lastProbeTime: "2026-01-01T00:00:10Z"
    lastTransitionTime: "2026-01-01T00:00:10Z")"));
  EXPECT_THAT(StatusMap::RenderInitializing(clock.Now()), HasSubstr("lastProbeTime: null"));
}

TEST(StatusMapTest, TimesAreWrittenAsGoDoes) {
  EXPECT_EQ(FormatGoTime(TimePoint(seconds(1'767'225'600) + std::chrono::nanoseconds(120'000'000))),
            "2026-01-01 00:00:00.12 +0000 UTC");
}

}  // namespace
}  // namespace coppice::autoscale
