#include "provision/scheduler_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "fit/fake_filters.h"
#include "provision/engine_rig.h"
#include "test/support/must.h"

namespace coppice::provision {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kApp[] = "app";

model::Verdict No(const char* filter, std::string why) {
  return model::Verdict::No(filter, model::VerdictCode::kUnschedulable, std::move(why));
}

bool IsApp(const cluster::PodView& pod, std::string_view app) {
  const std::string* value = pod.label_set.labels.Find(kApp);
  return value != nullptr && *value == app;
}

// "Room": enough of everything that is asked for. "Picky": refuses pods of the app "picky"
// everywhere. "Lonely": keeps everybody else out of a cluster that has a pod of the app "lonely".
fit::Chain ThreeFilters() {
  using fit::Preparation;
  const auto ask = [](fit::FakeNodeCheck::Function check) {
    return Preparation::Ask(std::make_unique<fit::FakeNodeCheck>(std::move(check)));
  };
  fit::FilterRegistry registry("filter");
  fit::AddFake<fit::FakeStateFilter>(
      registry, "Room", [ask](const cluster::PodView& pod, const cluster::Snapshot& snapshot) {
        return ask([spec = pod.spec_id, &snapshot](cluster::NodeIndex node) {
          const cluster::ResourceColumns& columns = snapshot.resources();
          for (const auto& [resource, amount] : columns.asked(spec).of) {
            if (amount > columns.free(resource)[node]) return No("Room", "there is no room");
          }
          return model::Verdict::Yes();
        });
      });
  fit::AddFake<fit::FakeStateFilter>(
      registry, "Picky", [ask](const cluster::PodView& pod, const cluster::Snapshot&) {
        return ask([picky = IsApp(pod, "picky")](cluster::NodeIndex) {
          return picky ? No("Picky", "it likes no machine") : model::Verdict::Yes();
        });
      });
  fit::AddFake<fit::FakeStateFilter>(
      registry, "Lonely", [ask](const cluster::PodView&, const cluster::Snapshot& snapshot) {
        return ask([&snapshot](cluster::NodeIndex) {
          for (const cluster::NodeIndex node : snapshot.nodes()) {
            for (const cluster::PodIndex other : snapshot.pods_on(node)) {
              if (IsApp(snapshot.pod(other), "lonely")) return No("Lonely", "somebody is lonely");
            }
          }
          return model::Verdict::Yes();
        });
      });
  return MUST(fit::Chain::Create(
      registry, {.chain = {{.name = "Room"}, {.name = "Picky"}, {.name = "Lonely"}}}));
}

// As an autoscaler beside it would say: what nobody would miss does not count.
bool IsImportant(const model::Pod& pod) { return pod.spec.priority.value_or(0) >= 0; }

model::Pod PodOfApp(const std::string& name, const std::string& app, int64_t cpu_millis,
                    int32_t priority = 0) {
  model::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = name;
  pod.metadata.uid = "uid-" + name;
  pod.metadata.labels[kApp] = app;
  pod.spec.priority = priority;
  pod.status.phase = "Pending";
  model::Container container;
  container.resources.requests["cpu"] = model::Quantity::FromMillis(cpu_millis);
  pod.spec.containers.push_back(std::move(container));
  return pod;
}

// ---- One plan.

class SchedulerCheckTest : public testing::Test {
 protected:
  SchedulerCheckTest() {
    input_.pools.push_back({.name = "default"});
    for (const auto& type : types_) list_.push_back(&type);
  }

  // In the World, and the next of the request.
  size_t Ask(const model::Pod& pod) {
    world_.UpsertPod(std::make_shared<const model::Pod>(pod));
    return AskOnly(pod);
  }
  // Nobody has it but the request: a task that was made up.
  size_t AskOnly(const model::Pod& pod) {
    pods_.push_back(std::make_shared<const model::Pod>(pod));
    return pods_.size() - 1;
  }
  void AddNode(const std::string& name, int64_t cores) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = name;
    node->status.allocatable["cpu"] = model::Quantity::FromUnits(cores);
    world_.UpsertNode(node);
    input_.nodes.emplace_back().node = node;
  }
  void Bind(model::Pod pod, const std::string& node) {
    pod.spec.node_name = node;
    pod.status.phase = "Running";
    world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
  }
  // A machine of two cores, less what the kubelet keeps.
  void PlanMachine(std::vector<size_t> pods) {
    outcome_.claims.push_back({.pool = 0, .pods = std::move(pods), .types = list_});
    claims_.emplace_back();
  }
  void PlanExisting(size_t node, std::vector<size_t> pods) {
    outcome_.existing.push_back({.node = node, .pods = std::move(pods)});
  }
  // "POD: why".
  std::vector<std::string> Misfits() {
    const size_t pods = world_.snapshot().pod_count();
    const size_t nodes = world_.snapshot().nodes().size();
    const PlanToCheck plan{input_, pods_, outcome_, claims_, labels_};
    std::vector<std::string> told;
    for (const Misfit& misfit : WouldNotSchedule(world_, filters_, plan))
      told.push_back(pods_[misfit.pod]->metadata.name + ": " + misfit.text);
    EXPECT_EQ(world_.snapshot().forks(), 0U);
    EXPECT_EQ(world_.snapshot().pod_count(), pods) << "a plan leaves nothing behind";
    EXPECT_EQ(world_.snapshot().nodes().size(), nodes);
    return told;
  }

