// Kinds that somebody adds to the feed: custom resources, absent ones, unreadable ones.

#include "kube/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kube/test_rig.h"

namespace coppice::kube {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr char kPools[] = "/apis/karpenter.sh/v1/nodepools";
const CustomKind kPoolKind = {"karpenter.sh/v1", "NodePool", "nodepools"};

// What an engine makes of a NodePool.
struct Pool {
  model::ObjectMeta metadata;
  int weight = -1;
};

Result<Pool> ReadPool(std::string_view json) {
  const Json read = Json::parse(json, nullptr, false);
  const Json::json_pointer at("/spec/weight");
  if (!read.is_object() || !read.contains(at)) return Pool{};
  if (!read[at].is_number_integer()) return InvalidArgument("spec.weight: not a number");
  return Pool{.metadata = {}, .weight = read[at].get<int>()};
}

// A store as an engine has one.
struct PoolStore {
  void Upsert(std::shared_ptr<const Pool> pool) {
    ++upserts;
    pools[pool->metadata.namespace_ + "/" + pool->metadata.name] = std::move(pool);
  }
  void Erase(std::string_view ns, std::string_view name) {
    pools.erase(std::string(ns) + "/" + std::string(name));
  }
  std::map<std::string, int> Weights() const {
    std::map<std::string, int> weights;
    for (const auto& [name, pool] : pools) weights[name] = pool->weight;
    return weights;
  }
  std::map<std::string, std::shared_ptr<const Pool>> pools;
  int upserts = 0;
};

struct FeedRig : TestRig {
  explicit FeedRig(bool can_stream = true) : TestRig(can_stream) {}
  // Until the server knows the kind, as with a CRD that is not installed.
  void Uninstalled(int times) {
    server.Refuse({.method = "GET",
                   .path = kPools,
                   .status = 404,
                   .body = "404 page not found\n",
                   .headers = {},
                   .times = times});
  }
  void PutPool(const std::string& name, const Json& spec) {
    server.Put(kPools, "NodePool", name, {{"spec", spec}});
  }

