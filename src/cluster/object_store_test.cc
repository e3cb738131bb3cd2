#include "cluster/object_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/rng.h"
#include "model/objects.h"

namespace coppice::cluster {
namespace {

using testing::ElementsAre;

model::Service Named(const std::string& namespace_, const std::string& name) {
  model::Service service;
  service.metadata.namespace_ = namespace_;
  service.metadata.name = name;
  return service;
}

std::vector<std::string> Names(const ObjectStore<model::Service>& store) {
  std::vector<std::string> names;
  store.ForEach([&](const auto& object) { names.push_back(object->metadata.name); });
  return names;
}

TEST(ObjectStoreTest, NewOnesComeLastAndUpdatesKeepTheirPlace) {
  ObjectStore<model::Service> store;
  for (const char* name : {"c", "a", "b"}) store.Upsert(Named("ns", name));
  model::Service changed = Named("ns", "a");
  changed.metadata.uid = "changed";
  store.Upsert(changed);
  EXPECT_THAT(Names(store), ElementsAre("c", "a", "b"));
  EXPECT_EQ(store.Find("ns", "a")->metadata.uid, "changed");
  EXPECT_TRUE(store.Erase("ns", "c"));
  store.Upsert(Named("ns", "c"));
  EXPECT_THAT(Names(store), ElementsAre("a", "b", "c"));
}

TEST(ObjectStoreTest, ByNameTheOrderOfArrivalDoesNotShow) {
  ObjectStore<model::Service> store;
  for (const auto& [ns, name] :
       std::vector<std::pair<const char*, const char*>>{{"y", "b"}, {"x", "z"}, {"y", "a"}}) {
    store.Upsert(Named(ns, name));
  }
  std::vector<std::string> all;
  store.ForEachByName([&](const auto& object) { all.push_back(object->metadata.name); });
  EXPECT_THAT(all, ElementsAre("z", "a", "b"));
  std::vector<std::string> in_y;
  store.ForEachIn("y", [&](const auto& object) { in_y.push_back(object->metadata.name); });
  EXPECT_THAT(in_y, ElementsAre("a", "b"));
  store.ForEachIn("nowhere", [](const auto&) { FAIL(); });
}

TEST(ObjectStoreTest, OnlyAChangeIsANewVersion) {
  ObjectStore<model::Service> store;
  store.Upsert(Named("ns", "a"));
  const uint64_t before = store.version();
  EXPECT_FALSE(store.Erase("ns", "b"));
  EXPECT_EQ(store.Find("b"), nullptr);
  EXPECT_EQ(store.version(), before);
  EXPECT_TRUE(store.Erase("ns", "a"));
  EXPECT_NE(store.version(), before);
}

TEST(ObjectStoreTest, IsAMapAfterAnyHistory) {
  ObjectStore<model::Service> store;
  std::map<std::pair<std::string, std::string>, std::string> expected;
  SeededRng rng(3);
  for (int step = 0; step < 5000; ++step) {
    const std::string ns = "ns" + std::to_string(rng.Below(3));
    const std::string name = "s" + std::to_string(rng.Below(60));
    if (rng.Chance(step < 3000 ? 0.5 : 0.2)) {
      model::Service service = Named(ns, name);
      service.metadata.uid = std::to_string(step);
      store.Upsert(service);
      expected[{ns, name}] = service.metadata.uid;
    } else {
      EXPECT_EQ(store.Erase(ns, name), expected.erase({ns, name}) == 1);
    }
    ASSERT_EQ(store.size(), expected.size());
    if (step % 50 != 0) continue;
    auto it = expected.begin();
    store.ForEachByName([&](const auto& object) {
      ASSERT_EQ(std::pair(object->metadata.namespace_, object->metadata.name), it->first);
      ASSERT_EQ(object->metadata.uid, it++->second);
    });
    ASSERT_EQ(it, expected.end());
  }
}

struct Toy {  // a kind that only one engine knows
  model::ObjectMeta metadata;
};

TEST(ObjectStoresTest, AKindIsAddedByNamingItsType) {
  ObjectStores stores;
  ObjectStore<model::Service> elsewhere;
  stores.Adopt(elsewhere);
  stores.Of<Toy>().Upsert(Toy{{.name = "toy"}});
  stores.Of<model::Service>().Upsert(Named("ns", "a"));
  EXPECT_NE(stores.Of<Toy>().Find("toy"), nullptr);
  EXPECT_NE(elsewhere.Find("ns", "a"), nullptr);
  ObjectStores copy;
  stores.CopyInto(copy);
  EXPECT_EQ(copy.Of<Toy>().Get("", "toy"), stores.Of<Toy>().Get("", "toy"));
  EXPECT_EQ(copy.Of<model::Service>().size(), 1u);
}

}  // namespace
}  // namespace coppice::cluster