  const fit::Chain filters_ = ThreeFilters();
  cluster::World world_{{.counts = IsImportant, .marks = {}}};
  SolverInput input_;
  const cloud::InstanceTypes types_{cloud::FakeNodeClaims::AType("small", 2, 0.1)};
  cloud::TypeList list_;
  std::vector<PodPtr> pods_;
  SolveOutcome outcome_;
  std::vector<model::NodeClaim> claims_;
  const model::LabelRules labels_ = model::LabelRules::Default();
};

TEST_F(SchedulerCheckTest, WhatTheSchedulerWouldPutThereIsNoMisfit) {
  PlanMachine({Ask(PodOfApp("a", "web", 1000)), Ask(PodOfApp("b", "web", 900))});
  EXPECT_THAT(Misfits(), IsEmpty());
}

TEST_F(SchedulerCheckTest, WhatAFilterRefusesIsAMisfitInItsWords) {
  PlanMachine({Ask(PodOfApp("a", "web", 100)), Ask(PodOfApp("b", "picky", 100))});
  EXPECT_THAT(Misfits(), ElementsAre("b: Picky: it likes no machine"));
}

TEST_F(SchedulerCheckTest, APodThatAnotherEngineDoesNotCountIsAskedForLikeAnyOther) {
  PlanMachine({Ask(PodOfApp("a", "picky", 100, -20))});
  ASSERT_EQ(world_.FindEntry("default", "a")->index, cluster::kNone);
  EXPECT_THAT(Misfits(), ElementsAre("a: Picky: it likes no machine"));
}

TEST_F(SchedulerCheckTest, WhatIsPlannedForOneMachineTakesRoomFromEachOther) {
  PlanMachine({Ask(PodOfApp("a", "web", 1000)), Ask(PodOfApp("b", "web", 1000, -20))});
  EXPECT_THAT(Misfits(), ElementsAre("a: Room: there is no room", "b: Room: there is no room"));
}

TEST_F(SchedulerCheckTest, APodOnANodeKeepsOthersAwayWhetherItCountsOrNot) {
  AddNode("there", 4);
  PlanMachine({Ask(PodOfApp("a", "web", 100))});
  for (const int32_t priority : {0, -20}) {
    Bind(PodOfApp("lonely", "lonely", 100, priority), "there");
    EXPECT_THAT(Misfits(), ElementsAre("a: Lonely: somebody is lonely")) << priority;
    world_.DeletePod("default", "lonely");
  }
  EXPECT_THAT(Misfits(), IsEmpty());
}

TEST_F(SchedulerCheckTest, WhatHasEndedKeepsNobodyAway) {
  AddNode("there", 4);
  PlanMachine({Ask(PodOfApp("a", "web", 100))});
  model::Pod lonely = PodOfApp("lonely", "lonely", 100, -20);
  lonely.spec.node_name = "there";
  lonely.status.phase = "Succeeded";
  world_.UpsertPod(std::make_shared<const model::Pod>(lonely));
  EXPECT_THAT(Misfits(), IsEmpty());
}

TEST_F(SchedulerCheckTest, APlacementOnANodeThatIsThereCountsAsWell) {
  AddNode("there", 4);
  PlanExisting(0, {Ask(PodOfApp("lonely", "lonely", 100, -20))});
  PlanMachine({Ask(PodOfApp("a", "web", 100))});
  EXPECT_THAT(Misfits(), ElementsAre("a: Lonely: somebody is lonely"));
}

TEST_F(SchedulerCheckTest, APodOfALeavingNodeMovesInThePlan) {
  AddNode("leaves", 4);
  for (const int32_t priority : {0, -20}) {
    const std::string name = "p" + std::to_string(-priority);
    model::Pod pod = PodOfApp(name, "web", 1000, priority);
    Bind(pod, "leaves");
    pod.spec.node_name = "leaves";
    PlanMachine({AskOnly(pod)});
  }
  EXPECT_THAT(Misfits(), IsEmpty()) << "where it stands is no wish to stay there";
}

TEST_F(SchedulerCheckTest, TasksThatWereMadeUpAreAskedForToo) {
  PlanMachine(
      {AskOnly(PodOfApp("task-0", "web", 1000)), AskOnly(PodOfApp("task-1", "picky", 100))});
  EXPECT_THAT(Misfits(), ElementsAre("task-1: Picky: it likes no machine"));
}

