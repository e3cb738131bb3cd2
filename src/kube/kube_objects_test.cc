#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kube/kube_writer.h"
#include "kube/object_edit.h"
#include "kube/test_rig.h"

namespace coppice::kube {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr char kClaims[] = "/apis/karpenter.sh/v1/nodeclaims";
constexpr char kPodsPath[] = "/api/v1/pods";

cluster::ObjectName Claim(const std::string& name = "web-1", const std::string& uid = "") {
  return {.api_version = "karpenter.sh/v1",
          .resource = "nodeclaims",
          .namespace_ = "",
          .name = name,
          .uid = uid};
}

struct ObjectRig : TestRig {
  EventSender events{*client, log, RateLimit(executor, 0, 1), false};
  bool leads = true;
  KubeWriter writer{
      *client, events,
      Fence{.may_write = [this] { return leads ? Status::Ok() : FailedPrecondition("no"); },
            .within = nullptr}};

  template <class T>
  T Wait(Task<T> task) {
    return executor.BlockOn(std::move(task));
  }
  void PutClaim(Json object = Json::object()) {
    server.Put(kClaims, "NodeClaim", "web-1", std::move(object));
  }
  Json NowOf(const std::string& name = "web-1") { return server.Get(kClaims, name); }
};

TEST(ObjectPathTest, IsTheServers) {
  EXPECT_EQ(ObjectPath(Claim()), "/apis/karpenter.sh/v1/nodeclaims/web-1");
  EXPECT_EQ(ObjectPath({"v1", "pods", "ns", "p"}), "/api/v1/namespaces/ns/pods/p");
  EXPECT_EQ(ObjectPath({"scheduling.volcano.sh/v1beta1", "podgroups", "ns", ""}),
            "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups");
  EXPECT_EQ(ObjectPath({"v1", "pods", "../x", "a/b"}), "/api/v1/namespaces/..%2Fx/pods/a%2Fb");
}

TEST(KubeObjectsTest, CreatesAnObjectAndSaysWhatWasStored) {
  ObjectRig rig;
  const Json claim = {{"kind", "NodeClaim"}, {"spec", {{"x", 1}}}};
  const auto made = rig.Wait(rig.writer.CreateObject(Claim(), claim.dump()));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_FALSE(Json::parse(*made)["metadata"]["uid"].get<std::string>().empty());
  EXPECT_EQ(rig.NowOf()["spec"]["x"], 1);
  EXPECT_EQ(rig.NowOf()["apiVersion"], "karpenter.sh/v1");
  EXPECT_EQ(rig.Wait(rig.writer.CreateObject(Claim(), claim.dump())).code(), Code::kAlreadyExists);
}

TEST(KubeObjectsTest, ANameOfTheServersChoiceIsInTheAnswer) {
  ObjectRig rig;
  const Json claim = {{"kind", "NodeClaim"}, {"metadata", {{"generateName", "web-"}}}};
  const auto made = rig.Wait(rig.writer.CreateObject(Claim(""), claim.dump()));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(Json::parse(*made)["metadata"]["name"].get<std::string>(), HasSubstr("web-"));
}

TEST(KubeObjectsTest, ACreateWhoseAnswerWasLostIsNotRepeated) {
  ObjectRig rig;
  rig.server.Refuse(
      {.method = "POST", .path = kClaims, .status = 503, .body = "{}", .act_first = true});
  const std::string claim = R"({"kind":"NodeClaim"})";
  EXPECT_EQ(rig.Wait(rig.writer.CreateObject(Claim(), claim)).code(), Code::kUnavailable);
  EXPECT_EQ(rig.server.Count("POST", "nodeclaims"), 1u);
  EXPECT_EQ(rig.Wait(rig.writer.CreateObject(Claim(), claim)).code(), Code::kAlreadyExists);
}

TEST(KubeObjectsTest, WhatIsNoObjectIsNotSent) {
  ObjectRig rig;
  for (const char* text : {"", "[]", "7", "{", R"({"kind":"NodeClaim","metadata":7})", "{}"}) {
    EXPECT_EQ(rig.Wait(rig.writer.CreateObject(Claim(), text)).code(), Code::kInvalidArgument)
        << text;
  }
  EXPECT_EQ(rig.Wait(rig.writer.UpdateObject(Claim(), "[]")).code(), Code::kInvalidArgument);
  EXPECT_TRUE(rig.server.seen().empty());
}

TEST(KubeObjectsTest, AnUpdateLeavesTheStatusAndAStatusTheRest) {
  ObjectRig rig;
  rig.PutClaim({{"spec", {{"a", 1}, {"b", 2}}}, {"status", {{"s", 1}, {"t", 2}}}});
  const Json patch = {
      {"metadata", {{"labels", {{"l", "v"}}}}}, {"spec", {{"a", nullptr}}}, {"status", {{"s", 9}}}};
  ASSERT_OK(rig.Wait(rig.writer.UpdateObject(Claim(), patch.dump())).status());
  EXPECT_EQ(rig.NowOf()["spec"], Json({{"b", 2}}));
  EXPECT_EQ(rig.NowOf()["status"], Json({{"s", 1}, {"t", 2}}));
  const auto after = rig.Wait(rig.writer.UpdateStatus(Claim(), R"({"status":{"s":3}})"));
  ASSERT_OK(after.status());
  EXPECT_EQ(rig.NowOf()["status"], Json({{"s", 3}, {"t", 2}}));
  EXPECT_EQ(Json::parse(*after)["status"]["s"], 3);
  EXPECT_EQ(rig.NowOf()["metadata"]["labels"]["l"], "v");
  EXPECT_EQ(rig.server.Count("PATCH", "/status"), 1u);
}

TEST(KubeObjectsTest, APatchIsRepeatedAfterAnAnswerThatWasLostAndAfterAConflictOfTheServers) {
  ObjectRig rig;
  rig.PutClaim();
  rig.server.Refuse(
      {.method = "PATCH", .path = kClaims, .status = 503, .body = "{}", .act_first = true});
  rig.server.Refuse({.method = "PATCH", .path = kClaims, .status = 409, .body = "{}", .times = 2});
  EXPECT_OK(rig.Wait(rig.writer.UpdateObject(Claim(), R"({"spec":{"a":1}})")).status());
  EXPECT_EQ(rig.NowOf()["spec"]["a"], 1);
  EXPECT_EQ(rig.server.Count("PATCH", "nodeclaims"), 4u);
}

TEST(KubeObjectsTest, APatchForAVersionThatIsGoneIsTheCallersToMakeAgain) {
  ObjectRig rig;
  rig.PutClaim();
  const std::string old = rig.NowOf()["metadata"]["resourceVersion"];
  rig.PutClaim({{"spec", {{"a", 1}}}});
  const Json patch = {{"metadata", {{"resourceVersion", old}}}, {"spec", {{"a", 2}}}};
  EXPECT_EQ(rig.Wait(rig.writer.UpdateObject(Claim(), patch.dump())).code(), Code::kAborted);
  EXPECT_EQ(rig.NowOf()["spec"]["a"], 1);
  EXPECT_EQ(rig.server.Count("PATCH", "nodeclaims"), 1u);
}

TEST(KubeObjectsTest, TheSuccessorOfAnObjectIsNotTouched) {
  ObjectRig rig;
  rig.PutClaim({{"metadata", {{"uid", "second"}}}});
  const auto first = Claim("web-1", "first");
  EXPECT_EQ(rig.Wait(rig.writer.UpdateObject(first, R"({"spec":{}})")).code(), Code::kNotFound);
  EXPECT_EQ(rig.Wait(rig.writer.UpdateStatus(first, R"({"status":{}})")).code(), Code::kNotFound);
  EXPECT_EQ(rig.Wait(rig.writer.ChangeFinalizers(first, {.add = {"f"}})).code(), Code::kNotFound);
  EXPECT_EQ(rig.Wait(rig.writer.DeleteObject(first)).code(), Code::kNotFound);
  EXPECT_FALSE(rig.NowOf().is_null());
  EXPECT_OK(rig.Wait(rig.writer.DeleteObject(Claim("web-1", "second"))));
  EXPECT_TRUE(rig.NowOf().is_null());
  EXPECT_EQ(rig.Wait(rig.writer.DeleteObject(Claim())).code(), Code::kNotFound);
  EXPECT_EQ(rig.Wait(rig.writer.ObjectNow(Claim())).code(), Code::kNotFound);
}

TEST(KubeObjectsTest, FinalizersOfOthersStayAndTheLastOneLetsGo) {
  ObjectRig rig;
  rig.PutClaim({{"metadata", {{"finalizers", {"theirs"}}}}});
  EXPECT_OK(rig.Wait(rig.writer.ChangeFinalizers(Claim(), {.add = {"ours"}})));
  EXPECT_EQ(rig.NowOf()["metadata"]["finalizers"], Json({"theirs", "ours"}));
  EXPECT_OK(rig.Wait(rig.writer.ChangeFinalizers(Claim(), {.add = {"ours"}})));
  EXPECT_EQ(rig.server.Count("PATCH", "nodeclaims"), 1u);  // as wanted already
  EXPECT_OK(rig.Wait(rig.writer.DeleteObject(Claim())));
  EXPECT_TRUE(rig.NowOf()["metadata"].contains("deletionTimestamp"));
  EXPECT_OK(rig.Wait(rig.writer.ChangeFinalizers(Claim(), {.remove = {"ours"}})));
  EXPECT_EQ(rig.NowOf()["metadata"]["finalizers"], Json({"theirs"}));
  EXPECT_OK(rig.Wait(rig.writer.ChangeFinalizers(Claim(), {.remove = {"theirs"}})));
  EXPECT_TRUE(rig.NowOf().is_null());
}

// Two writers add one finalizer each: neither is lost.
TEST(KubeObjectsTest, FinalizersAreChangedAgainWhenSomebodyElseWasFaster) {
  ObjectRig rig;
  rig.PutClaim();
  rig.server.Refuse({.method = "PATCH", .path = kClaims, .status = 409, .body = "{}", .times = 2});
  Status second;
  cluster::FinalizerChange other{.add = {"b"}};
  rig.executor.Spawn([](ObjectRig& r, cluster::FinalizerChange change, Status& out) -> Task<void> {
    out = co_await r.writer.ChangeFinalizers(Claim(), change);
  }(rig, other, second));
  EXPECT_OK(rig.Wait(rig.writer.ChangeFinalizers(Claim(), {.add = {"a"}})));
  ASSERT_TRUE(rig.Until([&] { return rig.NowOf()["metadata"]["finalizers"].size() == 2; }));
  EXPECT_OK(second);
}

TEST(KubeObjectsTest, WithoutTheLeaseNoVerbWrites) {
  ObjectRig rig;
  rig.PutClaim({{"metadata", {{"finalizers", {"f"}}}}});
  rig.server.Put(kPodsPath, "Pod", "p", {{"spec", Json::object()}}, "ns");
  rig.leads = false;
  const auto no = Code::kFailedPrecondition;
  EXPECT_EQ(rig.Wait(rig.writer.CreateObject(Claim("x"), R"({"kind":"NodeClaim"})")).code(), no);
  EXPECT_EQ(rig.Wait(rig.writer.UpdateObject(Claim(), R"({"spec":{}})")).code(), no);
  EXPECT_EQ(rig.Wait(rig.writer.UpdateStatus(Claim(), R"({"status":{}})")).code(), no);
  EXPECT_EQ(rig.Wait(rig.writer.ChangeFinalizers(Claim(), {.remove = {"f"}})).code(), no);
  EXPECT_EQ(rig.Wait(rig.writer.DeleteObject(Claim())).code(), no);
  EXPECT_EQ(rig.Wait(rig.writer.Bind({"ns", "p"}, "n", {})).code(), no);
  EXPECT_EQ(rig.Wait(rig.writer.DeletePod({"ns", "p"}, 0)).code(), no);
  for (const auto& seen : rig.server.seen()) EXPECT_EQ(seen.method, "GET");
  EXPECT_EQ(rig.writer.under_way(), 0u);
}

struct BindRig : ObjectRig {
  explicit BindRig(const std::string& node = "") {
    Json spec = Json::object();
    if (!node.empty()) spec["nodeName"] = node;
    server.Put(kPodsPath, "Pod", "p",
               {{"metadata", {{"uid", "u1"}, {"annotations", {{"theirs", "1"}}}}}, {"spec", spec}},
               "ns");
  }
  Json Pod() { return server.Get(kPodsPath, "p", "ns"); }
};

TEST(KubeBindTest, PutsAPodOnANodeWithItsAnnotations) {
  BindRig rig;
  EXPECT_OK(rig.Wait(rig.writer.Bind({"ns", "p", "u1"}, "n1", {{"ours", "2"}})));
  EXPECT_EQ(rig.Pod()["spec"]["nodeName"], "n1");
  EXPECT_EQ(rig.Pod()["metadata"]["annotations"], Json({{"ours", "2"}, {"theirs", "1"}}));
  const Json sent = Json::parse(rig.server.seen().front().body);
  EXPECT_EQ(sent["kind"], "Binding");
  EXPECT_EQ(sent["target"]["kind"], "Node");
  EXPECT_EQ(sent["metadata"]["uid"], "u1");
}

TEST(KubeBindTest, TheSuccessorOfAPodIsNotBound) {
  BindRig rig;
  EXPECT_EQ(rig.Wait(rig.writer.Bind({"ns", "p", "u0"}, "n1", {})).code(), Code::kNotFound);
  EXPECT_FALSE(rig.Pod()["spec"].contains("nodeName"));
  EXPECT_EQ(rig.Wait(rig.writer.DeletePod({"ns", "p", "u0"}, 0)).code(), Code::kNotFound);
  EXPECT_EQ(rig.Wait(rig.writer.Bind({"ns", "other"}, "n1", {})).code(), Code::kNotFound);
}

TEST(KubeBindTest, AnAnswerThatWasLostIsLookedUpAndNotRepeated) {
  BindRig rig;
  rig.server.Refuse({.method = "POST",
                     .path = "/api/v1/namespaces/ns/pods/p/binding",
                     .status = 504,
                     .body = "{}",
                     .act_first = true});
  EXPECT_OK(rig.Wait(rig.writer.Bind({"ns", "p", "u1"}, "n1", {})));
  EXPECT_EQ(rig.server.Count("POST", "/binding"), 1u);
}

TEST(KubeBindTest, APodThatDidNotArriveIsSaidToBeUnbound) {
  BindRig rig;
  rig.server.Refuse({.method = "POST",
                     .path = "/api/v1/namespaces/ns/pods/p/binding",
                     .status = 503,
                     .body = "{}"});
  EXPECT_EQ(rig.Wait(rig.writer.Bind({"ns", "p", "u1"}, "n1", {})).code(), Code::kUnavailable);
}

TEST(KubeBindTest, BindingTwiceIsAsGoodAsOnceButNotToAnotherNode) {
  BindRig rig("n1");
  EXPECT_OK(rig.Wait(rig.writer.Bind({"ns", "p", "u1"}, "n1", {})));
  const Status other = rig.Wait(rig.writer.Bind({"ns", "p", "u1"}, "n2", {}));
  EXPECT_EQ(other.code(), Code::kAborted);
  EXPECT_THAT(other.message(), HasSubstr("n1"));
}

TEST(KubeBindTest, DeletingAPodCarriesItsGraceAndUid) {
  BindRig rig("n1");
  EXPECT_OK(rig.Wait(rig.writer.DeletePod({"ns", "p", "u1"}, 7)));
  const Json sent = Json::parse(rig.server.seen().front().body);
  EXPECT_EQ(sent["gracePeriodSeconds"], 7);
  EXPECT_EQ(sent["preconditions"]["uid"], "u1");
  EXPECT_TRUE(rig.Pod().is_null());
}

}  // namespace
}  // namespace coppice::kube
