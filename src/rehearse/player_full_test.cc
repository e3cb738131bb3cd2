// A small recorded day on the real engine: what comes of it, and what another group changes.

#include "rehearse/player.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/strings.h"
#include "rehearse/comparison.h"
#include "rehearse/played_pools.h"
#include "rehearse/recorded_config.h"
#include "test/support/discovered_plugins.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::rehearse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kMorning = 1'767'592'800'000;

// Two hours: one node with one pod; after ten minutes eight pods more, for half an hour; and a Job
// of twenty minutes.
Demand ADay() {
  DemandReader reader;
  const auto line = [&](const std::string& text) { reader.Line(text); };
  const auto at = [&](int64_t minutes) {
    line("{\"at\":" + std::to_string(kMorning + minutes * 60'000) + "}");
  };
  const auto shape = [&](int id, const char* kind, const char* name, const char* policy) {
    line("{\"shape\":" + std::to_string(id) +
         R"(,"pod":{"metadata":{"namespace":"d","ownerReferences":[{"kind":")" + kind +
         R"(","name":")" + name + R"(","uid":"u","controller":true}]},"spec":{"restartPolicy":")" +
         policy + R"(","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}})");
  };
  line(R"({"coppice-log":1})");
  at(0);
  line(
      R"({"group":"small","min":1,"max":9,"target":1,"price":0.5,"template":{"metadata":{"name":"t","labels":{"topology.kubernetes.io/zone":"z"}},"status":{"allocatable":{"cpu":"2","memory":"4Gi","pods":"30"}}}})");
  line(R"({"node":"n-1","group":"small"})");
  shape(0, "ReplicaSet", "web", "Always");
  shape(1, "Job", "night", "Never");
  line(R"({"add":"d/web-0","shape":0,"node":"n-1"})");
  line(R"({"all":true})");
  at(10);
  for (int i = 1; i <= 8; ++i) line("{\"add\":\"d/web-" + std::to_string(i) + "\",\"shape\":0}");
  at(20);
  line(R"({"add":"d/night-0","shape":1})");
  line(R"({"bind":"d/night-0","node":"n-2"})");
  at(40);
  for (int i = 1; i <= 8; ++i) line("{\"done\":\"d/web-" + std::to_string(i) + "\"}");
  line(R"({"done":"d/night-0"})");
  at(120);
  return MUST(std::move(reader).Finish());
}

Outcome PlayOn(const Demand& demand, const std::string& groups,
               const std::vector<std::string>& flags = {}, const PlayedPools* pools = nullptr,
               const PlayedBatch* batch = nullptr) {
  const app::Plugins& plugins = test::ThePlugins();
  yaml::Problems problems;
  const auto config = MUST(provider::ParseProviderConfig(
      groups, "groups",
      {plugins.clouds, [](const char*) -> const char* { return nullptr; },
       pools == nullptr ? provider::Groups::kRequired : provider::Groups::kOptional},
      [](const std::string& file) -> Result<std::string> { return NotFound(file); }, problems));
  return MUST(PlayDemand({.demand = demand,
                          .config = config,
                          .flags = MUST(autoscale::ParseFlags(flags)),
                          .plugins = plugins,
                          .clouds = plugins.clouds,
                          .seed = 1,
                          .name = Join(flags, " "),
                          .pools = pools,
                          .batch = batch}));
}

