// What no recording covers (budgets), or only with upstream's mistakes: cool-down, quotas, node
// groups, gang eviction; and defaults that are saner than upstream's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "base/fake_clock.h"
#include "base/rng.h"
#include "batch/scheduler.h"
#include "cluster/fake_writer.h"
#include "test/batch/session_world.h"
#include "test/support/plugin_arguments.h"
#include "wire/wire.h"

namespace coppice {
namespace {

using test::SessionWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::string> Bound(const batch::Outcome& outcome) {
  std::vector<std::string> names;
  for (const auto& bind : outcome.binds) names.push_back(bind.pod.name + "@" + bind.node);
  return names;
}
std::vector<std::string> Evicted(const batch::Outcome& outcome) {
  std::vector<std::string> names;
  for (const auto& eviction : outcome.evictions) names.push_back(eviction.pod.name);
  return names;
}
std::string Conf(const std::string& actions, const std::string& plugins) {
  return "actions: \"" + actions + "\"\ntiers:\n- plugins: [" + plugins + "]\n";
}

// Two low pods fill the node; a high one wants in.
void Crowd(SessionWorld& world) {
  world.Node("n0", "2");
  world.Queue("default");
  world.input.priority_classes.push_back({.metadata = {.name = "high"}, .value = 100});
  world.Group("low", 0);
  world.Group("high", 1).spec.priority_class_name = "high";
}
constexpr const char* kPreempting = "{name: priority}, {name: gang}, {name: conformance}";

TEST(PreemptTest, TakesTheLeastImportantThatIsEnough) {
  SessionWorld world;
  Crowd(world);
  world.Add(SessionWorld::Pod("low-w-0", "low", "1", "n0"));
  world.Add(SessionWorld::Pod("low-w-1", "low", "1", "n0"));
  world.Add(SessionWorld::Pod("high-w-0", "high", "1"));
  const auto outcome = world.Run(Conf("allocate, preempt", kPreempting));
  EXPECT_THAT(Evicted(outcome), testing::SizeIs(1));
  ASSERT_THAT(outcome.conditions, testing::SizeIs(1));
  EXPECT_EQ(outcome.conditions[0].nominated_node, "n0");
}

const std::string kWeighing = Conf("preempt", kPreempting) +
                              "configurations:\n- name: preempt\n  arguments:\n"
                              "    enableTopologyAwarePreemption: true\n"
                              "    minCandidateNodesPercentage: 100\n";

// The small one goes first and is not enough; without the big one it need not go at all.
TEST(PreemptTest, WithNodesWeighedNobodyGoesWithoutNeed) {
  for (const bool weighs : {false, true}) {
    SessionWorld world;
    world.Node("n0", "3");
    world.Queue("default");
    world.input.priority_classes.push_back({.metadata = {.name = "high"}, .value = 100});
    world.Group("low", 0);
    world.Group("high", 1).spec.priority_class_name = "high";
    model::Pod small = SessionWorld::Pod("low-w-0", "low", "1", "n0");
    small.spec.priority = 1;
    model::Pod big = SessionWorld::Pod("low-w-1", "low", "2", "n0");
    big.spec.priority = 5;
    world.Add(small).Add(big).Add(SessionWorld::Pod("high-w-0", "high", "2"));
    const auto outcome = world.Run(weighs ? kWeighing : Conf("preempt", kPreempting));
    if (weighs) {
      EXPECT_THAT(Evicted(outcome), ElementsAre("low-w-1"));
    } else {
      EXPECT_THAT(Evicted(outcome), UnorderedElementsAre("low-w-0", "low-w-1"));
    }
  }
}

TEST(PreemptTest, WithNodesWeighedTheLeastImportantVictimsDecide) {
  for (const bool weighs : {false, true}) {
    SessionWorld world;
    Crowd(world);
    world.Node("n1", "2");
    for (const auto& [name, node, priority] :
         {std::tuple("low-w-0", "n0", 7), std::tuple("low-w-1", "n1", 3)}) {
      model::Pod pod = SessionWorld::Pod(name, "low", "2", node);
      pod.spec.priority = priority;
      world.Add(std::move(pod));
    }
    world.Add(SessionWorld::Pod("high-w-0", "high", "2"));
    const auto outcome = world.Run(weighs ? kWeighing : Conf("preempt", kPreempting));
    EXPECT_THAT(Evicted(outcome), ElementsAre(weighs ? "low-w-1" : "low-w-0"));
  }
}

TEST(NewsTest, QueuesTellWhatTheyDeserveAndJobsTheirShare) {
  SessionWorld world;
  world.Node("n0", "9");
  world.Queue("a", 2);
  world.Queue("b", 1);
  world.Queue("idle", 5);
  for (const char* queue : {"a", "b"}) {
    const std::string name = std::string("of-") + queue;
    world.Group(name, 1, queue);
    for (int i = 0; i < 8; ++i)
      world.Add(SessionWorld::Pod(name + "-w-" + std::to_string(i), name, "1"));
  }
  world.Run(Conf("allocate", "{name: gang}, {name: drf}, {name: proportion}"));
  ASSERT_EQ(world.news.shares.size(), 2u);  // none of the queue without jobs
  const batch::News::Share& a = world.news.shares[0];
  EXPECT_DOUBLE_EQ(a.deserved.cpu, 6000);
  EXPECT_DOUBLE_EQ(a.request.cpu, 8000);
  EXPECT_DOUBLE_EQ(a.allocated.cpu, 6000);
  EXPECT_DOUBLE_EQ(a.share, 1);
  EXPECT_FALSE(a.overused);  // `pods` is a resource, too, and two are left
  EXPECT_DOUBLE_EQ(world.news.shares[1].deserved.cpu, 3000);
  ASSERT_EQ(world.news.jobs.size(), 2u);
  EXPECT_EQ(world.news.jobs[0].name, "of-a");
  EXPECT_DOUBLE_EQ(world.news.jobs[0].share, 6.0 / 9);
}

TEST(NewsTest, CapacityTellsWhatIsReallyThere) {
  SessionWorld world;
  world.Node("n0", "9");
  model::Queue& queue = world.Queue("a");
  queue.spec.deserved["cpu"] = SessionWorld::Amount("2");
  queue.spec.capability["cpu"] = SessionWorld::Amount("4");
  world.Group("j", 1, "a");
  for (int i = 0; i < 3; ++i) {
    world.Add(SessionWorld::Pod("j-w-" + std::to_string(i), "j", "1", "n0"));
  }
  world.Run(Conf("allocate", "{name: gang}, {name: capacity}"));
  ASSERT_EQ(world.news.shares.size(), 1u);
  EXPECT_DOUBLE_EQ(world.news.shares[0].real_capability.cpu, 4000);
  EXPECT_DOUBLE_EQ(world.news.shares[0].deserved.cpu, 2000);
  EXPECT_DOUBLE_EQ(world.news.shares[0].share, 1.5);
  EXPECT_TRUE(world.news.shares[0].overused);
}

TEST(PdbTest, NobodyGoesAgainstABudget) {
  SessionWorld world;
  Crowd(world);
  for (const char* name : {"low-w-0", "low-w-1"}) {
    model::Pod pod = SessionWorld::Pod(name, "low", "1", "n0");
    pod.metadata.labels["app"] = "web";
    world.Add(std::move(pod));
  }
  world.Add(SessionWorld::Pod("high-w-0", "high", "1"));
  model::PodDisruptionBudget budget{.metadata = {.name = "web", .namespace_ = "ns"}};
  budget.spec.selector.emplace().match_labels["app"] = "web";
  world.input.budgets.push_back(budget);
  const auto conf = Conf("preempt", std::string(kPreempting) + ", {name: pdb}");
  EXPECT_THAT(Evicted(world.Run(conf)), IsEmpty());
}

TEST(PdbTest, ABudgetThatNobodyUnderstandsGuardsItsNamespace) {
  for (const bool exact : {false, true}) {
    SessionWorld world;
    Crowd(world);
    world.options.upstream_exact = exact;
    model::Pod pod = SessionWorld::Pod("low-w-0", "low", "2", "n0");
    pod.metadata.labels["app"] = "web";
    world.Add(std::move(pod));
    world.Add(SessionWorld::Pod("high-w-0", "high", "1"));
    model::PodDisruptionBudget budget{.metadata = {.name = "odd", .namespace_ = "ns"}};
    budget.spec.selector.emplace().match_expressions = {{"app", "Like", {}}};
    budget.status.disruptions_allowed = 5;
    world.input.budgets.push_back(budget);
    const auto conf = Conf("preempt", std::string(kPreempting) + ", {name: pdb}");
    EXPECT_EQ(Evicted(world.Run(conf)).empty(), !exact);
  }
}

TEST(PdbTest, PodsWithoutLabelsAreNobodysBusiness) {
  SessionWorld world;
  Crowd(world);
  world.Add(SessionWorld::Pod("low-w-0", "low", "2", "n0"));
  world.Add(SessionWorld::Pod("high-w-0", "high", "1"));
  const auto conf = Conf("preempt", std::string(kPreempting) + ", {name: pdb}");
  EXPECT_THAT(Evicted(world.Run(conf)), ElementsAre("low-w-0"));
}

TEST(CdpTest, WhoHasJustBeenPlacedStays) {
  SessionWorld world;
  Crowd(world);
  const TimePoint now = world.input.now;
  const auto placed = [&](const char* name, Duration ago) {
    model::Pod pod = SessionWorld::Pod(name, "low", "1", "n0");
    pod.metadata.annotations["volcano.sh/cooldown-time"] = "1h";
    pod.status.conditions.push_back(
        {.type = "PodScheduled", .status = "True", .last_transition_time = model::Time{now - ago}});
    return pod;
  };
  world.Add(placed("low-w-0", std::chrono::minutes(5)));
  world.Add(placed("low-w-1", std::chrono::hours(2)));
  world.Add(SessionWorld::Pod("high-w-0", "high", "1"));
  const auto conf = Conf("preempt", std::string(kPreempting) + ", {name: cdp}");
  EXPECT_THAT(Evicted(world.Run(conf)), ElementsAre("low-w-1"));
}

TEST(ResourceQuotaTest, AdmitsWhatTheNamespaceHasRoomFor) {
  SessionWorld world;
  world.Node("n0", "8");
  world.Queue("default");
  for (const char* name : {"a", "b"}) {
    model::PodGroup& group = world.Group(name, 1);
    group.spec.min_resources.emplace()["cpu"] = SessionWorld::Amount("2");
    group.status.phase = "Pending";
    world.Add(SessionWorld::Pod(std::string(name) + "-w-0", name, "1"));
  }
  model::ResourceQuota quota{.metadata = {.name = "q", .namespace_ = "ns"}};
  quota.status.hard["cpu"] = SessionWorld::Amount("4");
  quota.status.used["cpu"] = SessionWorld::Amount("1");
  world.input.quotas.push_back(quota);
  const auto outcome = world.Run(
      Conf("enqueue, allocate", "{name: gang}, {name: resourcequota}, {name: predicates}"));
  EXPECT_THAT(Bound(outcome), ElementsAre("a-w-0@n0"));
  const auto told = std::ranges::find(outcome.events, "Normal", &batch::Outcome::EventNote::type);
  ASSERT_NE(told, outcome.events.end());
  EXPECT_THAT(told->message,
              HasSubstr("resource quota insufficient, requested: cpu=2, used: cpu=1"));
}

TEST(ResourceQuotaTest, UpstreamTellsAmountsAsGoPrintsThem) {
  SessionWorld world;
  world.options.upstream_exact = true;
  world.Queue("default");
  model::PodGroup& group = world.Group("a", 1);
  group.spec.min_resources.emplace()["cpu"] = SessionWorld::Amount("1500m");
  (*group.spec.min_resources)["memory"] = SessionWorld::Amount("2Gi");
  group.status.phase = "Pending";
  model::ResourceQuota quota{.metadata = {.name = "q", .namespace_ = "ns"}};
  quota.status.hard["cpu"] = SessionWorld::Amount("1");
  quota.status.hard["memory"] = SessionWorld::Amount("1Gi");
  quota.status.used["cpu"] = SessionWorld::Amount("0");
  world.input.quotas.push_back(quota);
  const auto outcome = world.Run(Conf("enqueue", "{name: resourcequota}"));
  ASSERT_FALSE(outcome.events.empty());
  EXPECT_EQ(
      outcome.events[0].message,
      "resource quota insufficient, requested: map[cpu:{{1500 -3} {<nil>} 1500m DecimalSI} "
      "memory:{{2147483648 0} {<nil>} 2Gi BinarySI}], used: map[cpu:{{0 0} {<nil>} 0 DecimalSI}], "
      "limited: map[cpu:{{1 0} {<nil>} 1 DecimalSI} memory:{{1073741824 0} {<nil>} 1Gi "
      "BinarySI}]");
}

TEST(NodeGroupTest, QueuesKeepToTheirGroups) {
  SessionWorld world;
  world.Node("blue", "8", {{"volcano.sh/nodegroup-name", "blue"}});
  world.Node("red", "8", {{"volcano.sh/nodegroup-name", "red"}});
  world.Node("plain", "8");
  world.Queue("default").spec.affinity.emplace().node_group_affinity = {.required = {"red"}};
  world.Group("a", 1);
  world.Add(SessionWorld::Pod("a-w-0", "a", "1"));
  const auto conf = Conf("allocate", "{name: gang}, {name: predicates}, {name: nodegroup}");
  EXPECT_THAT(Bound(world.Run(conf)), ElementsAre("a-w-0@red"));
}

TEST(NodeGroupTest, LimitsHoldWithinASession) {
  SessionWorld world;
  world.Node("red", "8", {{"volcano.sh/nodegroup-name", "red"}});
  model::Queue& queue = world.Queue("default");
  queue.spec.affinity.emplace().node_group_affinity = {.required = {"red"}};
  queue.metadata.annotations["volcano.sh/nodegroup-resource-limits"] = R"({"red":{"cpu":"2"}})";
  world.Group("a", 1);
  for (int i = 0; i < 3; ++i) world.Add(SessionWorld::Pod("a-w-" + std::to_string(i), "a", "1"));
  const auto conf = Conf("allocate", "{name: gang}, {name: predicates}, {name: nodegroup}");
  EXPECT_THAT(Bound(world.Run(conf)), ElementsAre("a-w-0@red", "a-w-1@red"));
}

// Both queues like red, which is full of the other queue's pods, and only its own may be blue.
TEST(NodeGroupTest, ReclaimTakesRoomWhereTheQueueMayBe) {
  SessionWorld world;
  for (const char* color : {"blue", "red"})
    world.Node(color, "2", {{"volcano.sh/nodegroup-name", color}});
  world.Queue("taker").spec.affinity.emplace().node_group_affinity = {.required = {"red"}};
  world.Queue("holder").spec.affinity.emplace().node_group_affinity = {.required = {"red", "blue"}};
  world.Group("new", 1, "taker");
  world.Group("old", 0, "holder");
  for (const char* at : {"blue", "red"}) {
    for (const char* i : {"-0", "-1"})
      world.Add(SessionWorld::Pod("old-" + std::string(at) + i, "old", "1", at));
  }
  world.Add(SessionWorld::Pod("new-w-0", "new", "1"));
  const auto conf = Conf("reclaim",
                         "{name: gang}, {name: conformance}, {name: predicates}, "
                         "{name: proportion}, {name: nodegroup}");
  const batch::Outcome outcome = world.Run(conf);
  ASSERT_EQ(outcome.evictions.size(), 1u);
  EXPECT_THAT(outcome.evictions[0].pod.name, testing::StartsWith("old-red"));
}

TEST(GangPreemptTest, TakesRoomForTheWholeGangOrNothing) {
  SessionWorld world;
  Crowd(world);
  world.Node("n1", "2");
  world.input.groups[1].spec.min_member = 2;
  for (int i = 0; i < 4; ++i) {
    world.Add(SessionWorld::Pod("low-w-" + std::to_string(i), "low", "1", i < 2 ? "n0" : "n1"));
  }
  world.Add(SessionWorld::Pod("high-w-0", "high", "2"));
  SessionWorld larger;
  Crowd(larger);
  larger.input.groups[1].spec.min_member = 2;
  larger.Add(SessionWorld::Pod("low-w-0", "low", "2", "n0"));
  for (int i = 0; i < 2; ++i) {
    larger.Add(SessionWorld::Pod("high-w-" + std::to_string(i), "high", "2"));
  }
  world.Add(SessionWorld::Pod("high-w-1", "high", "2"));
  const auto conf = Conf("gangpreempt", kPreempting);
  EXPECT_THAT(Evicted(world.Run(conf)),
              UnorderedElementsAre("low-w-0", "low-w-1", "low-w-2", "low-w-3"));
  EXPECT_THAT(Evicted(larger.Run(conf)), IsEmpty());
}

TEST(GangReclaimTest, LeavesQueuesThatMayNotBeTakenFrom) {
  for (const bool reclaimable : {true, false}) {
    SessionWorld world;
    world.Node("n0", "2");
    world.Queue("default");
    world.Queue("other").spec.reclaimable = reclaimable;
    world.Group("mine", 1);
    world.Group("theirs", 0, "other");
    world.Add(SessionWorld::Pod("theirs-w-0", "theirs", "2", "n0"));
    world.Add(SessionWorld::Pod("mine-w-0", "mine", "1"));
    const auto outcome = world.Run(Conf("gangreclaim", "{name: gang}, {name: conformance}"));
    EXPECT_EQ(Evicted(outcome).size(), reclaimable ? 1 : 0);
  }
}

// Upstream hands the decision to the next tier when one lets nobody go.
TEST(EvictionVoteTest, AVetoIsAVetoUnlessUpstreamIsExact) {
  for (const bool exact : {false, true}) {
    SessionWorld world;
    Crowd(world);
    world.options.upstream_exact = exact;
    world.input.priority_classes[0].value = 0;  // equals: priority lets nobody go
    world.Add(SessionWorld::Pod("low-w-0", "low", "2", "n0"));
    world.Add(SessionWorld::Pod("high-w-0", "high", "1"));
    const auto outcome = world.Run(
        "actions: \"preempt\"\ntiers:\n- plugins: [{name: priority}]\n"
        "- plugins: [{name: gang}, {name: conformance}]\n");
    EXPECT_EQ(Evicted(outcome).size(), exact ? 1 : 0);
  }
}

TEST(SessionTest, APluginThatIsNotThereIsRefusedWithWhatToDoInstead) {
  const auto conf =
      batch::ParseConf("actions: allocate\ntiers:\n- plugins: [{name: rescheduling}]").value();
  const cluster::Facts facts;
  cluster::Snapshot snapshot(facts);
  const auto session = batch::Session::Open(conf, {}, test::ThePlugins().batch,
                                            test::ThePlugins().filters, snapshot, {});
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.status().message(), HasSubstr("run a descheduler beside"));
}

TEST(SessionTest, TheSnapshotIsAsBeforeWhenASessionIsGone) {
  SessionWorld world;
  world.Node("n0", "2");
  world.Queue("default");
  world.Group("a", 2);
  world.Add(SessionWorld::Pod("a-w-0", "a", "1"));
  world.Add(SessionWorld::Pod("a-w-1", "a", "1"));
  const auto conf = Conf("allocate", "{name: gang}, {name: predicates}");
  EXPECT_THAT(Bound(world.Run(conf)), testing::SizeIs(2));
  EXPECT_THAT(Bound(world.Run(conf)), testing::SizeIs(2));
}

// Hears everything, and objects to every placement.
struct Objector final : batch::Plugin, batch::EventHandler {
  explicit Objector(int& count) : undone(count) {}
  Status Open(batch::Session& session, batch::Slots&) override {
    session.AddEventHandler(*this);
    return Status::Ok();
  }
  void OnAllocate(batch::Event& event) override {
    if (event.task.status == batch::TaskStatus::kPipelined) event.error = "no";
  }
  void OnDeallocate(batch::Event& event) override {
    undone += event.task.status == batch::TaskStatus::kPending;
  }
  int& undone;
};

TEST(GangPreemptTest, WhatIsRefusedIsTakenBackOnceAndAsUpstreamTwice) {
  for (const bool exact : {false, true}) {
    int undone = 0;
    batch::PluginRegistry plugins = test::ThePlugins().batch;
    plugins.Add("objector", [&](const batch::PluginContext&) {
      return Result<std::unique_ptr<batch::Plugin>>(std::make_unique<Objector>(undone));
    });
    SessionWorld world;
    Crowd(world);
    world.options.upstream_exact = exact;
    world.Add(SessionWorld::Pod("low-w-0", "low", "2", "n0"));
    world.Add(SessionWorld::Pod("high-w-0", "high", "2"));
    const auto conf = Conf("gangpreempt", std::string(kPreempting) + ", {name: objector}");
    EXPECT_THAT(Evicted(world.Run(conf, plugins)), IsEmpty());
    EXPECT_EQ(undone, exact ? 2 : 1);
  }
}

TEST(EnqueueTest, AMinimumWithoutContentIsNoneUnlessUpstreamIsExact) {
  for (const bool exact : {false, true}) {
    SessionWorld world;
    world.options.upstream_exact = exact;
    world.Node("n0", "2");
    world.Queue("default").status.state = "Closed";
    for (const std::string name : {"empty", "none"}) {
      model::PodGroup& group = world.Group(name, 1);
      group.status.phase = "Pending";
      if (name == "empty") group.spec.min_resources.emplace();
    }
    const auto outcome = world.Run(Conf("enqueue", "{name: gang}, {name: proportion}"));
    ASSERT_EQ(outcome.groups.size(), 2u);
    EXPECT_EQ(outcome.groups[0].status.phase, exact ? "Pending" : "Inqueue") << "empty";
    EXPECT_EQ(outcome.groups[1].status.phase, "Inqueue") << "none";
  }
}

TEST(EnqueueTest, WhetherThereIsAMinimumIsReadFromTheObject) {
  const auto read = [](const std::string& spec) {
    return wire::FromJson<model::PodGroup>(R"({"spec":)" + spec + "}").value().spec.min_resources;
  };
  EXPECT_FALSE(read("{}"));
  EXPECT_FALSE(read(R"({"minResources":null})"));
  ASSERT_TRUE(read(R"({"minResources":{}})"));
  ASSERT_TRUE(read(R"({"minResources":{"cpu":"1"}})"));
}

TEST(SchedulerTest, AnUnknownPluginIsPassedOverOnlyIfUpstreamIsExact) {
  for (const bool exact : {false, true}) {
    FakeClock clock;
    SeededRng rng(1);
    const Log log = Log::Null();
    Metrics metrics;
    cluster::World world;
    cluster::FakeWriter writer(clock);
    Executor executor(clock);
    const std::string path = testing::TempDir() + "/unknown-plugin.conf";
    std::ofstream(path) << Conf("allocate", "{name: gang}, {name: rescheduling}");
    batch::SchedulerFlags flags;
    flags.scheduler_conf = path;
    flags.default_conf = false;
    batch::Scheduler scheduler({.flags = flags,
                                .upstream_exact = exact,
                                .world = world,
                                .writer = writer,
                                .executor = executor,
                                .rng = rng,
                                .plugins = test::ThePlugins().batch,
                                .filters = test::ThePlugins().filters,
                                .log = log,
                                .metrics = metrics});
    EXPECT_EQ(scheduler.Open({}).ok(), exact);
  }
}

TEST(SchedulerTest, ArgumentsThatAPluginCannotUseKeepAConfigurationOut) {
  const auto check = [](const std::string& plugins, bool exact, const std::string& more = "") {
    const auto conf = batch::ParseConf(Conf("allocate", plugins) + more);
    batch::Options options;
    options.upstream_exact = exact;
    return batch::Session::CheckPlugins(*conf, options, test::ThePlugins().batch,
                                        test::ThePlugins().filters);
  };
  const std::vector<std::pair<std::string, std::string>> bad{
      {"{name: tdm, arguments: {tdm.revocable-zone.rz1: 3}}", "tdm"},
      {"{name: resource-strategy-fit, arguments: {resourceStrategyFitWeight: x}}",
       "resource-strategy-fit"},
      {"{name: extender, arguments: {extender.managedResources: x}}", "managedResources"}};
  for (const auto& [plugin, named] : bad) {
    EXPECT_THAT(check("{name: gang}, " + plugin, false).message(), HasSubstr(named)) << plugin;
    EXPECT_TRUE(check("{name: gang}, " + plugin, true).ok()) << plugin;
  }
  EXPECT_THAT(check("{name: gang}", false, "extenders: [{prioritiseVerb: p}]\n").message(),
              HasSubstr("did you mean 'prioritizeVerb'"));
  EXPECT_TRUE(check("{name: gang}", true, "extenders: [{prioritiseVerb: p}]\n").ok());
  EXPECT_TRUE(check("{name: gang}", false, "extenders: [{urlPrefix: 'http://e'}]\n").ok());
}

// ---- What Coppice does where upstream is mistaken (docs/differences.md, batch sessions).

struct CannotScore final : batch::Plugin, batch::BatchNodeOrder {
  Status Open(batch::Session&, batch::Slots& slots) override {
    slots.batch_node_order = this;
    return Status::Ok();
  }
  Status ScoreNodes(const batch::Task&, std::span<batch::NodeInfo* const>,
                    std::span<double>) override {
    return Internal("no idea");
  }
};

TEST(SaneTest, ATaskWhoseNodesCannotBeScoredInBackfillWaits) {
  for (const bool exact : {false, true}) {
    batch::PluginRegistry plugins = test::ThePlugins().batch;
    plugins.Add("cannot-score", batch::FactoryOf<CannotScore>());
    SessionWorld world;
    world.options.upstream_exact = exact;
    world.Node("n0", "2");
    world.Node("n1", "2");
    world.Queue("default");
    world.Group("a", 1);
    world.Add(SessionWorld::Pod("a-w-0", "a", ""));
    const auto outcome = world.Run(
        Conf("backfill", "{name: gang}, {name: predicates}, {name: cannot-score}"), plugins);
    EXPECT_THAT(Bound(outcome), IsEmpty());
    EXPECT_EQ(outcome.failure.ok(), !exact) << outcome.failure;
  }
}

TEST(SaneTest, AGateThatHoldsATaskIsNamed) {
  for (const bool exact : {false, true}) {
    for (const char* gate : {"scheduling.volcano.sh/queue-allocation-gate", "example.com/quota"}) {
      SessionWorld world;
      world.options.upstream_exact = exact;
      world.Node("n0", "8");
      world.Queue("default");
      world.Group("a", 2);
      world.Add(SessionWorld::Pod("a-w-0", "a", "1"));
      model::Pod held = SessionWorld::Pod("a-w-1", "a", "1");
      held.spec.scheduling_gates.push_back({.name = gate});
      world.Add(std::move(held));
      const batch::Outcome outcome =
          world.Run(Conf("allocate", "{name: gang}, {name: predicates}"));
      EXPECT_THAT(Bound(outcome), IsEmpty());
      const auto told =
          std::ranges::find(outcome.events, "Unschedulable", &batch::Outcome::EventNote::reason);
      ASSERT_NE(told, outcome.events.end());
      const auto named = HasSubstr(std::string("task a-w-1 is held by scheduling gate ") + gate);
      EXPECT_EQ(testing::Value(told->message, named), !exact) << told->message;
    }
  }
}

TEST(SaneTest, AQueueWithoutItsParentIsToldWhatItHolds) {
  for (const bool exact : {false, true}) {
    SessionWorld world;
    world.options.upstream_exact = exact;
    world.Node("n0", "2");
    world.Queue("root");
    world.Queue("default").spec.parent = "nowhere";
    world.Group("a", 1);
    world.Add(SessionWorld::Pod("a-w-0", "a", "1", "n0"));
    const auto outcome = world.Run(Conf("allocate", "{name: gang}"));
    EXPECT_EQ(outcome.failure.ok(), !exact);
    if (exact) continue;
    const auto own =
        std::ranges::find(outcome.queues, "default", &batch::Outcome::QueueAllocated::queue);
    ASSERT_NE(own, outcome.queues.end());
    EXPECT_EQ(own->allocated.Find("cpu")->ToString(), "1");
  }
}

// A gang finds room for one of its two, so that nobody goes after all.
TEST(SaneTest, WhoIsNotEvictedAfterAllIsSeenThere) {
  SessionWorld world;
  world.Node("n0", "4");
  world.Queue("default");
  world.input.priority_classes.push_back({.metadata = {.name = "high"}, .value = 100});
  world.Group("low", 0);
  world.Group("high", 2).spec.priority_class_name = "high";
  world.Group("shy", 1);
  model::Pod low = SessionWorld::Pod("low-w-0", "low", "2", "n0");
  low.metadata.labels["app"] = "low";
  world.Add(std::move(low));
  for (const char* name : {"high-w-0", "high-w-1"}) world.Add(SessionWorld::Pod(name, "high", "3"));
  model::Pod shy = wire::FromJson<model::Pod>(R"({"spec":{"affinity":{"podAntiAffinity":{
        "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname",
        "labelSelector":{"matchLabels":{"app":"low"}}}]}}}})")
                       .value();
  model::Pod wanted = SessionWorld::Pod("shy-w-0", "shy", "1");
  wanted.spec.affinity = shy.spec.affinity;
  world.Add(std::move(wanted));
  const auto outcome =
      world.Run(Conf("preempt, allocate", std::string(kPreempting) + ", {name: predicates}"));
  EXPECT_THAT(Evicted(outcome), IsEmpty());
  EXPECT_THAT(Bound(outcome), IsEmpty()) << "placed beside the one that it shuns";
}

