#include "autoscale/actuator.h"

#include <gmock/gmock.h>

#include "autoscale/actuator_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using ActuatorTest = ActuatorRig;

TEST_F(ActuatorTest, AnEmptyNodeIsMarkedThenDeletedAfterTheDelay) {
  AddNode("n1");
  const auto started = Start({.empty = {Batch({"n1"})}, .drain = {}});
  EXPECT_EQ(started.result, report::ScaleDownResult::kNodeDeleteStarted);
  EXPECT_TRUE(Marked("n1"));
  EXPECT_TRUE(world.FindNode("n1")->spec.unschedulable);
  EXPECT_THAT(actuator->InProgress().empty, ElementsAre("n1"));
  EXPECT_THAT(Machines(), SizeIs(1));
  executor.RunFor(seconds(6));
  EXPECT_THAT(Machines(), IsEmpty());
  EXPECT_THAT(actuator->InProgress().empty, IsEmpty());
  EXPECT_EQ(removed, 1);
  EXPECT_EQ(Outcomes()["n1"], "Ok");
}

TEST_F(ActuatorTest, APodThatCameMeanwhileSavesAnEmptyNode) {
  AddNode("n1");
  Start({.empty = {Batch({"n1"})}, .drain = {}});
  AddPod("late", "n1");
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_FALSE(Marked("n1"));
  EXPECT_EQ(Outcomes()["n1"], "Internal");
}

TEST_F(ActuatorTest, APodThatCameWhileAPassKeptTheViewSavesItToo) {
  AddNode("n1");
  Start({.empty = {Batch({"n1"})}, .drain = {}});
  world.Hold();
  AddPod("late", "n1");
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_TRUE(Marked("n1"));  // nothing is decided as long as the news wait
  world.ApplyHeld();
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_FALSE(Marked("n1"));
}

TEST_F(ActuatorTest, AnOccupiedNodeIsDrainedFirst) {
  AddNode("n1");
  AddPod("web", "n1");
  Start({.empty = {}, .drain = {Batch({"n1"})}});
  EXPECT_THAT(actuator->InProgress().drained, ElementsAre("n1"));
  executor.RunFor(seconds(30));
  EXPECT_THAT(writer.evictions, SizeIs(1));
  EXPECT_THAT(Machines(), IsEmpty());
  EXPECT_EQ(Outcomes()["n1"], "Ok");
}

TEST_F(ActuatorTest, ADrainThatFailsTakesTheMarkBack) {
  AddNode("n1");
  AddPod("web", "n1");
  writer.on_evict = [](const std::string&) { return ResourceExhausted("no"); };
  Start({.empty = {}, .drain = {Batch({"n1"})}});
  executor.RunFor(std::chrono::minutes(5));
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_FALSE(Marked("n1"));
  EXPECT_FALSE(world.FindNode("n1")->spec.unschedulable);
  EXPECT_EQ(Outcomes()["n1"], "FailedToEvictPods");
  EXPECT_EQ(failed, 0);  // that is for machines that could not be deleted
}

TEST_F(ActuatorTest, AMachineThatTheProviderDoesNotKnowAsOursIsNotDeleted) {
  AddNode("n1");
  forbidden = "it is somebody else's";
  Start({.empty = {Batch({"n1"})}, .drain = {}});
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_FALSE(Marked("n1"));
  EXPECT_EQ(Outcomes()["n1"], "FailedToDelete");
  EXPECT_EQ(failed, 1);
}

TEST_F(ActuatorTest, AnAllOrNothingGroupWaitsForItsLastNodeAndGoesAtOnce) {
  AddNode("n1");
  AddNode("n2");
  AddPod("web", "n2");
  Start({.empty = {Batch({"n1"}, 2)}, .drain = {Batch({"n2"}, 2)}});
  writer.stays = true;
  executor.RunFor(seconds(8));
  EXPECT_THAT(Machines(), SizeIs(2));  // n1 is ready to go, n2 waits for its pod
  writer.where.clear();
  executor.RunFor(seconds(20));
  EXPECT_THAT(Machines(), IsEmpty());
}

