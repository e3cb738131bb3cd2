#include "app/guarded_groups.h"

#include <gmock/gmock.h>

#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "test/support/must.h"

namespace coppice::app {
namespace {

using std::chrono::seconds;

class GuardedGroupsTest : public testing::Test {
 protected:
  GuardedGroupsTest() {
    groups_.Add({.info = {.id = "g", .min_size = 0, .max_size = 10}, .target = 0});
  }

  FakeClock clock_;
  Log log_ = Log::Null();
  cloud::FakeNodeGroups groups_;
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

}  // namespace
}  // namespace coppice::app