TEST(SaneTest, SharesOfAncestorsFollowEveryPlacement) {
  for (const bool exact : {false, true}) {
    SessionWorld world;
    world.options.upstream_exact = exact;
    world.Node("n0", "2");
    world.Queue("root");
    for (const auto& [name, parent] : {std::pair("a", "root"), std::pair("b", "root"),
                                       std::pair("a1", "a"), std::pair("b1", "b")}) {
      model::Queue& queue = world.Queue(name);
      queue.spec.parent = parent;
      queue.spec.deserved["cpu"] = SessionWorld::Amount("2");
    }
    for (const std::string queue : {"a1", "b1"}) {
      world.Group("of-" + queue, 1, queue);
      for (int i = 0; i < 2; ++i)
        world.Add(SessionWorld::Pod(queue + "-w-" + std::to_string(i), "of-" + queue, "1"));
    }
    const auto outcome = world.Run(Conf(
        "allocate", "{name: gang}, {name: capacity, enableHierarchy: true}, {name: predicates}"));
    EXPECT_THAT(Bound(outcome), exact ? ElementsAre("a1-w-0@n0", "a1-w-1@n0")
                                      : ElementsAre("a1-w-0@n0", "b1-w-0@n0"));
  }
}

TEST(SaneTest, PredicatesThatAreOffRefuseNobody) {
  for (const bool exact : {false, true}) {
    SessionWorld world;
    world.options.upstream_exact = exact;
    world.Node("n0", "2");
    world.Queue("default");
    world.Group("a", 1);
    world.Add(SessionWorld::Pod("a-w-0", "a", "1"));
    const auto outcome =
        world.Run(Conf("allocate", "{name: gang}, {name: predicates, enablePredicate: false}"));
    EXPECT_EQ(Bound(outcome).size(), exact ? 0u : 1u);
  }
}

