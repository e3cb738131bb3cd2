#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::pod_topology_spread {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

constexpr const char* kSkew = "node(s) didn't match pod topology spread constraints";
constexpr const char* kNoLabel =
    "node(s) didn't match pod topology spread constraints (missing required label)";

model::Pod Web(std::string name = "asking") {
  model::Pod pod;
  pod.metadata.name = std::move(name);
  pod.metadata.namespace_ = "default";
  pod.metadata.labels["app"] = "web";
  return pod;
}

model::TopologySpreadConstraint Hard(std::string key) {
  model::TopologySpreadConstraint c{
      .max_skew = 1, .topology_key = std::move(key), .when_unsatisfiable = "DoNotSchedule"};
  c.label_selector.emplace().match_labels["app"] = "web";
  return c;
}

class SpreadTest : public testing::Test {
 protected:
  SpreadTest() {
    world.AddNode("a1", {{"zone", "a"}});
    world.AddNode("b1", {{"zone", "b"}});
    world.AddNode("nowhere");
  }
  Answers Ask(model::TopologySpreadConstraint constraint) {
    model::Pod pod = Web();
    pod.spec.topology_spread_constraints = {std::move(constraint)};
    return world.Ask(pod);
  }
  test::FilterWorld world{Register, "PodTopologySpread"};
};

TEST_F(SpreadTest, TheFullerDomainWaitsForTheEmptierOne) {
  world.Place(Web("one"), "a1");
  EXPECT_EQ(Ask(Hard("zone")), (Answers{{"a1", kSkew}, {"b1", ""}, {"nowhere", kNoLabel}}));
}

TEST_F(SpreadTest, TerminatingPodsAndOtherNamespacesAreNotCounted) {
  model::Pod going = Web("going");
  going.metadata.deletion_timestamp = model::Time{};
  world.Place(going, "a1");
  model::Pod foreign = Web("foreign");
  foreign.metadata.namespace_ = "other";
  world.Place(foreign, "a1");
  EXPECT_EQ(Ask(Hard("zone")), (Answers{{"a1", ""}, {"b1", ""}, {"nowhere", kNoLabel}}));
}

TEST_F(SpreadTest, FewerDomainsThanMinDomainsCountAsAnEmptyOne) {
  world.Place(Web("one"), "a1");
  world.Place(Web("two"), "b1");
  auto constraint = Hard("zone");
  constraint.min_domains = 3;
  EXPECT_EQ(Ask(constraint), (Answers{{"a1", kSkew}, {"b1", kSkew}, {"nowhere", kNoLabel}}));
}

TEST_F(SpreadTest, ATaintedDomainIsNoneIfTaintsAreHonored) {
  world.Place(Web("one"), "a1");
  model::Node tainted;
  tainted.metadata.name = "b1";
  tainted.metadata.labels["zone"] = "b";
  tainted.spec.taints.push_back({.key = "gpu", .effect = "NoSchedule"});
  world.snapshot.UpdateNode(world.snapshot.FindNode("b1"), tainted);
  EXPECT_EQ(Ask(Hard("zone"))["a1"], kSkew);
  auto honoring = Hard("zone");
  honoring.node_taints_policy = "Honor";
  EXPECT_EQ(Ask(honoring)["a1"], "") << "zone a is the only domain, so it is the emptiest";
}

TEST_F(SpreadTest, MatchLabelKeysCountOnlyPodsOfTheSameRevision) {
  model::Pod old = Web("old");
  old.metadata.labels["rev"] = "1";
  world.Place(old, "a1");
  auto constraint = Hard("zone");
  constraint.match_label_keys = {"rev"};
  model::Pod pod = Web();
  pod.metadata.labels["rev"] = "2";
  pod.spec.topology_spread_constraints = {constraint};
  EXPECT_EQ(world.Ask(pod)["a1"], "");
}

TEST_F(SpreadTest, AWishIsSkippedAndAMalformedSelectorIsAnError) {
  auto wish = Hard("zone");
  wish.when_unsatisfiable = "ScheduleAnyway";
  EXPECT_EQ(Ask(wish), Answers{});
  auto malformed = Hard("zone");
  malformed.label_selector->match_expressions.push_back({.key = "app", .operator_ = "Gt"});
  EXPECT_EQ(Ask(malformed), (Answers{{"*", "error"}}));
}

TEST(DefaultConstraintsTest, ApplyToThePodsOfAService) {
  fit::FilterRegistry registry("filter");
  Register(registry);
  fit::SchedulerConfig config;
  config.default_spread_constraints = {
      {.max_skew = 1, .topology_key = "zone", .when_unsatisfiable = "DoNotSchedule"}};
  const auto filter = MUST(registry.Make("PodTopologySpread", config));
  cluster::Facts facts;
  cluster::Snapshot snapshot(facts);
  for (const char* zone : {"a", "b"}) {
    model::Node node;
    node.metadata.name = zone;
    node.metadata.labels["zone"] = zone;
    MUST(snapshot.AddNode(node));
  }
  snapshot.AddPod(Web("one"), 0);
  const auto pod = snapshot.AddPod(Web());
  EXPECT_EQ(filter->Prepare(snapshot.pod(pod), snapshot).kind, fit::Preparation::Kind::kSkip)
      << "no service and no controller: nobody is a sibling";
  model::Service service;
  service.metadata.name = "web";
  service.metadata.namespace_ = "default";
  service.spec.selector["app"] = "web";
  facts.services.Upsert(service);
  const auto preparation = filter->Prepare(snapshot.pod(pod), snapshot);
  ASSERT_EQ(preparation.kind, fit::Preparation::Kind::kNodes);
  EXPECT_FALSE(preparation.check->Check(0).yes());
  EXPECT_TRUE(preparation.check->Check(1).yes());
}

}  // namespace
}  // namespace coppice::filters::pod_topology_spread
