// What goes in comes out the same, and what is wrong is refused with its place.

#include "wire/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "test/support/must.h"
#include "test/support/pod_list_bytes.h"

namespace coppice::wire {
namespace {

using model::Pod;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kPod[] = R"({
  "kind": "Pod", "apiVersion": "v1",
  "metadata": {"name": "web-1", "namespace": "shop", "labels": {"tier": "front", "app": "web"},
               "creationTimestamp": "2026-01-02T03:04:05Z", "managedFields": [{"manager": "x", "fieldsV1": {"f:a": {}}}],
               "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true}]},
  "spec": {
    "containers": [{"name": "main", "image": "i:1", "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}},
                    "ports": [{"hostPort": 80, "containerPort": 8080, "protocol": "TCP"}]}],
    "initContainers": [{"name": "side", "restartPolicy": "Always"}],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c", "readOnly": true}},
                {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "own", "ephemeral": {"volumeClaimTemplate": {}}},
                {"name": "token", "projected": {"sources": []}}, {"name": "host", "hostPath": {"path": "/x"}}],
    "nodeSelector": {}, "tolerations": [{"operator": "Exists", "tolerationSeconds": 300}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}],
    "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}], "os": {"name": "linux"}, "priority": 0},
  "status": {"phase": "Running", "startTime": null}
})";

TEST(WireTest, AnObjectSurvivesBothEncodings) {
  const Pod pod = MUST(FromJson<Pod>(kPod));
  EXPECT_EQ(MUST(FromJson<Pod>(ToJson(pod))), pod);
  EXPECT_EQ(MUST(FromProto<Pod>(ToProto(pod))), pod);
  EXPECT_EQ(MUST(FromEnvelope<Pod>(ToEnvelope(pod))), pod);
  EXPECT_EQ(MUST(FromBytes<Pod>(ToEnvelope(pod))), MUST(FromBytes<Pod>(ToJson(pod))));
}

TEST(WireTest, MembersThatAreFlattenedHereAreNestedOnTheWire) {
  const Pod pod = MUST(FromJson<Pod>(kPod));
  EXPECT_EQ(pod.spec.volumes.at(0).claim_name, "c");
  EXPECT_TRUE(pod.spec.volumes.at(0).claim_read_only);
  EXPECT_EQ(pod.spec.volumes.at(1).empty_dir->size_limit, MUST(model::Quantity::Parse("1Gi")));
  EXPECT_TRUE(pod.spec.volumes.at(2).ephemeral);
  EXPECT_TRUE(pod.spec.volumes.at(3).projected);
  EXPECT_EQ(pod.spec.volumes.at(4).host_path, "/x");
  EXPECT_EQ(pod.spec.os, "linux");
  EXPECT_THAT(pod.spec.readiness_gates, testing::ElementsAre("a", "b"));
  EXPECT_THAT(ToJson(pod),
              HasSubstr(R"("persistentVolumeClaim":{"claimName":"c","readOnly":true})"));
}

TEST(WireTest, AbsentDiffersFromEmptyWhereTheApiSaysSo) {
  const Pod pod = MUST(FromJson<Pod>(kPod));
  ASSERT_TRUE(pod.spec.topology_spread_constraints.at(0).label_selector.has_value());
  ASSERT_TRUE(pod.spec.affinity->node_affinity->required.has_value());
  EXPECT_EQ(pod.spec.priority, 0);
  EXPECT_FALSE(pod.status.start_time.has_value());
  const Pod again = MUST(FromProto<Pod>(ToProto(pod)));
  EXPECT_TRUE(again.spec.topology_spread_constraints.at(0).label_selector.has_value());
}

TEST(WireTest, MapsAreSortedAndTheLastOfEqualKeysCounts) {
  const auto pod = MUST(FromJson<Pod>(R"({"metadata":{"labels":{"b":"1","a":"2","b":"3"}}})"));
  EXPECT_EQ(pod.metadata.labels, (model::Labels{{"a", "2"}, {"b", "3"}}));
}

