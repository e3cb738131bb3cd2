#include "whatif/whatif.h"

#include <gmock/gmock.h>

#include <map>

#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "whatif/whatif_output.h"

namespace coppice::whatif {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class WhatIfTest : public testing::Test {
 protected:
  WhatIfTest() {
    EXPECT_TRUE(ReadObjectsFrom("examples/simulate/cluster.yaml", what_if.cluster).ok());
    what_if.groups = MUST(GroupsFromNodes(what_if.cluster.nodes, {"1:5:general", "0:3:ml"}));
  }
  WhatIfPlan Plan() { return MUST(RunWhatIf(what_if, test::ThePlugins(), Log::Null())); }
  void Add(std::string_view yaml) { ASSERT_TRUE(ReadObjects(yaml, "added", what_if.added).ok()); }
  static int Target(const WhatIfPlan& plan, std::string_view group) {
    for (const auto& each : plan.groups_after) {
      if (each.name == group) return each.target;
    }
    return -1;
  }

  WhatIf what_if;
};

TEST_F(WhatIfTest, BuysForPendingPodsAndSaysWhatWouldHelpTheRest) {
  const WhatIfPlan plan = Plan();
  EXPECT_EQ(plan.pending, 2u);
  EXPECT_EQ(Target(plan, "ml"), 2);  // for train-1
  ASSERT_THAT(plan.last->scale_up.unhelped, SizeIs(1));
  ASSERT_FALSE(plan.last->scale_up.unhelped[0].misses.empty());
  EXPECT_FALSE(plan.everybody_helped());
  EXPECT_THAT(AsText(plan, false),
              HasSubstr("nearest: group general would take it if its request of cpu were 500m "
                        "smaller"));
}

TEST_F(WhatIfTest, RemovesWhatIsNotNeededOnceTheTimersAreOver) {
  const WhatIfPlan plan = Plan();
  std::vector<std::string> removed;
  for (const auto& step : plan.steps) {
    for (const auto& node : step.report->scale_down.removed) {
      removed.push_back(node.node);
      EXPECT_GT(step.after, std::chrono::minutes(10));
      ASSERT_THAT(node.moves, SizeIs(1));
      EXPECT_EQ(node.moves[0].pod->metadata.name, "cart-0");
    }
  }
  EXPECT_THAT(removed, ElementsAre("general-3"));
  EXPECT_TRUE(plan.settled);
}

TEST_F(WhatIfTest, ADeploymentIsAsManyPodsAsItHasReplicas) {
  Add("kind: Deployment\napiVersion: apps/v1\nmetadata: {name: d}\nspec:\n  replicas: 9\n"
      "  template:\n    spec:\n      containers:\n      - resources: {requests: {cpu: 3}}\n");
  const WhatIfPlan plan = Plan();
  EXPECT_EQ(plan.added, 9u);
  EXPECT_EQ(Target(plan, "general"), 5);  // no more are allowed
  EXPECT_THAT(AsText(plan, false), HasSubstr("would take it if its max size were 6"));
}

constexpr char kGangObjects[] = R"(
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: small}
spec: {weight: 1, capability: {cpu: "2"}}
status: {state: Open}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: NAME, namespace: research}
spec: {minMember: SIZE, queue: QUEUE}
)";

std::string GangOf(const std::string& name, int size, const std::string& cpu,
                   const std::string& queue) {
  std::string text = kGangObjects;
  const auto put = [&](const std::string& word, const std::string& value) {
    text.replace(text.find(word), word.size(), value);
  };
  put("NAME", name);
  put("SIZE", std::to_string(size));
  put("QUEUE", queue);
  for (int i = 0; i < size; ++i)
    text += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "-" + std::to_string(i) +
            ", namespace: research, annotations: {scheduling.k8s.io/group-name: " + name +
            "}}\nspec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: "
            "\"" +
            cpu + "\"}}}]}\nstatus: {phase: Pending}\n";
  return text;
}

