// What a World goes through, written by the recorder and read back.

#include "rehearse/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/fake_clock.h"
#include "cloud/fake_node_claims.h"
#include "cloud/fake_node_groups.h"
#include "rehearse/demand.h"
#include "rehearse/recorded_config.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"
#include "wire/wire.h"

namespace coppice::rehearse {
namespace {

using testing::HasSubstr;
using testing::Not;

TimePoint Second(int64_t second) {
  return TimePoint(std::chrono::seconds(1'767'592'800) + std::chrono::seconds(second));
}

model::Pod APod(const std::string& name) {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = "d";
  pod.metadata.uid = "uid-" + name;
  pod.metadata.creation_timestamp = model::Time{Second(0)};
  pod.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"] = "PASSWORD";
  pod.metadata.annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false";
  pod.metadata.owner_references = {
      {.kind = "ReplicaSet", .name = "web", .uid = "u", .controller = true}};
  pod.spec.containers.emplace_back().name = "main";
  pod.spec.restart_policy = "Always";
  return pod;
}

TEST(RecorderTest, WhatAWorldGoesThroughIsReadBackWithoutSecrets) {
  test::TempDirectory dir;
  InlineWorkers workers;
  const Log log = Log::Null();
  cluster::World world;
  Recorder recorder(MUST(LogWriter::Open({.directory = dir.At("log")}, workers, log)), world);
  world.UpsertPod(std::make_shared<const model::Pod>(APod("a")));
  recorder.Look(nullptr, Second(0));
  model::Pod bound = APod("a");
  bound.spec.node_name = "n";
  world.UpsertPod(std::make_shared<const model::Pod>(bound));
  world.UpsertPod(std::make_shared<const model::Pod>(APod("b")));
  recorder.Look(nullptr, Second(10));
  world.DeletePod("d", "a");
  recorder.Look(nullptr, Second(20));

  const Demand demand = MUST(ReadDemand(dir.At("log")));
  ASSERT_EQ(demand.pods.size(), 2u);
  EXPECT_EQ(demand.shapes.size(), 1u) << "alike but for their names";
  EXPECT_EQ(demand.shapes[0].owner_name, "web");
  EXPECT_EQ(demand.pods[0].bound, Second(10));
  EXPECT_EQ(demand.pods[0].done, Second(20));
  EXPECT_EQ(demand.pods[1].done, std::nullopt);
  std::string all;
  std::vector<std::string> notes;
  EXPECT_OK(ReadLog(dir.At("log"), [&](std::string_view line) { all += line; }, notes));
  EXPECT_THAT(all, Not(HasSubstr("PASSWORD")));
  EXPECT_THAT(all, HasSubstr("safe-to-evict"));
}

// Two pods of a look, though the file is large enough after the first of them.
TEST(RecorderTest, AFileHasEverythingBeforeTheNextBegins) {
  test::TempDirectory dir;
  InlineWorkers workers;
  const Log log = Log::Null();
  cluster::World world;
  const auto writer =
      MUST(LogWriter::Open({.directory = dir.At("log"), .max_file_bytes = 1}, workers, log));
  Recorder recorder(writer, world, {.shapes = 2, .pods = 2});
  for (const char* name : {"a", "b", "c", "d", "e"})
    world.UpsertPod(std::make_shared<const model::Pod>(APod(name)));
  for (int i = 0; i < 3; ++i) {
    recorder.Look(nullptr, Second(i));
    EXPECT_EQ(recorder.whole(), i == 2) << i;
  }
  recorder.Look(nullptr, Second(3));
  EXPECT_FALSE(recorder.whole()) << "the next file";
  recorder.Look(nullptr, Second(4));
  recorder.Look(nullptr, Second(5));
  EXPECT_TRUE(recorder.whole());

  const Demand demand = MUST(ReadDemand(dir.At("log")));
  EXPECT_EQ(demand.pods.size(), 5u);
  for (const PodLife& life : demand.pods) EXPECT_EQ(life.done, std::nullopt) << life.name;
}

TEST(RecorderTest, AFileThatIsNotWholeGoesOnWithTheNextLook) {
  test::TempDirectory dir;
  InlineWorkers workers;
  const Log log = Log::Null();
  cluster::World world;
  Recorder recorder(MUST(LogWriter::Open({.directory = dir.At("log")}, workers, log)), world,
                    {.shapes = 2, .pods = 2});
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    model::Pod pod = APod(name);
    if (pod.metadata.name != "e") pod.spec.node_name = "n";
    world.UpsertPod(std::make_shared<const model::Pod>(pod));
  }
  recorder.Look(nullptr, Second(0));
  EXPECT_FALSE(recorder.whole());
  world.DeletePod("d", "a");  // told of
  world.DeletePod("d", "d");  // not yet
  world.UpsertPod(std::make_shared<const model::Pod>(APod("f")));
  recorder.Look(nullptr, Second(1));
  model::Pod bound = APod("e");
  bound.spec.node_name = "n";
  world.UpsertPod(std::make_shared<const model::Pod>(bound));
  recorder.Look(nullptr, Second(2));
  EXPECT_TRUE(recorder.whole());

  const Demand demand = MUST(ReadDemand(dir.At("log")));
  std::map<std::string, PodLife> lives;
  for (const PodLife& life : demand.pods) {
    EXPECT_TRUE(lives.emplace(life.name, life).second) << life.name << " is there twice";
  }
  EXPECT_EQ(lives.size(), 5u) << "nobody has seen d";
  EXPECT_EQ(lives.at("d/a").done, Second(1));
  for (const char* stood : {"d/a", "d/b", "d/c"}) EXPECT_TRUE(demand.Stood(lives.at(stood)));
  EXPECT_EQ(lives.at("d/e").bound, Second(2));
  EXPECT_EQ(lives.at("d/f").bound, std::nullopt);
}

// The World gives the number of a pod that is gone to another one.
TEST(RecorderTest, APodInThePlaceOfAnotherIsAnother) {
  test::TempDirectory dir;
  InlineWorkers workers;
  const Log log = Log::Null();
  cluster::World world;
  Recorder recorder(MUST(LogWriter::Open({.directory = dir.At("log")}, workers, log)), world);
  world.UpsertPod(std::make_shared<const model::Pod>(APod("a")));
  world.UpsertPod(std::make_shared<const model::Pod>(APod("same")));
  recorder.Look(nullptr, Second(0));
  world.DeletePod("d", "a");
  world.UpsertPod(std::make_shared<const model::Pod>(APod("b")));
  model::Pod again = APod("same");
  again.metadata.uid = "another";
  world.UpsertPod(std::make_shared<const model::Pod>(again));
  recorder.Look(nullptr, Second(5));

  const Demand demand = MUST(ReadDemand(dir.At("log")));
  std::multimap<std::string, PodLife> lives;
  for (const PodLife& life : demand.pods) lives.emplace(life.name, life);
  ASSERT_EQ(lives.size(), 4u);
  EXPECT_EQ(lives.find("d/a")->second.done, Second(5));
  EXPECT_EQ(lives.find("d/b")->second.done, std::nullopt);
  EXPECT_EQ(lives.count("d/same"), 2u);
}

// As an API server sends it: whatever could hold a secret holds one here, and none is in the files.
TEST(RecorderTest, NothingThatMayHoldASecretIsWritten) {
  constexpr char kPod[] = R"({
    "metadata": {"name": "a", "namespace": "d", "uid": "u",
      "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "vault/token": "hunter2"},
      "managedFields": [{"manager": "hunter2"}]},
    "spec": {
      "containers": [{"name": "main", "image": "i", "command": ["--password=hunter2"], "args": ["hunter2"],
        "env": [{"name": "TOKEN", "value": "hunter2"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "hunter2", "key": "k"}}}],
        "envFrom": [{"secretRef": {"name": "hunter2"}}],
        "lifecycle": {"postStart": {"exec": {"command": ["hunter2"]}}},
        "livenessProbe": {"httpGet": {"path": "/", "port": 80, "httpHeaders": [{"name": "Authorization", "value": "hunter2"}]}},
        "resources": {"requests": {"cpu": "1"}}}],
      "initContainers": [{"name": "init", "image": "i", "args": ["hunter2"], "env": [{"name": "TOKEN", "value": "hunter2"}]}],
      "imagePullSecrets": [{"name": "hunter2"}],
      "volumes": [{"name": "v", "secret": {"secretName": "hunter2"}}, {"name": "w", "csi": {"driver": "d", "volumeAttributes": {"key": "hunter2"}}}],
      "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["hunter2"]}]},
    "status": {"phase": "Pending", "message": "hunter2"}})";
  constexpr char kNode[] =
      R"({"metadata": {"name": "n", "annotations": {"x": "hunter2"}}, "status": {"capacity": {"cpu": "1"}}})";
  const test::TempDirectory dir;
  InlineWorkers workers;
  const Log log = Log::Null();
  cluster::World world;
  Recorder recorder(MUST(LogWriter::Open({.directory = dir.At("log")}, workers, log)), world);
  world.UpsertPod(std::make_shared<const model::Pod>(MUST(wire::FromJson<model::Pod>(kPod))));
  world.UpsertNode(std::make_shared<const model::Node>(MUST(wire::FromJson<model::Node>(kNode))));
  recorder.Look(nullptr, Second(0));