TEST(WireTest, ALaterItemKeepsNothingOfAnEarlierOne) {
  const std::string list =
      R"({"kind":"PodList","apiVersion":"v1","items":[)" + std::string(kPod) +
      R"(,{"metadata":{"name":"bare","labels":{"x":"y"}},"spec":{"containers":[{}]}}]})";
  const auto whole = MUST(FromJson<model::List<Pod>>(list));
  const Pod bare = MUST(FromJson<Pod>(
      R"({"metadata":{"name":"bare","labels":{"x":"y"}},"spec":{"containers":[{}]}})"));
  for (const std::string& bytes : {list, ToEnvelope(whole)}) {
    std::vector<Pod> pods;
    MUST(ForEachItem<Pod>(bytes, [&pods](Pod& pod) {
      pods.push_back(pod);
      return Status::Ok();
    }));
    ASSERT_EQ(pods.size(), 2u);
    EXPECT_EQ(pods[0], whole.items[0]);
    EXPECT_EQ(pods[1], bare);
  }
}

TEST(WireTest, AFailureOfTheReceiverEndsTheReading) {
  const std::string list = test::PodListEnvelope(5, 2);
  int seen = 0;
  const auto result = ForEachItem<Pod>(
      list, [&seen](Pod&) { return ++seen == 2 ? Unavailable("enough") : Status::Ok(); });
  EXPECT_EQ(result.status(), Unavailable("enough"));
  EXPECT_EQ(seen, 2);
}

TEST(WireTest, TheListsForMeasurementHoldTheSamePods) {
  const auto from_proto = MUST(FromBytes<model::List<Pod>>(test::PodListEnvelope(20, 3)));
  const auto from_json = MUST(FromBytes<model::List<Pod>>(test::PodListJson(20, 3)));
  EXPECT_EQ(from_proto, from_json);
  EXPECT_EQ(from_proto.items.size(), 20u);
  EXPECT_EQ(from_proto.items[0].spec.unkept_hash, from_proto.items[3].spec.unkept_hash);
  EXPECT_EQ(from_json.items[0].spec.unkept_hash, from_json.items[3].spec.unkept_hash);
}

TEST(WireTest, AnotherKindIsRefused) {
  const std::string node = ToEnvelope(model::Node{});
  EXPECT_THAT(FromEnvelope<Pod>(node).status().message(),
              HasSubstr("expected v1 Pod, got v1 Node"));
  EXPECT_FALSE(FromJson<Pod>(ToJson(model::Node{})).ok());
  EXPECT_FALSE(FromEnvelope<Pod>(ToProto(Pod{})).ok());
  EXPECT_FALSE(FromEnvelope<model::Event>(ToEnvelope(model::EventsEvent{})).ok());
  EXPECT_FALSE(ForEachItem<Pod>(node, [](Pod&) { return Status::Ok(); }).ok());
}

TEST(WireTest, TimesKeepWhatTheApiKeepsOfThem) {
  const auto lease = MUST(FromJson<model::Lease>(
      R"({"metadata":{"creationTimestamp":"2026-01-02T03:04:05.9Z"},"spec":{"renewTime":"2026-01-02T03:04:05.123456Z"}})"));
  EXPECT_THAT(ToJson(lease), HasSubstr(R"("creationTimestamp":"2026-01-02T03:04:05Z")"));
  EXPECT_THAT(ToJson(lease), HasSubstr(R"("renewTime":"2026-01-02T03:04:05.123456Z")"));
  EXPECT_EQ(MUST(FromProto<model::Lease>(ToProto(lease))), lease);
}

struct BadJson {
  const char* name;
  const char* text;
  const char* message;  // how it starts
};

class BadJsonTest : public testing::TestWithParam<BadJson> {};

