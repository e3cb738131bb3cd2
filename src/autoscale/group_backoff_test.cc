#include "autoscale/group_backoff.h"

#include <gtest/gtest.h>

namespace coppice::autoscale {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class GroupBackoffTest : public testing::Test {
 protected:
  TimePoint Fail(Duration at) { return backoff_.Failed("web", {.code = "QUOTA"}, start_ + at); }
  bool Active(Duration at) { return backoff_.Active("web", start_ + at).has_value(); }

  const TimePoint start_{seconds(1'000'000)};
  GroupBackoff backoff_{minutes(5), minutes(30), minutes(180)};
};

TEST_F(GroupBackoffTest, AFailureKeepsTheGroupOutUntilAndIncludingTheEnd) {
  EXPECT_EQ(Fail(seconds(0)), start_ + minutes(5));
  EXPECT_TRUE(Active(minutes(5)));
  EXPECT_FALSE(Active(minutes(5) + seconds(1)));
  EXPECT_EQ(backoff_.Active("web", start_)->code, "QUOTA");
  EXPECT_FALSE(backoff_.Active("db", start_)) << "another group is nobody's business";
  EXPECT_EQ(backoff_.Until("db"), std::nullopt);
}

TEST_F(GroupBackoffTest, AnotherFailureDuringTheWaitRestartsItWithoutLengtheningIt) {
  Fail(seconds(0));
  EXPECT_EQ(Fail(minutes(5)), start_ + minutes(10)) << "the last moment is still during it";
}

TEST_F(GroupBackoffTest, AFailureAfterTheWaitDoublesItUpToTheLimit) {
  Duration at{};
  for (const int wait : {5, 10, 20, 30, 30}) {
    EXPECT_EQ(Fail(at), start_ + at + minutes(wait));
    at += minutes(wait) + seconds(1);
  }
}

TEST_F(GroupBackoffTest, TimeWithoutAFailureIsWhatMakesItForget) {
  Fail(seconds(0));
  backoff_.ForgetStale(start_ + minutes(180));
  EXPECT_EQ(backoff_.entries().size(), 1u);
  backoff_.ForgetStale(start_ + minutes(180) + seconds(1));
  EXPECT_TRUE(backoff_.entries().empty());
  EXPECT_EQ(Fail(minutes(181)), start_ + minutes(186)) << "from the first wait again";
}

TEST_F(GroupBackoffTest, WhatAnotherProcessLeftIsNeverLongerThanAFailureNowWouldBe) {
  GroupBackoff::Entries left;
  left["web"] = {.duration = minutes(600),
                 .until = start_ + minutes(600),
                 .last_failure = start_ + minutes(1),
                 .why = {.code = "QUOTA"}};
  left["db"] = {.duration = seconds(1), .until = start_ + minutes(2), .last_failure = start_};
  backoff_.Restore(left, start_);
  EXPECT_EQ(backoff_.Until("web"), start_ + minutes(30));
  EXPECT_EQ(backoff_.entries().at("web").last_failure, start_) << "not in the future";
  EXPECT_EQ(backoff_.Until("db"), start_ + minutes(2));
  EXPECT_EQ(backoff_.entries().at("db").duration, minutes(5)) << "at least the first wait";
}

}  // namespace
}  // namespace coppice::autoscale
