#include "kube/kube_writer.h"

#include <gmock/gmock.h>

#include "base/fake_clock.h"
#include "kube/node_edit.h"
#include "kube/test_rig.h"

namespace coppice::kube {
namespace {

using Json = nlohmann::json;
constexpr char kNodes[] = "/api/v1/nodes";

cluster::NodeChange Taint() {
  return {.add_taints = {{.key = "gone", .value = "1", .effect = "NoSchedule"}},
          .remove_taints = {},
          .unschedulable = true};
}
cluster::NodeChange Untaint() {
  return {.add_taints = {}, .remove_taints = {"gone"}, .unschedulable = false};
}

TEST(NodeEditTest, KeepsWhatItDoesNotKnow) {
  const Json before = {
      {"kind", "Node"},
      {"apiVersion", "v1"},
      {"metadata", {{"name", "n"}, {"resourceVersion", "7"}}},
      {"spec", {{"future", {{"a", 1}}}, {"taints", {{{"key", "x"}, {"effect", "NoExecute"}}}}}},
      {"status", {{"images", {1, 2, 3}}}}};
  const auto edited = test::MustValue(EditNode(before.dump(), Taint()));
  ASSERT_TRUE(edited);
  const Json after = Json::parse(*edited);
  EXPECT_EQ(after["spec"]["future"]["a"], 1);
  EXPECT_EQ(after["status"], before["status"]);
  EXPECT_EQ(after["metadata"], before["metadata"]);
  EXPECT_EQ(after["spec"]["taints"].size(), 2u);
  EXPECT_EQ(after["spec"]["unschedulable"], true);
  EXPECT_FALSE(test::MustValue(EditNode(after.dump(), Taint())).has_value());
  const auto back = test::MustValue(EditNode(after.dump(), Untaint()));
  ASSERT_TRUE(back);
  EXPECT_EQ(Json::parse(*back), before);
}

TEST(NodeEditTest, DoesNotUncordonWhatSomebodyElseCordoned) {
  const Json node = {{"kind", "Node"}, {"spec", {{"unschedulable", true}}}};
  EXPECT_FALSE(test::MustValue(EditNode(node.dump(), Untaint())).has_value());
}

struct WriterRig : TestRig {
  WriterRig() { executor.Spawn(events.Run()); }
  EventSender events{*client, log, RateLimit(executor, 0, 1), false};
  bool leads = true;
  KubeWriter writer{
      *client, events,
      Fence{.may_write = [this] { return leads ? Status::Ok() : FailedPrecondition("no"); },
            .within = nullptr}};
};

TEST(KubeWriterTest, ChangesANodeAndStartsOverWhenSomebodyWasFaster) {
  WriterRig rig;
  rig.server.Put(kNodes, "Node", "n", {{"spec", {{"providerID", "p"}}}});
  rig.server.Refuse({.method = "PUT", .path = kNodes, .status = 409, .body = "{}", .times = 2});
  EXPECT_TRUE(rig.executor.BlockOn(rig.writer.ChangeNode("n", Taint())).ok());
  const Json node = rig.server.Get(kNodes, "n");
  EXPECT_EQ(node["spec"]["taints"][0]["key"], "gone");
  EXPECT_EQ(node["spec"]["providerID"], "p");
  EXPECT_EQ(rig.server.Count("PUT", "nodes"), 3u);
}

TEST(KubeWriterTest, AnAnswerThatWasLostIsNotDoneTwice) {
  WriterRig rig;
  rig.server.Put(kNodes, "Node", "n");
  rig.server.Refuse(
      {.method = "PUT", .path = kNodes, .status = 503, .body = "{}", .act_first = true});
  EXPECT_TRUE(rig.executor.BlockOn(rig.writer.ChangeNode("n", Taint())).ok());
  EXPECT_EQ(rig.server.Get(kNodes, "n")["spec"]["taints"].size(), 1u);
}

TEST(KubeWriterTest, EveryRequestThatTheServerDidNotDoIsToldAndEverydayDialogueIsNot) {
  WriterRig rig;
  rig.server.Put(kNodes, "Node", "n");
  rig.server.Refuse({.method = "PUT", .path = kNodes, .status = 409, .body = "{}"});
  rig.server.Refuse({.method = "PUT", .path = kNodes, .status = 503, .body = "{}", .times = 2});
  EXPECT_TRUE(rig.executor.BlockOn(rig.writer.ChangeNode("n", Taint())).ok());
  EXPECT_FALSE(rig.executor.BlockOn(rig.writer.ChangeNode("nobody", Taint())).ok());
  EXPECT_EQ(rig.failed, std::vector<std::string>(2, "PUT /api/v1/nodes/n 503"));
}

TEST(KubeWriterTest, WithoutTheLeaseNothingIsWritten) {
  WriterRig rig;
  rig.server.Put(kNodes, "Node", "n");
  rig.leads = false;
  EXPECT_FALSE(rig.executor.BlockOn(rig.writer.ChangeNode("n", Taint())).ok());
  EXPECT_FALSE(rig.executor.BlockOn(rig.writer.Evict({"ns", "p"}, 30)).ok());
  EXPECT_EQ(rig.server.Count("PUT", ""), 0u);
  EXPECT_EQ(rig.server.Count("POST", ""), 0u);
}

TEST(KubeWriterTest, AnEvictionSaysWhatTheServerSaid) {
  WriterRig rig;
  rig.server.Put("/api/v1/pods", "Pod", "p", {{"spec", {{"nodeName", "n"}}}}, "ns");
  rig.server.Refuse(
      {.method = "POST",
       .path = "/api/v1/namespaces/ns/pods/p/eviction",
       .status = 429,
       .body =
           R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":429,)"
           R"("reason":"TooManyRequests","details":{"causes":[{"reason":"DisruptionBudget"}]}})",
       .headers = {{"Retry-After", "1"}}});
  EXPECT_EQ(rig.executor.BlockOn(rig.writer.Evict({"ns", "p"}, 7)).code(),
            Code::kResourceExhausted);
  EXPECT_EQ(test::MustValue(rig.executor.BlockOn(rig.writer.WhereIs({"ns", "p"}))), "n");
  EXPECT_TRUE(rig.executor.BlockOn(rig.writer.Evict({"ns", "p"}, 7)).ok());
  EXPECT_EQ(rig.executor.BlockOn(rig.writer.Evict({"ns", "p"}, 7)).code(), Code::kNotFound);
  EXPECT_FALSE(test::MustValue(rig.executor.BlockOn(rig.writer.WhereIs({"ns", "p"}))).has_value());
  const auto seen = rig.server.seen();
  EXPECT_EQ(Json::parse(seen.front().body)["deleteOptions"]["gracePeriodSeconds"], 7);
}

// A StatefulSet gives the next pod the same name.
TEST(KubeWriterTest, TheSuccessorOfAPodIsNotEvictedInItsPlace) {
  WriterRig rig;
  rig.server.Put("/api/v1/pods", "Pod", "p",
                 {{"metadata", {{"uid", "second"}}}, {"spec", {{"nodeName", "n"}}}}, "ns");
  EXPECT_EQ(rig.executor.BlockOn(rig.writer.Evict({"ns", "p", "first"}, 7)).code(),
            Code::kNotFound);
  EXPECT_EQ(test::MustValue(rig.executor.BlockOn(rig.writer.WhereIs({"ns", "p"}))), "n");
  EXPECT_TRUE(rig.executor.BlockOn(rig.writer.Evict({"ns", "p", "second"}, 7)).ok());
  const Json sent = Json::parse(rig.server.seen().front().body);
  EXPECT_EQ(sent["deleteOptions"]["preconditions"]["uid"], "first");
}

// Two budgets on one pod: the API server cannot say which counts, and calls that its own failure.
TEST(KubeWriterTest, AnInternalErrorOfAnEvictionIsToldAndNotTakenForDone) {
  WriterRig rig;
  rig.server.Put("/api/v1/pods", "Pod", "p", {{"spec", {{"nodeName", "n"}}}}, "ns");
  rig.server.Refuse({.method = "POST",
                     .path = "/api/v1/namespaces/ns/pods/p/eviction",
                     .status = 500,
                     .body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":500,)"
                             R"("message":"This pod has more than one PodDisruptionBudget"})"});
  std::vector<Status> told;
  rig.writer.on_eviction = [&](const Status& outcome) { told.push_back(outcome); };
  const Status refused = rig.executor.BlockOn(rig.writer.Evict({"ns", "p"}, 7));
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(refused.code(), Code::kNotFound);
  EXPECT_NE(refused.message().find("more than one PodDisruptionBudget"), std::string::npos);
  EXPECT_EQ(rig.server.Count("POST", "/eviction"), 1u);  // the drain repeats, with its own patience
  ASSERT_EQ(told.size(), 1u);
  EXPECT_FALSE(told[0].ok());
  EXPECT_EQ(test::MustValue(rig.executor.BlockOn(rig.writer.WhereIs({"ns", "p"}))), "n");
}

TEST(KubeWriterTest, WhatAProcessLeavesOnTheStatusMapIsReadByTheNext) {
  WriterRig rig;
  const auto read = [&] {
    return test::MustValue(rig.executor.BlockOn(rig.writer.ReadAnnotation("ns", "map", "memory")));
  };
  EXPECT_EQ(read(), "");  // no map yet
  KubeWriter::Annotations annotations = {{"at", "now"}};
  ASSERT_TRUE(
      rig.executor.BlockOn(rig.writer.PutConfigMap("ns", "map", "status", "ok", annotations)).ok());
  EXPECT_EQ(read(), "");  // a map of somebody who leaves none
  annotations["memory"] = "{}";
  ASSERT_TRUE(
      rig.executor.BlockOn(rig.writer.PutConfigMap("ns", "map", "status", "ok", annotations)).ok());
  EXPECT_EQ(read(), "{}");
}

TEST(KubeWriterTest, TheStatusMapIsMadeAndThenKept) {
  WriterRig rig;
  const auto put = [&](const char* text) {
    return rig.executor.BlockOn(
        rig.writer.PutConfigMap("ns", "map", "status", text, {{"at", "now"}}));
  };
  EXPECT_TRUE(put("one").ok());
  Json map = rig.server.Get("/api/v1/configmaps", "map", "ns");
  map["data"]["theirs"] = "x";
  rig.server.Put("/api/v1/configmaps", "ConfigMap", "map", map, "ns");
  EXPECT_TRUE(put("two").ok());
  map = rig.server.Get("/api/v1/configmaps", "map", "ns");
  EXPECT_EQ(map["data"]["status"], "two");
  EXPECT_EQ(map["data"]["theirs"], "x");
  EXPECT_EQ(map["metadata"]["annotations"]["at"], "now");
}

TEST(KubeWriterTest, OfManyNodesAFewAreAskedForTheirPodsAtOnce) {
  WriterRig rig;
  rig.server.Put(kNodes, "Node", "n");
  rig.server.Put("/api/v1/pods", "Pod", "p", {{"spec", {{"nodeName", "n7"}}}}, "ns");
  rig.server.HoldAnswers("/pods", "GET");
  int answered = 0;
  size_t pods = 0;
  const auto ask = [&](std::string node) -> Task<void> {
    const auto found = co_await rig.writer.PodsOn(std::move(node));
    EXPECT_TRUE(found.ok()) << found.status();
    ++answered;
    pods += found.ok() ? found->size() : 0;
  };
  for (int i = 0; i < 25; ++i) rig.executor.Spawn(ask("n" + std::to_string(i)));
  ASSERT_TRUE(rig.Until([&] { return rig.server.held() == 10; }));
  EXPECT_TRUE(rig.executor.BlockOn(rig.writer.NodeNow("n")).ok()) << "others are not kept waiting";
  EXPECT_EQ(rig.server.Count("GET", "/api/v1/pods"), 10u);
  EXPECT_EQ(answered, 0);
  rig.server.LetGo();
  ASSERT_TRUE(rig.Until([&] { return answered == 25; }));
  EXPECT_EQ(rig.server.Count("GET", "/api/v1/pods"), 25u);
  EXPECT_EQ(pods, 1u);
}

cluster::Event Told(const std::string& reason, const std::string& text, const char* kind = "Pod") {
  return {kind, "ns", "p", "u", "Normal", reason, text};
}

TEST(EventsTest, AReasonIsToldOnceInFiveMinutesAndCountedMeanwhile) {
  FakeClock clock;
  EventCorrelator correlator(false);
  EXPECT_EQ(correlator.Correlate(Told("A", "x"), clock.Now())->count, 1);
  EXPECT_FALSE(correlator.Correlate(Told("A", "x"), clock.Now()));
  EXPECT_FALSE(correlator.Correlate(Told("A", "other text"), clock.Now()));
  EXPECT_TRUE(correlator.Correlate(Told("B", "x"), clock.Now()));
  clock.Advance(std::chrono::seconds(301));
  EXPECT_EQ(correlator.Correlate(Told("A", "x"), clock.Now())->count, 3);
}

TEST(EventsTest, TheStatusMapTellsEveryText) {
  FakeClock clock;
  EventCorrelator correlator(false);
  for (int i = 0; i < 9; ++i) {
    const auto record =
        correlator.Correlate(Told("A", std::to_string(i), "ConfigMap"), clock.Now());
    ASSERT_TRUE(record);
    EXPECT_EQ(record->event.text, std::to_string(i));
  }
  const auto tenth = correlator.Correlate(Told("A", "9", "ConfigMap"), clock.Now());
  ASSERT_TRUE(tenth);
  EXPECT_EQ(tenth->event.text, "(combined from similar events): 9");
  EXPECT_EQ(correlator.Correlate(Told("A", "10", "ConfigMap"), clock.Now())->count, 2);
}

TEST(EventsTest, AreWrittenAndThenPatched) {
  WriterRig rig;
  EventSender all{*rig.client, rig.log, RateLimit(rig.executor, 0, 1), true};
  rig.executor.Spawn(all.Run());
  all.Emit(Told("A", "x"));
  all.Emit(Told("A", "x"));
  ASSERT_TRUE(rig.Until([&] { return rig.server.Count("PATCH", "events") == 1; }));
  EXPECT_EQ(rig.server.Count("POST", "/namespaces/ns/events"), 1u);
  const auto seen = rig.server.seen();
  const Json created = Json::parse(seen[0].body);
  EXPECT_EQ(created["involvedObject"]["uid"], "u");
  EXPECT_EQ(created["source"]["component"], "cluster-autoscaler");
  EXPECT_EQ(Json::parse(seen[1].body)["count"], 2);
}

std::vector<cluster::LivePod> ManyPods(int count) {
  std::vector<cluster::LivePod> pods;
  for (int i = 0; i < count; ++i) {
    model::Pod pod;
    pod.metadata.namespace_ = "ns";
    pod.metadata.name = "p" + std::to_string(i);
    pod.metadata.uid = "u" + std::to_string(i);
    pods.push_back(std::make_shared<const model::Pod>(std::move(pod)));
  }
  return pods;
}

// Who decided for a thousand pods has said so in a line of its own.
TEST(EventsTest, OfManyPodsAreSaidOneByOneToWhoWantsToDebugOnly) {
  for (const LogLevel lowest : {LogLevel::kInfo, LogLevel::kDebug}) {
    WriterRig rig;
    std::vector<std::string> lines;
    const Log heard(
        rig.clock, [&](std::string_view line) { lines.emplace_back(line); }, LogFormat::kJson,
        lowest);
    EventSender all{*rig.client, heard, RateLimit(rig.executor, 0, 1), false};
    rig.executor.Spawn(all.Run());
    heard.Info("scaled up", {{"pods", 20}});
    all.EmitAboutPods(ManyPods(20), {.type = "Normal", .reason = "TriggeredScaleUp", .text = "x"});
    rig.executor.BlockOn(all.Flush(Deadline::In(rig.clock, std::chrono::seconds(20))));
    EXPECT_EQ(rig.server.Count("POST", "/namespaces/ns/events"), 20u);
    EXPECT_EQ(lines.size(), lowest == LogLevel::kInfo ? 1u : 21u);
  }
}

TEST(EventsTest, TheSameOfManyPodsIsOneEventForEach) {
  WriterRig rig;
  EventSender all{*rig.client, rig.log, RateLimit(rig.executor, 0, 1), false};
  rig.executor.Spawn(all.Run());
  const std::vector<cluster::LivePod> pods = ManyPods(3);
  all.Emit(Told("A", "first"));
  all.EmitAboutPods(pods, {.type = "Normal", .reason = "B", .text = "x"});
  all.EmitAboutPods(pods, {.type = "Normal", .reason = "B", .text = "x"});  // said already
  all.Emit(Told("C", "last"));
  rig.executor.BlockOn(all.Flush(Deadline::In(rig.clock, std::chrono::seconds(5))));
  std::vector<std::string> told;
  for (const auto& seen : rig.server.seen()) {
    const Json event = Json::parse(seen.body);
    told.push_back(event["reason"].get<std::string>() + " " +
                   event["involvedObject"].value("uid", ""));
  }
  EXPECT_THAT(told, testing::ElementsAre("A u", "B u0", "B u1", "B u2", "C u"));
}

}  // namespace
}  // namespace coppice::kube