TEST_F(WhatIfTest, EveryGangSaysWhyItWaitsAndWhatItWouldCost) {
  what_if.batch_plugins = &test::ThePlugins().batch;
  for (auto& group : what_if.groups.groups) group.price_per_hour = 0.25;
  Add(GangOf("fits", 2, "100m", "default") + "---" + GangOf("buys", 3, "3", "default") + "---" +
      GangOf("huge", 40, "3", "default") + "---" + GangOf("held", 3, "1", "small"));
  const WhatIfPlan plan = Plan();
  ASSERT_TRUE(plan.gangs.has_value());
  ASSERT_THAT(plan.gangs->starting, SizeIs(1));
  EXPECT_EQ(plan.gangs->starting[0].gang, "research/fits");
  EXPECT_EQ(plan.gangs->starting[0].pods, 2u);
  std::map<std::string, const report::WaitingGang*> gangs;
  for (const auto& gang : plan.gangs->waiting) gangs[gang.gang] = &gang;
  ASSERT_THAT(gangs, SizeIs(3));
  using State = report::WaitingGang::State;
  const report::WaitingGang& buys = *gangs["research/buys"];
  EXPECT_EQ(buys.state, State::kWaits);
  ASSERT_FALSE(buys.lots.empty()) << buys.why;
  ASSERT_TRUE(buys.price_per_hour.has_value());
  EXPECT_DOUBLE_EQ(*buys.price_per_hour, 0.25 * buys.lots[0].machines);
  EXPECT_THAT(buys.why, HasSubstr("an hour"));
  EXPECT_EQ(gangs["research/huge"]->state, State::kRefused);
  EXPECT_THAT(gangs["research/huge"]->why, HasSubstr("max node group size reached"));
  EXPECT_EQ(gangs["research/held"]->state, State::kBlocked);
  EXPECT_THAT(gangs["research/held"]->why, HasSubstr("small"));
  EXPECT_FALSE(plan.everybody_helped());
  // Nothing is bought for part of a gang.
  for (const WhatIfStep& step : plan.steps) {
    for (const auto& pod : step.report->scale_up.triggered)
      EXPECT_NE(pod->metadata.namespace_, "research");
  }
  const std::string text = AsText(plan, false);
  EXPECT_THAT(text, HasSubstr("research/fits starts on what is there: 2 pods"));
  EXPECT_THAT(text, HasSubstr("research/huge waits in queue default"));
  EXPECT_THAT(text, HasSubstr("the Queue default is not in the dump"));
  EXPECT_THAT(AsJson(plan), HasSubstr(R"("state":"refused")"));
}

TEST_F(WhatIfTest, RemovingANodeTellsEachPodsFate) {
  what_if.remove_nodes = {"general-3"};
  const WhatIfPlan plan = Plan();
  ASSERT_THAT(plan.removals, SizeIs(1));
  EXPECT_TRUE(plan.removals[0].drains);
  EXPECT_EQ(plan.removals[0].group, "general");
  ASSERT_THAT(plan.removals[0].pods, SizeIs(1));
  EXPECT_EQ(plan.removals[0].pods[0].kind, RemovalAnswer::PodFate::Kind::kMoves);
  EXPECT_EQ(Target(plan, "general"), 2);
}

TEST_F(WhatIfTest, APodWithoutAControllerBlocksTheRemoval) {
  what_if.remove_nodes = {"general-2"};
  const WhatIfPlan plan = Plan();
  ASSERT_THAT(plan.removals, SizeIs(1));
  EXPECT_FALSE(plan.removals[0].drains);
  EXPECT_THAT(AsText(plan, false), HasSubstr("BLOCKS"));
  EXPECT_THAT(AsText(plan, false), HasSubstr("NotReplicated"));
}

TEST_F(WhatIfTest, AnUnknownNodeIsNamedWithTheNearest) {
  what_if.remove_nodes = {"general-9"};
  EXPECT_THAT(RunWhatIf(what_if, test::ThePlugins(), Log::Null()).status().message(),
              HasSubstr("did you mean general-"));
}

TEST_F(WhatIfTest, NodesThatWereNoCandidatesHaveAReasonToo) {
  what_if.groups = MUST(GroupsFromNodes(what_if.cluster.nodes, {"3:5:general", "0:3:ml"}));
  const WhatIfPlan plan = Plan();
  std::map<std::string, report::StayReason> held;
  for (const auto& node : plan.last->scale_down.staying_untold) held[node.node] = node.reason;
  EXPECT_EQ(held["general-1"], report::StayReason::kNodeGroupMinSizeReached);
  EXPECT_THAT(AsText(plan, false), HasSubstr("its group general is at its minimum (3 nodes)"));
}