// What src/app/plugin_arguments_fuzz.cc tries at length, a little of it here.
batch::ArgumentValue RandomValue(SeededRng& rng, int depth) {
  static const std::vector<std::string> kTexts{"",
                                               "1",
                                               "-1",
                                               "true",
                                               "no",
                                               "22:00-06:00",
                                               "1m",
                                               "99999999999999999999",
                                               "+25:00",
                                               "a,,b",
                                               "nvidia.com/gpu",
                                               "nvidia.com/*",
                                               "MostAllocated",
                                               "\xff",
                                               "1e400"};
  switch (rng.Below(depth > 2 ? 6 : 9)) {
    case 0:
      return {};
    case 1:
      return {rng.Below(2) == 0};
    case 2:
      return {static_cast<int64_t>(rng.Next())};
    case 3:
      return {static_cast<int64_t>(rng.Below(20)) - 5};
    case 4:
      return {std::numeric_limits<double>::quiet_NaN()};
    case 5:
      return {kTexts[rng.Below(kTexts.size())]};
    case 6:
      return {batch::ArgumentValue::List{RandomValue(rng, depth + 1), RandomValue(rng, depth + 1)}};
    default: {
      batch::ArgumentValue::Map map;
      for (const char* key : {"enable", "weight", "type", "resources", "cpu", "resourceWeight",
                              "resourceProportion", "nvidia.com/gpu.cpu"})
        if (rng.Below(2) == 0) map[key] = RandomValue(rng, depth + 1);
      return {std::move(map)};
    }
  }
}

