#include "report/explain.h"

#include <gmock/gmock.h>

#include "report/report_json.h"

namespace coppice::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PodPtr APod(std::string namespace_, std::string name) {
  model::Pod pod;
  pod.metadata.namespace_ = std::move(namespace_);
  pod.metadata.name = std::move(name);
  return std::make_shared<const model::Pod>(std::move(pod));
}

model::Verdict TooLittleCpu() {
  return model::Verdict::No(model::Refusal{
      .plugin = "NodeResourcesFit",
      .reasons = {"Insufficient cpu"},
      .shortfalls = {{.what = "cpu", .asked = 4000, .free = 1500, .capacity = 2000}}});
}

Unhelped Sample() {
  Unhelped unhelped{.pods = {APod("a", "x"), APod("a", "y")}};
  unhelped.rejected.emplace("small", TooLittleCpu());
  unhelped.skipped = std::make_shared<const std::map<std::string, std::vector<std::string>>>(
      std::map<std::string, std::vector<std::string>>{{"full", {"max node group size reached"}}});
  unhelped.misses.push_back(
      {"full",
       {{.kind = ChangeKind::kRaiseMaxSize, .amount = 11, .text = "its max size were 11"}}});
  return unhelped;
}

TEST(ExplainTest, EventTextsAreUpstreams) {
  EXPECT_EQ(TriggeredText({{"a", 1, 3, 5}, {"b", 0, 1, 2}}),
            "pod triggered scale-up: [{a 1->3 (max: 5)} {b 0->1 (max: 2)}]");
  EXPECT_EQ(NotTriggeredText(ScaleUpResult::kNoOptionsAvailable, Sample(), {"small", "full"}),
            "pod didn't trigger scale-up: 1 Insufficient cpu, 1 max node group size reached");
  EXPECT_EQ(NotTriggeredText(ScaleUpResult::kLimitedByMaxNodesTotal, Sample(), {}),
            "pod didn't trigger scale-up: max total nodes in cluster reached");
}

TEST(ExplainTest, OfAPodItSaysWhatEveryGroupHadAndWhatIsNearest) {
  PassReport report;
  report.scale_up.result = ScaleUpResult::kNoOptionsAvailable;
  report.scale_up.considered_groups = {"small", "full"};
  report.scale_up.unhelped.push_back(Sample());
  EXPECT_THAT(
      ExplainPod(report, "a", "y"),
      ElementsAre(
          "pod didn't trigger scale-up: 1 Insufficient cpu, 1 max node group size reached",
          "group full: max node group size reached",
          "group small: NodeResourcesFit: Insufficient cpu (asks for 4 cpu, 1500m free of 2)",
          "nearest: group full would take it if its max size were 11"));
  EXPECT_THAT(ExplainPod(report, "a", "z"), IsEmpty());
}

TEST(ExplainTest, SeveralChangesAreJoined) {
  EXPECT_EQ(Sentence(NearMiss{"g", {{.text = "a"}, {.text = "b"}, {.text = "c"}}}),
            "group g would take it if a, b and c");
}

struct Row {
  std::string name;
  StayingNode node;
  std::string text;
};

class StayingTest : public testing::TestWithParam<Row> {};

TEST_P(StayingTest, SaysTheNumberOrThePod) {
  EXPECT_EQ(Sentence(GetParam().node), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, StayingTest,
    testing::ValuesIn(std::vector<Row>{
        {"Busy",
         {.reason = StayReason::kNotUnderutilized,
          .utilization = Utilization{.resource = "cpu", .value = 0.634},
          .threshold = 0.5},
         "cpu utilization 0.63 > 0.50"},
        {"ALittleTooBusy",
         {.reason = StayReason::kNotUnderutilized,
          .utilization = Utilization{.resource = "cpu", .value = 0.5034},
          .threshold = 0.5},
         "cpu utilization 0.503 > 0.500"},
        {"NotYet",
         {.reason = StayReason::kNotUnneededLongEnough,
          .waited = std::chrono::seconds(250),
          .wait = std::chrono::minutes(10)},
         "unneeded for 4m10s of 10m0s"},
        {"Blocked",
         {.reason = StayReason::kBlockedByPod,
          .blocking_pod = APod("ns", "x"),
          .blocking_reason = "NotReplicated",
          .detail = "no controller would make it again"},
         "blocked by pod ns/x (NotReplicated): no controller would make it again"},
        {"Stuck",
         {.reason = StayReason::kNoPlaceToMovePods,
          .stuck_pod = APod("ns", "x"),
          .stuck_reasons = {{"Insufficient cpu", 3}}},
         "no other node takes pod ns/x: 3 Insufficient cpu"},
        {"AtMin",
         {.reason = StayReason::kNodeGroupMinSizeReached, .group = "g", .group_size = 3},
         "its group g is at its minimum (3 nodes)"},
        {"FoundEarlier",
         {.reason = StayReason::kRecentlyUnremovable,
          .stuck_pod = APod("ns", "x"),
          .earlier = StayReason::kNoPlaceToMovePods,
          .ago = std::chrono::seconds(70)},
         "NoPlaceToMovePods 1m10s ago, because of pod ns/x"},
        {"Cooldown",
         {.reason = StayReason::kCooldown,
          .detail = "after a scale-up",
          .waited = std::chrono::minutes(1),
          .wait = std::chrono::minutes(9)},
         "unneeded for 1m0s; nothing is removed after a scale-up for another 9m0s"},
        {"Fused",
         {.reason = StayReason::kFused, .detail = "the view of the cluster is too old"},
         "the view of the cluster is too old"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(ExplainTest, OfAChoiceItSaysWhatWasMeasured) {
  ScaleUp up;
  up.chosen = "b";
  up.by_lot = true;
  up.chosen_by = {
      {.expander = "least-waste",
       .survivors = {"b", "c"},
       .scores = {{"a", 1.2, "leaves 60.0% unused"}, {"b", 0.2, "leaves 10.0% unused"}}}};
  EXPECT_EQ(Sentence(up, up.chosen_by[0]),
            "least-waste keeps b, c (a leaves 60.0% unused; b leaves 10.0% unused); of these "
            "equals b was taken");
}

TEST(ReportJsonTest, HasTheNumbersAndTheSentences) {
  PassReport report;
  report.scale_up.unhelped.push_back(Sample());
  report.scale_down.staying.push_back({.node = "n\"1",
                                       .reason = StayReason::kNotUnderutilized,
                                       .utilization = Utilization{.resource = "cpu", .value = 0.75},
                                       .threshold = 0.5});
  const std::string json = ToJson(report);
  EXPECT_THAT(json, HasSubstr(R"("filter":"NodeResourcesFit")"));
  EXPECT_THAT(json, HasSubstr(R"("missing":2500)"));
  EXPECT_THAT(json, HasSubstr(R"("kind":"RaiseMaxSize","amount":11)"));
  EXPECT_THAT(json, HasSubstr(R"("node":"n\"1","reason":"NotUnderutilized")"));
  EXPECT_THAT(json, HasSubstr(R"("text":"cpu utilization 0.75 > 0.50")"));
}

TEST(JsonOutTest, PutsCommasWhereTheyBelong) {
  JsonOut out;
  out.Open('{').Field("a", 1).Key("b").Open('[').Text("x").Open('{').Close('}').Real(0.5);
  out.Bool(true).Close(']').Key("c").Open('[').Close(']').Field("d", "e").Close('}');
  EXPECT_EQ(out.Take(), R"({"a":1,"b":["x",{},0.5,true],"c":[],"d":"e"})");
}

}  // namespace
}  // namespace coppice::report
