#include "autoscale/actuator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autoscale/fake_writer.h"
#include "autoscale/taints.h"
#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "test/support/must.h"

namespace coppice::autoscale {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class ActuatorTest : public testing::Test {
 protected:
  ActuatorTest() {
    groups.Add({.info = {.id = "g", .min_size = 0, .max_size = 10}, .target = 0});
    // What is written is in the view at once.
    writer.on_change = [this](const std::string& name) -> Status {
      if (refuse.contains(name)) return Unavailable("refused");
      model::Node node = *world.FindNode(name);
      const cluster::NodeChange& change = writer.changes.back().second;
      for (const auto& taint : change.add_taints) node.spec.taints.push_back(taint);
      for (const auto& key : change.remove_taints)
        std::erase_if(node.spec.taints, [&](const auto& t) { return t.key == key; });
      if (change.unschedulable) node.spec.unschedulable = *change.unschedulable;
      world.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
      return Status::Ok();
    };
    writer.on_evict = [this](const std::string& pod) -> Status {
      world.DeletePod("default", pod);
      return Status::Ok();
    };
  }

  void AddNode(const std::string& name) {
    model::Node node;
    node.metadata.name = name;
    node.spec.provider_id = "fake://" + name;
    world.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
    groups.Change("g", [&](auto& group) {
      ++group.target;
      group.instances.push_back({"fake://" + name, cloud::InstanceState::kRunning, {}});
    });
  }
  void AddPod(const std::string& name, const std::string& node) {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "default";
    pod.metadata.owner_references = {
        {.api_version = "v1", .kind = "ReplicationController", .name = "rc", .controller = true}};
    pod.spec.node_name = node;
    world.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
    model::ReplicationController controller;
    controller.metadata.name = "rc";
    controller.metadata.namespace_ = "default";
    world.replication_controllers.Upsert(
        std::make_shared<const model::ReplicationController>(std::move(controller)));
    writer.where[name] = node;
  }
  static DeletionBatch Batch(std::vector<std::string> names, int whole = 0) {
    DeletionBatch batch{"g", {}, whole};
    for (const std::string& name : names) batch.nodes.push_back({.node = name, .group = "g"});
    return batch;
  }
  Actuator& Make() {
    calls = std::make_unique<CloudCalls>(groups, workers, executor);
    actuator = std::make_unique<Actuator>(Actuator::Parts{
        .options = options,
        .cloud = *calls,
        .writer = writer,
        .executor = executor,
        .world = world,
        .options_of = [this](std::string_view) { return options.group_defaults; },
        .counts = [](const model::Pod&) { return true; },
        .status_event = [](std::string_view, std::string_view, std::string) {},
        .removed = [this](std::string_view, std::string_view, TimePoint) { ++removed; },
        .failed = [this](std::string_view, TimePoint) { ++failed; },
        .may_delete = [this](const cloud::NodeRef&, std::string_view) { return forbidden; }});
    return *actuator;
  }
  Actuator::Started Start(CroppedDeletions deletions) {
    return executor.BlockOn(Make().Start(std::move(deletions), [](const RemovableNode& node, bool) {
      return report::RemovedNode{.node = node.node, .group = node.group};
    }));
  }
  std::vector<std::string> Machines() {
    std::vector<std::string> ids;
    for (const auto& instance : MUST(groups.Instances("g"))) ids.push_back(instance.id);
    return ids;
  }
  bool Marked(const std::string& name) { return HasToBeDeletedTaint(*world.FindNode(name)); }
  std::map<std::string, std::string> Outcomes() {
    std::map<std::string, std::string> all;
    for (const auto& outcome : actuator->TakeOutcomes()) all[outcome.node] = outcome.result;
    return all;
  }

  FakeClock clock;
  Executor executor{clock};
  FakeWriter writer{clock};
  InlineWorkers workers;
  cloud::FakeNodeGroups groups;
  cluster::World world;
  Options options;
  std::unique_ptr<CloudCalls> calls;
  std::unique_ptr<Actuator> actuator;
  std::set<std::string> refuse;
  std::string forbidden;
  int removed = 0;
  int failed = 0;
};

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

TEST_F(ActuatorTest, IfOneOfSeveralCannotBeMarkedNoneGoes) {
  AddNode("n1");
  AddNode("n2");
  refuse = {"n2"};
  const auto started = Start({.empty = {Batch({"n1", "n2"})}, .drain = {}});
  EXPECT_EQ(started.result, report::ScaleDownResult::kError);
  EXPECT_FALSE(Marked("n1"));
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), SizeIs(2));
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

TEST_F(ActuatorTest, SoftTaintsStayWithinTheirBudget) {
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

TEST_F(ActuatorTest, AStartTakesAwayMarksOfTheProcessBefore) {
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
