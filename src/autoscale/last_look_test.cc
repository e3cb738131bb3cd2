// What is looked at right before a machine goes: is it the one that the plan meant, and is it
// empty.

#include "autoscale/last_look.h"

#include <gmock/gmock.h>

#include "autoscale/actuator_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class LastLookTest : public ActuatorRig {
 protected:
  LastLookTest() { AskTheWorld(); }

  // Another machine under the same name, with what else the node has.
  void Replace(const std::string& name, const std::string& uid, const std::string& provider_id) {
    model::Node node = *world.FindNode(name);
    node.metadata.uid = uid;
    node.spec.provider_id = provider_id;
    world.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }
  // One that was never marked, too.
  void ReplaceUnmarked(const std::string& name, const std::string& uid) {
    model::Node node;
    node.metadata.name = name;
    node.metadata.uid = uid;
    node.spec.provider_id = "fake://" + name;
    world.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }
  void Unmark(const std::string& name) {
    model::Node node = *world.FindNode(name);
    node.spec.taints.clear();
    world.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }
  // While the evicted pod is on its way out.
  void DuringTheDrain(const std::function<void()>& change) {
    AddPod("web", "n1");
    writer.stays = true;
    Start({.empty = {}, .drain = {Batch({"n1"})}});
    executor.RunFor(seconds(8));
    change();
    writer.where.clear();
    executor.RunFor(seconds(30));
  }
};

TEST_F(LastLookTest, AMachineThatCameBackUnderTheSameNameStays) {
  AddNode("n1", "first");
  DuringTheDrain([&] { ReplaceUnmarked("n1", "second"); });
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_EQ(Outcomes()["n1"], "Internal");
  EXPECT_THAT(errors["n1"], HasSubstr("another node has come under the name \"n1\""));
  EXPECT_THAT(actuator->InProgress().drained, IsEmpty());
  EXPECT_EQ(failed, 0) << "that is for machines that the cloud does not delete";
}

TEST_F(LastLookTest, AlsoWhereNobodyElseIsAskedAndNoFuseIsOn) {
  options.deviations.fuses = false;
  AddNode("n1", "first");
  DuringTheDrain([&] { Replace("n1", "second", "fake://n1"); });
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_EQ(Outcomes()["n1"], "Internal");
}

TEST_F(LastLookTest, AMachineWithAnotherProviderIdStays) {
  AddNode("n1", "first");
  DuringTheDrain([&] { Replace("n1", "first", "fake://other"); });
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_EQ(Outcomes()["n1"], "Internal");
  EXPECT_THAT(errors["n1"], HasSubstr("planned was \"fake://n1\""));
}

TEST_F(LastLookTest, ItIsTheApiServerThatIsAskedAndNotTheView) {
  AddNode("n1", "first");
  DuringTheDrain([&] {
    writer.node_now = [](const std::string& name) -> Result<cluster::LiveNode> {
      model::Node node;
      node.metadata.name = name;
      node.metadata.uid = "second";
      return std::make_shared<const model::Node>(std::move(node));
    };
  });
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_FALSE(Marked("n1"));
}

TEST_F(LastLookTest, APodThatWasBoundWhileTheOthersWentSavesADrainedNode) {
  AddNode("n1", "first");
  DuringTheDrain([&] { AddPod("late", "n1"); });
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_FALSE(Marked("n1"));
  EXPECT_EQ(Outcomes()["n1"], "Internal");
  EXPECT_THAT(errors["n1"], HasSubstr("default/late"));
}

TEST_F(LastLookTest, PodsThatNobodyMissesDoNotSaveIt) {
  AddNode("n1", "first");
  DuringTheDrain([&] {
    model::Pod pod;
    pod.metadata.namespace_ = "default";
    pod.spec.node_name = "n1";
    std::vector<cluster::LivePod> pods;
    const auto add = [&](const std::string& name, const auto& change) {
      model::Pod one = pod;
      one.metadata.name = name;
      change(one);
      pods.push_back(std::make_shared<const model::Pod>(std::move(one)));
    };
    add("agent", [](model::Pod& p) {
      p.metadata.owner_references = {{.kind = "DaemonSet", .name = "a", .controller = true}};
    });
    add("mirror",
        [](model::Pod& p) { p.metadata.annotations["kubernetes.io/config.mirror"] = "x"; });
    add("expendable", [](model::Pod& p) { p.spec.priority = -100; });
    add("ending",
        [this](model::Pod& p) { p.metadata.deletion_timestamp = model::Time{clock.Now()}; });
    add("over", [](model::Pod& p) { p.status.phase = "Succeeded"; });
    writer.pods_on = [pods](const std::string&) { return pods; };
  });
  EXPECT_THAT(Machines(), IsEmpty());
}