  std::vector<std::string> lines;
  Log heard{clock, [this](std::string_view line) { lines.emplace_back(line); }, LogFormat::kText};
  size_t Said(std::string_view what) {
    return static_cast<size_t>(std::ranges::count_if(lines, [&](const std::string& line) {
      return line.find(what) != std::string::npos && line.find("NodePool") != std::string::npos;
    }));
  }
  cluster::World world;
  PoolStore store;
  FeedOptions Options() const {
    FeedOptions options;
    options.absent_backoff = BackoffOptions{.first = std::chrono::milliseconds(5),
                                            .longest = std::chrono::milliseconds(20)};
    return options;
  }
  ClusterFeed feed{Options(), world, *client, heard};
};

class AddedKindTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(ListOrStream, AddedKindTest, testing::Bool());

TEST_P(AddedKindTest, ObjectsOfACustomResourceComeAndGo) {
  FeedRig rig(GetParam());
  rig.PutPool("spot", {{"weight", 7}});
  Reflector& pools = rig.feed.Add<Pool>(CustomCodecOf<Pool>(kPoolKind, ReadPool), rig.store);
  rig.feed.Start();
  ASSERT_TRUE(rig.Until([&] { return rig.store.pools.size() == 1; }));
  EXPECT_EQ(pools.kind(), "NodePool");
  const auto& spot = *rig.store.pools.at("/spot");
  EXPECT_EQ(spot.weight, 7);
  EXPECT_FALSE(spot.metadata.uid.empty());
  EXPECT_EQ(spot.metadata.name, "spot");
  rig.PutPool("spot", {{"weight", 8}});
  rig.PutPool("web", {{"weight", 1}});
  ASSERT_TRUE(rig.Until([&] {
    return rig.store.Weights() == std::map<std::string, int>{{"/spot", 8}, {"/web", 1}};
  }));
  rig.server.Delete(kPools, "spot");
  ASSERT_TRUE(rig.Until([&] { return rig.store.pools.size() == 1; }));
  // What went while nobody watched is missed by the next list.
  rig.server.Compact();
  rig.server.CutWatches();
  rig.server.Delete(kPools, "web");
  ASSERT_TRUE(rig.Until([&] { return rig.store.pools.empty(); }));
  for (const auto& seen : rig.server.seen()) {
    if (!seen.path.starts_with(kPools)) continue;
    for (const auto& [name, value] : seen.headers) {
      if (name == "accept") {
        EXPECT_EQ(value, "application/json");
      }
    }
  }
}

TEST_P(AddedKindTest, AKindThatIsNotInstalledIsSaidOnceAndFoundWhenItIs) {
  FeedRig rig(GetParam());
  rig.Uninstalled(5);
  Reflector& pools = rig.feed.Add<Pool>(CustomCodecOf<Pool>(kPoolKind, ReadPool), rig.store);
  rig.feed.Start();
  ASSERT_TRUE(rig.Until([&] { return pools.synced(); }));
  EXPECT_TRUE(pools.forbidden());
  EXPECT_THAT(rig.feed.Missing(), testing::Not(HasSubstr("NodePool")));
  rig.PutPool("spot", {{"weight", 7}});
  ASSERT_TRUE(rig.Until([&] { return rig.store.pools.size() == 1; }));
  EXPECT_FALSE(pools.forbidden());
  EXPECT_EQ(rig.Said("is not known to the server"), 1u);
  EXPECT_EQ(rig.Said("can be seen now"), 1u);
}

// As an API server answers that has just started and has not read the rules of access.
TEST_P(AddedKindTest, WhileEverythingIsRefusedNoKindCountsAsEmpty) {
  FeedRig rig(GetParam());
  rig.server.Refuse({.path = "/api/v1/nodes", .status = 403, .body = "{}", .times = 1});
  rig.server.Refuse({.path = kPools, .status = 403, .body = "{}", .times = 1});
  rig.PutPool("spot", {{"weight", 7}});
  Reflector& pools = rig.feed.Add<Pool>(CustomCodecOf<Pool>(kPoolKind, ReadPool), rig.store);
  rig.feed.Start();
  bool counted_as_empty = false;
  ASSERT_TRUE(rig.Until([&] {
    counted_as_empty = counted_as_empty || (pools.synced() && rig.store.pools.empty());
    return pools.synced();
  })) << rig.feed.Missing();
  EXPECT_FALSE(counted_as_empty);
  EXPECT_EQ(rig.store.pools.size(), 1u);
}

TEST_P(AddedKindTest, WithItsKindTheObjectsGo) {
  FeedRig rig(GetParam());
  rig.PutPool("spot", {{"weight", 7}});
  int changes = 0;
  KindSink<Pool> sink;
  sink.upsert = [&](std::shared_ptr<const Pool> pool) { rig.store.Upsert(std::move(pool)); };
  sink.remove = [&](std::string_view ns, std::string_view name) { rig.store.Erase(ns, name); };
  sink.changed = [&] { ++changes; };
  Reflector& pools = rig.feed.Add<Pool>(CustomCodecOf<Pool>(kPoolKind, ReadPool), sink);
  rig.feed.Start();
  ASSERT_TRUE(rig.Until([&] { return rig.store.pools.size() == 1; }));
  EXPECT_GT(changes, 0);
  const int before = changes;
  rig.Uninstalled(1'000);
  rig.server.CutWatches();
  ASSERT_TRUE(rig.Until([&] { return rig.store.pools.empty(); }));
  EXPECT_GT(changes, before);
  EXPECT_TRUE(pools.forbidden());
}

TEST_P(AddedKindTest, OneThatCannotBeReadFailsAlone) {
  FeedRig rig(GetParam());
  rig.PutPool("a", {{"weight", 1}});
  rig.PutPool("b", {{"weight", "heavy"}});
  rig.PutPool("c", {{"weight", 3}});
  rig.feed.Add<Pool>(CustomCodecOf<Pool>(kPoolKind, ReadPool), rig.store);
  rig.feed.Start();
  ASSERT_TRUE(rig.Until([&] { return rig.store.pools.size() == 3; }));
  EXPECT_THAT(rig.store.Weights(),
              UnorderedElementsAre(Pair("/a", 1), Pair("/b", -1), Pair("/c", 3)));
  const auto& bad = *rig.store.pools.at("/b");
  ASSERT_TRUE(bad.metadata.unreadable);
  EXPECT_THAT(bad.metadata.unreadable->what, HasSubstr("spec.weight"));
  EXPECT_FALSE(bad.metadata.uid.empty());
  const auto unreadable = rig.feed.Unreadable();
  ASSERT_EQ(unreadable.size(), 1u);
  EXPECT_EQ(unreadable[0].name, "/b");
  EXPECT_EQ(rig.Said("cannot be read"), 1u);
  rig.PutPool("b", {{"weight", 2}});  // in the watch
  ASSERT_TRUE(rig.Until([&] { return rig.store.pools.at("/b")->weight == 2; }));
  EXPECT_THAT(rig.feed.Unreadable(), IsEmpty());
}

TEST(FeedTest, AKindMayBeAddedWhileTheOthersAreRead) {
  FeedRig rig;
  rig.PutPool("spot", {{"weight", 7}});
  rig.feed.Start();
  rig.executor.RunFor(std::chrono::milliseconds(20));
  rig.feed.Add<Pool>(CustomCodecOf<Pool>(kPoolKind, ReadPool), rig.store);
  EXPECT_TRUE(rig.Until([&] { return rig.store.pools.size() == 1; }));
}

TEST(FeedTest, AKindThatWireKnowsNeedsNoCodec) {
  FeedRig rig;
  rig.server.Put("/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass", "high",
                 {{"value", 1000}});
  cluster::ObjectStore<model::PriorityClass> classes;
  rig.feed.Add<model::PriorityClass>(classes);
  rig.feed.Start();
  ASSERT_TRUE(rig.Until([&] { return classes.Find("", "high") != nullptr; }));
  EXPECT_EQ(classes.Find("", "high")->value, 1000);
}

// A cluster with a node and a pod on it, of which only some annotations are news. Each has one that
// is another in every version, as a heartbeat.
struct TellingRig : TestRig {
  explicit TellingRig(std::optional<std::vector<std::string>> telling)
      : feed({.telling_annotations = std::move(telling)}, world, *client, log) {
    feed.on_nodes = [this] { ++told; };
    PutNode();
    PutPod();
    feed.Start();
    const auto& nodes_and_pods = feed.reflectors();  // first; the server knows no other kinds
    EXPECT_TRUE(Until([&] { return nodes_and_pods[0]->synced() && nodes_and_pods[1]->synced(); }));
    Told();
  }
  void PutNode() {
    node_annotations["alpha/heartbeat"] = std::to_string(++beat);
    server.Put("/api/v1/nodes", "Node", "n",
               {{"metadata", {{"annotations", node_annotations}, {"labels", node_labels}}}});
  }
  void PutPod() {
    pod_annotations["alpha/heartbeat"] = std::to_string(++beat);
    server.Put("/api/v1/pods", "Pod", "p",
               {{"metadata", {{"annotations", pod_annotations}}}, {"spec", {{"nodeName", "n"}}}},
               "default");
  }
  // How often that was news, once both have been seen as they are.
  int Told() {
    EXPECT_TRUE(Until([this] {
      const auto node = world.FindNode("n");
      const auto pod = world.FindPod("default", "p");
      return node != nullptr && pod != nullptr &&
             node_annotations["alpha/heartbeat"] ==
                 *node->metadata.annotations.Find("alpha/heartbeat") &&
             pod_annotations["alpha/heartbeat"] ==
                 *pod->metadata.annotations.Find("alpha/heartbeat");
    }));
    return std::exchange(told, 0);
  }
  Json node_annotations = Json::object();
  Json node_labels = {{"zone", "a"}};
  Json pod_annotations = Json::object();
  cluster::World world;
  int beat = 0;
  int told = 0;
  ClusterFeed feed;
};

TEST(FeedTest, WhatANodeOrAPodSaysAboutLeavingIsNewsAndOtherAnnotationsAreNot) {
  TellingRig rig(std::vector<std::string>{"scaler/"});
  rig.PutNode();
  rig.PutPod();
  EXPECT_EQ(rig.Told(), 0);
  rig.node_annotations["scaler/disabled"] = "true";
  rig.PutNode();
  EXPECT_EQ(rig.Told(), 1);
  rig.node_annotations.erase("scaler/disabled");
  rig.PutNode();
  EXPECT_EQ(rig.Told(), 1) << "taken off";
  rig.node_labels["zone"] = "b";
  rig.PutNode();
  EXPECT_EQ(rig.Told(), 1);
  rig.pod_annotations["scaler/safe"] = "false";
  rig.PutPod();
  EXPECT_EQ(rig.Told(), 1);
  rig.pod_annotations["scaler/safe"] = "true";
  rig.PutPod();
  EXPECT_EQ(rig.Told(), 1);
  rig.PutPod();
  EXPECT_EQ(rig.Told(), 0);
}

TEST(FeedTest, WhereNobodyHasSaidWhichAnnotationsTellNoneDoes) {
  TellingRig rig(std::nullopt);
  rig.node_annotations["scaler/disabled"] = "true";
  rig.node_labels["zone"] = "b";
  rig.PutNode();
  rig.pod_annotations["scaler/safe"] = "false";
  rig.PutPod();
  EXPECT_EQ(rig.Told(), 0);
}

TEST(FeedTest, JsonIsKeptAsItCame) {
  FeedRig rig;
  rig.PutPool("spot", {{"weight", 7}});
  std::vector<std::string> seen;
  rig.feed.Add<JsonObject>(JsonCodecOf(kPoolKind),
                           {.upsert =
                                [&](std::shared_ptr<const JsonObject> object) {
                                  EXPECT_EQ(Json::parse(object->json)["spec"]["weight"], 7);
                                  seen.push_back(object->metadata.name);
                                },
                            .remove = [](std::string_view, std::string_view) {}});
  rig.feed.Start();
  ASSERT_TRUE(rig.Until([&] { return !seen.empty(); }));
  EXPECT_THAT(seen, ElementsAre("spot"));
}

// Bytes that no API server sends must cost us one object at most.
TEST(CustomCodecTest, BrokenObjectsDoNotTakeTheListWithThem) {
  const KindCodec codec = CustomCodecOf<Pool>(kPoolKind, ReadPool);
  const auto page = codec.read_page(
      R"({"kind":"NodePoolList","metadata":{"resourceVersion":"9","continue":"x"},"items":[)"
      R"({"metadata":{"name":"a","creationTimestamp":"no time"}},)"
      R"({"metadata":{"name":"b"},"spec":{"weight":1e5000}},)"
      R"({"kind":"Other","metadata":{"name":"c"}},)"
      R"(7,)"
      R"({"metadata":{"name":"d","resourceVersion":"4"},"spec":{"weight":2}}]})");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->metadata.resource_version, "9");
  EXPECT_EQ(page->metadata.continue_, "x");
  ASSERT_EQ(page->items.size(), 5u);
  EXPECT_EQ(page->items[0].name, "a");
  EXPECT_TRUE(page->items[0].unreadable);
  EXPECT_EQ(page->items[1].name, "b");
  EXPECT_EQ(page->items[2].name, "");
  EXPECT_TRUE(page->items[2].unreadable);
  EXPECT_TRUE(page->items[3].unreadable);
  EXPECT_EQ(page->items[4].version, "4");
  EXPECT_FALSE(page->items[4].unreadable);
  for (const char* text : {"", "[]", "{", R"({"items":[}})", R"({"items":7})"})
    EXPECT_FALSE(codec.read_page(text).ok()) << text;
}

}  // namespace
}  // namespace coppice::kube
