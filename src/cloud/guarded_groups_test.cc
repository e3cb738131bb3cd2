#include "cloud/guarded_groups.h"

#include <gmock/gmock.h>

#include "base/fake_clock.h"
#include "base/rng.h"
#include "cloud/cloud_node_groups.h"
#include "cloud/fake_cloud.h"
#include "cloud/fake_node_groups.h"
#include "test/conformance/node_groups_suite.h"
#include "test/support/counting_cloud.h"
#include "test/support/must.h"

namespace coppice::conformance {

struct GuardedUnderTest {
  FakeClock fake_clock;
  cloud::FakeCloud fake{fake_clock};
  test::CountingCloud counted{fake};
  InlineWorkers workers;
  SeededRng rng{1};
  Log log = Log::Null();
  Metrics metrics;
  std::unique_ptr<cloud::CloudNodeGroups> behind = MUST(cloud::CloudNodeGroups::Create(
      {counted, workers, fake_clock, rng, log, metrics}, {.cluster = "c"},
      {{.name = "first", .max_size = 5, .flavor = "small"},
       {.name = "second", .max_size = 5, .flavor = "large"}}));
  std::unique_ptr<cloud::NodeGroups> guarded = cloud::GuardGroups(*behind, {}, log);

  cloud::NodeGroups& groups() { return *guarded; }
  Clock& clock() { return fake_clock; }
  std::string Group() { return "first"; }
  std::string OtherGroup() { return "second"; }
  void Settle() { fake_clock.Advance(std::chrono::minutes(2)); }
  int CallsOut() { return counted.calls(); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Guarded, NodeGroupsSuite, GuardedUnderTest);

}  // namespace coppice::conformance

namespace coppice::cloud {
namespace {

using std::chrono::seconds;

class GuardedGroupsTest : public testing::Test {
 protected:
  GuardedGroupsTest() {
    groups_.Add({.info = {.id = "g", .min_size = 0, .max_size = 10}, .target = 0});
  }

  FakeClock clock_;
  Log log_ = Log::Null();
  FakeNodeGroups groups_;
  ChangesUnderWay changes_;
};

TEST_F(GuardedGroupsTest, ACallCountsAsUnderWayUntilItIsOver) {
  const TimePoint lease_ends = clock_.Now() + seconds(5);
  const auto within = [&](Deadline by) { return by.Earlier({lease_ends}); };
  const auto guarded = GuardGroups(groups_, {.within = within, .changes = &changes_}, log_);
  size_t inside = 0;
  TimePoint latest;
  groups_.before = [&](std::string_view, Deadline) {
    inside = changes_.count();
    latest = changes_.latest();
  };
  EXPECT_OK(guarded->Increase("g", 1, Deadline::In(clock_, seconds(60))));
  EXPECT_EQ(inside, 1u);
  EXPECT_EQ(latest, lease_ends);
  EXPECT_EQ(changes_.count(), 0u);
  EXPECT_OK(guarded->Refresh(Deadline::Never()));
  EXPECT_EQ(inside, 0u) << "a read is nobody's danger";
}

TEST_F(GuardedGroupsTest, OnceTheDoorIsClosedNothingBegins) {
  const auto guarded = GuardGroups(groups_, {.changes = &changes_}, log_);
  changes_.Close();
  EXPECT_EQ(guarded->Increase("g", 1, Deadline::Never()).code(), Code::kUnavailable);
  EXPECT_EQ(changes_.refused(), 1u);
  EXPECT_EQ(*groups_.TargetSize("g"), 0);
}

TEST_F(GuardedGroupsTest, WhatTheGateRefusesIsNotUnderWay) {
  const auto no = [] { return FailedPrecondition("no lease"); };
  const auto guarded = GuardGroups(groups_, {.may_change = no, .changes = &changes_}, log_);
  EXPECT_EQ(guarded->Increase("g", 1, Deadline::Never()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(changes_.count(), 0u);
}

TEST(GuardedGroupsReadsTest, InADryRunNeitherReadsNorChangesCallOut) {
  conformance::GuardedUnderTest rig;
  const auto dry = GuardGroups(*rig.behind, {.dry_run = true}, rig.log);
  const Deadline soon = Deadline::In(rig.fake_clock, std::chrono::seconds(30));
  ASSERT_OK(dry->Refresh(soon));
  const int calls = rig.CallsOut();
  EXPECT_GT(calls, 0);
  EXPECT_OK(dry->Increase("first", 2, soon));
  EXPECT_OK(dry->Delete("first", {{"fake://1", "node"}}, soon));
  conformance::ReadEverything(*dry, rig.fake_clock.Now());
  EXPECT_EQ(rig.CallsOut(), calls);
}

TEST(GuardedGroupsReadsTest, WhatIsToldAndLearnedReachesWhoIsBehindTheGate) {
  FakeNodeGroups behind;
  const Log log = Log::Null();
  std::vector<std::string> told;
  behind.on_tell_nodes = [&](const EachNode& nodes) {
    nodes([&](const NodeRef& node) { told.push_back(node.name); });
  };
  const auto guarded = GuardGroups(behind, {}, log);
  guarded->TellNodes([](const std::function<void(const NodeRef&)>& tell) { tell({"", "node-1"}); });
  EXPECT_EQ(told, std::vector<std::string>{"node-1"});
}

}  // namespace
}  // namespace coppice::cloud
