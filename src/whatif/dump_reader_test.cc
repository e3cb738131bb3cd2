#include "whatif/dump_reader.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "test/support/must.h"

namespace coppice::whatif {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

ClusterObjects Read(std::string_view text) {
  ClusterObjects objects;
  const Status status = ReadObjects(text, "dump", objects);
  EXPECT_TRUE(status.ok()) << status;
  return objects;
}

std::string Complaint(std::string_view text) {
  ClusterObjects objects;
  return ReadObjects(text, "dump", objects).message();
}

// As kubectl prints it: keys in order of the alphabet, so that the items come before the kind.
TEST(DumpReaderTest, ReadsAListOfMixedKinds) {
  const ClusterObjects objects = Read(R"({
    "apiVersion": "v1",
    "items": [
      {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}},
      {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p1", "namespace": "a"},
       "spec": {"nodeName": "n1"}},
      {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    ],
    "kind": "List",
    "metadata": {"resourceVersion": ""}
  })");
  ASSERT_THAT(objects.nodes, SizeIs(1));
  ASSERT_THAT(objects.pods, SizeIs(1));
  EXPECT_EQ(objects.pods[0]->spec.node_name, "n1");
  EXPECT_THAT(objects.budgets, SizeIs(1));
}

TEST(DumpReaderTest, ItemsOfAListOfOneKindNeedNotSayWhatTheyAre) {
  EXPECT_THAT(
      Read(R"({"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p"}}]})").pods,
      SizeIs(1));
}

TEST(DumpReaderTest, AFileThatEndsEarlyIsSaidTo) {
  EXPECT_THAT(Complaint("{\"kind\": \"List\", \"items\": [{\"kind\": \"No"),
              HasSubstr("the file ends before the object does"));
  EXPECT_THAT(Complaint("apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {a: b, c"),
              HasSubstr("was it cut off?"));
}

TEST(DumpReaderTest, ReadsObjectsThatStandAloneAndDocumentsOneAfterTheOther) {
  EXPECT_THAT(Read(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}
                      {"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}})")
                  .pods,
              SizeIs(2));
}

TEST(DumpReaderTest, CountsKindsThatItDoesNotKnow) {
  const auto objects = Read(R"({"kind":"List","apiVersion":"v1","items":[
    {"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"}},
    {"kind":"Secret","apiVersion":"v1","metadata":{"name":"t"}},
    {"kind":"PodDisruptionBudget","apiVersion":"policy/v1beta1","metadata":{"name":"old"}}]})");
  EXPECT_THAT(objects.ignored,
              ElementsAre(Pair("PodDisruptionBudget policy/v1beta1", 1), Pair("Secret v1", 2)));
  EXPECT_EQ(objects.size(), 0u);
}

TEST(DumpReaderTest, ReadsYamlWithSeveralDocuments) {
  const ClusterObjects objects = Read(R"(# a comment
apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
  priority: 7
  containers:
  - name: c
    resources: {requests: {cpu: 1, memory: "2Gi"}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n, labels: {on: "true"}}
---
)");
  ASSERT_THAT(objects.pods, SizeIs(1));
  EXPECT_EQ(objects.pods[0]->spec.priority, 7);
  EXPECT_EQ(objects.pods[0]->spec.containers[0].resources.requests.Find("cpu")->MilliValue(), 1000);
  ASSERT_THAT(objects.nodes, SizeIs(1));
  EXPECT_EQ(*objects.nodes[0]->metadata.labels.Find("on"), "true");
}

TEST(DumpReaderTest, AComplaintAboutJsonNamesThePlaceTheObjectAndTheField) {
  EXPECT_THAT(Complaint(R"({"kind": "List", "apiVersion": "v1", "items": [
  {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}},
  {"kind": "Pod", "apiVersion": "v1", "metadata": {"namespace": "x", "name": "b"},
   "spec": {"containers": [
     {"name": "c", "resources": {"requests": {"cpu": "much"}}}]}}]})"),
              testing::AllOf(testing::StartsWith("dump:5:54: items[1]: (Pod x/b) "),
                             HasSubstr("spec.containers[0].resources.requests[cpu]: ")));
}

TEST(DumpReaderTest, AComplaintAboutYamlNamesThePlaceInTheFile) {
  EXPECT_THAT(Complaint(R"(kind: Pod
apiVersion: v1
metadata: {name: a}
---
kind: Pod
apiVersion: v1
metadata: {name: b}
spec:
  containers:
  - resources:
      requests:
        cpu: much
)"),
              testing::AllOf(testing::StartsWith("dump:12:"),
                             HasSubstr("(Pod b) spec.containers[0].resources.requests[cpu]: ")));
}

TEST(DumpReaderTest, BrokenTextIsSaidWithItsPlace) {
  EXPECT_THAT(Complaint("{\"kind\": \"Pod\",\n \"metadata\": }"), testing::StartsWith("dump:2:"));
  EXPECT_THAT(Complaint("a: [1"), testing::StartsWith("dump:1:"));
  EXPECT_THAT(Complaint("kind: Secret\n---\nb: [1\n"), testing::StartsWith("dump:4:"));
  EXPECT_THAT(Complaint("  \n"), HasSubstr("is empty"));
  EXPECT_THAT(Complaint("just words"), HasSubstr("expected an object"));
  EXPECT_THAT(Complaint(R"({"a": 1})"), HasSubstr("kind: is missing"));
  EXPECT_THAT(Complaint(R"({"kind":"Pod","apiVersion":"v1","metadata":{}})"),
              HasSubstr("metadata.name: is empty"));
}

TEST(DumpReaderTest, ReadsTheFilesOfAFolderInOrderOfTheirNames) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "dump_reader_test";
  std::filesystem::create_directories(folder / "kube-system");
  std::ofstream(folder / "b.json") << R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"2"}})";
  std::ofstream(folder / "a.yaml") << "kind: Pod\napiVersion: v1\nmetadata: {name: \"1\"}\n";
  std::ofstream(folder / "kube-system" / "pods.json")
      << R"({"kind":"PodList","apiVersion":"v1","items":null})";
  std::ofstream(folder / "notes.txt") << "not ours";
  ClusterObjects objects;
  ASSERT_TRUE(ReadObjectsFrom(folder.string(), objects).ok());
  ASSERT_THAT(objects.pods, SizeIs(2));
  EXPECT_EQ(objects.pods[0]->metadata.name, "1");
  EXPECT_THAT(ReadObjectsFrom((folder / "absent").string(), objects).message(),
              HasSubstr("cannot be opened"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace coppice::whatif
