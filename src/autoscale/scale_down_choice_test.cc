// Of the nodes that are not needed, which may go now.

#include <gmock/gmock.h>

#include "autoscale/scale_down_rig.h"

namespace coppice::autoscale {
namespace {

using report::StayReason;
using std::chrono::minutes;
using testing::IsEmpty;
using testing::SizeIs;

class ScaleDownChoiceTest : public ScaleDownRig {
 protected:
  void AddEmptyNodes(const std::string& group, int count) {
    for (int i = 1; i <= count; ++i) AddNode(group + "-" + std::to_string(i), group);
  }
  // So many of them stay for that reason.
  static size_t Staying(const report::PassReport& report, StayReason reason) {
    size_t count = 0;
    for (const auto* list : {&report.scale_down.staying, &report.scale_down.staying_untold})
      count += static_cast<size_t>(std::ranges::count(*list, reason, &report::StayingNode::reason));
    return count;
  }
};

TEST_F(ScaleDownChoiceTest, ANodeWaitsForItsTime) {
  AddGroup("web", 5, 1);
  AddEmptyNodes("web", 1);
  Start({"--scale-down-unneeded-time=10m", "--fuses=false"});
  const auto early = PassAfter(minutes(10));
  EXPECT_THAT(Removed(*early), IsEmpty());
  EXPECT_EQ(Staying(*early, StayReason::kNotUnneededLongEnough), 1U);
  EXPECT_THAT(Removed(*PassAfter(std::chrono::seconds(1))), SizeIs(1));
}

TEST_F(ScaleDownChoiceTest, ANodeThatIsNotReadyHasATimeOfItsOwn) {
  AddGroup("web", 5, 2);
  AddEmptyNodes("web", 2);
  Change("web-1", [](model::Node& node) { node.status.conditions[0].status = "False"; });
  Start({"--scale-down-unneeded-time=1h", "--scale-down-unready-time=5m", "--fuses=false"});
  PassAfter(minutes(4));
  const auto report = PassAfter(minutes(2));
  EXPECT_THAT(Removed(*report), testing::ElementsAre("web-1"));
}

TEST_F(ScaleDownChoiceTest, AGroupKeepsItsMinimum) {
  AddGroup("web", 5, 3);
  groups_.Change("web", [](auto& group) { group.info.min_size = 1; });
  AddEmptyNodes("web", 3);
  Start({"--scale-down-unneeded-time=1m", "--fuses=false"});
  const auto report = PassAfter(minutes(2));
  EXPECT_THAT(Removed(*report), SizeIs(2));
  EXPECT_EQ(Staying(*report, StayReason::kNodeGroupMinSizeReached), 1U);
}

TEST_F(ScaleDownChoiceTest, TheClusterKeepsItsMinimumOfCores) {
  AddGroup("web", 5, 3);
  AddEmptyNodes("web", 3);
  Start({"--scale-down-unneeded-time=1m", "--cores-total=8:1000", "--fuses=false"});
  const auto report = PassAfter(minutes(2));
  EXPECT_THAT(Removed(*report), SizeIs(1));
  EXPECT_EQ(Staying(*report, StayReason::kMinimalResourceLimitExceeded), 2U);
}

TEST_F(ScaleDownChoiceTest, NoMoreThanMayGoAtOnceAndTheOthersSaySo) {
  AddGroup("web", 5, 3);
  AddEmptyNodes("web", 3);
  Start({"--scale-down-unneeded-time=1m", "--max-scale-down-parallelism=2", "--fuses=false"});
  const auto report = PassAfter(minutes(2));
  EXPECT_THAT(Removed(*report), SizeIs(2));
  EXPECT_EQ(Staying(*report, StayReason::kNextPass), 1U);
}

}  // namespace
}  // namespace coppice::autoscale
