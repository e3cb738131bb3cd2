// Machines that go: who and what is waited for before one is ended, and what is counted of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provision/engine_rig.h"

namespace coppice::provision {
namespace {

namespace names = model::karpenter;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

// One machine, with the pod p.
class EngineEndTest : public testing::Test {
 protected:
  EngineEndTest() {
    rig_.AddPool("default", [](model::NodePool& pool) {
      pool.spec.template_.spec.expire_after = "2h";
      pool.spec.disruption.budgets = {{model::DisruptionBudget{.nodes = "0"}}};
    });
    rig_.AddPod("p", 1000);
    EXPECT_TRUE(rig_.RunUntil([&] { return rig_.PodsWaiting() == 0; }, minutes(5)));
    rig_.RunFor(seconds(5));
    first_ = rig_.Claims()[0];
    rig_.replaces = false;
  }

  void Attach(const std::string& volume) {
    model::VolumeAttachment attachment;
    attachment.metadata.name = "attached-" + volume;
    attachment.spec.node_name = first_.status.node_name;
    attachment.spec.source.persistent_volume_name = volume;
    rig_.world().Upsert(std::make_shared<const model::VolumeAttachment>(attachment));
  }
  void Detach(const std::string& volume) {
    rig_.world().Erase<model::VolumeAttachment>("", "attached-" + volume);
  }
  // Put there by somebody who does not ask the scheduler.
  void PlacePod(const std::string& name, const std::function<void(model::Pod&)>& change = nullptr) {
    rig_.AddPod(name, 100, [&](model::Pod& pod) {
      pod.spec.node_name = first_.status.node_name;
      pod.status.phase = "Running";
      pod.status.conditions = {{.type = "PodScheduled", .status = "True"}};
      if (change) change(pod);
    });
  }
  std::string Condition(const std::string& type) const {
    for (const model::NodeClaim& claim : rig_.Claims()) {
      const auto* condition = model::FindCondition(claim.status.conditions, type);
      if (claim.metadata.name == first_.metadata.name && condition != nullptr)
        return condition->status;
    }
    return "";
  }
  bool MachineStands() {
    return std::ranges::any_of(rig_.Machines(), [this](const model::NodeClaim& machine) {
      return machine.status.provider_id == first_.status.provider_id;
    });
  }

