// A dry run of node pools: every decision is shown, once, and nothing follows from it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class EngineDryRunTest : public testing::Test {
 protected:
  size_t Shown() const {
    return static_cast<size_t>(
        std::ranges::count(rig_.last_report->commands, "Shown", &report::DisruptionCommand::stage));
  }

  EngineRig rig_;
};

TEST_F(EngineDryRunTest, AMachineIsAskedForOnceForAsLongAsItsPodsWait) {
  rig_.dry = true;
  rig_.AddPool("default");
  rig_.RunFor(seconds(5));
  for (int i = 0; i < 3; ++i) rig_.AddPod("p" + std::to_string(i), 6000);
  rig_.RunFor(seconds(5));
  EXPECT_EQ(rig_.pretended_claims, 3U);
  rig_.RunFor(minutes(30));  // longer than any launch may take
  EXPECT_EQ(rig_.pretended_claims, 3U);
  EXPECT_EQ(rig_.last_report->claims.size(), 3U) << "none stands in the place of another";
  EXPECT_EQ(rig_.cloud.ever_made(), 0U);
  EXPECT_TRUE(rig_.Claims().empty());
  rig_.AddPod("p3", 6000);
  rig_.RunFor(minutes(10));
  EXPECT_EQ(rig_.pretended_claims, 4U) << "that one is new";
  for (int i = 0; i < 4; ++i) rig_.RemovePod("p" + std::to_string(i));
  rig_.RunFor(minutes(1));
  rig_.AddPod("other", 1000);
  rig_.RunFor(minutes(1));
  EXPECT_EQ(rig_.last_report->claims.size(), 1U) << "nobody waits for the others any more";
}

TEST_F(EngineDryRunTest, WhatWouldBeTakenAwayIsShownOnce) {
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.RunFor(minutes(1));
  rig_.RemovePod("p");
  rig_.RunFor(seconds(8));  // its claim is known to be empty; now nothing is written any more
  rig_.dry = true;
  rig_.RunFor(minutes(30));
  EXPECT_EQ(Shown(), 1U);
  ASSERT_EQ(rig_.Claims().size(), 1U);
  EXPECT_FALSE(rig_.Claims()[0].metadata.deletion_timestamp);
  EXPECT_EQ(rig_.Machines().size(), 1U);
}

}  // namespace
}  // namespace coppice::provision