TEST(PluginArgumentsTest, WhateverTheyAreASessionEnds) {
  static constexpr const char* kKeys[] = {"ancestorReclaimLevel",
                                          "balancedresource.weight",
                                          "binpack.cpu",
                                          "binpack.memory",
                                          "binpack.resources",
                                          "binpack.resources.nvidia.com/gpu",
                                          "binpack.weight",
                                          "enablePreferredOrder",
                                          "imagelocality.weight",
                                          "leastrequested.weight",
                                          "mostrequested.weight",
                                          "nodeaffinity.weight",
                                          "overcommit-factor",
                                          "podaffinity.weight",
                                          "podtopologyspread.weight",
                                          "predicate.CacheEnable",
                                          "predicate.PodAffinityEnable",
                                          "predicate.VolumeBindingEnable",
                                          "proportional",
                                          "resources",
                                          "resourceStrategyFitWeight",
                                          "sla-waiting-time",
                                          "sra",
                                          "strict",
                                          "tainttoleration.weight",
                                          "task-topology.weight",
                                          "tdm.evict.period",
                                          "tdm.revocable-zone.rz1",
                                          "tdm.utc-offset",
                                          "weight"};
  SeededRng rng(7);
  int opened = 0;
  for (int round = 0; round < 60; ++round) {
    batch::ArgumentValue::Map map;
    for (const char* key : kKeys)
      if (rng.Below(2) == 0) map[key] = RandomValue(rng, 0);
    opened += test::RunWithArguments(test::ThePlugins().batch, test::ThePlugins().filters,
                                     batch::Arguments(std::move(map)));
  }
  EXPECT_GT(opened, 1'000) << "most plug-ins take what they can read and leave the rest";
}

}  // namespace
}  // namespace coppice
