#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::node_declared_features {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

constexpr const char* kMissing = "node(s) didn't match Pod's required features";

struct Case {
  std::string name;
  bool host_network = false;
  std::optional<bool> host_users;
  std::string container_rule;  // action of a restart rule
  std::string init_container_rule;
  Answers answers;  // of a node that declares nothing, one that declares restarts, one that
                    // declares all
};

class NodeDeclaredFeaturesTest : public testing::TestWithParam<Case> {};

TEST_P(NodeDeclaredFeaturesTest, Decides) {
  test::FilterWorld world(Register, "NodeDeclaredFeatures");
  const std::vector<std::pair<std::string, std::vector<std::string>>> nodes = {
      {"none", {}},
      {"restarts", {"NoSuchFeature", "RestartAllContainersOnContainerExits"}},
      {"all", {"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}}};
  for (const auto& [name, features] : nodes) {
    model::Node node;
    node.metadata.name = name;
    node.status.declared_features = features;
    world.AddNode(node);
  }
  model::Pod pod;
  pod.metadata.name = "asking";
  pod.spec.host_network = GetParam().host_network;
  pod.spec.host_users = GetParam().host_users;
  const auto container = [](const std::string& rule) {
    model::Container c{.name = "c"};
    if (!rule.empty()) c.restart_policy_rules.push_back({.action = rule});
    return c;
  };
  pod.spec.containers.push_back(container(GetParam().container_rule));
  pod.spec.init_containers.push_back(container(GetParam().init_container_rule));

  EXPECT_EQ(world.Ask(pod), GetParam().answers);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, NodeDeclaredFeaturesTest,
    testing::ValuesIn(std::vector<Case>{
        {.name = "AnOrdinaryPodIsNotChecked", .host_network = true, .container_rule = "Restart"},
        {.name = "HostUsersWithTheHostNetworkIsNotChecked",
         .host_network = true,
         .host_users = true},
        {.name = "UserNamespaceInTheHostNetworkNeedsSupport",
         .host_network = true,
         .host_users = false,
         .answers = {{"none", kMissing}, {"restarts", kMissing}, {"all", ""}}},
        {.name = "UserNamespaceAloneIsNotChecked", .host_users = false},
        {.name = "ARuleThatRestartsAllNeedsSupport",
         .container_rule = "RestartAllContainers",
         .answers = {{"none", kMissing}, {"restarts", ""}, {"all", ""}}},
        {.name = "SoDoesOneOfAnInitContainer",
         .init_container_rule = "RestartAllContainers",
         .answers = {{"none", kMissing}, {"restarts", ""}, {"all", ""}}},
        {.name = "BothAreNeededTogether",
         .host_network = true,
         .host_users = false,
         .container_rule = "RestartAllContainers",
         .answers = {{"none", kMissing}, {"restarts", kMissing}, {"all", ""}}},
    }),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace coppice::filters::node_declared_features
