#include "web/top_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "test/support/must.h"

namespace coppice::web {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kState[] = R"({"seq":7,"at":1767603580,
  "total":{"nodes":3,"ready":2,"coming":1,"unneeded":0,"leaving":0,"running":5,"pending":4,"cost":0.25,"cpu":750,"memory":410,"lastPass":1767603575},
  "rows":{"workers":{"kind":"group","min":1,"max":9,"target":3,"ready":2,"coming":1,"unneeded":0,"leaving":0,"cost":0.25,"price":0.1,"type":"medium-4-16","backoffText":"out of stock"},
          "spot":{"kind":"pool","min":0,"max":0,"target":0,"ready":0,"coming":0,"unneeded":0,"leaving":0,"cost":0,"price":0}},
  "nodes":{"n1":{"row":"workers","state":"ready","cpu":999,"memory":1},"n2":{"row":"workers","state":"unneeded"},"n3":{"row":"workers","state":"booting"}},
  "pending":{"a":{"namespace":"shop","owner":"web","kind":"ReplicaSet","count":1,"cpuMillis":500,"memoryBytes":1048576,"other":{},"pods":[],"oldest":1767603550,"text":"too large"},
             "b":{"namespace":"shop","owner":"night","kind":"Job","count":3,"cpuMillis":1,"memoryBytes":0,"other":{},"pods":[]}}})";
constexpr char kDecisions[] =
    R"({"decisions":[{"id":2,"at":1767603500,"kind":"up","title":"workers 2 → 3","why":"for 3 pods"}]})";

TEST(TopScreenTest, ShowsRowsNodesWhoWaitsAndWhatWasDecided) {
  const std::string screen = MUST(TopScreen(kState, kDecisions, "http://here", {}));
  for (const char* part :
       {"coppice at http://here   2026-01-05 08:59:40   last pass 5s ago",
        "3 nodes: 2 ready, 1 coming", "5 pods, 4 wait", "cpu 75%  memory 41%",
        "workers                  medium-4-16            2/3       1..9      0.25  █ub",
        "! out of stock", "     1 shop/web", "30s  too large", "+ workers 2 -> 3", "for 3 pods"})
    EXPECT_THAT(screen, HasSubstr(part));
  EXPECT_LT(screen.find("shop/night"), screen.find("shop/web")) << "the most first";
  EXPECT_THAT(screen, Not(HasSubstr("\x1b")));
}

TEST(TopScreenTest, QueuesAndTheGangsThatWaitInThemAreShown) {
  const std::string screen = MUST(TopScreen(
      R"({"total":{"nodes":1},"queues":{"research":{"state":"Open","weight":3,"share":0.75,"waiting":1,
          "amounts":[{"resource":"cpu","held":24000,"deserved":32000},{"resource":"memory","held":68719476736},7],
          "gangs":[{"gang":"ml/train","needs":8,"placed":5,"waits":3,"state":"ordered","coming":2,"price":7.5},"x"]},
        "idle":{"waiting":0,"gangs":[]}}})",
      kDecisions, "s", {.width = 120}));
  EXPECT_THAT(screen, HasSubstr("research                      3    75%      1  24 of 32 cpu, 64Gi "
                                "memory\n"));
  EXPECT_THAT(screen, HasSubstr("gang ml/train                       needs 8, 5 placed, 3 wait, "
                                "ordered, 2 machines coming, 7.50 an hour\n"));
  EXPECT_THAT(screen, HasSubstr("idle                          0      -      0"));
  EXPECT_EQ(TopScreen(R"({"seq":0,"at":0})", "{}", "s", {}).status().code(), Code::kUnavailable);
}

TEST(TopScreenTest, IsNeitherWiderNorHigherThanTheTerminal) {
  const std::string screen = MUST(
      TopScreen(kState, kDecisions, "http://here", {.width = 40, .height = 6, .colour = true}));
  EXPECT_EQ(std::ranges::count(screen, '\n'), 6);
  EXPECT_THAT(screen, HasSubstr("\x1b[1mcoppice at http://here   2026-01-05 08:5\x1b[0m\n"));
}

TEST(TopScreenTest, NothingThatTheServerSaysSteersTheTerminal) {
  const std::string screen = MUST(TopScreen(
      R"({"total":{"nodes":"many"},"rows":{"a\u001b[2Jb":{"type":"\u0007x"},"c":3},"nodes":[1],"pending":{"x":{"text":"é\u009b"}}})",
      R"({"decisions":[{"title":"\u001b]0;t\u0007"}, 3]})", "s", {}));
  EXPECT_THAT(screen, HasSubstr("a?[2Jb"));
  EXPECT_TRUE(std::ranges::none_of(screen, [](char c) { return c == '\x1b' || c == '\a'; }));
  EXPECT_FALSE(TopScreen("[]", "", "s", {}).ok());
  EXPECT_FALSE(TopScreen("<html>", "", "s", {}).ok());
}

}  // namespace
}  // namespace coppice::web