// The same day without its pods, and a gang of four that comes after ten minutes, each of its pods as
// large as a machine.
Demand AGangsDay() {
  Demand demand = ADay();
  demand.pods.clear();
  PodShape shape = demand.shapes[1];
  shape.pod.spec.scheduler_name = "volcano";
  shape.pod.metadata.annotations["scheduling.k8s.io/group-name"] = "train";
  shape.pod.spec.containers[0].resources.requests["cpu"] = MUST(model::Quantity::Parse("1500m"));
  demand.shapes.push_back(shape);
  const TimePoint came = demand.start + std::chrono::minutes(10);
  GangLife gang{.created = came};
  gang.group.metadata = {.name = "train", .namespace_ = "d"};
  gang.group.spec.min_member = 4;
  gang.group.spec.queue = "research";
  demand.gangs = {gang};
  model::Queue queue;
  queue.metadata.name = "research";
  queue.spec.weight = 1;
  demand.queues = {queue};
  for (int i = 0; i < 4; ++i) {
    demand.pods.push_back({.name = "d/train-" + std::to_string(i),
                           .shape = static_cast<uint32_t>(demand.shapes.size() - 1),
                           .created = came,
                           .bound = came + std::chrono::minutes(2),
                           .done = came + std::chrono::minutes(22)});
  }
  return demand;
}

TEST(PlayerTest, AGangIsPlacedByTheBatchSchedulerAndItsWaitIsTold) {
  const Demand demand = AGangsDay();
  const std::string groups = GroupsAsConfig(demand, 1);
  const Outcome nobodys = PlayOn(demand, groups);
  EXPECT_EQ(nobodys.started, 0u) << "nobody else places such pods";
  const PlayedBatch batch{.plugins = test::ThePlugins().batch};
  const Outcome outcome = PlayOn(demand, groups, {}, nullptr, &batch);
  EXPECT_EQ(outcome.gangs, 1u);
  EXPECT_EQ(outcome.gangs_started, 1u);
  EXPECT_GE(outcome.started, 4u);
  ASSERT_EQ(outcome.longest_gangs.size(), 1u);
  EXPECT_EQ(outcome.longest_gangs[0].pod, "d/train");
  EXPECT_GT(outcome.longest_gangs[0].time, std::chrono::seconds(30)) << "three machines are bought";
  EXPECT_GE(outcome.bought, 3);
  const std::string text = AsText({nobodys, outcome});
  EXPECT_THAT(text, testing::ContainsRegex("gangs started +0 +1\n"));
  EXPECT_THAT(text, HasSubstr("the gang d/train\n"));
}

TEST(PlayerTest, MachinesComeForWhatWasWantedAndGoAfterIt) {
  const Demand demand = ADay();
  const Outcome outcome = PlayOn(demand, GroupsAsConfig(demand, 1));
  EXPECT_EQ(outcome.started, 10u + outcome.evictions) << "all pods, and each that moved again";
  EXPECT_EQ(outcome.waiting, 0u);
  EXPECT_GE(outcome.bought, 4);
  EXPECT_GE(outcome.removed, 3);
  EXPECT_LE(outcome.peak_machines, 6);
  EXPECT_GT(outcome.longest_wait(), std::chrono::minutes(1)) << "machines take their time to boot";
  EXPECT_GT(outcome.cost, 2 * 0.5) << "one machine for two hours, and more";
  EXPECT_LT(outcome.cost, 6 * 2 * 0.5);
  EXPECT_EQ(outcome.samples.back().machines, 1);
}

TEST(PlayerTest, WhoWaitedLongestIsTold) {
  const Demand demand = ADay();
  const Outcome outcome = PlayOn(demand, GroupsAsConfig(demand, 1));
  ASSERT_EQ(outcome.longest_waits.size(), kWaitsTold) << "nine pods wait for machines";
  for (size_t i = 1; i < kWaitsTold; ++i)
    EXPECT_GE(outcome.longest_waits[i - 1].time, outcome.longest_waits[i].time);
  std::set<std::string> pods;
  for (const Wait& wait : outcome.longest_waits) pods.insert(wait.pod);
  EXPECT_EQ(pods.size(), kWaitsTold);
  const std::string text = AsText({outcome});
  const std::string page = AsHtml({outcome}, "log");
  for (const std::string& pod : pods) {
    EXPECT_THAT(text, HasSubstr(" " + pod + "\n"));
    EXPECT_THAT(page, HasSubstr(" " + pod + "\n"));
  }
}