TEST_F(WhatIfTest, ALimitOfTheClusterIsNamedWithTheNumberThatWouldDo) {
  what_if.flags.options.max_nodes_total = 4;
  what_if.flags.options.scale_down_enabled = false;
  EXPECT_THAT(AsText(Plan(), false),
              testing::AllOf(HasSubstr("max total nodes in cluster reached"),
                             HasSubstr("group ml would take it if --max-nodes-total were 5")));
}

TEST_F(WhatIfTest, ASalvoTellsOfAllItsRounds) {
  what_if.flags.options.salvo_scale_up = true;
  Add("kind: Job\napiVersion: batch/v1\nmetadata: {name: j}\nspec:\n  parallelism: 4\n"
      "  template:\n    spec:\n      containers:\n      - resources: {requests: {cpu: 3}}\n");
  const WhatIfPlan plan = Plan();
  ASSERT_FALSE(plan.steps.empty());
  EXPECT_THAT(plan.steps[0].bought, SizeIs(2));
  EXPECT_THAT(AsText(plan, false),
              testing::AllOf(HasSubstr("default/j-"), HasSubstr("ml/train-1")));
}

TEST_F(WhatIfTest, TwoRemovalsSeeEachOther) {
  what_if.remove_nodes = {"general-1", "general-3"};
  const WhatIfPlan plan = Plan();
  ASSERT_THAT(plan.removals, SizeIs(2));
  EXPECT_FALSE(plan.removals[0].at_once);  // the budget allows one web at a time
  EXPECT_THAT(AsText(plan, false), HasSubstr("1 Insufficient cpu"));
}

TEST_F(WhatIfTest, AStatefulSetWithoutItsStorageClassIsSaid) {
  Add("kind: StatefulSet\napiVersion: apps/v1\nmetadata: {name: s}\nspec:\n  replicas: 2\n"
      "  template:\n    spec:\n      containers:\n      - resources: {requests: {cpu: 1}}\n"
      "  volumeClaimTemplates:\n  - metadata: {name: data}\n    spec: {storageClassName: fast}\n");
  const WhatIfPlan plan = Plan();
  EXPECT_EQ(plan.added, 2u);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("storage class of the volume claim template data")));
}

TEST_F(WhatIfTest, EnforcedMinimalSizesDoNotHideThePodsThatWait) {
  what_if.groups = MUST(GroupsFromNodes(what_if.cluster.nodes, {"4:5:general", "0:3:ml"}));
  what_if.flags.options.enforce_node_group_min_size = true;
  const WhatIfPlan plan = Plan();
  EXPECT_EQ(Target(plan, "general"), 4);
  EXPECT_FALSE(plan.everybody_helped());
  EXPECT_THAT(AsText(plan, false), HasSubstr("its request of cpu were 500m smaller"));
}

TEST_F(WhatIfTest, TheHorizonEndsIt) {
  what_if.horizon = std::chrono::minutes(1);
  const WhatIfPlan plan = Plan();
  EXPECT_FALSE(plan.settled);
  EXPECT_THAT(AsText(plan, false), HasSubstr("nothing is removed after a scale-up for another"));
}

TEST_F(WhatIfTest, TheSameInputGivesTheSameAnswer) {
  EXPECT_EQ(AsJson(Plan()), AsJson(Plan()));
  EXPECT_EQ(AsText(Plan(), true), AsText(Plan(), true));
}

TEST_F(WhatIfTest, AnEmptyDumpIsAPlanToDoNothing) {
  what_if.cluster = {};
  what_if.groups = MUST(GroupsFromNodes({}, {}));
  const WhatIfPlan plan = Plan();
  EXPECT_THAT(plan.steps, IsEmpty());
  EXPECT_THAT(AsText(plan, false), HasSubstr("nothing to buy, nothing to remove"));
}

}  // namespace
}  // namespace coppice::whatif
