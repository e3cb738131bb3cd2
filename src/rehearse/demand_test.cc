// What a recorded cluster wanted, from lines.

#include "rehearse/demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rehearse/recorded_config.h"
#include "test/support/must.h"

namespace coppice::rehearse {
namespace {

using testing::HasSubstr;

constexpr int64_t kStart = 1'767'592'800'000;
TimePoint At(int64_t seconds) {
  return TimePoint(std::chrono::milliseconds(kStart) + std::chrono::seconds(seconds));
}

Result<Demand> FromLines(const std::vector<std::string>& lines) {
  DemandReader reader;
  for (const std::string& line : lines) reader.Line(line);
  return std::move(reader).Finish();
}

const std::string kShape =
    R"({"shape":0,"pod":{"metadata":{"namespace":"d"},"spec":{"restartPolicy":"Always"}}})";

TEST(DemandTest, PodsHaveTheTimesOfTheirLines) {
  const Demand demand = MUST(
      FromLines({R"({"coppice-log":1})", R"({"at":1767592800000})", kShape,
                 R"({"add":"d/a","shape":0,"created":1,"node":"n"})", R"({"all":true})",
                 R"({"at":1767592810000})", R"({"add":"d/b","shape":0})", R"({"at":1767592820000})",
                 R"({"bind":"d/b","node":"n"})", R"({"done":"d/a"})"}));
  ASSERT_EQ(demand.pods.size(), 2u);
  EXPECT_EQ(demand.pods[0].created, At(0)) << "not before the log begins";
  EXPECT_EQ(demand.pods[0].bound, At(0));
  EXPECT_EQ(demand.pods[0].done, At(20));
  EXPECT_EQ(demand.pods[1].created, At(10));
  EXPECT_EQ(demand.pods[1].bound, At(20));
  EXPECT_EQ(demand.pods[1].done, std::nullopt);
  EXPECT_EQ(demand.end, At(20));
}

// The next file lists everything anew: who is known goes on, who is missing has ended meanwhile.
TEST(DemandTest, ANewFileGoesOnWhereTheLastOneWas) {
  const Demand demand = MUST(FromLines(
      {R"({"coppice-log":1})", R"({"at":1767592800000})", kShape, R"({"add":"d/a","shape":0})",
       R"({"add":"d/b","shape":0})", R"({"all":true})", R"({"coppice-log":1})",
       R"({"at":1767592860000})", kShape, R"({"add":"d/b","shape":0})", R"({"all":true})"}));
  ASSERT_EQ(demand.pods.size(), 2u);
  EXPECT_EQ(demand.pods[0].done, At(60));
  EXPECT_EQ(demand.pods[1].done, std::nullopt);
}

// A pod that was bound between the last look at one file and the first at the next is told of with its
// node and without a "bind".
TEST(DemandTest, ANodeThatCameWithANewFileCounts) {
  const Demand demand = MUST(FromLines(
      {R"({"coppice-log":1})", R"({"at":1767592800000})", kShape, R"({"all":true})",
       R"({"at":1767592810000})", R"({"add":"d/a","shape":0,"created":1767592809000})",
       R"({"coppice-log":1})", R"({"at":1767592860000})", kShape,
       R"({"add":"d/a","shape":0,"created":1767592809000,"node":"n"})", R"({"all":true})"}));
  ASSERT_EQ(demand.pods.size(), 1u);
  EXPECT_EQ(demand.pods[0].created, At(9));
  EXPECT_EQ(demand.pods[0].bound, At(60));
  EXPECT_EQ(demand.pods[0].node, "n");
  EXPECT_EQ(demand.pods[0].done, std::nullopt);
}

TEST(DemandTest, TwoPodsOfOneNameInTwoFilesAreTwo) {
  const Demand demand = MUST(FromLines(
      {R"({"coppice-log":1})", R"({"at":1767592800000})", kShape,
       R"({"add":"d/web-0","shape":0,"created":1767592700000,"node":"n"})", R"({"all":true})",
       R"({"coppice-log":1})", R"({"at":1767592860000})", kShape,
       R"({"add":"d/web-0","shape":0,"created":1767592855000,"node":"m"})", R"({"all":true})"}));
  ASSERT_EQ(demand.pods.size(), 2u);
  EXPECT_EQ(demand.pods[0].node, "n");
  EXPECT_EQ(demand.pods[0].done, At(60));
  EXPECT_EQ(demand.pods[1].created, At(55));
  EXPECT_EQ(demand.pods[1].node, "m");
  EXPECT_EQ(demand.pods[1].done, std::nullopt);
}

// What stood there is told of in several looks.
TEST(DemandTest, WhoIsToldOfLaterStoodThereAllTheSame) {
  const Demand demand = MUST(FromLines(
      {R"({"coppice-log":1})", R"({"at":1767592800000})", kShape, R"({"node":"n","group":"g"})",
       R"({"add":"d/a","shape":0,"created":1767592700000,"node":"n"})", R"({"at":1767592801000})",
       R"({"node":"late","group":"g"})",
       R"({"add":"d/b","shape":0,"created":1767592700000,"node":"n"})",
       R"({"add":"d/new","shape":0,"created":1767592800500,"node":"n"})", R"({"all":true})"}));
  ASSERT_EQ(demand.pods.size(), 3u);
  EXPECT_TRUE(demand.Stood(demand.pods[0]));
  EXPECT_TRUE(demand.Stood(demand.pods[1]));
  EXPECT_FALSE(demand.Stood(demand.pods[2]));
  EXPECT_EQ(demand.start_nodes.size(), 1u) << "another came while it was being told";
}

TEST(DemandTest, LinesThatCannotBeReadAreCounted) {
  const Demand demand = MUST(FromLines({R"({"at":1767592800000})", "no JSON", "[]",
                                        R"({"add":"d/a","shape":7})", R"({"at":"tomorrow"})"}));
  EXPECT_TRUE(demand.pods.empty());
  ASSERT_EQ(demand.notes.size(), 1u);
  EXPECT_THAT(demand.notes[0], HasSubstr("3 lines"));
  EXPECT_FALSE(FromLines({"{}"}).ok());
}

TEST(DemandTest, AGangThatIsMissingInTheNextFileHasEnded) {
  const std::string group = R"("object":{"spec":{"minMember":2}}})";
  const Demand demand = MUST(
      FromLines({R"({"coppice-log":1})", R"({"at":1767592800000})", R"({"gang":"d/a",)" + group,
                 R"({"gang":"d/b",)" + group, R"({"all":true})", R"({"coppice-log":1})",
                 R"({"at":1767592860000})", R"({"gang":"d/b",)" + group, R"({"all":true})"}));
  ASSERT_EQ(demand.gangs.size(), 2u);
  EXPECT_EQ(demand.gangs[0].done, At(60));
  EXPECT_EQ(demand.gangs[1].created, At(0));
  EXPECT_EQ(demand.gangs[1].done, std::nullopt);
}

TEST(DemandTest, GroupsBecomeAConfigurationOfTheSimulatedCloud) {
  const Demand demand = MUST(FromLines(
      {R"({"at":1767592800000})",
       R"({"group":"g","min":1,"max":9,"target":3,"price":0.5,"template":{"metadata":{"name":"t","labels":{"topology.kubernetes.io/zone":"z","team":"a b"}},"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"3500m","memory":"1Gi","pods":"30"}}}})"}));
  const std::string config = GroupsAsConfig(demand, 7);
  EXPECT_THAT(config, HasSubstr("cpu: 3500m"));
  EXPECT_THAT(config, HasSubstr("minSize: 1, maxSize: 9"));
  EXPECT_THAT(config, HasSubstr("\"team\": \"a b\""));
  EXPECT_THAT(config, HasSubstr("{key: \"k\", value: \"v\", effect: \"NoSchedule\"}"));
  EXPECT_THAT(config, HasSubstr("maxPods: 30"));
}

}  // namespace
}  // namespace coppice::rehearse