TEST(PlayerTest, TheSameSeedGivesTheSameDay) {
  const Demand demand = ADay();
  const std::string groups = GroupsAsConfig(demand, 1);
  const Outcome first = PlayOn(demand, groups);
  const Outcome second = PlayOn(demand, groups);
  EXPECT_EQ(first.decisions, second.decisions);
  EXPECT_EQ(first.cost, second.cost);
  EXPECT_THAT(AsText({first, second}), HasSubstr("decisions are the same."));
}

TEST(PlayerTest, AnotherFlagIsSeenInTheComparison) {
  const Demand demand = ADay();
  const std::string groups = GroupsAsConfig(demand, 1);
  const Outcome patient = PlayOn(demand, groups);
  const Outcome quick =
      PlayOn(demand, groups, {"--scale-down-unneeded-time=2m", "--scale-down-delay-after-add=1m"});
  EXPECT_LT(quick.cost, patient.cost);
  const Parting parting = WhereTheyPart(patient, quick, 3);
  EXPECT_GT(parting.same, 0u);
  EXPECT_FALSE(parting.right.empty());
  EXPECT_THAT(AsHtml({patient, quick}, "a <log>"), HasSubstr("a &lt;log&gt;"));
}

TEST(PlayerTest, OtherGroupsArePlayedAsWell) {
  const Demand demand = ADay();
  const Outcome outcome = PlayOn(demand, R"(clusterTag: model
cloud: {kind: simulated, bootTime: 60s}
nodeGroups:
  - {name: large, minSize: 0, maxSize: 3, flavor: large-8-32, zone: north1}
)");
  EXPECT_EQ(outcome.waiting, 0u);
  EXPECT_LE(outcome.peak_machines, 3);
  EXPECT_EQ(outcome.started, 10u + outcome.evictions);
}

// Another engine on the same day: pools that buy what the recorded groups consist of.
TEST(PlayerTest, NodePoolsArePlayedInsteadOfGroups) {
  const test::TempDirectory dir;
  const std::string file = dir.Write("pools.yaml", R"(apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: of-another-cloud}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5m}
)");
  std::vector<std::string> notes;
  const PlayedPools pools = MUST(ReadPlayedPools(file, {}, notes));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("EC2NodeClass default is not there")));
  const Demand demand = ADay();
  const Outcome outcome = PlayOn(demand, FlavorsAsConfig(demand, 1), {}, &pools);
  EXPECT_EQ(outcome.waiting, 0u);
  EXPECT_GE(outcome.bought, 1);
  EXPECT_GE(outcome.removed, 1) << "what was bought for half an hour is consolidated";
  EXPECT_GT(outcome.cost, 0);
  ASSERT_FALSE(outcome.decisions.empty());
  EXPECT_THAT(outcome.decisions.front().what, HasSubstr("of-another-cloud"));
  const Outcome groups = PlayOn(demand, GroupsAsConfig(demand, 1));
  EXPECT_FALSE(WhereTheyPart(groups, outcome, 3).right.empty());
}

