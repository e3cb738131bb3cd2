// Marks on nodes: that they go, that they may go, and that both are taken back.

#include <gmock/gmock.h>

#include "autoscale/actuator_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using ActuatorTaintsTest = ActuatorRig;

TEST_F(ActuatorTaintsTest, IfOneOfSeveralCannotBeMarkedNoneGoes) {
  AddNode("n1");
  AddNode("n2");
  refuse = {"n2"};
  const auto started = Start({.empty = {Batch({"n1", "n2"})}, .drain = {}});
  EXPECT_EQ(started.result, report::ScaleDownResult::kError);
  EXPECT_FALSE(Marked("n1"));
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), SizeIs(2));
}

TEST_F(ActuatorTaintsTest, NodesOfAGroupWhoseOtherNodesCannotBeMarkedDoNotWaitForThem) {
  AddNode("n1");
  AddNode("n2");
  AddPod("web", "n2");
  refuse = {"n2"};
  const auto started = Start({.empty = {Batch({"n1"}, 2)}, .drain = {Batch({"n2"}, 2)}});
  EXPECT_EQ(started.result, report::ScaleDownResult::kError);
  executor.RunFor(seconds(30));
  EXPECT_THAT(actuator->InProgress().empty, IsEmpty());
  EXPECT_FALSE(Marked("n1"));
  EXPECT_THAT(Machines(), SizeIs(2));
}

TEST_F(ActuatorTaintsTest, SoftTaintsStayWithinTheirBudget) {
  options.max_bulk_soft_taint_count = 2;
  for (const char* name : {"n1", "n2", "n3"}) AddNode(name);
  executor.BlockOn(Make().UpdateSoftTaints({}, world.Nodes()));
  EXPECT_THAT(writer.changes, SizeIs(2));
  executor.BlockOn(actuator->UpdateSoftTaints({}, world.Nodes()));
  EXPECT_THAT(writer.changes, SizeIs(3));
  executor.BlockOn(actuator->UpdateSoftTaints(world.Nodes(), {}));
  EXPECT_THAT(writer.changes, SizeIs(5));
  EXPECT_THAT(writer.changes.back().second.remove_taints, ElementsAre(HasSubstr("Candidate")));
}

TEST_F(ActuatorTaintsTest, AStartTakesAwayMarksOfTheProcessBefore) {
  AddNode("n1");
  model::Node node = *world.FindNode("n1");
  node.spec.taints.push_back({.key = std::string(kToBeDeletedTaint), .effect = "NoSchedule"});
  node.spec.unschedulable = true;
  world.UpsertNode(std::make_shared<const model::Node>(node));
  executor.BlockOn(Make().CleanUp(world.Nodes(), world.Nodes()));
  EXPECT_FALSE(Marked("n1"));
  EXPECT_FALSE(world.FindNode("n1")->spec.unschedulable);
  EXPECT_EQ(writer.events.back().reason, "ClusterAutoscalerCleanup");
}

}  // namespace
}  // namespace coppice::autoscale
