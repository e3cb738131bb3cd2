#include "cluster/stored_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/executor.h"
#include "base/fake_clock.h"
#include "test/support/must.h"

namespace coppice::cluster {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;

class StoredObjectsTest : public testing::Test {
 protected:
  StoredObjectsTest() {
    objects.on_change = [this](const ObjectName& object, const std::string* json) {
      told.push_back(object.name + (json == nullptr ? " gone" : ""));
    };
  }
  static ObjectName Claim(const std::string& name = "a", const std::string& uid = "") {
    return {"karpenter.sh/v1", "nodeclaims", "", name, uid};
  }
  template <class T>
  T Wait(Task<T> task) {
    return executor.BlockOn(std::move(task));
  }
  Json Create(const std::string& name, const Json& json = {{"kind", "NodeClaim"}}) {
    return Json::parse(MUST(Wait(objects.CreateObject(Claim(name), json.dump()))));
  }
  Json Now(const std::string& name = "a") {
    return Json::parse(MUST(Wait(objects.ObjectNow(Claim(name)))));
  }

  FakeClock clock;
  Executor executor{clock};
  StoredObjects objects{clock};
  std::vector<std::string> told;
};

TEST_F(StoredObjectsTest, AnObjectGetsAUidAVersionAndATime) {
  const Json made = Create("a", {{"kind", "NodeClaim"}, {"spec", {{"x", 1}}}, {"status", 7}});
  EXPECT_EQ(made["metadata"]["name"], "a");
  EXPECT_EQ(made["metadata"]["generation"], 1);
  EXPECT_FALSE(made["metadata"]["uid"].get<std::string>().empty());
  EXPECT_EQ(made["metadata"]["creationTimestamp"].get<std::string>().size(), 20u);
  EXPECT_FALSE(made.contains("status"));
  EXPECT_EQ(Wait(objects.CreateObject(Claim(), "{}")).code(), Code::kAlreadyExists);
  EXPECT_EQ(Wait(objects.CreateObject(Claim("b"), "[]")).code(), Code::kInvalidArgument);
  EXPECT_EQ(Wait(objects.CreateObject(Claim(""), "{}")).code(), Code::kInvalidArgument);
  EXPECT_THAT(told, ElementsAre("a"));
}

TEST_F(StoredObjectsTest, StatusAndTheRestHaveDoorsOfTheirOwn) {
  Create("a", {{"spec", {{"x", 1}}}});
  const std::string both = R"({"spec":{"x":2},"status":{"s":1},"metadata":{"uid":"mine"}})";
  EXPECT_OK(Wait(objects.UpdateObject(Claim(), both)).status());
  EXPECT_EQ(Now()["spec"]["x"], 2);
  EXPECT_EQ(Now()["metadata"]["generation"], 2);
  EXPECT_NE(Now()["metadata"]["uid"], "mine");
  EXPECT_FALSE(Now().contains("status"));
  EXPECT_OK(Wait(objects.UpdateStatus(Claim(), R"({"spec":{"x":9},"status":{"s":1}})")).status());
  EXPECT_EQ(Now()["status"]["s"], 1);
  EXPECT_EQ(Now()["spec"]["x"], 2);
  EXPECT_EQ(Now()["metadata"]["generation"], 2);
}

TEST_F(StoredObjectsTest, WhatChangesNothingIsNoNews) {
  Create("a", {{"spec", {{"x", 1}}}});
  const Json before = Now();
  EXPECT_OK(Wait(objects.UpdateObject(Claim(), R"({"spec":{"x":1}})")).status());
  EXPECT_EQ(Now(), before);
  EXPECT_THAT(told, ElementsAre("a"));
}

TEST_F(StoredObjectsTest, APatchForAnotherVersionOrAnotherObjectIsRefused) {
  Create("a");
  const std::string old = R"({"metadata":{"resourceVersion":"77"},"spec":{"x":1}})";
  EXPECT_EQ(Wait(objects.UpdateObject(Claim(), old)).code(), Code::kAborted);
  EXPECT_EQ(Wait(objects.UpdateObject(Claim("a", "other"), "{}")).code(), Code::kNotFound);
  EXPECT_EQ(Wait(objects.DeleteObject(Claim("a", "other"))).code(), Code::kNotFound);
  EXPECT_EQ(Wait(objects.UpdateObject(Claim(), R"({"metadata":null})")).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(Wait(objects.UpdateObject(Claim("b"), "{}")).code(), Code::kNotFound);
}

TEST_F(StoredObjectsTest, WhatHasFinalizersGoesWithTheLastOfThem) {
  Create("a");
  EXPECT_OK(Wait(objects.ChangeFinalizers(Claim(), {.add = {"one", "two"}})));
  EXPECT_OK(Wait(objects.DeleteObject(Claim())));
  EXPECT_OK(Wait(objects.DeleteObject(Claim())));
  EXPECT_TRUE(Now()["metadata"].contains("deletionTimestamp"));
  EXPECT_OK(Wait(objects.ChangeFinalizers(Claim(), {.remove = {"one"}})));
  EXPECT_EQ(Now()["metadata"]["finalizers"], Json({"two"}));
  EXPECT_OK(Wait(objects.ChangeFinalizers(Claim(), {.remove = {"two"}})));
  EXPECT_EQ(Wait(objects.ObjectNow(Claim())).code(), Code::kNotFound);
  EXPECT_EQ(told.back(), "a gone");
}

TEST_F(StoredObjectsTest, ListsOneKindByName) {
  Create("b");
  Create("a");
  (void)Wait(objects.CreateObject({"karpenter.sh/v1", "nodepools", "", "p"}, "{}"));
  std::vector<std::string> names;
  for (const std::string& json : objects.List("karpenter.sh/v1", "nodeclaims"))
    names.push_back(Json::parse(json)["metadata"]["name"]);
  EXPECT_THAT(names, ElementsAre("a", "b"));
}

TEST_F(StoredObjectsTest, AFaultIsTheAnswerAndNothingHappens) {
  Create("a");
  objects.before = [](std::string_view verb, const ObjectName&) {
    return Unavailable(std::string(verb));
  };
  EXPECT_EQ(Wait(objects.UpdateStatus(Claim(), R"({"status":1})")).status().message(), "status");
  EXPECT_EQ(Wait(objects.DeleteObject(Claim())).message(), "delete");
  EXPECT_EQ(Wait(objects.ChangeFinalizers(Claim(), {.add = {"f"}})).message(), "finalizers");
  EXPECT_FALSE(Now().contains("status"));
}

}  // namespace
}  // namespace coppice::cluster