TEST(PlayerTest, RecordedPoolsBuyWhatTheyCouldBuy) {
  DemandReader reader;
  for (
      const std::string& line :
      {std::string(R"({"coppice-log":1})"), "{\"at\":" + std::to_string(kMorning) + "}",
       std::string(
           R"({"nodepool":"p","object":{"spec":{"template":{"spec":{"nodeClassRef":{"group":"g","kind":"K","name":"c"},"requirements":[{"key":"karpenter.sh/capacity-type","operator":"In","values":["spot"]}]}}}}})"),
       std::string(
           R"({"type":"t","cpu":3900,"memory":8000000000,"gpus":0,"arch":"amd64","zones":["z"],"price":0.4,"spot":0.1})"),
       std::string(
           R"({"shape":0,"pod":{"metadata":{"namespace":"d","ownerReferences":[{"kind":"ReplicaSet","name":"web","uid":"u","controller":true}]},"spec":{"restartPolicy":"Always","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}})"),
       std::string(R"({"all":true})"), std::string(R"({"add":"d/a","shape":0})"),
       "{\"at\":" + std::to_string(kMorning + 3'600'000) + "}"})
    reader.Line(line);
  const Demand demand = MUST(std::move(reader).Finish());
  const PlayedPools pools = RecordedPools(demand, {});
  const Outcome outcome = PlayOn(demand, GroupsAsConfig(demand, 1), {}, &pools);
  EXPECT_EQ(outcome.waiting, 0u);
  EXPECT_EQ(outcome.bought, 1);
  EXPECT_GT(outcome.cost, 0.09);
  EXPECT_LT(outcome.cost, 0.11) << "for an hour, at the price of spot";
}

TEST(PlayerTest, WhatIsNoPoolIsRefusedWithItsField) {
  const test::TempDirectory dir;
  std::vector<std::string> notes;
  const std::string none =
      dir.Write("none.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n");
  EXPECT_THAT(ReadPlayedPools(none, {}, notes).status().message(),
              HasSubstr("there is no NodePool"));
  const std::string bad = dir.Write("bad.yaml", R"(apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: bad}
spec:
  weight: 101
  template: {spec: {nodeClassRef: {group: coppice.dev, kind: NodeClass, name: d}, requirements: []}}
)");
  EXPECT_THAT(ReadPlayedPools(bad, {}, notes).status().message(), HasSubstr("NodePool bad"));
}

// Three pods may not all be moved: with a budget that lets none go the node stays.
TEST(PlayerTest, ARecordedBudgetKeepsANode) {
  const auto day = [](const char* budget) {
    DemandReader reader;
    for (
        const std::string& line :
        {std::string(R"({"coppice-log":1})"), "{\"at\":" + std::to_string(kMorning) + "}",
         std::string(
             R"({"group":"small","min":0,"max":9,"target":2,"price":0.5,"template":{"metadata":{"name":"t","labels":{"topology.kubernetes.io/zone":"z"}},"status":{"allocatable":{"cpu":"2","memory":"4Gi","pods":"30"}}}})"),
         std::string(R"({"node":"n-1","group":"small"})"),
         std::string(R"({"node":"n-2","group":"small"})"),
         std::string(
             R"({"shape":0,"pod":{"metadata":{"namespace":"d","labels":{"app":"web"},"ownerReferences":[{"kind":"ReplicaSet","name":"web","uid":"u","controller":true}]},"spec":{"restartPolicy":"Always","containers":[{"name":"c","resources":{"requests":{"cpu":"300m"}}}]}}})"),
         std::string(R"({"add":"d/web-0","shape":0,"node":"n-1"})"),
         std::string(R"({"add":"d/web-1","shape":0,"node":"n-2"})"), std::string(budget),
         std::string(R"({"all":true})"), "{\"at\":" + std::to_string(kMorning + 7'200'000) + "}"})
      reader.Line(line);
    return MUST(std::move(reader).Finish());
  };
  const Demand strict = day(
      R"({"budget":"d/web","pdb":{"spec":{"maxUnavailable":0,"selector":{"matchLabels":{"app":"web"}}}}})");
  const Demand loose = day(
      R"({"budget":"d/web","pdb":{"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"web"}}}}})");
  EXPECT_EQ(PlayOn(strict, GroupsAsConfig(strict, 1)).samples.back().machines, 2);
  const Outcome moved = PlayOn(loose, GroupsAsConfig(loose, 1));
  EXPECT_EQ(moved.samples.back().machines, 1);
  EXPECT_EQ(moved.evictions, 1u);
  EXPECT_EQ(moved.waiting, 0u);
}

}  // namespace
}  // namespace coppice::rehearse
