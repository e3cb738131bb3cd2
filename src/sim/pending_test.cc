#include "sim/pending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace coppice::sim {
namespace {

using testing::ElementsAre;

model::Pod APod(const std::string& name, int32_t priority = 0) {
  model::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = name;
  pod.spec.priority = priority;
  return pod;
}

class PendingTest : public testing::Test {
 protected:
  void Add(model::Pod pod) { world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod))); }
  std::vector<std::string> Names(const std::function<bool(const model::Pod&)>& ours) {
    std::vector<std::string> names;
    for (const Waiting& waiting : WaitingPods(world_, ours))
      names.push_back(waiting.pod->metadata.name);
    return names;
  }
  static bool Everybody(const model::Pod&) { return true; }

  cluster::World world_{
      {.counts = [](const model::Pod& pod) { return pod.metadata.name != "uncounted"; },
       .marks = {}}};
};

TEST_F(PendingTest, TheMostImportantFirstThenInListOrder) {
  Add(APod("late-but-important", 10));
  Add(APod("first"));
  Add(APod("second"));
  EXPECT_THAT(Names(Everybody), ElementsAre("late-but-important", "first", "second"));
}

TEST_F(PendingTest, WhoHasANodeIsHeldBackIsGoingOrIsUnknownDoesNotWait) {
  model::Pod bound = APod("bound");
  bound.spec.node_name = "n";
  model::Pod gated = APod("gated");
  gated.spec.scheduling_gates.push_back({"wait"});
  model::Pod going = APod("going");
  going.metadata.deletion_timestamp = model::Time{};
  for (const model::Pod& pod : {bound, gated, going, APod("uncounted"), APod("waits")}) Add(pod);
  EXPECT_THAT(Names(Everybody), ElementsAre("waits"));
}

TEST_F(PendingTest, PodsOfAnotherSchedulerAreNotOurs) {
  model::Pod others = APod("others");
  others.spec.scheduler_name = "volcano";
  Add(others);
  Add(APod("ours"));
  EXPECT_THAT(Names([](const model::Pod& pod) { return pod.spec.scheduler_name != "volcano"; }),
              ElementsAre("ours"));
}

TEST_F(PendingTest, ARefusedPodIsNowhereAndSaysSo) {
  model::Pod running = APod("p");
  running.spec.node_name = "n";
  running.status.phase = "Running";
  EXPECT_FALSE(IsRefused(running));
  const model::Pod refused = AsRefused(running, TimePoint(std::chrono::hours(1)));
  EXPECT_TRUE(IsRefused(refused));
  EXPECT_EQ(refused.spec.node_name, "");
  EXPECT_EQ(refused.status.phase, "Pending");
  EXPECT_EQ(refused.status.conditions[0].last_transition_time->at,
            TimePoint(std::chrono::hours(1)));
}

}  // namespace
}  // namespace coppice::sim
