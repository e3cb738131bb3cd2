// One element of nodeGroups. What a whole file says of its groups is in provider_config_test.

#include "provider/provider_group.h"

#include <gmock/gmock.h>

#include "test/support/must.h"

namespace coppice::provider {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ProviderGroupTest : public testing::Test {
 protected:
  cloud::GroupConfig Read(const std::string& rest) {
    yaml::Problems problems;
    const auto group =
        ReadGroup(MUST(yaml::Parse("{name: g, maxSize: 1, flavor: f" + rest + "}", "groups.yaml")),
                  context_, problems);
    said_.clear();
    for (const yaml::Problem& problem : problems.all()) {
      said_.push_back(
          std::string(problem.severity == yaml::Severity::kError ? "error: " : "warning: ") +
          problem.path + ": " + problem.text);
    }
    return group;
  }

  GroupContext context_{
      .cluster_tag = "prod",
      .user_data = [](const std::string& text) -> Result<std::string> { return "<" + text + ">"; }};
  std::vector<std::string> said_;
};

struct GroupRow {
  std::string name;
  std::string text;
  std::string said;
};

class GroupComplaintTest : public ProviderGroupTest,
                           public testing::WithParamInterface<GroupRow> {};

TEST_P(GroupComplaintTest, IsMadeWithTheKey) {
  Read(GetParam().text);
  EXPECT_THAT(said_, ElementsAre(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, GroupComplaintTest,
    testing::ValuesIn(std::vector<GroupRow>{
        {"MostBelowLeast", ", minSize: 2", "error: maxSize: is 1, less than minSize 2"},
        {"GoBool", ", usePrivateNetwork: on",
         "warning: usePrivateNetwork: write true instead of on"},
        {"VolumeOfNothing", ", volumeSizeGB: -1", "error: volumeSizeGB: must be more than 0"},
        {"VolumeBeyondReason", ", volumeSizeGB: 1000001",
         "error: volumeSizeGB: is larger than any volume"},
        {"AmountBelowNothing", ", kubeReserved: {cpu: -1}",
         "error: kubeReserved: cpu: '-1' is neither an amount such as 500Mi nor a percentage such "
         "as 10%"},
        {"MoreThanAll", ", evictionHard: {memory.available: 101%}",
         "error: evictionHard: memory.available: '101%' is neither an amount such as 500Mi nor a "
         "percentage such as 10%"},
        {"NegativePrice", ", price: -0.1", "error: price: must not be negative"},
        {"TaintWithoutAKey", ", taints: [{effect: NoSchedule}]",
         "error: taints[0].key: is required"},
        {"TaintOfNoEffect", ", taints: [{key: a, effect: Never}]",
         "warning: taints[0].effect: 'Never' is not an effect of a taint; there are NoSchedule, "
         "PreferNoSchedule, NoExecute"},
        {"OwnTag", ", tags: {k8s-autoscaler-group: other}",
         "warning: tags: k8s-autoscaler-group is set to the group's name, whatever is written "
         "here"},
        {"ForeignClusterTag", ", tags: {k8s-cluster: test}",
         "error: tags: k8s-cluster is 'test' here and clusterTag is 'prod'; remove it here"},
        {"SubnetOfNothing", ", subnetUUID: s", "error: subnetUUID: needs networkUUID"},
        {"UnknownKey", ", lables: {a: b}", "warning: lables: unknown key; did you mean 'labels'?"},
    }),
    [](const auto& row) { return row.param.name; });

TEST_F(ProviderGroupTest, WhatIsRightIsReadWithoutAWord) {
  const auto group = Read(
      ", minSize: 1, volumeSizeGB: 20, userData: text, labels: {tier: web}, maxPods: 30, "
      "taints: [{key: a, value: b, effect: NoExecute}], systemReserved: {memory: 5%}, "
      "usePrivateNetwork: true, networkUUID: n, subnetUUID: s, price: 0, extra: {a: b}");
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_EQ(group.user_data, "<text>");
  EXPECT_EQ(group.volume_size_gb, 20);
  EXPECT_EQ(group.labels.at("tier"), "web");
  EXPECT_THAT(group.taints, ElementsAre(cloud::GroupTaint{"a", "b", "NoExecute"}));
  EXPECT_EQ(group.system_reserved->at("memory"), "5%");
  EXPECT_FALSE(group.kube_reserved);
  EXPECT_EQ(group.price_per_hour, 0);
  EXPECT_EQ(group.tags, (cloud::Tags{{"k8s-cluster", "prod"}}));
}

TEST_F(ProviderGroupTest, OfAnUnnamedClusterNoTagIsAdded) {
  context_.cluster_tag.clear();
  EXPECT_THAT(Read("").tags, IsEmpty());
  EXPECT_EQ(Read(", tags: {k8s-cluster: mine}").tags.at("k8s-cluster"), "mine");
}

TEST_F(ProviderGroupTest, OneServerGroupIsOneOfThemAndOnlyOnce) {
  EXPECT_THAT(Read(", serverGroupUUID: a").server_group_uuids, ElementsAre("a"));
  EXPECT_THAT(Read(", serverGroupUUID: b, serverGroupUUIDs: [a, b]").server_group_uuids,
              ElementsAre("a", "b"));
}

TEST_F(ProviderGroupTest, UserDataThatCannotBeHadIsAnError) {
  context_.user_data = [](const std::string&) -> Result<std::string> { return NotFound("gone"); };
  Read(", userData: '@file'");
  EXPECT_THAT(said_, ElementsAre("error: userData: gone"));
}

TEST_F(ProviderGroupTest, WhatTheCloudRequiresIsRequiredInItsOrder) {
  context_.required = {"zone", "extra.project", "volumeSizeGB"};
  Read("");
  EXPECT_THAT(said_, ElementsAre("error: zone: is required", "error: extra: 'project' is required",
                                 "error: volumeSizeGB: is required"));
  Read(", zone: z, extra: {project: p}, volumeSizeGB: 10");
  EXPECT_THAT(said_, IsEmpty());
}

}  // namespace
}  // namespace coppice::provider
