#include "provision/disruption/methods.h"

#include <gmock/gmock.h>

#include "provision/disruption/disruption_scene.h"

namespace coppice::provision {
namespace {

using cloud::FakeNodeClaims;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// small: 1900m, 0.10; medium: 3900m, 0.20; large: 7900m, 0.40. Spot is 30 % off.
class MethodsTest : public testing::Test {
 protected:
  MethodAnswer Ask(Method method) {
    world_ = scene_.World();
    DisruptionRound round(world_, options_);
    return round.Ask(method);
  }

  std::vector<std::string> Nodes(const Command& command) const {
    std::vector<std::string> names;
    for (const Candidate& candidate : command.candidates) {
      names.push_back(world_.solver.nodes[candidate.machine].name());
    }
    return names;
  }
  std::vector<std::string> Told(const MethodAnswer& answer, const std::string& node) const {
    std::vector<std::string> texts;
    for (const DisruptionEvent& event : answer.events) {
      if (event.machine && world_.solver.nodes[*event.machine].name() == node) {
        texts.push_back(event.text);
      }
    }
    return texts;
  }
  static std::vector<std::string> Types(const Replacement& replacement) {
    std::vector<std::string> names;
    for (const auto* type : replacement.types) names.push_back(type->name);
    return names;
  }

