#include "autoscale/cloud_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"

namespace coppice::autoscale {
namespace {

class CloudCallsTest : public testing::Test {
 protected:
  CloudCallsTest() { groups_.Add({.info = {.id = "web", .min_size = 0, .max_size = 9}}); }

  FakeClock clock_;
  Executor executor_{clock_};
  InlineWorkers workers_;
  cloud::FakeNodeGroups groups_;
  CloudCalls calls_{groups_, workers_, executor_};
};

TEST_F(CloudCallsTest, AnswersComeBackToTheDecisionThread) {
  EXPECT_TRUE(executor_.BlockOn(calls_.Increase("web", 2, false)).ok());
  EXPECT_EQ(*groups_.TargetSize("web"), 2);
  EXPECT_TRUE(executor_.BlockOn(calls_.DecreaseTarget("web", -1)).ok());
  EXPECT_EQ(*groups_.TargetSize("web"), 1);
  EXPECT_FALSE(executor_.BlockOn(calls_.Increase("nobody", 1, false)).ok());
}

// Workers that have no room.
class FullWorkers final : public Workers {
 public:
  Status Submit(std::function<void()>) override { return ResourceExhausted("no room"); }
};

TEST_F(CloudCallsTest, WhatCannotBeQueuedIsAnAnswerToo) {
  FullWorkers full;
  CloudCalls calls(groups_, full, executor_);
  EXPECT_EQ(executor_.BlockOn(calls.Refresh()).code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace coppice::autoscale
