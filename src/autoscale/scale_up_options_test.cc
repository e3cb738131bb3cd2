// Which groups may grow, for which pods, and how many of their nodes that needs.

#include <gmock/gmock.h>

#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class ScaleUpOptionsTest : public PlainEngineRig {
 protected:
  std::shared_ptr<const report::PassReport> Start(std::vector<std::string> args = {}) {
    Assemble(std::move(args), inline_, writer_);
    return Pass();
  }
  // A node of the group with no room left.
  void AddFullNode(const std::string& name, const std::string& group) {
    AddNode(name, group);
    AddPod("busy-on-" + name, "cpu", 4, name);
  }
  void MakeAtomic(const std::string& group) {
    groups_.Change(group, [](cloud::FakeNodeGroups::Group& g) {
      g.options = [](const cloud::ScalingOptions& defaults) {
        cloud::ScalingOptions options = defaults;
        options.zero_or_max_node_scaling = true;
        return std::optional(options);
      };
    });
  }
  void MakeUnready(const std::string& name) {
    model::Node node = *world_.FindNode(name);
    node.status.conditions[0].status = "False";
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
  }
  // Why the group was not considered for the only kind of pods that waits.
  static std::string SkippedFor(const report::PassReport& report, const std::string& group) {
    const auto& up = report.scale_up;
    if (up.unhelped.size() != 1 || up.unhelped[0].skipped == nullptr) return "not told";
    const auto it = up.unhelped[0].skipped->find(group);
    return it == up.unhelped[0].skipped->end() ? "not skipped" : it->second.front();
  }
  // "GROUP: NODES for PODS", in the order in which they were found.
  static std::vector<std::string> Options(const report::PassReport& report) {
    std::vector<std::string> told;
    for (const report::ConsideredOption& option : report.scale_up.options)
      told.push_back(option.group + ": " + std::to_string(option.nodes) + " for " +
                     std::to_string(option.pods));
    return told;
  }
  void AddPods(int count, int64_t cores) {
    for (int i = 0; i < count; ++i) AddPod("p" + std::to_string(i), "cpu", cores);
  }
};

// ---- Groups that are not considered.

TEST_F(ScaleUpOptionsTest, AGroupAtItsMaximumIsSkipped) {
  AddGroup("web", 1, 1);
  AddFullNode("web-1", "web");
  AddPods(1, 3);
  const auto report = Start();
  EXPECT_EQ(SkippedFor(*report, "web"), "max node group size reached");
  EXPECT_EQ(report->scale_up.result, report::ScaleUpResult::kNoOptionsAvailable);
  EXPECT_THAT(report->scale_up.considered_groups, ElementsAre("web"));
}

TEST_F(ScaleUpOptionsTest, AGroupWithoutATemplateIsNotReady) {
  AddGroup("web", 5);
  groups_.Change("web", [](auto& group) { group.node_template = nullptr; });
  AddPods(1, 3);
  EXPECT_EQ(SkippedFor(*Start(), "web"), "not ready for scale-up");
}

TEST_F(ScaleUpOptionsTest, AGroupThatLostItsNodesIsNotReady) {
  AddGroup("web", 10, 4);
  for (const char* name : {"web-1", "web-2", "web-3", "web-4"}) {
    AddFullNode(name, "web");
    MakeUnready(name);
  }
  AddGroup("well", 8, 8);  // so that the cluster is
  for (int i = 1; i <= 8; ++i) AddFullNode("well-" + std::to_string(i), "well");
  AddPods(1, 3);
  EXPECT_EQ(SkippedFor(*Start(), "web"), "not ready for scale-up");
}

TEST_F(ScaleUpOptionsTest, AGroupThatFailedIsLeftAloneForAWhile) {
  AddGroup("web", 5);
  AddPods(1, 3);
  groups_.Fail("Increase", Unavailable("sold out"));
  Start();
  clock_.Advance(seconds(20));
  EXPECT_EQ(SkippedFor(*Pass(), "web"), "in backoff after failed scale-up");
}

TEST_F(ScaleUpOptionsTest, AGroupWhoseNextNodeExceedsALimitOfTheClusterNamesTheResource) {
  AddGroup("web", 5);
  AddPods(1, 3);
  EXPECT_THAT(SkippedFor(*Start({"--cores-total=0:2"}), "web"),
              StartsWith("exceeded quota: \"cluster-wide\", resources: cpu"));
}