TEST_F(ActuatorTest, OneNodeOfAnAllOrNothingGroupThatFailsKeepsAll) {
  AddNode("n1");
  AddNode("n2");
  Start({.empty = {Batch({"n1", "n2"}, 2)}, .drain = {}});
  AddPod("late", "n2");
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), SizeIs(2));
  EXPECT_FALSE(Marked("n1"));
  EXPECT_FALSE(Marked("n2"));
  EXPECT_THAT(actuator->InProgress().empty, IsEmpty());
}

// The mark of a failure belongs to the attempt: a pass that starts something else while its nodes
// are under way must not make the others wait for ever.

TEST_F(ActuatorTest, AnAttemptThatFailedStaysFailedWhenAnotherPassStartsSomething) {
  for (const char* name : {"n1", "n2", "n3"}) AddNode(name);
  AddPod("web", "n2");
  AddPod("other", "n1");
  writer.on_evict = [this](const std::string& pod) -> Status {
    if (pod == "other") return ResourceExhausted("no");  // n1 fails after two minutes
    world.DeletePod("default", pod);
    return Status::Ok();
  };
  writer.stays = true;  // n2's pod takes longer than that
  options.max_graceful_termination_sec = 600;
  Start({.empty = {}, .drain = {Batch({"n1", "n2"}, 2)}});
  executor.RunFor(std::chrono::minutes(3));
  EXPECT_EQ(Outcomes()["n1"], "FailedToEvictPods");
  StartAgain({.empty = {Batch({"n3"})}, .drain = {}});
  writer.where.clear();
  executor.RunFor(std::chrono::minutes(1));
  EXPECT_EQ(Outcomes()["n2"], "FailedToDelete");
  EXPECT_THAT(actuator->InProgress().drained, IsEmpty()) << "parallelism would be used up";
  EXPECT_FALSE(Marked("n2"));
  EXPECT_THAT(Machines(), SizeIs(2));
}

TEST_F(ActuatorTest, AFailedAttemptIsNoMarkOnTheNextOne) {
  AddNode("n1");
  AddNode("n2");
  Start({.empty = {Batch({"n1", "n2"}, 2)}, .drain = {}});
  AddPod("late", "n2");
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), SizeIs(2));
  world.DeletePod("default", "late");
  StartAgain({.empty = {Batch({"n1", "n2"}, 2)}, .drain = {}});
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), IsEmpty());
}

TEST_F(ActuatorTest, TheBatcherGathersWhatIsReadyWithinItsInterval) {
  options.node_deletion_batcher_interval = seconds(20);
  for (const char* name : {"n1", "n2", "n3"}) AddNode(name);
  Start({.empty = {Batch({"n1", "n2", "n3"})}, .drain = {}});
  executor.RunFor(seconds(15));
  EXPECT_THAT(Machines(), SizeIs(3));
  executor.RunFor(seconds(15));
  EXPECT_THAT(Machines(), IsEmpty());
  int deletes = 0;
  for (const auto& call : groups.calls()) deletes += call.method == "Delete" ? 1 : 0;
  EXPECT_EQ(deletes, 1);
}

TEST_F(ActuatorTest, ADelayAnnotationHoldsTheMachineForAWhile) {
  AddNode("n1");
  model::Node node = *world.FindNode("n1");
  node.metadata.annotations["delay-deletion.cluster-autoscaler.kubernetes.io/backup"] = "1";
  world.UpsertNode(std::make_shared<const model::Node>(node));
  Start({.empty = {Batch({"n1"})}, .drain = {}});
  executor.RunFor(seconds(100));
  EXPECT_THAT(Machines(), SizeIs(1));
  executor.RunFor(seconds(60));  // two minutes, then it goes all the same
  EXPECT_THAT(Machines(), IsEmpty());
}

}  // namespace
}  // namespace coppice::autoscale
