// What the engine does when it cannot see: objects that could not be read (what of them is missing
// may be just what keeps a machine, so none of them is a permission), and a view that is too old.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

class EngineUnreadableTest : public testing::Test {
 protected:
  // One machine, with a pod that leaves it empty when it goes.
  void AddMachine() {
    rig_.AddPool("default");
    rig_.AddPod("p", 1000);
    ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
    rig_.RunFor(seconds(5));
    ASSERT_EQ(rig_.Claims().size(), 1U);
  }
  std::string ClaimName() const { return rig_.Claims()[0].metadata.name; }
  std::string NodeName() const { return rig_.Nodes()[0].metadata.name; }

  // All that was said of that.
  std::string WhyBlocked() const {
    std::string text;
    for (const cluster::Event& event : rig_.events)
      text += event.reason == "DisruptionBlocked" ? event.text + "\n" : "";
    return text;
  }

  EngineRig rig_;
};

TEST_F(EngineUnreadableTest, ItsNodeStaysUntilThePodCanBeRead) {
  AddMachine();
  // All that is left of it looks as if nobody minded.
  rig_.AddPod("odd", 0, [&](model::Pod& pod) {
    pod.spec.node_name = NodeName();
    pod.status.phase = "Running";
    pod.metadata.owner_references = {
        {.api_version = "apps/v1", .kind = "DaemonSet", .name = "d", .controller = true}};
  });
  rig_.replaces = false;
  rig_.SetUnreadable({"odd"});
  rig_.RemovePod("p");
  rig_.RunFor(minutes(10));
  ASSERT_EQ(rig_.Claims().size(), 1U);
  EXPECT_FALSE(rig_.Claims()[0].metadata.deletion_timestamp);
  EXPECT_THAT(WhyBlocked(), HasSubstr("Pod cannot be read: spec: odd (Pod=default/odd)"));
  rig_.SetUnreadable({});
  rig_.RunFor(minutes(10));
  EXPECT_TRUE(rig_.Claims().empty());
}

TEST_F(EngineUnreadableTest, NothingIsBoughtForAPodThatCannotBeRead) {
  rig_.unreadable = {"odd"};
  rig_.AddPool("default");
  rig_.AddPod("odd", 1000);
  rig_.RunFor(minutes(2));
  EXPECT_EQ(rig_.cloud.ever_made(), 0U);
  rig_.AddPod("good", 1000);
  rig_.RunFor(minutes(2));
  EXPECT_EQ(rig_.cloud.ever_made(), 1U);
}

TEST_F(EngineUnreadableTest, AnUnreadableNodeStaysAndNoPodIsPlannedOntoIt) {
  AddMachine();
  rig_.schedules = false;
  rig_.SetUnreadable({NodeName()});
  rig_.RemovePod("p");
  rig_.RunFor(minutes(10));
  ASSERT_EQ(rig_.Claims().size(), 1U);
  EXPECT_FALSE(rig_.Claims()[0].metadata.deletion_timestamp);
  EXPECT_THAT(WhyBlocked(), HasSubstr("Node cannot be read: spec: odd"));
  rig_.AddPod("q", 1000);
  rig_.RunFor(minutes(2));
  EXPECT_EQ(rig_.Claims().size(), 2U) << "who knows what room it has";
}

TEST_F(EngineUnreadableTest, AnUnreadableClaimIsLeftAsItIs) {
  AddMachine();
  rig_.SetUnreadable({ClaimName()});
  rig_.RemovePod("p");
  rig_.RunFor(minutes(10));
  ASSERT_EQ(rig_.Claims().size(), 1U);
  EXPECT_FALSE(rig_.Claims()[0].metadata.deletion_timestamp);
  EXPECT_EQ(rig_.Machines().size(), 1U);
  EXPECT_THAT(WhyBlocked(), HasSubstr("Nodeclaim cannot be read"));
  ASSERT_EQ(rig_.last_report->claims.size(), 1U);
  EXPECT_EQ(rig_.last_report->claims[0].stage, "Unreadable");
  EXPECT_THAT(rig_.last_report->claims[0].text, HasSubstr("spec: odd"));
}

