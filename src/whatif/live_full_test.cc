#include "whatif/live.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "whatif/live_rig.h"

namespace coppice::whatif {
namespace {

using testing::HasSubstr;

// The cluster of examples/simulate as if it lived: a World, and groups that keep books.
class LiveTest : public testing::Test {
 protected:
  LiveTest() {
    ClusterObjects objects;
    EXPECT_TRUE(ReadObjectsFrom("examples/simulate/cluster.yaml", objects).ok());
    GiveProviderIds(objects);
    for (auto& group : MUST(GroupsFromNodes(objects.nodes, {"1:5:general", "0:3:ml"})).groups)
      groups_.Add(std::move(group));
    for (const auto& node : objects.nodes) world_.UpsertNode(node);
    world_.UpsertPods(objects.pods);
    for (const auto& set : objects.replica_sets) world_.Upsert(set);
    for (const auto& set : objects.stateful_sets) world_.Upsert(set);
    for (const auto& budget : objects.budgets) world_.Upsert(budget);
    moment_ = TakeMoment(world_, &groups_, *NewestTime(objects) + std::chrono::seconds(3), {});
  }
  Result<LiveAnswer> Ask(const LiveChange& change, std::function<bool()> stop = nullptr) {
    return AskLive(
        moment_, change,
        {.flags = flags_, .plugins = test::ThePlugins(), .batch = &test::ThePlugins().batch},
        std::move(stop));
  }
  static int Target(const LiveSide& side, std::string_view group) {
    const auto& groups = side.groups->groups_after;
    const auto found = std::ranges::find(groups, group, &DumpGroups::Group::name);
    return found == groups.end() ? -1 : found->target;
  }

  const autoscale::FlagValues flags_ = MUST(autoscale::ParseFlags({}));

  cluster::World world_;
  DumpGroups groups_;
  LiveMoment moment_;
};

TEST_F(LiveTest, PodsThatAreAddedAreTheDifference) {
  model::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.spec.containers.emplace_back().resources.requests["cpu"] = MUST(model::Quantity::Parse("3"));
  const LiveAnswer answer = MUST(Ask({.pod = pod, .pods = 2}));
  EXPECT_EQ(answer.with.groups->added, 2u);
  EXPECT_GT(Target(answer.with, "general"), Target(answer.without, "general"));
  const auto json = CheckedJson(answer);
  EXPECT_EQ(json["added"], 2);
  EXPECT_EQ(json["groups"].size(), 2u);
  for (const auto& group : json["groups"]) {
    if (group["group"] == "general") {
      EXPECT_GT(group["with"], group["without"]);
    }
  }
}

TEST_F(LiveTest, ARemovedNodesPodsHaveAFate) {
  const LiveAnswer answer = MUST(Ask({.remove_nodes = {"general-3"}}));
  const auto json = CheckedJson(answer);
  EXPECT_EQ(json["removals"][0]["node"], "general-3");
  EXPECT_EQ(json["removals"][0]["drains"], true);
  EXPECT_EQ(json["removals"][0]["pods"][0]["fate"], "moves");
}

TEST_F(LiveTest, NoMoreOfATypeIsNoMoreOfItsGroups) {
  std::string type;
  for (const auto& node : moment_.objects.nodes) {
    const auto label = node->metadata.labels.find("node.kubernetes.io/instance-type");
    if (node->metadata.name.starts_with("ml") && label != node->metadata.labels.end())
      type = label->second;
  }
  ASSERT_FALSE(type.empty()) << "the example names no types, and this tries nothing";
  const LiveAnswer answer = MUST(Ask({.forbid_types = {type}}));
  EXPECT_EQ(Target(answer.without, "ml"), 2);
  EXPECT_LE(Target(answer.with, "ml"), 1);
}

TEST_F(LiveTest, AMaximumThatIsRaisedIsReached) {
  model::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.spec.containers.emplace_back().resources.requests["cpu"] = MUST(model::Quantity::Parse("3"));
  const LiveAnswer capped = MUST(Ask({.pod = pod, .pods = 6}));
  EXPECT_EQ(Target(capped.with, "general"), 5);
  EXPECT_FALSE(capped.with.groups->everybody_helped());
  const LiveAnswer raised = MUST(Ask({.pod = pod, .pods = 6, .max_sizes = {{"general", 12}}}));
  EXPECT_GT(Target(raised.with, "general"), 5);
  EXPECT_LE(Target(raised.with, "general"), 12);
  EXPECT_EQ(Target(raised.without, "general"), Target(capped.without, "general"));
  const auto json = CheckedJson(raised);
  EXPECT_EQ(json["groups"][0]["group"], "general");
  EXPECT_EQ(json["groups"][0]["max"], 12);
}

TEST_F(LiveTest, WhatIsNotThereIsRefusedByName) {
  EXPECT_THAT(Ask({.remove_nodes = {"nobody"}}).status().message(), HasSubstr("no node nobody"));
  EXPECT_THAT(Ask({.max_sizes = {{"nothing", 3}}}).status().message(), HasSubstr("group nothing"));
  EXPECT_THAT(Ask({.forbid_types = {"huge"}}).status().message(), HasSubstr("type huge"));
}

TEST_F(LiveTest, ItStopsWhenItIsTold) {
  int asked = 0;
  const auto answer = Ask({.max_sizes = {{"general", 9}}}, [&] { return ++asked > 2; });
  EXPECT_EQ(answer.status().code(), Code::kDeadlineExceeded);
}

TEST_F(LiveTest, APodIsFoundByItsNameAndByItsOwner) {
  const auto& some = moment_.objects.pods.front();
  EXPECT_EQ(FindLike(moment_, some->metadata.namespace_ + "/" + some->metadata.name), some);
  EXPECT_EQ(FindLike(moment_, "nowhere/nobody"), nullptr);
}

TEST_F(LiveTest, AGangThatWaitsIsToldWithWhatItLacks) {
  model::PodGroup group;
  group.metadata = {.name = "train", .namespace_ = "ml", .uid = "g"};
  group.spec.min_member = 2;
  group.spec.queue = "default";
  moment_.objects.pod_groups.push_back(std::make_shared<const model::PodGroup>(group));
  for (int i = 0; i < 2; ++i) {
    model::Pod pod;
    pod.metadata = {.name = "train-" + std::to_string(i), .namespace_ = "ml"};
    pod.metadata.uid = pod.metadata.name;
    pod.metadata.annotations["scheduling.k8s.io/group-name"] = "train";
    pod.metadata.creation_timestamp = model::Time{moment_.now - std::chrono::minutes(1)};
    pod.spec.scheduler_name = "volcano";
    pod.spec.containers.emplace_back().resources.requests["cpu"] =
        MUST(model::Quantity::Parse("900"));
    pod.status.phase = "Pending";
    moment_.objects.pods.push_back(std::make_shared<const model::Pod>(pod));
  }
  const LiveAnswer answer = MUST(Ask({.max_sizes = {{"general", 9}}}));
  const auto json = CheckedJson(answer);
  ASSERT_EQ(json["gangs"].size(), 1u) << json.dump(1);
  EXPECT_EQ(json["gangs"][0]["gang"], "ml/train");
  EXPECT_EQ(json["gangs"][0]["starts"], false);
  EXPECT_EQ(json["gangsWithout"].size(), 1u);
  EXPECT_EQ(json["helps"], false);
}

}  // namespace
}  // namespace coppice::whatif