TEST_P(BadJsonTest, IsRefusedWithItsPlace) {
  const auto pod = FromJson<Pod>(GetParam().text);
  ASSERT_FALSE(pod.ok());
  EXPECT_EQ(pod.code(), Code::kInvalidArgument);
  EXPECT_THAT(pod.status().message(), StartsWith(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadJsonTest,
    testing::ValuesIn(std::vector<BadJson>{
        {"BadQuantity",
         R"({"spec":{"containers":[{},{},{"resources":{"requests":{"cpu":"2x"}}}]}})",
         "spec.containers[2].resources.requests[cpu]: "},
        {"TextForNumber", R"({"spec":{"priority":"7"}})", "spec.priority: expected a number"},
        {"FractionForInteger", R"({"spec":{"priority":7.5}})",
         "spec.priority: expected a whole number"},
        {"NumberTooLarge", R"({"spec":{"priority":2147483648}})",
         "spec.priority: a number out of range"},
        {"NumberForText", R"({"metadata":{"name":7}})", "metadata.name: expected a text"},
        {"ObjectForArray", R"({"spec":{"containers":{}}})", "spec.containers: expected an array"},
        {"ArrayForObject", R"({"metadata":{"labels":[]}})", "metadata.labels: expected an object"},
        {"NumberForLabel", R"({"metadata":{"labels":{"a":1}}})",
         "metadata.labels[a]: expected a text"},
        {"BadTime", R"({"status":{"startTime":"yesterday"}})",
         "status.startTime: not an RFC 3339 time"},
        {"BadBool", R"({"spec":{"hostNetwork":"yes"}})",
         "spec.hostNetwork: expected true or false"},
        {"InAFlattenedGroup", R"({"spec":{"volumes":[{"persistentVolumeClaim":{"claimName":1}}]}})",
         "spec.volumes[0].persistentVolumeClaim.claimName: expected a text"},
        {"InAWrappedText", R"({"spec":{"readinessGates":[{"conditionType":1}]}})",
         "spec.readinessGates[0].conditionType: expected a text"},
        {"CutOff", R"({"spec":{"containers":[{)", "spec.containers[0]: "},
        {"TrailingText", R"({} {})", "more text after"},
        {"Empty", "", "expected an object"},
        {"BadSkipped", R"({"metadata":{"managedFields":[tru]}})", "metadata: "},
    }),
    [](const auto& row) { return row.param.name; });

// Builds protobuf by hand: a length-delimited field.
std::string Bytes(int number, const std::string& content) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(content.size()) +
         content;
}

struct BadProto {
  const char* name;
  std::string bytes;
  const char* message;
};

class BadProtoTest : public testing::TestWithParam<BadProto> {};

TEST_P(BadProtoTest, IsRefusedWithItsPlace) {
  const auto pod = FromProto<Pod>(GetParam().bytes);
  ASSERT_FALSE(pod.ok());
  EXPECT_EQ(pod.code(), Code::kInvalidArgument);
  EXPECT_THAT(pod.status().message(), StartsWith(GetParam().message));
}

const std::string kEndlessVarint(11, '\xFF');

INSTANTIATE_TEST_SUITE_P(
    Rows, BadProtoTest,
    testing::ValuesIn(std::vector<BadProto>{
        {"BadQuantity",
         Bytes(2, Bytes(2, "") +
                      Bytes(2, Bytes(8, Bytes(2, Bytes(1, "cpu") + Bytes(2, Bytes(1, "x")))))),
         "spec.containers[1].resources.requests[cpu]: "},
        {"LengthBeyondTheEnd", Bytes(1, "\x0A\x7F"), "metadata.name: "},
        {"EndlessVarint", Bytes(2, "\x20" + kEndlessVarint),
         "spec.terminationGracePeriodSeconds: "},
        {"WrongWireType", Bytes(2, Bytes(4, "x")),
         "spec.terminationGracePeriodSeconds: the wrong protobuf"},
        {"NumberForMessage", "\x08\x01", "metadata: the wrong protobuf wire type"},
        {"FieldZero", std::string("\x02\x00", 2), "bytes that are no protobuf tag"},
        {"EndGroupAlone", "\x7C", "field number 15"},
        {"MessageTwice", Bytes(1, "") + Bytes(1, ""), "metadata: occurs twice"},
        {"TimeOutOfRange", Bytes(3, Bytes(7, "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F")),
         "status.startTime: "},
        {"BadUnknownField", Bytes(2, "\x2B\x2B\x2B"), "spec: "},
    }),
    [](const auto& row) { return row.param.name; });

TEST(WireTest, UnknownFieldsOfEveryWireTypeAreSkipped) {
  const std::string group = "\x7B" + Bytes(1, "x") + "\x7C";  // field 15
  const std::string fixed = std::string("\x79") + "12345678" + "\x7D" + "1234";
  const Pod pod = MUST(FromProto<Pod>(group + fixed + Bytes(1, Bytes(1, "n")) + "\x78\x01"));
  EXPECT_EQ(pod.metadata.name, "n");
}

TEST(WireTest, TextThatIsNotUtf8IsTakenAsItIsAndWrittenAsUtf8) {
  Pod pod;
  pod.metadata.annotations["note"] =
      "Z\xFC"
      "rich";
  EXPECT_EQ(MUST(FromProto<Pod>(ToProto(pod))), pod);
  EXPECT_EQ(MUST(FromJson<Pod>("{\"metadata\":{\"annotations\":{\"note\":\"Z\xFCrich\"}}}")), pod);
  EXPECT_THAT(ToJson(pod), HasSubstr("Z\xEF\xBF\xBDrich"));
}

// Three pods of which the second cannot be read, in both encodings.
struct SpoiledList {
  std::string name;
  std::string bytes;
};

std::vector<SpoiledList> SpoiledLists() {
  Pod good;
  good.metadata.name = "good";
  Pod bad;
  bad.metadata.name = "bad";
  bad.metadata.namespace_ = "ns";
  bad.metadata.uid = "u";
  bad.metadata.resource_version = "7";
  bad.metadata.labels["app"] = "web";
  bad.metadata.owner_references = {{.kind = "ReplicaSet", .name = "web", .controller = true}};
  bad.spec.node_name = "n1";
  bad.spec.containers.resize(1);
  bad.spec.containers[0].resources.requests["cpu"] = MUST(model::Quantity::Parse("123m"));
  bad.spec.containers[0].resources.requests["memory"] = MUST(model::Quantity::Parse("1Gi"));
  bad.status.phase = "Running";
  model::List<Pod> list;
  list.metadata.resource_version = "9";
  list.items = {good, bad, good};
  list.items[2].metadata.name = "last";
  const auto spoil = [](std::string bytes, const std::string& from, const std::string& to) {
    const size_t at = bytes.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? bytes : bytes.replace(at, from.size(), to);
  };
  return {{"protobuf", spoil(ToEnvelope(list), "123m", "1x3m")},
          {"JSON", spoil(ToJson(list), "\"123m\"", "\"1x3m\"")},
          {"JSON, not even a value", spoil(ToJson(list), "\"123m\"", "tru")},
          {"JSON, an array", spoil(ToJson(list), "\"123m\"", "[{\"}\":1}]")}};
}

TEST(WireTest, AnItemThatCannotBeReadIsHandedOutWithWhatCanBe) {
  for (const SpoiledList& list : SpoiledLists()) {
    SCOPED_TRACE(list.name);
    std::vector<Pod> pods;
    const auto metadata = MUST(ForEachItem<Pod>(list.bytes, [&pods](Pod& pod) {
      pods.push_back(pod);
      return Status::Ok();
    }));
    EXPECT_EQ(metadata.resource_version, "9");
    ASSERT_EQ(pods.size(), 3u);
    EXPECT_FALSE(pods[0].metadata.unreadable);
    EXPECT_FALSE(pods[2].metadata.unreadable);
    EXPECT_EQ(pods[2].metadata.name, "last");
    const Pod& bad = pods[1];
    ASSERT_TRUE(bad.metadata.unreadable);
    EXPECT_THAT(bad.metadata.unreadable->what,
                StartsWith("spec.containers[0].resources.requests[cpu]: "));
    EXPECT_EQ(bad.metadata.namespace_ + "/" + bad.metadata.name, "ns/bad");
    EXPECT_EQ(bad.metadata.uid, "u");
    EXPECT_EQ(bad.metadata.resource_version, "7");
    EXPECT_EQ(bad.metadata.labels, (model::Labels{{"app", "web"}}));
    EXPECT_EQ(bad.metadata.owner_references.at(0).name, "web");
    EXPECT_EQ(bad.spec.node_name, "n1");
    EXPECT_EQ(bad.status.phase, "Running");
    ASSERT_EQ(bad.spec.containers.size(), 1u);
    EXPECT_EQ(bad.spec.containers[0].resources.requests.size(), 1u);  // the memory
    // Whoever has to have the whole object still gets none.
    EXPECT_FALSE(FromBytes<model::List<Pod>>(list.bytes).ok());
  }
}

TEST(WireTest, WhatIsWrongIsOneOfAFewWords) {
  const auto reason = [](const std::string& pod) {
    std::string word;
    const std::string list = R"({"kind":"PodList","apiVersion":"v1","items":[)" + pod + "]}";
    MUST(ForEachItem<Pod>(list, [&word](Pod& item) {
      word = item.metadata.unreadable ? item.metadata.unreadable->reason : "";
      return Status::Ok();
    }));
    return word;
  };
  EXPECT_EQ(reason(R"({"spec":{"overhead":{"cpu":"x"}}})"), "quantity");
  EXPECT_EQ(reason(R"({"status":{"startTime":"yesterday"}})"), "time");
  EXPECT_EQ(reason(R"({"spec":{"priority":2147483648}})"), "number");
  EXPECT_EQ(reason(R"({"spec":{"containers":{}}})"), "malformed");
  EXPECT_EQ(reason("null"), "malformed");
  EXPECT_EQ(reason("{}"), "");
}

TEST(WireTest, AListThatCannotBeCutIntoItemsFails) {
  const auto read = [](const std::string& bytes) {
    return ForEachItem<Pod>(bytes, [](Pod&) { return Status::Ok(); }).code();
  };
  EXPECT_EQ(read(R"({"kind":"PodList","apiVersion":"v1","items":[{"metadata":{)"),
            Code::kInvalidArgument);
  EXPECT_EQ(read(R"({"kind":"PodList","apiVersion":"v1","items":[{"a":[}]}]})"),
            Code::kInvalidArgument);
  const std::string whole = test::PodListEnvelope(3, 1);
  EXPECT_EQ(read(whole.substr(0, whole.size() / 2)), Code::kInvalidArgument);
}

TEST(WireTest, DeepNestingIsRefusedAndDoesNotExhaustTheStack) {
  EXPECT_FALSE(FromJson<Pod>(R"({"x":)" + std::string(1'000'000, '[')).ok());
  EXPECT_FALSE(FromProto<Pod>(std::string(1'000'000, '\x7B')).ok());
}

TEST(WireTest, NoPrefixOfAnObjectCrashesOrPasses) {
  const std::string json = ToJson(MUST(FromJson<Pod>(kPod)));
  const std::string envelope = ToEnvelope(MUST(FromJson<Pod>(kPod)));
  for (size_t i = 0; i < json.size(); ++i) EXPECT_FALSE(FromJson<Pod>(json.substr(0, i)).ok()) << i;
  // The envelope's last two fields are empty; without them it is still whole.
  for (size_t i = 0; i + 4 < envelope.size(); ++i) {
    EXPECT_FALSE(FromEnvelope<Pod>(envelope.substr(0, i)).ok()) << i;
  }
}

}  // namespace
}  // namespace coppice::wire