  std::string all;
  std::vector<std::string> notes;
  EXPECT_OK(ReadLog(dir.At("log"), [&](std::string_view line) { all += line; }, notes));
  EXPECT_THAT(all, HasSubstr("\"add\":\"d/a\""));
  EXPECT_THAT(all, HasSubstr("\"node\":\"n\""));
  EXPECT_THAT(all, Not(HasSubstr("hunter2")));
  EXPECT_THAT(all, Not(HasSubstr("TOKEN")));
}

const model::IntOrString kTwo{.is_string = false, .number = 2};

TEST(RecorderTest, BudgetsAndPoolsOfNodesComeBack) {
  const test::TempDirectory dir;
  InlineWorkers workers;
  const Log log = Log::Null();
  cluster::World world;
  Recorder recorder(MUST(LogWriter::Open({.directory = dir.At("log")}, workers, log)), world);
  model::Node node;
  node.metadata.name = "n";
  node.metadata.labels["karpenter.sh/nodepool"] = "spot";
  world.UpsertNode(std::make_shared<const model::Node>(node));
  model::PodDisruptionBudget budget;
  budget.metadata.name = "web";
  budget.metadata.namespace_ = "d";
  budget.spec.min_available = kTwo;
  world.Upsert(std::make_shared<const model::PodDisruptionBudget>(budget));
  budget.metadata.name = "short";
  world.Upsert(std::make_shared<const model::PodDisruptionBudget>(budget));
  recorder.Look(nullptr, Second(0));
  world.Erase<model::PodDisruptionBudget>("d", "short");
  recorder.Look(nullptr, Second(5));

  const Demand demand = MUST(ReadDemand(dir.At("log")));
  ASSERT_EQ(demand.start_nodes.size(), 1u);
  EXPECT_EQ(demand.start_nodes.at("n").owner(), "spot");
  ASSERT_EQ(demand.budgets.size(), 1u);
  EXPECT_EQ(demand.budgets[0].metadata.name, "web");
  EXPECT_EQ(demand.budgets[0].spec.min_available, kTwo);
}

