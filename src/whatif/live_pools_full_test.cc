// What-ifs on a cluster that lives, with node pools: alone, and beside node groups.

#include "whatif/live_pools.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/fake_clock.h"
#include "cloud/fake_node_claims.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "whatif/live_rig.h"

namespace coppice::whatif {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr TimePoint kNow{std::chrono::seconds(1'767'592'800)};

// A pool with two machines of four cores, "web-1" with a pod and "web-2" with another.
class LivePoolsTest : public testing::Test {
 protected:
  LivePoolsTest() {
    model::ReplicaSet set;
    set.metadata = {.name = "set", .namespace_ = "d", .uid = "s"};
    set.spec.replicas = 9;
    world_.Upsert(std::make_shared<const model::ReplicaSet>(set));
    AddPool("web", std::nullopt);
    AddMachine("web-1");
    AddMachine("web-2");
    AddPod("a", "2", "web-1");
    AddPod("b", "3", "web-2");
  }

  void AddPool(const std::string& name, std::optional<int> cpu_limit) {
    model::NodePool pool;
    pool.metadata.name = name;
    pool.spec.template_.spec.node_class_ref = {
        .group = cloud::FakeNodeClaims::kGroup, .kind = cloud::FakeNodeClaims::kKind, .name = "c"};
    if (cpu_limit) pool.spec.limits["cpu"] = model::Quantity::FromUnits(*cpu_limit);
    model::FillDefaults(pool);
    world_.Upsert(std::make_shared<const model::NodePool>(std::move(pool)));
  }

  void AddMachine(const std::string& name) {
    model::Node node;
    node.metadata.name = name;
    node.metadata.labels["kubernetes.io/hostname"] = name;
    node.metadata.labels[model::kNodePoolLabel] = "web";
    node.metadata.labels[model::kInstanceTypeLabel] = "medium";
    node.metadata.labels[model::kZoneLabel] = "zone-a";
    node.metadata.labels[model::kCapacityTypeLabel] = std::string(model::kSpot);
    node.metadata.labels[model::kRegisteredLabel] = "true";
    node.metadata.labels[model::kInitializedLabel] = "true";
    node.spec.provider_id = "fake://" + name;
    for (auto* list : {&node.status.capacity, &node.status.allocatable}) {
      (*list)["cpu"] = MUST(model::Quantity::Parse(list == &node.status.capacity ? "4" : "3900m"));
      (*list)["memory"] = MUST(model::Quantity::Parse("16Gi"));
      (*list)["pods"] = model::Quantity::FromUnits(110);
    }
    node.status.conditions = {{.type = "Ready", .status = "True"}};
    model::NodeClaim claim;
    claim.metadata = node.metadata;
    claim.metadata.uid = "uid-" + name;
    claim.status.provider_id = node.spec.provider_id;
    claim.status.node_name = name;
    claim.status.capacity = node.status.capacity;
    claim.status.allocatable = node.status.allocatable;
    for (const char* condition : {model::karpenter::kLaunched, model::karpenter::kRegistered,
                                  model::karpenter::kInitialized})
      model::SetCondition(claim.status.conditions,
                          {.type = condition, .status = "True", .reason = condition}, kNow);
    world_.UpsertNode(std::make_shared<const model::Node>(std::move(node)));
    world_.Upsert(std::make_shared<const model::NodeClaim>(std::move(claim)));
  }

  static model::Pod APod(const std::string& name, const std::string& cpu) {
    model::Pod pod;
    pod.metadata = {.name = name, .namespace_ = "d", .uid = "uid-" + name};
    pod.metadata.creation_timestamp = model::Time{kNow - std::chrono::hours(1)};
    pod.metadata.owner_references = {{.api_version = "apps/v1",
                                      .kind = "ReplicaSet",
                                      .name = "set",
                                      .uid = "s",
                                      .controller = true}};
    pod.spec.scheduler_name = "default-scheduler";
    pod.spec.containers.emplace_back().resources.requests["cpu"] =
        MUST(model::Quantity::Parse(cpu));
    pod.status.phase = "Pending";
    return pod;
  }
  void AddPod(const std::string& name, const std::string& cpu, const std::string& node) {
    model::Pod pod = APod(name, cpu);
    pod.spec.node_name = node;
    pod.status.phase = "Running";
    pod.status.start_time = model::Time{kNow - std::chrono::hours(1)};
    world_.UpsertPod(std::make_shared<const model::Pod>(std::move(pod)));
  }

  Result<LiveAnswer> Ask(const LiveChange& change, cloud::NodeGroups* groups = nullptr) {
    LiveMoment moment = TakeMoment(world_, groups, kNow, {});
    TakePools(claims_, change.pod ? &*change.pod : nullptr, moment);
    LiveEngines engines{.flags = flags_, .plugins = test::ThePlugins()};
    engines.pools.options.disruption = disruption_;
    return AskLive(moment, change, engines, nullptr);
  }
  static std::vector<std::string> TypesBought(const LiveSide& side) {
    std::vector<std::string> types;
    for (const WouldBuy& machine : side.pools->bought) types.push_back(machine.type);
    return types;
  }

  FakeClock clock_;
  cloud::FakeNodeClaims claims_{clock_};
  cluster::World world_;
  const autoscale::FlagValues flags_ = MUST(autoscale::ParseFlags({}));
  bool disruption_ = false;
};

TEST_F(LivePoolsTest, PodsThatAreAddedAreTheDifference) {
  const LiveAnswer answer = MUST(Ask({.pod = APod("like", "3"), .pods = 4}));
  EXPECT_THAT(answer.without.pools->bought, IsEmpty());
  EXPECT_THAT(answer.with.pools->bought, Not(IsEmpty()));
  const auto json = CheckedJson(answer);
  ASSERT_EQ(json["groups"].size(), 1u) << json.dump(1);
  const auto& row = json["groups"][0];
  EXPECT_EQ(row["kind"], "pool");
  EXPECT_EQ(row["group"], "web");
  EXPECT_EQ(row["now"], 2);
  EXPECT_EQ(row["without"], 2);
  EXPECT_GT(row["with"], 2);
  EXPECT_EQ(json["added"], 4);
  EXPECT_EQ(json["helps"], true);
  EXPECT_DOUBLE_EQ(json["cost"]["now"], 0.28) << "two of 0.2, as spot";
  EXPECT_GT(json["cost"]["with"], json["cost"]["without"]);
  EXPECT_EQ(json["steps"][0]["bought"][0]["from"], 2);
  EXPECT_EQ(json["steps"][0]["bought"][0]["to"], row["with"]);
}

TEST_F(LivePoolsTest, WhatIsBoughtHasItsPodsAndStays) {
  disruption_ = true;
  const LiveAnswer answer = MUST(Ask({.pod = APod("like", "3"), .pods = 4}));
  EXPECT_THAT(answer.with.pools->bought, Not(IsEmpty()));
  EXPECT_THAT(answer.with.pools->moves, IsEmpty());
  EXPECT_THAT(answer.with.pools->pods_after, SizeIs(6));
  for (const auto& pod : answer.with.pools->pods_after)
    EXPECT_FALSE(pod->spec.node_name.empty()) << pod->metadata.name;
}

TEST_F(LivePoolsTest, ATypeThatIsForbiddenIsNotBought) {
  const LiveChange change{.pod = APod("like", "3"), .pods = 6};
  EXPECT_THAT(TypesBought(MUST(Ask(change)).with), Contains("large"));
  LiveChange forbidden = change;
  forbidden.forbid_types = {"large"};
  const LiveAnswer answer = MUST(Ask(forbidden));
  EXPECT_THAT(TypesBought(answer.with), Not(IsEmpty()));
  EXPECT_THAT(TypesBought(answer.with), Each(Not(std::string("large"))));
}

TEST_F(LivePoolsTest, ALimitThatIsRaisedIsReached) {
  AddPool("web", 9);
  LiveChange change{.pod = APod("like", "3"), .pods = 6};
  const LiveAnswer capped = MUST(Ask(change));
  EXPECT_THAT(capped.with.pools->refused, Not(IsEmpty()));
  const auto json = CheckedJson(capped);
  EXPECT_EQ(json["helps"], false);
  EXPECT_THAT(json["unhelped"][0]["why"].get<std::string>(), HasSubstr("exceed limits"));
  change.limits["web"]["cpu"] = MUST(model::Quantity::Parse("100"));
  EXPECT_THAT(MUST(Ask(change)).with.pools->refused, IsEmpty());
  change.max_sizes["web"] = 2;
  EXPECT_THAT(MUST(Ask(change)).with.pools->refused, SizeIs(6)) << "it has two nodes already";
}

TEST_F(LivePoolsTest, ARemovedNodesPodsHaveAFate) {
  const LiveAnswer answer = MUST(Ask({.remove_nodes = {"web-1"}}));
  const auto json = CheckedJson(answer);
  ASSERT_EQ(json["removals"].size(), 1u) << json.dump(1);
  EXPECT_EQ(json["removals"][0]["group"], "web");
  EXPECT_EQ(json["removals"][0]["drains"], true);
  EXPECT_EQ(json["removals"][0]["pods"][0]["pod"], "d/a");
  EXPECT_EQ(json["removals"][0]["pods"][0]["fate"], "moves");
  EXPECT_THAT(json["removals"][0]["pods"][0]["text"].get<std::string>(), HasSubstr("a new "));
  EXPECT_EQ(json["steps"][0]["bought"][0]["from"], 1) << "one was taken away before";
  EXPECT_EQ(json["steps"][0]["bought"][0]["to"], 2);
}

TEST_F(LivePoolsTest, WhatMayNotBeDisturbedKeepsItsNode) {
  model::Pod pod = *world_.FindPod("d", "a");
  pod.metadata.annotations["karpenter.sh/do-not-disrupt"] = "true";
  world_.UpsertPod(std::make_shared<const model::Pod>(pod));
  auto json = CheckedJson(MUST(Ask({.remove_nodes = {"web-1"}})));
  EXPECT_EQ(json["removals"][0]["drains"], false);
  EXPECT_EQ(json["removals"][0]["pods"][0]["fate"], "blocks");
  EXPECT_EQ(json["groups"][0]["with"], 2) << "it is still there";
  EXPECT_EQ(json["helps"], false);

  model::Node node = *world_.FindNode("web-2");
  node.metadata.annotations["karpenter.sh/do-not-disrupt"] = "true";
  world_.UpsertNode(std::make_shared<const model::Node>(node));
  json = CheckedJson(MUST(Ask({.remove_nodes = {"web-2"}})));
  EXPECT_EQ(json["removals"][0]["drains"], false);
  EXPECT_THAT(json["removals"][0]["why"].get<std::string>(), HasSubstr("annotation"));
  EXPECT_EQ(json["removals"][0]["pods"][0]["text"], "another node, if this went");
}

TEST_F(LivePoolsTest, ABudgetOfPodsKeepsThemWhereTheyAre) {
  model::PodDisruptionBudget budget;
  budget.metadata = {.name = "b", .namespace_ = "d"};
  budget.spec.selector.emplace();
  budget.status.disruptions_allowed = 0;
  world_.Upsert(std::make_shared<const model::PodDisruptionBudget>(budget));
  const auto json = CheckedJson(MUST(Ask({.remove_nodes = {"web-1"}})));
  EXPECT_EQ(json["removals"][0]["pods"][0]["fate"], "blocks") << json["removals"].dump(1);
  EXPECT_THAT(json["removals"][0]["pods"][0]["text"].get<std::string>(), HasSubstr("d/b"));
}

TEST_F(LivePoolsTest, AMachineThatNobodyNeedsGoesInBoth) {
  disruption_ = true;
  AddMachine("web-3");
  const LiveAnswer answer = MUST(Ask({.pod = APod("like", "3"), .pods = 1}));
  ASSERT_THAT(answer.without.pools->moves, Not(IsEmpty()));
  EXPECT_EQ(answer.without.pools->moves[0].gone[0].node, "web-3");
  EXPECT_EQ(answer.without.pools->machines.at("web").after, 2);
  EXPECT_EQ(answer.with.pools->machines.at("web").after, 3) << "the added pod has it";
  const auto json = CheckedJson(answer);
  EXPECT_EQ(json["stepsWithout"][0]["removed"][0], "web-3");
}

TEST_F(LivePoolsTest, WhatIsNotThereIsRefusedByName) {
  EXPECT_THAT(Ask({.max_sizes = {{"nothing", 3}}}).status().message(), HasSubstr("nothing"));
  EXPECT_THAT(Ask({.limits = {{"nothing", {}}}}).status().message(), HasSubstr("pool nothing"));
  EXPECT_THAT(Ask({.forbid_types = {"huge"}}).status().message(), HasSubstr("type huge"));
  EXPECT_THAT(Ask({.remove_nodes = {"nobody"}}).status().message(), HasSubstr("no node nobody"));
}

TEST_F(LivePoolsTest, APoolThatIsNotReadyBuysNothingAndSaysSo) {
  model::NodePool pool = *world_.objects<model::NodePool>().Find("web");
  model::SetCondition(pool.status.conditions,
                      {.type = model::karpenter::kReady,
                       .status = "False",
                       .reason = "NodeClassNotReady",
                       .message = "its class is not ready"},
                      kNow);
  world_.Upsert(std::make_shared<const model::NodePool>(pool));
  const LiveAnswer answer = MUST(Ask({.pod = APod("like", "3"), .pods = 4}));
  EXPECT_THAT(answer.with.pools->bought, IsEmpty());
  EXPECT_THAT(answer.notes, Contains(HasSubstr("its class is not ready")));
}

TEST_F(LivePoolsTest, PodsOfABatchSchedulerAreLeftToIt) {
  model::Pod pod = APod("gang", "3");
  pod.spec.scheduler_name = "volcano";
  LiveMoment moment;
  moment.now = kNow;
  world_.UpsertPod(std::make_shared<const model::Pod>(pod));
  moment = TakeMoment(world_, nullptr, kNow, {});
  TakePools(claims_, nullptr, moment);
  LiveEngines engines{.flags = flags_, .plugins = test::ThePlugins()};
  engines.pools.options.disruption = false;
  EXPECT_THAT(
      MUST(AskLive(moment, {.max_sizes = {{"web", 9}}}, engines, nullptr)).with.pools->bought,
      SizeIs(1));
  engines.pools.gang_scheduler_names = {"volcano"};
  const LiveAnswer left = MUST(AskLive(moment, {.max_sizes = {{"web", 9}}}, engines, nullptr));
  EXPECT_THAT(left.with.pools->bought, IsEmpty());
  EXPECT_THAT(left.with.pools->refused, IsEmpty());
}

// A group of nodes beside the pool: pools are asked first, and what they do not take is the groups'.
class LiveBothTest : public LivePoolsTest {
 protected:
  LiveBothTest() {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = "old-1";
    node->metadata.labels["kubernetes.io/hostname"] = "old-1";
    node->metadata.labels["team"] = "old";
    node->metadata.labels[model::kInstanceTypeLabel] = "iron";
    node->spec.provider_id = "old://1";
    for (auto* list : {&node->status.capacity, &node->status.allocatable}) {
      (*list)["cpu"] = model::Quantity::FromUnits(4);
      (*list)["memory"] = MUST(model::Quantity::Parse("16Gi"));
      (*list)["pods"] = model::Quantity::FromUnits(110);
    }
    node->status.conditions = {{.type = "Ready", .status = "True"}};
    DumpGroups::Group group{.name = "old", .max = 9};
    group.machines = {"old://1"};
    group.target = 1;
    group.node_template = node;
    group.price_per_hour = 0.5;
    groups_.Add(std::move(group));
    world_.UpsertNode(node);
    AddPod("c", "3", "old-1");
  }
  static int Target(const LiveSide& side) { return side.groups->groups_after.at(0).target; }

  DumpGroups groups_;
};

TEST_F(LiveBothTest, NobodyIsBoughtForTwice) {
  const LiveAnswer anybodys = MUST(Ask({.pod = APod("like", "3"), .pods = 4}, &groups_));
  EXPECT_GT(anybodys.with.pools->machines.at("web").after, 2);
  EXPECT_EQ(Target(anybodys.with), 1) << "the pool has taken them";
  model::Pod old = APod("like", "3");
  old.spec.node_selector["team"] = "old";
  const LiveAnswer groups = MUST(Ask({.pod = old, .pods = 4}, &groups_));
  EXPECT_EQ(groups.with.pools->machines.at("web").after, 2);
  EXPECT_EQ(Target(groups.with), 5);
  EXPECT_TRUE(groups.with.groups->everybody_helped());
  const auto json = CheckedJson(groups);
  ASSERT_EQ(json["groups"].size(), 2u);
  EXPECT_EQ(json["groups"][0]["kind"], "group");
  EXPECT_EQ(json["groups"][1]["kind"], "pool");
  EXPECT_NEAR(json["cost"]["now"], 0.5 + 0.28, 1e-9);
  EXPECT_EQ(json["unhelped"].size(), 0u);
}

TEST_F(LiveBothTest, EachNodeIsTakenAwayByTheRulesOfItsOwn) {
  const LiveAnswer answer = MUST(Ask({.remove_nodes = {"web-1", "old-1"}}, &groups_));
  ASSERT_THAT(answer.with.pools->removals, SizeIs(1));
  EXPECT_EQ(answer.with.pools->removals[0].node, "web-1");
  ASSERT_THAT(answer.with.groups->removals, SizeIs(1));
  EXPECT_EQ(answer.with.groups->removals[0].node, "old-1");
  EXPECT_TRUE(answer.with.groups->everybody_helped()) << "the pool buys for the pods of both";
  EXPECT_EQ(answer.with.pools->machines.at("web").after, 2) << "one more, for the pods of both";
}

TEST_F(LiveBothTest, PodsThatNobodyHelpsHearFromBoth) {
  const LiveAnswer answer = MUST(Ask({.pod = APod("like", "900"), .pods = 2}, &groups_));
  const auto json = CheckedJson(answer);
  ASSERT_EQ(json["unhelped"].size(), 1u) << json.dump(1);
  EXPECT_EQ(json["unhelped"][0]["pods"], 2);
  EXPECT_THAT(json["unhelped"][0]["why"].get<std::string>(), HasSubstr("node pools: "));
  EXPECT_EQ(json["helps"], false);
}

}  // namespace
}  // namespace coppice::whatif