TEST_F(ScaleUpOptionsTest, AnAtomicGroupThatIsLargerThanTheClusterMayBeIsSkipped) {
  AddGroup("whole", 5);
  MakeAtomic("whole");
  AddPods(1, 3);
  EXPECT_EQ(SkippedFor(*Start({"--max-nodes-total=3"}), "whole"),
            "atomic scale-up exceeds cluster node count limit");
}

// ---- Who takes what.

TEST_F(ScaleUpOptionsTest, WhatTheTemplateOfAGroupRefusesIsToldInTheFiltersWords) {
  AddGroup("web", 5);
  AddPods(1, 64);
  const auto report = Start();
  ASSERT_THAT(report->scale_up.unhelped, SizeIs(1));
  const auto& rejected = report->scale_up.unhelped[0].rejected;
  ASSERT_TRUE(rejected.contains("web"));
  EXPECT_EQ(rejected.at("web").plugin(), "Room");
  EXPECT_EQ(rejected.at("web").reason(), "no room");
}

TEST_F(ScaleUpOptionsTest, OnlyAGroupThatTakesThePodsIsAnOption) {
  AddGroup("small", 5);
  AddGroup("large", 5);
  groups_.Change("large", [](cloud::FakeNodeGroups::Group& g) {
    model::Node node = *g.node_template;
    node.status.allocatable["cpu"] = model::Quantity::FromUnits(8);
    g.node_template = std::make_shared<const model::Node>(std::move(node));
  });
  AddPods(2, 6);
  EXPECT_THAT(Options(*Start()), ElementsAre("large: 2 for 2"));
}

TEST_F(ScaleUpOptionsTest, SeveralKindsOfPodsShareTheNodesOfAnOption) {
  AddGroup("web", 5);
  AddPods(2, 3);
  AddPod("small-1", "cpu", 1);
  AddPod("small-2", "cpu", 1);
  EXPECT_THAT(Options(*Start()), ElementsAre("web: 2 for 4"));
}

// ---- How many.

TEST_F(ScaleUpOptionsTest, AnOptionHasNoMoreNodesThanItsGroupHasRoomFor) {
  AddGroup("web", 2);
  AddPods(5, 3);
  EXPECT_THAT(Options(*Start()), ElementsAre("web: 2 for 2"));
}

TEST_F(ScaleUpOptionsTest, TheRoomOfSimilarGroupsCountsWhereTheyAreBalanced) {
  AddGroup("a", 2);
  AddGroup("b", 2);
  AddPods(5, 3);
  EXPECT_THAT(Options(*Start({"--balance-similar-node-groups"})),
              ElementsAre("a: 4 for 4", "b: 4 for 4"));
  groups_.Change("a", [](auto& group) { group.target = 0; });
  groups_.Change("b", [](auto& group) { group.target = 0; });
  EXPECT_THAT(Options(*Start()), ElementsAre("a: 2 for 2", "b: 2 for 2"));
}

TEST_F(ScaleUpOptionsTest, AnAtomicGroupComesWholeOrNotAtAll) {
  AddGroup("whole", 5);
  MakeAtomic("whole");
  AddPods(1, 3);
  EXPECT_THAT(Options(*Start()), ElementsAre("whole: 5 for 1"));
}

TEST_F(ScaleUpOptionsTest, WhatWasPackedIsTold) {
  AddGroup("web", 5);
  AddPods(2, 3);
  const auto report = Start();
  ASSERT_THAT(report->scale_up.packings, SizeIs(1));
  const report::Packing& packing = report->scale_up.packings[0];
  EXPECT_EQ(packing.cpu, "4");
  EXPECT_EQ(packing.namespaces, 1U);
  EXPECT_EQ(packing.instance_type, "");
}

TEST_F(ScaleUpOptionsTest, NoPodIsNoReasonToAskAnyGroup) {
  AddGroup("web", 5);
  const auto report = Start();
  EXPECT_THAT(Options(*report), IsEmpty());
  EXPECT_EQ(report->scale_up.result, report::ScaleUpResult::kNotNeeded);
}

}  // namespace
}  // namespace coppice::autoscale