TEST_F(EngineUnreadableTest, AnUnreadablePoolNeitherBuysNorGivesBack) {
  AddMachine();
  const auto hash = rig_.Pool("default").metadata.annotations;
  rig_.SetUnreadable({"default"});  // the class has that name, too
  rig_.RemovePod("p");
  rig_.RunFor(minutes(10));
  rig_.AddPod("big", 6000);
  rig_.RunFor(minutes(2));
  ASSERT_EQ(rig_.Claims().size(), 1U);
  EXPECT_FALSE(rig_.Claims()[0].metadata.deletion_timestamp);
  EXPECT_EQ(rig_.cloud.ever_made(), 1U);
  ASSERT_EQ(rig_.last_report->pools.size(), 1U);
  EXPECT_FALSE(rig_.last_report->pools[0].ready);
  EXPECT_THAT(rig_.last_report->pools[0].text,
              HasSubstr("the node pool cannot be read: spec: odd"));
  EXPECT_EQ(rig_.Pool("default").metadata.annotations, hash) << "a hash of what is left of it";
  rig_.SetUnreadable({});
  rig_.RunFor(minutes(1));
  EXPECT_EQ(rig_.cloud.ever_made(), 2U);
}

TEST_F(EngineUnreadableTest, PoolsOfAnUnreadableClassAreNotReadyAndTheirMachinesNotOutdated) {
  rig_.AddPool("web");
  rig_.AddPod("p", 1000);
  ASSERT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
  rig_.RunFor(seconds(5));
  rig_.SetUnreadable({EngineRig::kClass});
  rig_.AddPod("big", 6000);
  rig_.RunFor(minutes(10));
  ASSERT_EQ(rig_.Claims().size(), 1U);
  EXPECT_FALSE(rig_.Claims()[0].metadata.deletion_timestamp);
  ASSERT_EQ(rig_.last_report->pools.size(), 1U);
  EXPECT_THAT(rig_.last_report->pools[0].text,
              HasSubstr("the node class cannot be read: spec: odd"));
  rig_.SetUnreadable({});
  rig_.RunFor(minutes(1));
  EXPECT_EQ(rig_.Claims().size(), 2U);
}

TEST_F(EngineUnreadableTest, AStaleViewMakesThePassFailAndNothingIsBoughtOrTakenAway) {
  AddMachine();
  rig_.view_age = minutes(4);  // the limit of node groups is that of pools
  rig_.RemovePod("p");
  rig_.AddPod("big", 6000);
  rig_.RunFor(minutes(10));
  ASSERT_EQ(rig_.Claims().size(), 1U);
  EXPECT_FALSE(rig_.Claims()[0].metadata.deletion_timestamp);
  EXPECT_EQ(rig_.cloud.ever_made(), 1U);
  EXPECT_THAT(rig_.last_report->error,
              HasSubstr("the view of the cluster is stale: Pod has not been read for 4m0s "
                        "(--pool-max-view-age is 3m0s); nothing is bought or taken away"));
  rig_.view_age = seconds(1);
  rig_.RunFor(minutes(1));
  EXPECT_EQ(rig_.last_report->error, "");
  EXPECT_EQ(rig_.cloud.ever_made(), 2U);
}

TEST_F(EngineUnreadableTest, AMachineWhoseNodeIsNotSeenOnAStaleViewIsNotGivenUp) {
  rig_.kubelets = false;
  rig_.AddPool("default");
  rig_.AddPod("p", 1000);
  rig_.RunFor(minutes(1));
  ASSERT_EQ(rig_.Machines().size(), 1U);
  rig_.view_age = minutes(4);
  rig_.RunFor(std::chrono::hours(1));  // far beyond the time that a node has to register
  EXPECT_EQ(rig_.Machines().size(), 1U);
  rig_.view_age = seconds(1);
  rig_.RunFor(minutes(1));
  EXPECT_EQ(rig_.cloud.ever_made(), 2U) << "and on a new view it is late";
}

TEST_F(EngineUnreadableTest, WhatWasToGoIsLeftWhenTheViewGoesStaleBeforeTheSecondLook) {
  AddMachine();
  rig_.RemovePod("p");
  ASSERT_TRUE(rig_.RunUntil(
      [&] {
        return std::ranges::any_of(rig_.last_report->commands,
                                   [](const auto& c) { return c.stage == "Validating"; });
      },
      minutes(2)));
  rig_.view_age = minutes(4);
  rig_.RunFor(minutes(5));
  ASSERT_EQ(rig_.Claims().size(), 1U);
  EXPECT_FALSE(rig_.Claims()[0].metadata.deletion_timestamp);
}

}  // namespace
}  // namespace coppice::provision
