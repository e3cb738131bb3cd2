#include "whatif/group_discovery.h"

#include <gmock/gmock.h>

#include "test/support/must.h"

namespace coppice::whatif {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::shared_ptr<const model::Node> ANode(std::string name, model::Labels labels) {
  model::Node node;
  node.metadata.name = name;
  node.metadata.labels = std::move(labels);
  node.spec.provider_id = "test://" + name;
  node.status.allocatable["cpu"] = model::Quantity::FromUnits(4);
  node.status.capacity["cpu"] = model::Quantity::FromUnits(4);
  return std::make_shared<const model::Node>(std::move(node));
}

struct Row {
  std::string name;
  model::Labels labels;
  std::string group;
};

class PoolLabelTest : public testing::TestWithParam<Row> {};

TEST_P(PoolLabelTest, NamesTheGroup) {
  const auto found = MUST(GroupsFromNodes({ANode("n", GetParam().labels)}, {}));
  ASSERT_THAT(found.groups, SizeIs(1));
  EXPECT_EQ(found.groups[0].name, GetParam().group);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, PoolLabelTest,
    testing::ValuesIn(std::vector<Row>{
        {"Eks", {{"eks.amazonaws.com/nodegroup", "web"}}, "web"},
        {"Eksctl", {{"alpha.eksctl.io/nodegroup-name", "web"}}, "web"},
        {"GkeHasAGroupPerZone",
         {{"cloud.google.com/gke-nodepool", "web"}, {"topology.kubernetes.io/zone", "eu-a"}},
         "web-eu-a"},
        {"Aks", {{"kubernetes.azure.com/agentpool", "web"}}, "web"},
        {"Karpenter", {{"karpenter.sh/nodepool", "web"}}, "web"},
        {"Kops", {{"kops.k8s.io/instancegroup", "web"}}, "web"},
        {"TypeAndZone",
         {{"node.kubernetes.io/instance-type", "m5"}, {"topology.kubernetes.io/zone", "a"}},
         "m5-a"},
        {"TypeAlone", {{"beta.kubernetes.io/instance-type", "m5"}}, "m5"},
        {"Nothing", {}, "nodes"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(GroupDiscoveryTest, BoundsComeFromTheFlagAndWhatIsAssumedIsSaid) {
  const auto found = MUST(GroupsFromNodes(
      {ANode("n1", {{"karpenter.sh/nodepool", "a"}}), ANode("n2", {{"karpenter.sh/nodepool", "a"}}),
       ANode("n3", {{"karpenter.sh/nodepool", "b"}})},
      {"1:7:a", "0:3:aa"}));
  ASSERT_THAT(found.groups, SizeIs(2));
  EXPECT_EQ(found.groups[0].min, 1);
  EXPECT_EQ(found.groups[0].max, 7);
  EXPECT_EQ(found.groups[0].target, 2);
  EXPECT_EQ(found.groups[1].max, kDefaultMax);
  EXPECT_THAT(found.how, HasSubstr("karpenter.sh/nodepool"));
  EXPECT_THAT(found.how, HasSubstr("min 0 and max 1000 are assumed"));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("names the group aa")));
  EXPECT_THAT(GroupsFromNodes({}, {"7:1:a"}).status().message(), HasSubstr("min:max:name"));
}

TEST(GroupDiscoveryTest, AnAssumedMaximumIsNeverBelowWhatExists) {
  model::Node node;
  node.metadata.labels["eks.amazonaws.com/nodegroup"] = "web";
  const Listed<model::Node> nodes(1'200, std::make_shared<const model::Node>(node));
  const DiscoveredGroups found = MUST(GroupsFromNodes(nodes, {}));
  ASSERT_EQ(found.groups.size(), 1U);
  EXPECT_EQ(found.groups[0].max, 1'200);
  EXPECT_THAT(found.how, HasSubstr("of a group that is larger what exists"));
  EXPECT_EQ(MUST(GroupsFromNodes(nodes, {"0:5:web"})).groups[0].max, 5) << "what is said counts";
}

TEST(GroupDiscoveryTest, ControlPlaneNodesBelongToNoGroup) {
  const auto found =
      MUST(GroupsFromNodes({ANode("cp", {{"node-role.kubernetes.io/control-plane", ""}})}, {}));
  EXPECT_THAT(found.groups, IsEmpty());
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("cp")));
}

TEST(GroupsFileTest, ReadsSizesNodesAndTemplates) {
  const auto found = MUST(ParseGroups(R"(
groups:
- name: a
  min: 1
  max: 4
  size: 3
  nodeSelector: {pool: a}
  price: 0.5
  options: {scaleDownUnneededTime: 3m}
- name: b
  template:
    labels: {pool: b}
    taints: ["dedicated=ml:NoSchedule"]
    capacity: {cpu: 8, memory: 32Gi}
- name: c
  template: {node: n1, labels: {pool: c}}
)",
                                      "groups.yaml", {ANode("n1", {{"pool", "a"}})}));
  ASSERT_THAT(found.groups, SizeIs(3));
  EXPECT_THAT(found.groups[0].machines, ElementsAre("test://n1"));
  EXPECT_EQ(found.groups[0].target, 3);
  EXPECT_EQ(found.groups[0].options.scale_down_unneeded_time, std::chrono::minutes(3));
  const model::Node& b = *found.groups[1].node_template;
  EXPECT_EQ(b.status.allocatable.Find("cpu")->Value(), 8);
  EXPECT_EQ(b.status.allocatable.Find("pods")->Value(), 110);
  ASSERT_THAT(b.spec.taints, SizeIs(1));
  EXPECT_EQ(b.spec.taints[0].value, "ml");
  EXPECT_EQ(*found.groups[2].node_template->metadata.labels.Find("pool"), "c");
  EXPECT_EQ(found.groups[2].node_template->status.allocatable.Find("cpu")->Value(), 4);
}

TEST(GroupsFileTest, ComplainsWithLineAndKey) {
  const auto complaint = [](std::string_view text) {
    return ParseGroups(text, "groups.yaml", {ANode("n1", {{"pool", "a"}})}).status().message();
  };
  EXPECT_THAT(complaint("groups:\n- name: a\n  mx: 3\n"),
              testing::AllOf(HasSubstr("groups.yaml:3:"), HasSubstr("mx")));
  EXPECT_THAT(complaint("groups:\n- name: a\n  min: 3\n  max: 1\n"), HasSubstr("min and max"));
  EXPECT_THAT(complaint("groups:\n- name: a\n  nodes: [n2]\n"), HasSubstr("no node n2"));
  EXPECT_THAT(complaint("groups:\n- name: a\n  template: {taints: [x]}\n"),
              HasSubstr("'x' is no taint"));
  EXPECT_THAT(complaint("pools: []\n"), HasSubstr("groups"));
  EXPECT_THAT(complaint("groups:\n- {name: a, nodes: [n1]}\n- {name: b, nodes: [n1]}\n"),
              HasSubstr("belongs to group a already"));
}

TEST(GroupsFileTest, TakesTheProvidersConfiguration) {
  const auto found = ParseGroups(R"(
clusterTag: c1
cloud: {kind: simulated}
nodeGroups:
- name: web
  minSize: 1
  maxSize: 5
  flavor: small
  image: ubuntu
  zone: a
- name: db
  minSize: 0
  maxSize: 2
  flavor: large
  image: ubuntu
  zone: a
)",
                                 "provider.yaml", {ANode("web-1x", {}), ANode("other", {})});
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_THAT(found->groups, SizeIs(2));
  EXPECT_THAT(found->groups[0].machines, ElementsAre("test://web-1x"));
  EXPECT_EQ(found->groups[0].max, 5);
  EXPECT_THAT(found->notes, ElementsAre(HasSubstr("group db has no node in the dump")));
}

}  // namespace
}  // namespace coppice::whatif