  DisruptionScene scene_{cloud::InstanceTypes{FakeNodeClaims::AType("small", 2, 0.1),
                                              FakeNodeClaims::AType("medium", 4, 0.2),
                                              FakeNodeClaims::AType("large", 8, 0.4)}};
  DisruptionOptions options_;
  DisruptionWorld world_;
};

TEST_F(MethodsTest, EmptyNodesGoTogetherAsFarAsTheBudgetAllows) {
  scene_.AddPool("default").spec.disruption.budgets = {{model::DisruptionBudget{.nodes = "2"}}};
  scene_.AddMachine("a", "default", "small");
  scene_.AddMachine("b", "default", "large");
  scene_.AddMachine("c", "default", "medium");
  scene_.AddMachine("busy", "default", "small");
  scene_.AddPod("p", "busy", 100);
  const auto answer = Ask(Method::kEmptiness);
  ASSERT_EQ(answer.commands.size(), 1u);
  EXPECT_THAT(Nodes(answer.commands[0]), ElementsAre("b", "c"));  // the dearest first
  EXPECT_DOUBLE_EQ(answer.commands[0].savings, 0.6);
  EXPECT_TRUE(answer.held_back_by_budget);
}

TEST_F(MethodsTest, ANodeWhosePodsFitElsewhereIsDeleted) {
  scene_.AddPool("default").spec.template_.spec.requirements = {
      {.key = std::string(model::kCapacityTypeLabel), .operator_ = "In", .values = {"on-demand"}}};
  scene_.AddMachine("full", "default", "large");
  scene_.AddMachine("spare", "default", "small");
  scene_.AddPod("big", "full", 6000);
  scene_.AddPod("little", "spare", 500);
  const auto answer = Ask(Method::kSingleNode);
  ASSERT_EQ(answer.commands.size(), 1u);
  EXPECT_EQ(answer.commands[0].decision, Decision::kDelete);
  EXPECT_THAT(Nodes(answer.commands[0]), ElementsAre("spare"));
}

TEST_F(MethodsTest, ANodeThatIsTooLargeIsReplacedByWhatSurelyCostsLess) {
  scene_.AddPool("default").spec.template_.spec.requirements = {
      {.key = std::string(model::kCapacityTypeLabel), .operator_ = "In", .values = {"on-demand"}}};
  scene_.AddMachine("a", "default", "large");
  scene_.AddPod("p", "a", 1000);
  const auto answer = Ask(Method::kSingleNode);
  ASSERT_EQ(answer.commands.size(), 1u);
  const Command& command = answer.commands[0];
  EXPECT_EQ(command.decision, Decision::kReplace);
  EXPECT_THAT(Types(command.replacements[0]), ElementsAre("small", "medium"));
  EXPECT_DOUBLE_EQ(command.savings, 0.4 - 0.1);
}

TEST_F(MethodsTest, AReplacementThatMayBeSpotIsPinnedToIt) {
  scene_.AddPool("default");
  scene_.AddMachine("a", "default", "large");
  scene_.AddPod("p", "a", 1000);
  const auto answer = Ask(Method::kSingleNode);
  ASSERT_EQ(answer.commands.size(), 1u);
  EXPECT_THAT(
      answer.commands[0].replacements[0].requirements.Get(model::kCapacityTypeLabel).values(),
      ElementsAre("spot"));
}

TEST_F(MethodsTest, WithoutAnySpotOfferingItIsNotPinnedUnlessAsThePeerDoes) {
  cloud::InstanceTypes types;
  for (auto type :
       {FakeNodeClaims::AType("small", 2, 0.1), FakeNodeClaims::AType("large", 8, 0.4)}) {
    std::erase_if(type.offerings, [](const cloud::Offering& offering) {
      return offering.CapacityType() == model::kSpot;
    });
    types.push_back(std::move(type));
  }
  scene_ = DisruptionScene(std::move(types));
  scene_.AddPool("default");
  scene_.AddMachine("a", "default", "large");
  scene_.AddPod("p", "a", 1000);
  const auto ours = Ask(Method::kSingleNode);
  ASSERT_EQ(ours.commands.size(), 1u);
  const auto allows = [](const MethodAnswer& answer, std::string_view value) {
    return answer.commands[0]
        .replacements[0]
        .requirements.Get(model::kCapacityTypeLabel)
        .Has(value);
  };
  EXPECT_TRUE(allows(ours, model::kOnDemand));
  options_.solver.upstream_exact = true;
  const auto theirs = Ask(Method::kSingleNode);
  ASSERT_EQ(theirs.commands.size(), 1u);
  EXPECT_FALSE(allows(theirs, model::kOnDemand));
}

TEST_F(MethodsTest, TheCheapestNodeStaysAndIsToldWhy) {
  scene_.AddPool("default").spec.template_.spec.requirements = {
      {.key = std::string(model::kCapacityTypeLabel), .operator_ = "In", .values = {"on-demand"}}};
  scene_.AddMachine("a", "default", "small");
  scene_.AddPod("p", "a", 1500);
  const auto answer = Ask(Method::kSingleNode);
  EXPECT_THAT(answer.commands, IsEmpty());
  EXPECT_THAT(Told(answer, "a"), ElementsAre("Can't replace with a cheaper node"));
}

TEST_F(MethodsTest, SpotIsReplacedBySpotOnlyIfAllowedAndThereIsMuchToChooseFrom) {
  scene_.AddPool("default");
  scene_.AddMachine("a", "default", "large", model::kSpot);
  scene_.AddPod("p", "a", 1000);
  EXPECT_THAT(Told(Ask(Method::kSingleNode), "a"),
              ElementsAre(HasSubstr("SpotToSpotConsolidation is disabled")));
  options_.spot_to_spot = true;
  EXPECT_THAT(Told(Ask(Method::kSingleNode), "a"), ElementsAre(HasSubstr("requires 15")));
  options_.spot_to_spot_least_types = 2;
  EXPECT_EQ(Ask(Method::kSingleNode).commands.size(), 1u);
}

TEST_F(MethodsTest, SeveralNodesBecomeOne) {
  scene_.AddPool("default");
  for (const char* name : {"a", "b", "c"}) {
    scene_.AddMachine(name, "default", "medium");
    scene_.AddPod(std::string("p-") + name, name, 2200);
  }
  const auto answer = Ask(Method::kMultiNode);
  ASSERT_EQ(answer.commands.size(), 1u);
  EXPECT_EQ(Nodes(answer.commands[0]).size(), 3u);
  EXPECT_THAT(Types(answer.commands[0].replacements[0]), ElementsAre("large"));
}

TEST_F(MethodsTest, SeveralNodesAreNotReplacedByOneOfThemselves) {
  scene_.AddPool("default").spec.template_.spec.requirements = {
      {.key = std::string(model::kCapacityTypeLabel), .operator_ = "In", .values = {"on-demand"}}};
  scene_.AddMachine("a", "default", "large");
  scene_.AddMachine("b", "default", "small");
  scene_.AddPod("p", "a", 200);
  scene_.AddPod("q", "b", 200);
  // Both for one small would be nothing but deleting the large one.
  EXPECT_THAT(Ask(Method::kMultiNode).commands, IsEmpty());
  const auto single = Ask(Method::kSingleNode);
  ASSERT_EQ(single.commands.size(), 1u);
  EXPECT_THAT(Nodes(single.commands[0]), ElementsAre("a"));
  EXPECT_EQ(single.commands[0].decision, Decision::kDelete);
}

TEST_F(MethodsTest, WhatDriftedFirstGoesFirstButEmptyOnesBeforeAll) {
  scene_.AddPool("default");
  DisruptionScene::Drift(scene_.AddMachine("old", "default", "small"), std::chrono::hours(3));
  DisruptionScene::Drift(scene_.AddMachine("empty", "default", "small"), std::chrono::hours(1));
  scene_.AddPod("p", "old", 1500);
  const auto answer = Ask(Method::kDrift);
  ASSERT_EQ(answer.commands.size(), 1u);
  EXPECT_THAT(Nodes(answer.commands[0]), ElementsAre("empty"));
}

TEST_F(MethodsTest, ADriftedNodeThatCannotBeReplacedSaysWhyAndTheNextIsTried) {
  scene_.AddPool("default");
  DisruptionScene::Drift(scene_.AddMachine("a", "default", "small"), std::chrono::hours(3));
  DisruptionScene::Drift(scene_.AddMachine("b", "default", "small"), std::chrono::hours(2));
  scene_.AddPod("stuck", "a", 500).spec.node_selector = {{"nowhere", "x"}};
  scene_.AddPod("free", "b", 500);
  const auto answer = Ask(Method::kDrift);
  EXPECT_THAT(Told(answer, "a"), ElementsAre(HasSubstr("default/stuck => ")));
  ASSERT_EQ(answer.commands.size(), 1u);
  EXPECT_THAT(Nodes(answer.commands[0]), ElementsAre("b"));
}

TEST_F(MethodsTest, AStaticPoolReplacesOneForOneAndNotBeyondItsLimit) {
  model::NodePool& pool = scene_.AddPool("fixed");
  pool.spec.replicas = 2;
  for (const char* name : {"a", "b"}) {
    DisruptionScene::Drift(scene_.AddMachine(name, "fixed", "small"), std::chrono::hours(1));
  }
  const auto free = Ask(Method::kStaticDrift);
  ASSERT_EQ(free.commands.size(), 2u);
  EXPECT_EQ(free.commands[0].decision, Decision::kReplace);
  EXPECT_THAT(free.commands[0].replacements[0].types, IsEmpty());

  pool.spec.limits["nodes"] = model::Quantity::FromUnits(3);
  EXPECT_EQ(Ask(Method::kStaticDrift).commands.size(), 1u);

  pool.spec.limits["nodes"] = model::Quantity::FromUnits(2);
  const auto full = Ask(Method::kStaticDrift);
  EXPECT_THAT(full.commands, IsEmpty());
  EXPECT_THAT(Told(full, "a"), ElementsAre(HasSubstr("at its node limit")));
  options_.terminate_first_drift = true;
  const auto first = Ask(Method::kStaticDrift);
  ASSERT_EQ(first.commands.size(), 2u);
  EXPECT_EQ(first.commands[0].decision, Decision::kTerminateFirst);
}

TEST_F(MethodsTest, ABlockedNodeIsNoCandidateAndIsToldWhy) {
  scene_.AddPool("default");
  scene_.AddMachine("a", "default", "small");
  scene_.AddPod("p", "a", 100).metadata.annotations = {
      {model::karpenter::kDoNotDisruptAnnotation, "true"}};
  const auto answer = Ask(Method::kSingleNode);
  EXPECT_THAT(answer.candidates, IsEmpty());
  EXPECT_THAT(Told(answer, "a"),
              ElementsAre("Pod has \"karpenter.sh/do-not-disrupt\" annotation (Pod=default/p)"));
}

TEST_F(MethodsTest, WithoutAPoolThatMayBuyNothingIsMovedAndThatIsSaid) {
  scene_.AddPool("default").status.conditions.clear();
  scene_.AddMachine("a", "default", "small");
  scene_.AddPod("p", "a", 100);
  const auto answer = Ask(Method::kSingleNode);
  EXPECT_THAT(answer.commands, IsEmpty());
  EXPECT_THAT(Told(answer, "a"), ElementsAre(HasSubstr("No nodepool is ready")));
}

TEST_F(MethodsTest, ANodeWithAPodWhoseVolumeNobodyCanReadStays) {
  scene_.AddPool("default").spec.template_.spec.requirements = {
      {.key = std::string(model::kCapacityTypeLabel), .operator_ = "In", .values = {"on-demand"}}};
  scene_.AddMachine("full", "default", "large");
  scene_.AddMachine("spare", "default", "small");
  scene_.AddPod("big", "full", 6000);
  model::Volume volume;
  volume.name = "data";
  volume.claim_name = "gone";
  scene_.AddPod("little", "spare", 500).spec.volumes.push_back(std::move(volume));
  for (const Method method : {Method::kSingleNode, Method::kMultiNode}) {
    for (const Command& command : Ask(method).commands)
      EXPECT_THAT(Nodes(command), testing::Not(testing::Contains("spare")));
  }
  EXPECT_THAT(Told(Ask(Method::kSingleNode), "spare"),
              testing::Contains(HasSubstr("little => its volumes could not be looked up")));
}

TEST_F(MethodsTest, TheSameWorldHasTheSameAnswer) {
  scene_.AddPool("default");
  for (const char* name : {"a", "b", "c"}) {
    scene_.AddMachine(name, "default", "medium");
    scene_.AddPod(std::string("p-") + name, name, 1200);
  }
  world_ = scene_.World();
  DisruptionRound round(world_, options_);
  const auto first = round.Ask(Method::kMultiNode);
  (void)round.Ask(Method::kSingleNode);
  const auto second = round.Ask(Method::kMultiNode);
  ASSERT_EQ(first.commands.size(), second.commands.size());
  EXPECT_EQ(Nodes(first.commands[0]), Nodes(second.commands[0]));
  EXPECT_EQ(first.commands[0].savings, second.commands[0].savings);
}

}  // namespace
}  // namespace coppice::provision
