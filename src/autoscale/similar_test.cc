#include "autoscale/similar.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "test/support/must.h"

namespace coppice::autoscale {
namespace {

model::Quantity Q(std::string_view text) { return MUST(model::Quantity::Parse(text)); }

NodeTemplate Template(std::string zone) {
  NodeTemplate result;
  result.node.metadata.labels = {{"kubernetes.io/hostname", "node-in-" + zone},
                                 {"pool", "blue"},
                                 {"topology.kubernetes.io/zone", zone}};
  const model::ResourceList amounts{{"cpu", Q("4")}, {"memory", Q("16Gi")}, {"pods", Q("110")}};
  result.node.status.capacity = amounts;
  result.node.status.allocatable = amounts;
  return result;
}

model::Pod Asking(std::string_view resource, std::string_view amount) {
  model::Pod pod;
  pod.spec.containers.resize(1);
  pod.spec.containers[0].resources.requests[resource] = Q(amount);
  return pod;
}

struct Case {
  std::string name;
  std::function<void(NodeTemplate&)> change;
  std::string difference;  // empty: similar
};

class SimilarTest : public testing::TestWithParam<Case> {};

TEST_P(SimilarTest, ComparesWithAnotherZone) {
  const SimilarityCheck check = CompareTemplates(LabelFlavor::kGeneric, {}, {});
  const NodeTemplate a = Template("a");
  NodeTemplate b = Template("b");
  GetParam().change(b);

  EXPECT_EQ(check(a, b).difference, GetParam().difference);
  EXPECT_EQ(check(a, b).similar, GetParam().difference.empty());
  EXPECT_EQ(check(b, a).similar, check(a, b).similar);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SimilarTest,
    testing::ValuesIn(std::vector<Case>{
        {"OnlyTheZoneDiffers", [](NodeTemplate&) {}, ""},
        {"AnotherPool", [](NodeTemplate& side) { side.node.metadata.labels["pool"] = "red"; },
         "label pool"},
        {"OneLabelMore", [](NodeTemplate& side) { side.node.metadata.labels["x"] = ""; },
         "label x"},
        {"MemoryWithinOneAndAHalfPercent",
         [](NodeTemplate& side) { side.node.status.capacity["memory"] = Q("15.8Gi"); }, ""},
        {"MemoryBeyondThat",
         [](NodeTemplate& side) { side.node.status.capacity["memory"] = Q("15872Mi"); },
         "capacity memory: 16Gi and 15872Mi"},
        {"CoresMustBeEqual",
         [](NodeTemplate& side) { side.node.status.capacity["cpu"] = Q("4001m"); },
         "capacity cpu: 4 and 4001m"},
        {"AGpuMore",
         [](NodeTemplate& side) { side.node.status.capacity["nvidia.com/gpu"] = Q("1"); },
         "capacity nvidia.com/gpu: none and 1"},
        {"AllocatableWithinFivePercent",
         [](NodeTemplate& side) { side.node.status.allocatable["cpu"] = Q("3800m"); }, ""},
        {"AllocatableBeyondThat",
         [](NodeTemplate& side) { side.node.status.allocatable["cpu"] = Q("3799m"); },
         "allocatable cpu: 4 and 3799m"},
        {"DaemonSetsTakeTooMuch", [](NodeTemplate& side) { side.pods = {Asking("cpu", "201m")}; },
         "free cpu: 4 and 3799m"},
        {"DaemonSetsTakeALittle", [](NodeTemplate& side) { side.pods = {Asking("cpu", "200m")}; },
         ""},
        {"PodAsksForWhatTheOtherDoesNot",
         [](NodeTemplate& side) { side.pods = {Asking("example.com/x", "1")}; },
         "free example.com/x: none and -1"},
        {"TaintsAreNotCompared",
         [](NodeTemplate& side) { side.node.spec.taints = {{.key = "x", .effect = "NoSchedule"}}; },
         ""},
    }),
    [](const auto& row) { return row.param.name; });

TEST(SimilarTest, CloudsIgnoreTheirOwnLabels) {
  const NodeTemplate a = Template("a");
  NodeTemplate b = Template("b");
  b.node.metadata.labels["eks.amazonaws.com/nodegroup"] = "b";
  EXPECT_FALSE(CompareTemplates(LabelFlavor::kGeneric, {}, {})(a, b).similar);
  EXPECT_TRUE(CompareTemplates(LabelFlavor::kAws, {}, {})(a, b).similar);
  EXPECT_TRUE(
      CompareTemplates(LabelFlavor::kGeneric, {"eks.amazonaws.com/nodegroup"}, {})(a, b).similar);
}

TEST(SimilarTest, AzureNodesOfOnePoolAreSimilarWhateverElse) {
  NodeTemplate a = Template("a");
  NodeTemplate b = Template("b");
  b.node.status.capacity["cpu"] = Q("64");
  a.node.metadata.labels["agentpool"] = b.node.metadata.labels["agentpool"] = "p";
  EXPECT_TRUE(CompareTemplates(LabelFlavor::kAzure, {}, {})(a, b).similar);
  EXPECT_FALSE(CompareTemplates(LabelFlavor::kAws, {}, {})(a, b).similar);
  NodeTemplate poolless = Template("b");
  poolless.node.status.capacity["cpu"] = Q("64");
  EXPECT_FALSE(CompareTemplates(LabelFlavor::kAzure, {}, {})(a, poolless).similar);
  EXPECT_FALSE(CompareTemplates(LabelFlavor::kAzure, {}, {})(poolless, a).similar);
  poolless.node.metadata.labels["agentpool"] = a.node.metadata.labels["agentpool"] = "";
  EXPECT_FALSE(CompareTemplates(LabelFlavor::kAzure, {}, {})(a, poolless).similar);
}

TEST(SimilarTest, BalancingLabelsAreAllThatCounts) {
  const SimilarityCheck check = CompareLabels({"pool"});
  const NodeTemplate a = Template("a");
  NodeTemplate b = Template("b");
  b.node.status.capacity["cpu"] = Q("64");
  EXPECT_TRUE(check(a, b).similar);
  b.node.metadata.labels.erase("pool");
  EXPECT_FALSE(check(a, b).similar);
}

TEST(SimilarTest, RatiosReachOnlyTheCloudsOwnComparisons) {
  Options options;
  options.max_free_difference_ratio = 0.5;
  const NodeTemplate a = Template("a");
  NodeTemplate b = Template("b");
  b.pods = {Asking("cpu", "1")};
  EXPECT_TRUE(SimilarityFrom(options, "aws")(a, b).similar);
  EXPECT_FALSE(SimilarityFrom(options, "externalgrpc")(a, b).similar);
}

std::string Sizes(std::vector<GroupSize> groups, int new_nodes) {
  std::string out;
  for (const GroupSize& group : MUST(Balance(std::move(groups), new_nodes))) {
    out += group.group + ":" + std::to_string(group.planned) + " ";
  }
  return out;
}

TEST(BalanceTest, LevelsSizes) {
  EXPECT_EQ(Sizes({{"a", 1, 10}, {"b", 5, 10}, {"c", 3, 10}}, 6), "a:5 c:5 ");
  EXPECT_EQ(Sizes({{"a", 0, 10}, {"b", 0, 10}}, 3), "a:2 b:1 ");
}

TEST(BalanceTest, StopsAtTheMaximumAndSpillsOver) {
  EXPECT_EQ(Sizes({{"a", 0, 2}, {"b", 0, 10}}, 6), "a:2 b:4 ");
  EXPECT_EQ(Sizes({{"a", 0, 2}, {"b", 0, 2}}, 100), "a:2 b:2 ");
  EXPECT_EQ(Sizes({{"a", 2, 2}, {"b", 3, 3}}, 5), "");
}

TEST(BalanceTest, GroupAboveItsMaximumIsLeftAlone) {
  EXPECT_EQ(Sizes({{"a", 5, 2}, {"b", 6, 8}}, 5), "b:8 ");
}

// Groups that are called by their place, and new sizes as upstream's code gave them with Go's own
// sort. With twelve groups and fewer it is the first of equals in the list that gets a node.
TEST(BalanceTest, AboveTwelveGroupsGosSortSaysWhichOfEqualsIsFirst) {
  const auto sizes = [](const std::vector<int>& targets, int max, int new_nodes) {
    std::vector<GroupSize> groups;
    for (size_t i = 0; i < targets.size(); ++i)
      groups.push_back({std::to_string(i), targets[i], max});
    return Sizes(std::move(groups), new_nodes);
  };
  const std::vector<int> thirteen = {2, 1, 2, 1, 1, 2, 1, 2, 1, 2, 1, 1, 2};
  EXPECT_EQ(sizes(thirteen, 9, 3), "6:2 1:2 3:2 ");
  EXPECT_EQ(sizes(thirteen, 9, 10), "6:3 1:3 3:3 4:2 8:2 10:2 11:2 ");
  std::vector<int> threes;
  for (int i = 0; i < 24; ++i) threes.push_back(i * 7 % 3);
  EXPECT_EQ(sizes(threes, 3, 5), "12:1 0:1 21:1 3:1 18:1 ");
  threes.resize(12);
  EXPECT_EQ(sizes(threes, 3, 2), "0:1 3:1 ");
  std::vector<int> sixty;
  for (int i = 0; i < 60; ++i) sixty.push_back(5 - i % 2);
  EXPECT_EQ(sizes(sixty, 20, 4), "47:5 41:5 59:5 3:5 ");
}

TEST(BalanceTest, NoGroupsIsAnError) { EXPECT_FALSE(Balance({}, 1).ok()); }

}  // namespace
}  // namespace coppice::autoscale
