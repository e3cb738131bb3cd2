#include "cloud/fake_cloud.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "test/conformance/cloud_suite.h"
#include "test/support/must.h"

namespace coppice::conformance {

struct FakeCloudUnderTest {
  FakeClock fake_clock;
  cloud::FakeCloud fake{fake_clock};
  // It buys whatever it is told to, so that tests see what is ordered twice.
  static constexpr bool kCallerLooks = true;

  cloud::Cloud& cloud() { return fake; }
  Clock& clock() { return fake_clock; }
  cloud::MachineSpec ASpec(const std::string& name) {
    return {.name = name, .flavor = "small", .zone = "zone1", .image = "debian"};
  }
  cloud::ProviderId AnUnknownId() { return "fake://99999999"; }
  void Settle() { fake_clock.Advance(std::chrono::minutes(2)); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(FakeCloud, CloudSuite, FakeCloudUnderTest);

}  // namespace coppice::conformance

namespace coppice::cloud {

TEST(FakeCloudTest, AListLagsBehindCreatesAndDeletes) {
  FakeClock clock;
  FakeCloud cloud(clock);
  cloud.draw_lag = [] { return std::chrono::seconds(10); };
  const auto machine = MUST(cloud.Create({.name = "a", .flavor = "small"}, Deadline::Never()));
  EXPECT_TRUE(MUST(cloud.List({}, Deadline::Never())).empty());
  clock.Advance(std::chrono::seconds(10));
  EXPECT_EQ(MUST(cloud.List({}, Deadline::Never())).size(), 1u);
  EXPECT_OK(cloud.Delete(machine.id, Deadline::Never()));
  EXPECT_EQ(MUST(cloud.List({}, Deadline::Never())).size(), 1u);
  clock.Advance(std::chrono::seconds(10));
  EXPECT_TRUE(MUST(cloud.List({}, Deadline::Never())).empty());
}

TEST(FakeCloudTest, ALostAnswerLeavesTheMachineBehind) {
  FakeClock clock;
  FakeCloud cloud(clock);
  cloud.on_create = [](const MachineSpec&) {
    return FakeAnswer{.status = Unavailable("connection reset"), .happens = true};
  };
  EXPECT_EQ(cloud.Create({.name = "a", .flavor = "small"}, Deadline::Never()).code(),
            Code::kUnavailable);
  EXPECT_EQ(cloud.alive().size(), 1u);
}

TEST(FakeCloudTest, AboveTheQuotaResourcesAreExhausted) {
  FakeClock clock;
  FakeCloud cloud(clock);
  cloud.set_quota(0);
  EXPECT_EQ(cloud.Create({.name = "a", .flavor = "small"}, Deadline::Never()).code(),
            Code::kResourceExhausted);
}

}  // namespace coppice::cloud