  EngineRig rig_;
  model::NodeClaim first_;
};

TEST_F(EngineEndTest, APodThatComesAfterTheDrainGoesBeforeItsMachine) {
  Attach("data");
  rig_.DeleteClaim(first_.metadata.name);
  rig_.RunFor(seconds(20));
  ASSERT_EQ(Condition(names::kDrained), "True");
  ASSERT_EQ(Condition(names::kVolumesDetached), "Unknown");
  rig_.protected_pods.insert("late");
  PlacePod("late");
  Detach("data");
  rig_.RunFor(minutes(1));
  EXPECT_TRUE(MachineStands());
  EXPECT_EQ(Condition(names::kInstanceTerminating), "");
  rig_.protected_pods.clear();
  rig_.RunFor(minutes(2));
  EXPECT_THAT(rig_.evicted, testing::ElementsAre("p", "late"));
  EXPECT_FALSE(MachineStands());
}

TEST_F(EngineEndTest, AVolumeThatIsAttachedLateIsWaitedForAsWell) {
  bool refuses = true;
  rig_.cloud.on_delete = [&](const model::NodeClaim&) {
    return refuses ? cloud::FakeAnswer{.status = Unavailable("not now"), .happens = false}
                   : cloud::FakeAnswer{};
  };
  rig_.DeleteClaim(first_.metadata.name);
  rig_.RunFor(seconds(20));
  ASSERT_EQ(Condition(names::kVolumesDetached), "True");
  Attach("data");
  refuses = false;
  rig_.RunFor(minutes(1));
  EXPECT_TRUE(MachineStands());
  EXPECT_EQ(Condition(names::kVolumesDetached), "Unknown");
  Detach("data");
  rig_.RunFor(minutes(2));
  EXPECT_FALSE(MachineStands());
}

TEST_F(EngineEndTest, WhatAPodHoldsThatNobodyDrainsKeepsNoMachineAlsoWhenThePodHasEnded) {
  model::PersistentVolumeClaim held;
  held.metadata.namespace_ = "default";
  held.metadata.name = "held";
  held.spec.volume_name = "data";
  rig_.world().Upsert(std::make_shared<const model::PersistentVolumeClaim>(held));
  PlacePod("done", [](model::Pod& pod) {
    pod.status.phase = "Succeeded";
    pod.spec.tolerations = {{.operator_ = "Exists"}};
    model::Volume volume;
    volume.name = "data";
    volume.claim_name = "held";
    pod.spec.volumes.push_back(std::move(volume));
  });
  Attach("data");
  rig_.DeleteClaim(first_.metadata.name);
  rig_.RunFor(minutes(3));
  EXPECT_FALSE(MachineStands());
}

TEST_F(EngineEndTest, APodThatTheWorldDoesNotKnowYetKeepsTheMachine) {
  rig_.DeleteClaim(first_.metadata.name);
  rig_.protected_pods.insert("unseen");
  PlacePod("unseen");
  rig_.world().DeletePod("default", "unseen");
  rig_.RunFor(minutes(1));
  EXPECT_TRUE(MachineStands());
  rig_.protected_pods.clear();
  rig_.RemovePod("unseen");
  rig_.RunFor(minutes(2));
  EXPECT_FALSE(MachineStands());
}

TEST_F(EngineEndTest, PodsThatAnExpiredMachineMovesAreCounted) {
  PlacePod("agent", [](model::Pod& pod) {
    pod.metadata.owner_references = {
        {.api_version = "apps/v1", .kind = "DaemonSet", .name = "agent", .controller = true}};
  });
  rig_.clock.Advance(minutes(115));
  rig_.RunFor(minutes(6));
  EXPECT_THAT(rig_.metrics.Render(),
              testing::ContainsRegex("pods_disruption_initiated_total[{][^}]*reason=\"expired\""
                                     "[^}]*[}] 1\n"));
}

TEST_F(EngineEndTest, PodsOfAMachineThatIsLostAreCounted) {
  rig_.cloud.Vanish(first_.status.provider_id);
  rig_.RunFor(minutes(4));
  EXPECT_THAT(rig_.metrics.Render(),
              testing::ContainsRegex("pods_disruption_initiated_total[{][^}]*reason="
                                     "\"garbage_collected\"[^}]*[}] 1\n"));
}

// Of drift, while somebody who has to be asked cannot say.
TEST_F(EngineEndTest, DriftThatWasFoundStaysWhileNobodyCanBeAsked) {
  rig_.cloud.SetDrifted(first_.status.provider_id, "ImageDrifted");
  ASSERT_TRUE(rig_.RunUntil([&] { return Condition(names::kDrifted) == "True"; }, minutes(6)));
  const auto since = model::FindCondition(rig_.Claims()[0].status.conditions, names::kDrifted)
                         ->last_transition_time;
  rig_.cloud.SetDriftTrouble(Unavailable("the list is not known"));
  rig_.Restart();
  rig_.RunFor(minutes(1));
  EXPECT_EQ(Condition(names::kDrifted), "True");
  rig_.cloud.SetDriftTrouble(Status::Ok());
  rig_.RunFor(minutes(6));
  ASSERT_EQ(Condition(names::kDrifted), "True");
  EXPECT_EQ(model::FindCondition(rig_.Claims()[0].status.conditions, names::kDrifted)
                ->last_transition_time,
            since);
  rig_.cloud.SetDriftTrouble(NotFound("no such machine"));
  rig_.cloud.SetDrifted(first_.status.provider_id, "");
  rig_.RunFor(minutes(6));
  EXPECT_EQ(Condition(names::kDrifted), "True");
  rig_.cloud.SetDriftTrouble(Status::Ok());
  rig_.RunFor(seconds(15));
  EXPECT_EQ(Condition(names::kDrifted), "") << "asked again soon, it is no more";
}

TEST_F(EngineEndTest, WhileTheTypesAreNotKnownNothingIsSaidOfDrift) {
  rig_.cloud.SetDrifted(first_.status.provider_id, "ImageDrifted");
  ASSERT_TRUE(rig_.RunUntil([&] { return Condition(names::kDrifted) == "True"; }, minutes(6)));
  rig_.cloud.SetDrifted(first_.status.provider_id, "");
  rig_.cloud.set_types({});
  rig_.clock.Advance(minutes(65));  // from then on types are looked at
  rig_.Restart();
  rig_.RunFor(minutes(4));
  EXPECT_EQ(Condition(names::kDrifted), "True");
}

}  // namespace
}  // namespace coppice::provision