TEST(RecorderTest, GangsComeBackWithTheirTimesAndQueuesAsTheyWereLast) {
  const test::TempDirectory dir;
  InlineWorkers workers;
  const Log log = Log::Null();
  cluster::World world;
  Recorder recorder(MUST(LogWriter::Open({.directory = dir.At("log")}, workers, log)), world);
  model::PodGroup group;
  group.metadata = {.name = "train", .namespace_ = "ml"};
  group.metadata.annotations["vault/token"] = "hunter2";
  group.spec.min_member = 4;
  group.spec.queue = "research";
  model::Queue queue;
  queue.metadata.name = "research";
  queue.spec.weight = 3;
  model::PriorityClass priority;
  priority.metadata.name = "high";
  priority.value = 1000;
  world.Upsert(std::make_shared<const model::Queue>(queue));
  world.Upsert(std::make_shared<const model::PriorityClass>(priority));
  recorder.Look(nullptr, Second(0));
  world.Upsert(std::make_shared<const model::PodGroup>(group));
  recorder.Look(nullptr, Second(5));
  group.status.running = 3;  // is not what anybody wants
  world.Upsert(std::make_shared<const model::PodGroup>(group));
  queue.spec.weight = 7;
  world.Upsert(std::make_shared<const model::Queue>(queue));
  recorder.Look(nullptr, Second(10));
  world.Erase<model::PodGroup>("ml", "train");
  recorder.Look(nullptr, Second(15));

  const Demand demand = MUST(ReadDemand(dir.At("log")));
  ASSERT_EQ(demand.gangs.size(), 1u);
  EXPECT_EQ(demand.gangs[0].group.metadata.name, "train");
  EXPECT_EQ(demand.gangs[0].group.metadata.namespace_, "ml");
  EXPECT_EQ(demand.gangs[0].group.spec.min_member, 4);
  EXPECT_TRUE(demand.gangs[0].group.metadata.annotations.empty());
  EXPECT_EQ(demand.gangs[0].created, Second(5));
  EXPECT_EQ(demand.gangs[0].done, Second(15));
  ASSERT_EQ(demand.queues.size(), 1u);
  EXPECT_EQ(demand.queues[0].spec.weight, 7);
  ASSERT_EQ(demand.priorities.size(), 1u);
  EXPECT_EQ(demand.priorities[0].value, 1000);
}

