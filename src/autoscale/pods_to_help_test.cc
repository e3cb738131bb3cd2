// Which pending pods are bought for, as a whole engine decides it.

#include "autoscale/pods_to_help.h"

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class PodsToHelpTest : public PlainEngineRig {
 protected:
  void SetUp() override { AddGroup("web", 9); }
  // A pending pod that came so long ago.
  void AddPodOfAge(const std::string& name, Duration age, const std::string& delay = "",
                   const std::string& resource = "cpu") {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "default";
    pod.metadata.uid = name;
    pod.metadata.creation_timestamp = model::Time{clock_.Now() - age};
    if (!delay.empty())
      pod.metadata.annotations["cluster-autoscaler.kubernetes.io/pod-scale-up-delay"] = delay;
    model::Container container;
    container.resources.requests[resource] = model::Quantity::FromUnits(1);
    pod.spec.containers.push_back(container);
    pod.status.phase = "Pending";
    pod.status.conditions.push_back(
        {.type = "PodScheduled", .status = "False", .reason = "Unschedulable"});
    world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
  }
  size_t Bought() { return CallsOf("Increase"); }
};

TEST_F(PodsToHelpTest, APodIsBoughtForOnceItIsOlderThanTheDelay) {
  AddPodOfAge("p", seconds(30));
  Assemble({"--new-pod-scale-up-delay=30s"}, inline_, writer_);
  Pass();
  EXPECT_EQ(Bought(), 0U);
  clock_.Advance(milliseconds(1));
  Pass();
  EXPECT_EQ(Bought(), 1U);
}

TEST_F(PodsToHelpTest, APodMayAskForALongerDelayAndNotForAShorterOne) {
  AddPodOfAge("shorter", seconds(20), "10s");
  AddPodOfAge("longer", seconds(59), "60s");
  AddPodOfAge("nonsense", seconds(20), "soon");
  Assemble({"--new-pod-scale-up-delay=30s"}, inline_, writer_);
  const auto report = Pass();
  EXPECT_EQ(Bought(), 0U);
  ASSERT_TRUE(report->call_again.has_value()) << "it is looked at again when a delay is over";
  clock_.Advance(seconds(2));
  Pass();
  EXPECT_EQ(Bought(), 1U) << "for the longer one";
}

TEST_F(PodsToHelpTest, WhatCameAMomentAgoIsWaitedForSoThatItsFellowsAreBoughtForTogether) {
  AddPodOfAge("p", milliseconds(99));
  Assemble({"--new-pod-quiet=100ms", "--new-pod-wait=150ms"}, inline_, writer_);
  Pass();
  EXPECT_EQ(Bought(), 0U);
  clock_.Advance(milliseconds(1));
  Pass();
  EXPECT_EQ(Bought(), 1U);
}

TEST_F(PodsToHelpTest, APodThatHasWaitedLongEnoughIsNotHeldUpByNewerOnes) {
  AddPodOfAge("old", milliseconds(150));
  AddPodOfAge("new", milliseconds(10));
  Assemble({"--new-pod-quiet=100ms", "--new-pod-wait=150ms"}, inline_, writer_);
  Pass();
  EXPECT_EQ(Bought(), 1U);
}

TEST_F(PodsToHelpTest, UpstreamHoldsPodsForTwoSeconds) {
  AddPodOfAge("p", milliseconds(1'999));
  Assemble({"--debounce-new-pods=false"}, inline_, writer_);
  Pass();
  EXPECT_EQ(Bought(), 0U);
  clock_.Advance(milliseconds(1));
  Pass();
  EXPECT_EQ(Bought(), 1U);
}

TEST_F(PodsToHelpTest, APodOfTheFutureIsNotWaitedFor) {
  AddPodOfAge("p", -minutes(5));
  Assemble({}, inline_, writer_);
  Pass();
  EXPECT_EQ(Bought(), 1U);
}

TEST_F(PodsToHelpTest, APodThatFitsWhatIsThereIsNotBoughtFor) {
  groups_.Change("web", [](auto& group) { group.target = 1; });
  AddNode("web-1", "web");
  AddPodOfAge("p", minutes(1));
  Assemble({}, inline_, writer_);
  Pass();
  EXPECT_EQ(Bought(), 0U);
}

}  // namespace
}  // namespace coppice::autoscale