TEST_F(LastLookTest, ANodeWhoseMarkSomebodyTookAwayStays) {
  AddNode("n1", "first");
  DuringTheDrain([&] { Unmark("n1"); });
  EXPECT_THAT(Machines(), SizeIs(1));
  EXPECT_EQ(Outcomes()["n1"], "Internal");
  EXPECT_THAT(errors["n1"], HasSubstr("taken our mark"));
}

TEST_F(LastLookTest, AnApiServerThatDoesNotAnswerKeepsTheNode) {
  for (const bool pods : {false, true}) {
    const std::string name = pods ? "n2" : "n1";
    AddNode(name, "uid-" + name);
    AskTheWorld();
    Start({.empty = {Batch({name})}, .drain = {}});
    if (pods) {
      writer.pods_on = [](const std::string&) { return Unavailable("away"); };
    } else {
      writer.node_now = [](const std::string&) { return Unavailable("away"); };
    }
    executor.RunFor(seconds(30));
    EXPECT_FALSE(Marked(name));
    EXPECT_EQ(Outcomes()[name], "Internal");
    EXPECT_THAT(errors[name], HasSubstr("away"));
  }
  EXPECT_THAT(Machines(), SizeIs(2));
}

// Else nothing would run on it until the process starts anew.
TEST_F(LastLookTest, AMarkThatCouldNotBeTakenBackIsTakenBackLater) {
  AddNode("n1", "first");
  Start({.empty = {Batch({"n1"})}, .drain = {}});
  writer.pods_on = [](const std::string&) { return Unavailable("away"); };
  refuse = {"n1"};
  executor.RunFor(seconds(30));
  EXPECT_TRUE(Marked("n1"));
  refuse.clear();
  executor.RunFor(seconds(30));
  EXPECT_FALSE(Marked("n1"));
}

TEST_F(LastLookTest, ANodeThatIsGoneIsDeletedByTheIdOfThePlan) {
  AddNode("n1", "first");
  DuringTheDrain([&] { world.DeleteNode("n1"); });
  EXPECT_THAT(Machines(), IsEmpty());
}

TEST_F(LastLookTest, ANodeThatIsGoneAndHadNoIdIsNotGuessedByItsName) {
  AddNode("n1", "first");
  Replace("n1", "first", "");
  DuringTheDrain([&] { world.DeleteNode("n1"); });
  EXPECT_THAT(Machines(), SizeIs(1));
}

TEST_F(LastLookTest, OneOfAnAllOrNothingGroupThatWasReplacedKeepsAll) {
  AddNode("n1", "first");
  AddNode("n2", "uid-n2");
  AddPod("web", "n1");
  writer.stays = true;
  Start({.empty = {Batch({"n2"}, 2)}, .drain = {Batch({"n1"}, 2)}});
  executor.RunFor(seconds(8));
  ReplaceUnmarked("n1", "second");
  writer.where.clear();
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), SizeIs(2));
  EXPECT_FALSE(Marked("n2"));
  const auto outcomes = Outcomes();
  EXPECT_EQ(outcomes.at("n1"), "Internal");
  EXPECT_EQ(outcomes.at("n2"), "FailedToDelete");
  EXPECT_THAT(actuator->InProgress().by_group, IsEmpty());
}

TEST_F(LastLookTest, OneOfABatchThatStaysDoesNotKeepTheOthers) {
  options.node_deletion_batcher_interval = seconds(20);
  for (const char* name : {"n1", "n2", "n3"}) AddNode(name, std::string("uid-") + name);
  Start({.empty = {Batch({"n1", "n2", "n3"})}, .drain = {}});
  executor.RunFor(seconds(15));
  AddPod("late", "n2");
  executor.RunFor(seconds(30));
  EXPECT_THAT(Machines(), ElementsAre("fake://n2"));
}

TEST_F(LastLookTest, ADryRunShowsARemovalToItsEndAndOnce) {
  writer.is_dry_run = true;
  writer.on_change = nullptr;  // told, and not done
  AddNode("n1", "first");
  AddPod("web", "n1");
  writer.pods_on = [](const std::string&) { return std::vector<cluster::LivePod>{}; };
  const auto plan = [&] {
    NodesToDelete nodes;
    nodes.drain = Batch({"n1"}).nodes;
    return nodes;
  };
  Start({.empty = {}, .drain = {Batch({"n1"})}});
  executor.RunFor(seconds(30));
  EXPECT_EQ(Outcomes()["n1"], "Ok");
  EXPECT_THAT(writer.evictions, SizeIs(1));
  NodesToDelete again = plan();
  EXPECT_THAT(actuator->LeaveOutShown(again), SizeIs(1));
  EXPECT_THAT(again.drain, IsEmpty());
  AddPod("new", "n1");
  again = plan();
  EXPECT_THAT(actuator->LeaveOutShown(again), IsEmpty());
  EXPECT_THAT(again.drain, SizeIs(1));
}

}  // namespace
}  // namespace coppice::autoscale