TEST(RecorderTest, PoolsAndWhatTheyCanBuyComeBack) {
  const test::TempDirectory dir;
  InlineWorkers workers;
  const Log log = Log::Null();
  FakeClock clock;
  const cloud::FakeNodeClaims claims(clock);
  cluster::World world;
  Recorder recorder(MUST(LogWriter::Open({.directory = dir.At("log")}, workers, log)), world);
  model::NodePool pool;
  pool.metadata.name = "spot";
  pool.spec.weight = 7;
  pool.spec.template_.annotations["vault/token"] = "hunter2";
  world.Upsert(std::make_shared<const model::NodePool>(pool));
  pool.metadata.name = "gone";
  world.Upsert(std::make_shared<const model::NodePool>(pool));
  recorder.Look(nullptr, Second(0), &claims);
  world.Erase<model::NodePool>("", "gone");
  recorder.Look(nullptr, Second(5), &claims);

  const Demand demand = MUST(ReadDemand(dir.At("log")));
  ASSERT_EQ(demand.pools.size(), 1u);
  EXPECT_EQ(demand.pools[0].metadata.name, "spot");
  EXPECT_EQ(demand.pools[0].spec.weight, 7);
  EXPECT_TRUE(demand.pools[0].spec.template_.annotations.empty());
  ASSERT_EQ(demand.types.size(), 3u);
  const RecordedType& large = demand.types[0];
  EXPECT_EQ(large.name, "large");
  EXPECT_EQ(large.cpu_millis, 7900) << "what pods can have";
  EXPECT_EQ(large.memory_bytes, 8 * (4LL << 30));
  EXPECT_THAT(large.zones, testing::ElementsAre("zone-a", "zone-b"));
  EXPECT_DOUBLE_EQ(large.price.value(), 0.4);
  EXPECT_DOUBLE_EQ(large.spot_price.value(), 0.28);
  const std::string config = FlavorsAsConfig(demand, 1);
  EXPECT_THAT(config, HasSubstr("{name: \"large\", zones: [\"zone-a\", \"zone-b\"], cpu: 7900m"));
  EXPECT_THAT(config, HasSubstr("pricePerHour: 0.4, spotPricePerHour: 0.28"));
}

}  // namespace
}  // namespace coppice::rehearse
