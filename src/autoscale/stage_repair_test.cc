// What a pass puts right before it decides anything.

#include "autoscale/stage_repair.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class StageRepairTest : public PlainEngineRig {
 protected:
  void AddMachine(const std::string& group, const std::string& id,
                  std::optional<cloud::MachineError> error = {}) {
    groups_.Change(group, [&](cloud::FakeNodeGroups::Group& g) {
      g.instances.push_back(
          {.id = id,
           .state = error ? cloud::InstanceState::kCreating : cloud::InstanceState::kRunning,
           .error = error});
    });
  }
  std::vector<std::string> Deleted() {
    std::vector<std::string> ids;
    for (const auto& call : groups_.calls())
      if (call.method == "Delete") ids.insert(ids.end(), call.ids.begin(), call.ids.end());
    return ids;
  }
  std::shared_ptr<const report::PassReport> PassAfter(Duration time) {
    clock_.Advance(time);
    return Pass();
  }
};

TEST_F(StageRepairTest, AMachineThatNeverBecameANodeGoesAfterItsTimeAndNotBefore) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddPod("busy", "cpu", 4, "web-1");
  AddMachine("web", "fake://lost");
  Assemble({"--max-node-provision-time=15m"}, inline_, writer_);
  Pass();
  PassAfter(minutes(15));
  EXPECT_THAT(Deleted(), IsEmpty());
  const auto report = PassAfter(seconds(1));
  EXPECT_THAT(Deleted(), ElementsAre("fake://lost"));
  EXPECT_EQ(report->unregistered_removed, 1);
}

TEST_F(StageRepairTest, NoMachineGoesBelowTheMinimumUnlessForced) {
  AddGroup("web", 5, 1);
  groups_.Change("web", [](auto& group) { group.info.min_size = 1; });
  AddMachine("web", "fake://lost");
  Assemble({"--max-node-provision-time=15m"}, inline_, writer_);
  Pass();
  PassAfter(minutes(16));
  EXPECT_THAT(Deleted(), IsEmpty());
  Assemble({"--max-node-provision-time=15m", "--force-delete-unregistered-nodes"}, inline_,
           writer_);
  Pass();
  PassAfter(minutes(16));
  EXPECT_THAT(Deleted(), ElementsAre("fake://lost"));
}

TEST_F(StageRepairTest, OnAStaleViewNoMachineGoesForWantOfANode) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  AddMachine("web", "fake://lost");
  Duration age{};
  view_age_ = [&age] { return age; };
  Assemble({"--max-node-provision-time=15m"}, inline_, writer_);
  Pass();
  age = hours(1);
  PassAfter(minutes(16));
  EXPECT_THAT(Deleted(), IsEmpty());
  age = {};
  PassAfter(seconds(10));
  EXPECT_THAT(Deleted(), ElementsAre("fake://lost"));
}

TEST_F(StageRepairTest, AMachineThatFailedToComeUpIsDeletedAndItsGroupBackedOff) {
  AddGroup("web", 5);
  AddPod("p", "cpu", 1);
  Assemble({}, inline_, writer_);
  Pass();
  ASSERT_EQ(CallsOf("Increase"), 1U);
  AddMachine("web", "fake://failed",
             cloud::MachineError{cloud::ErrorClass::kOutOfResources, "stock", "none left"});
  const auto report = PassAfter(seconds(20));
  EXPECT_THAT(Deleted(), ElementsAre("fake://failed"));
  ASSERT_THAT(report->failed_additions, SizeIs(1));
  EXPECT_EQ(report->failed_additions[0].group, "web");
  EXPECT_EQ(report->failed_additions[0].nodes, 1);
  PassAfter(seconds(20));
  EXPECT_EQ(CallsOf("Increase"), 1U) << "the group is left alone for a while";
}

TEST_F(StageRepairTest, ATargetAboveWhatExistsIsTakenBackOnceItIsOldEnough) {
  AddGroup("web", 5, 2);
  AddNode("web-1", "web");
  Assemble({"--max-node-provision-time=15m"}, inline_, writer_);
  Pass();
  PassAfter(minutes(15));
  EXPECT_EQ(CallsOf("DecreaseTarget"), 0U);
  PassAfter(seconds(1));
  EXPECT_EQ(CallsOf("DecreaseTarget"), 1U);
}

}  // namespace
}  // namespace coppice::autoscale