TEST_F(SchedulerCheckTest, AMachineThatNobodySellsIsNotThisOnesToRefuse) {
  list_.clear();
  PlanMachine({Ask(PodOfApp("a", "picky", 100))});
  EXPECT_THAT(Misfits(), IsEmpty());
}

TEST_F(SchedulerCheckTest, TheNodeOfAClaimIsOfTheCheapestTypeAndSettlesWhatHasOneValue) {
  model::NodeClaim claim;
  claim.metadata.labels["team"] = "a";
  claim.spec.taints = {{.key = "gpu", .value = "", .effect = "NoSchedule"}};
  model::NodeRequirements in_zone_b;
  in_zone_b.Add(model::NodeRequirement::In(model::kZoneLabel, {"zone-b"}));
  const model::Node node = ImaginedNode(claim, "planned", list_, in_zone_b, labels_);
  const auto label = [&](std::string_view key) {
    const std::string* value = node.metadata.labels.Find(key);
    return value == nullptr ? std::string("none") : *value;
  };
  EXPECT_EQ(label("team"), "a");
  EXPECT_EQ(label(model::kHostnameLabel), "planned");
  EXPECT_EQ(label(model::kInstanceTypeLabel), "small");
  EXPECT_EQ(label(model::kZoneLabel), "zone-b");
  EXPECT_THAT(node.spec.taints, SizeIs(1));
  EXPECT_EQ(node.status.allocatable.Find("cpu")->MilliValue(), 1900);
}

// ---- What the engine makes of it.

class DropMisfitsTest : public testing::Test {
 protected:
  void Start(EngineOptions options = {}) {
    rig_.options = std::move(options);
    rig_.options.disruption = false;
    rig_.filters = &filters_;
    rig_.Restart();
    rig_.AddPool("default");
    rig_.RunFor(seconds(2));
  }
  void AddPod(const std::string& name, const std::string& app, int32_t priority = 0) {
    rig_.AddPod(name, 500, [&](model::Pod& pod) {
      pod.metadata.labels[kApp] = app;
      pod.spec.priority = priority;
    });
  }

  const fit::Chain filters_ = ThreeFilters();
  EngineRig rig_;
};

TEST_F(DropMisfitsTest, NothingIsBoughtForAPodThatTheSchedulerWouldRefuseAndTheReasonIsTold) {
  Start();
  AddPod("p", "picky");
  rig_.RunFor(minutes(1));
  EXPECT_THAT(rig_.Claims(), IsEmpty());
  const std::string told =
      "nothing is bought for it in nodepool \"default\": kube-scheduler would not put it on such a "
      "machine: Picky: it likes no machine";
  EXPECT_EQ(rig_.EventText("FailedScheduling"), "Failed to schedule pod, " + told);
  ASSERT_NE(rig_.last_report, nullptr);
  ASSERT_TRUE(rig_.last_report->provisioning);
  ASSERT_THAT(rig_.last_report->provisioning->unplaced, SizeIs(1));
  EXPECT_EQ(rig_.last_report->provisioning->unplaced[0].text, told);
}

TEST_F(DropMisfitsTest, ForTheOthersOfTheMachineItIsBought) {
  Start();
  AddPod("p", "picky");
  AddPod("q", "web");
  ASSERT_TRUE(
      rig_.RunUntil([&] { return !rig_.FindPod("q")->spec.node_name.empty(); }, minutes(5)));
  EXPECT_THAT(rig_.Claims(), SizeIs(1));
  EXPECT_GT(rig_.CountEvents("FailedScheduling"), 0U);
}

TEST_F(DropMisfitsTest, APodThatNodeGroupsOnTheSameWorldDoNotCountIsChecked) {
  rig_.view.counts = IsImportant;
  Start();
  AddPod("p", "picky", -20);
  AddPod("q", "web", -20);
  ASSERT_TRUE(
      rig_.RunUntil([&] { return !rig_.FindPod("q")->spec.node_name.empty(); }, minutes(5)));
  EXPECT_THAT(rig_.Claims(), SizeIs(1));
  EXPECT_THAT(rig_.EventText("FailedScheduling"), HasSubstr("Picky: it likes no machine"));
}

TEST_F(DropMisfitsTest, NobodyIsAskedIfTheOperatorOrThePeersRulesSaySo) {
  for (const bool exact : {false, true}) {
    EngineOptions options;
    options.ask_filters = false;
    if (exact) {
      options = {};
      options.upstream_exact = true;
    }
    Start(options);
    AddPod(exact ? "exact" : "unasked", "picky");
    rig_.RunFor(minutes(1));
    EXPECT_GE(rig_.Claims().size(), 1U) << exact;
  }
}

}  // namespace
}  // namespace coppice::provision
