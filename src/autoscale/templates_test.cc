#include "autoscale/templates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/fake_node_groups.h"
#include "test/support/must.h"

namespace coppice::autoscale {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class TemplatesTest : public testing::Test {
 protected:
  TemplatesTest() {
    groups.Add({.info = {.id = "web", .max_size = 5}, .node_template = Described()});
  }

  static std::shared_ptr<const model::Node> Described() {
    model::Node node;
    node.metadata.name = "described";
    node.metadata.labels["from"] = "the provider";
    node.metadata.labels["topology.kubernetes.io/zone"] = "a";
    return std::make_shared<const model::Node>(node);
  }
  // Ready for that long.
  void AddNode(
      const std::string& name, Duration ready_for,
      const std::function<void(model::Node&)>& change = [](model::Node&) {}) {
    model::Node node;
    node.metadata.name = name;
    node.metadata.labels["from"] = name;
    node.status.conditions = {{.type = "Ready",
                               .status = "True",
                               .last_transition_time = model::Time{clock.Now() - ready_for}}};
    change(node);
    nodes.push_back({std::make_shared<const model::Node>(std::move(node)), "web"});
  }
  static std::shared_ptr<const model::DaemonSet> Daemon(const std::string& name,
                                                        bool critical = false) {
    model::DaemonSet set;
    set.metadata.name = name;
    set.metadata.namespace_ = "kube-system";
    set.metadata.uid = "uid-" + name;
    if (critical) set.spec.template_.spec.priority_class_name = "system-node-critical";
    return std::make_shared<const model::DaemonSet>(std::move(set));
  }
  // Of which node the group's template is now.
  std::string Source() {
    templates.Recompute(
        nodes, [](const model::Node&) { return std::vector<const model::Pod*>(); }, daemon_sets,
        clock.Now());
    const TemplatePtr found = templates.Find("web");
    return found == nullptr ? "none" : *found->node.metadata.labels.Find("from");
  }

  FakeClock clock;
  SeededRng rng{1};
  Options options;
  cloud::FakeNodeGroups groups;
  std::vector<ListedNode> nodes;
  std::vector<std::shared_ptr<const model::DaemonSet>> daemon_sets;
  Templates templates{options, options, groups, rng};
};

TEST_F(TemplatesTest, ANodeIsASourceOnceItHasBeenReadyForAMinute) {
  AddNode("fresh", minutes(1));
  EXPECT_EQ(Source(), "the provider");
  clock.Advance(seconds(1));
  EXPECT_EQ(Source(), "fresh");
}

TEST_F(TemplatesTest, ANodeThatIsCordonedOrGoingIsNone) {
  AddNode("cordoned", hours(1), [](model::Node& node) { node.spec.unschedulable = true; });
  AddNode("going", hours(1), [](model::Node& node) {
    node.spec.taints = {
        {.key = std::string(kToBeDeletedTaint), .value = "1", .effect = "NoSchedule"}};
  });
  EXPECT_EQ(Source(), "the provider");
  AddNode("good", hours(1));
  EXPECT_EQ(Source(), "good");
}

TEST_F(TemplatesTest, AGroupWithoutNodesIsRememberedForAsLongAsTheOptionSays) {
  options.node_info_cache_expire_time = hours(1);
  AddNode("good", hours(1));
  EXPECT_EQ(Source(), "good");
  nodes.clear();
  clock.Advance(hours(1));
  EXPECT_EQ(Source(), "good");
  clock.Advance(seconds(1));
  EXPECT_EQ(Source(), "the provider");
}

TEST_F(TemplatesTest, WhatNobodyDescribesIsTakenFromANodeInTrouble) {
  groups.Change("web", [](auto& group) { group.node_template = nullptr; });
  EXPECT_EQ(Source(), "none");
  EXPECT_THAT(templates.problems(), IsEmpty()) << "a provider need not have templates";
  groups.Fail("Template", Internal("broken"));
  EXPECT_EQ(Source(), "none");
  EXPECT_THAT(templates.problems(), SizeIs(1));
  AddNode("ill", hours(1), [](model::Node& node) { node.status.conditions[0].status = "False"; });
  EXPECT_EQ(Source(), "ill");
}

TEST_F(TemplatesTest, ADescribedNodeHasTheOldNamesOfItsZoneAndEveryDaemon) {
  daemon_sets = {Daemon("logs"), Daemon("network", true)};
  EXPECT_EQ(Source(), "the provider");
  const TemplatePtr made = templates.Find("web");
  EXPECT_EQ(*made->node.metadata.labels.Find("failure-domain.beta.kubernetes.io/zone"), "a");
  EXPECT_EQ(*made->node.metadata.labels.Find(kTemplateLabel), "true");
  EXPECT_THAT(made->node.metadata.name, StartsWith("template-node-for-web-"));
  EXPECT_THAT(made->pods, SizeIs(2));
}

TEST_F(TemplatesTest, OfDaemonsThatARealNodeLacksOnlyThoseThatPushOthersOutAreAdded) {
  daemon_sets = {Daemon("logs"), Daemon("network", true)};
  AddNode("good", hours(1));
  EXPECT_EQ(Source(), "good");
  ASSERT_THAT(templates.Find("web")->pods, SizeIs(1));
  EXPECT_THAT(templates.Find("web")->pods[0].metadata.name, StartsWith("network-pod"));
  options.force_ds = true;
  EXPECT_EQ(Source(), "good");
  EXPECT_THAT(templates.Find("web")->pods, SizeIs(2));
}

TEST(ShouldRunOnTest, NameAffinityAndTaintsDecide) {
  model::Node node;
  node.metadata.name = "n";
  node.metadata.labels["disk"] = "fast";
  model::DaemonSet set;
  EXPECT_TRUE(ShouldRunOn(set, node));
  set.spec.template_.spec.node_name = "another";
  EXPECT_FALSE(ShouldRunOn(set, node));
  set.spec.template_.spec.node_name = "n";
  EXPECT_TRUE(ShouldRunOn(set, node));
  set.spec.template_.spec.node_selector["disk"] = "slow";
  EXPECT_FALSE(ShouldRunOn(set, node));
  set.spec.template_.spec.node_selector["disk"] = "fast";
  node.spec.taints = {{.key = "mine", .effect = "NoSchedule"}};
  EXPECT_FALSE(ShouldRunOn(set, node));
  node.spec.taints = {{.key = "node.kubernetes.io/not-ready", .effect = "NoExecute"}};
  EXPECT_TRUE(ShouldRunOn(set, node)) << "a daemon comes to a node that is not ready";
}

}  // namespace
}  // namespace coppice::autoscale
