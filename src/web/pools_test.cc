#include "web/pools.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "web/site_rig.h"
#include "web/terminal.h"

namespace coppice::web {
namespace {

using nlohmann::json;

// Pool p has node n1, a claim on its way, and a pod that it does not take.
std::shared_ptr<report::ProvisionReport> OnePool() {
  auto report = std::make_shared<report::ProvisionReport>();
  report->at = TimePoint(std::chrono::seconds(kRigNow));
  report->pools = {{.name = "p", .ready = true, .nodes = 1, .limits = {{"cpu", "100"}}}};
  report->claims = {{.name = "p-1", .pool = "p", .node = "n1", .price = 0.25, .stage = "Ready"},
                    {.name = "p-2", .pool = "p", .stage = "Launching"}};
  report->provisioning.emplace();
  report->provisioning->at = TimePoint(std::chrono::seconds(kRigNow - 1));
  report->provisioning->machines = {{.claim = "p-2",
                                     .pool = "p",
                                     .types = {"small"},
                                     .type_count = 3,
                                     .price = 0.1,
                                     .pods = {RigPod("api-1", "api")}}};
  report->provisioning->unplaced = {
      {.pod = RigPod("big-1", "big"),
       .text = "no type fits",
       .misses = {{.pool = "p",
                   .what = report::PoolMiss::What::kLimit,
                   .text = "the limits of the pool are reached",
                   .tried = true,
                   .would_take_if = "its limit of 100 cpu were 104",
                   .shortfalls = {{.what = "cpu", .asked = 4'000, .free = 0, .capacity = 100'000}}},
                  {.pool = "q", .text = "no type has so much memory", .tried = true},
                  {.pool = "r", .text = "it is static"}}}};
  report->staying = {
      {.node = "n1", .claim = "p-1", .pool = "p", .text = "a pod must not be moved"}};
  return report;
}

class PoolsTest : public testing::Test {
 protected:
  PoolsTest() {
    board().Post(std::shared_ptr<const report::ProvisionReport>(OnePool()));
    auto seen = std::make_shared<Seen>();
    seen->at = TimePoint(std::chrono::seconds(kRigNow + 2));
    seen->nodes = {{.node = RigNode("n1"), .cpu = 100, .memory = 100}};
    seen->pending = {RigPod("big-1", "big")};
    board().Post(std::shared_ptr<const Seen>(seen));
    board().Flush();
  }
  Board& board() { return rig_.board(); }
  json Ask(const std::string& target) { return json::parse(rig_.Ask("/api/v1/" + target).body); }
  SiteRig rig_;
};

TEST_F(PoolsTest, PoolsAreRowsAndClaimsAreMachines) {
  const json state = Ask("state");
  EXPECT_EQ(state["rows"]["p"]["kind"], "pool");
  EXPECT_EQ(state["rows"]["p"]["limits"], "cpu 100");
  EXPECT_EQ(state["nodes"]["n1"]["row"], "p");
  EXPECT_EQ(state["nodes"]["n1"]["price"], 0.25);
  EXPECT_EQ(state["nodes"]["claim/p-2"]["state"], "booting");
}

TEST_F(PoolsTest, AnUnplacedPodIsExplainedPerPool) {
  const json why = Ask("explain?pod=shop/big-1");
  EXPECT_EQ(why["verdict"], "unhelped");
  const json& p = why["groups"][0];
  EXPECT_EQ(p["group"], "p");
  EXPECT_EQ(p["text"], "the limits of the pool are reached");
  EXPECT_EQ(p["wouldTakeIf"], "pool p would take it if its limit of 100 cpu were 104");
  EXPECT_EQ(p["shortfalls"][0]["resource"], "cpu");
  EXPECT_EQ(p["shortfalls"][0]["asked"], 4'000);
  EXPECT_EQ(p["shortfalls"][0]["free"], 0);
  EXPECT_EQ(why["groups"][1]["wouldTakeIf"],
            "pool q would take it but for this: no type has so much memory");
  EXPECT_FALSE(why["groups"][1].contains("shortfalls"));
  EXPECT_FALSE(why["groups"][2].contains("wouldTakeIf")) << "it was not tried";
}

TEST_F(PoolsTest, TheNearestPoolIsNamedWithWhatIsInTheWay) {
  EXPECT_EQ(Ask("explain?pod=shop/big-1")["nearest"],
            "pool p would take it if its limit of 100 cpu were 104");
}

TEST_F(PoolsTest, AClaimAndAPoolAreExplained) {
  const json claim = Ask("explain?claim=p-2");
  EXPECT_EQ(claim["now"]["stage"], "Launching");
  EXPECT_EQ(claim["now"]["pool"], "p");
  EXPECT_EQ(rig_.Ask("/api/v1/explain?claim=nobody").status, 404);
  const json pool = Ask("explain?pool=p");
  EXPECT_EQ(pool["pool"]["limits"]["cpu"], "100");
  EXPECT_EQ(pool["claims"].size(), 2u);
  EXPECT_EQ(pool["refusals"][0]["pod"], "shop/big-1");
}

TEST_F(PoolsTest, ANodeThatGoesSaysWhyAndWhatThatSaves) {
  auto report = OnePool();
  report->commands = {{.id = "c1",
                       .reason = "Underutilized",
                       .decision = "replace",
                       .nodes = {"n1"},
                       .pools = {"p"},
                       .replacements = {"p-3"},
                       .savings = 0.5,
                       .stage = "Launching"}};
  board().Post(std::shared_ptr<const report::ProvisionReport>(report));
  board().Flush();
  const json newest = Ask("decisions")["decisions"][0];
  EXPECT_EQ(newest["kind"], "down");
  EXPECT_EQ(newest["title"], "n1");
  EXPECT_EQ(newest["why"], "Underutilized: replaced by p-3, saves 0.50 an hour");
}

TEST_F(PoolsTest, ANodeThatStaysIsExplained) {
  EXPECT_EQ(Ask("explain?node=n1")["stays"]["text"], "a pod must not be moved");
}

TEST_F(PoolsTest, InATerminalEverythingIsSaidAndNothingTwice) {
  const auto shown = [&](const std::string& what) {
    return ExplainedAsText(rig_.Ask("/api/v1/explain?" + what).body).value();
  };
  const std::string pod = shown("pod=shop/big-1");
  EXPECT_THAT(pod, testing::HasSubstr("  q  no type has so much memory\n"));
  EXPECT_THAT(pod, testing::HasSubstr("no pool helps: no type fits\n"));
  EXPECT_THAT(pod, testing::Not(testing::HasSubstr("pool q: no type")));
  EXPECT_THAT(shown("claim=p-2"), testing::HasSubstr("Launching"));
  EXPECT_THAT(shown("pool=p"), testing::StartsWith("pool p\n"));
  EXPECT_THAT(shown("node=n1"), testing::HasSubstr("a pod must not be moved"));
}

TEST_F(PoolsTest, ASolveIsToldOnce) {
  const auto bought = [&] {
    int count = 0;
    const json list = Ask("decisions");
    for (const json& decision : list["decisions"]) count += decision["kind"] == "up" ? 1 : 0;
    return count;
  };
  EXPECT_EQ(bought(), 1);
  board().Post(std::shared_ptr<const report::ProvisionReport>(OnePool()));
  board().Flush();
  EXPECT_EQ(bought(), 1) << "the same solve, reported once more";
}

class GangsTest : public testing::Test {
 protected:
  GangsTest() {
    Post(RigSession());
    rig_.board().Post(SiteRig::Cluster({}, 1));
    rig_.board().Flush();
  }
  void Post(std::shared_ptr<report::SessionReport> session) {
    rig_.board().Post(std::shared_ptr<const report::SessionReport>(std::move(session)));
  }
  json Ask(const std::string& target) { return json::parse(rig_.Ask("/api/v1/" + target).body); }
  // The newest of the kind, with its detail.
  json Newest(const std::string& kind) {
    const json list = Ask("decisions");
    for (const json& decision : list["decisions"])
      if (decision["kind"] == kind)
        return Ask("decision?id=" + std::to_string(decision["id"].get<int>()));
    return {};
  }
  SiteRig rig_;
};

TEST_F(GangsTest, AGangSaysWhatItLacksAndWhatThatCosts) {
  const json queue = Ask("state")["queues"]["research"];
  EXPECT_EQ(queue["gangs"][0]["needs"], 8);
  EXPECT_EQ(queue["gangs"][0]["price"], 1.5);
  EXPECT_EQ(queue["share"], 0.25);
  EXPECT_EQ(queue["amounts"][0]["deserved"], 4000);
  const json why = Ask("explain?gang=ml/train");
  EXPECT_EQ(why["lots"][0]["machines"], 2);
  EXPECT_EQ(why["why"], "3 Insufficient nvidia.com/gpu");
  EXPECT_EQ(rig_.Ask("/api/v1/explain?gang=ml/other").status, 404);
  EXPECT_EQ(Ask("explain?gang=ml/done")["phase"], "Running");
  const auto text = ExplainedAsText(rig_.Ask("/api/v1/explain?gang=ml/train").body);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text,
            "gang ml/train of queue research: needs 8, 5 placed, 3 pods wait\n"
            "  3 Insufficient nvidia.com/gpu\n"
            "  no room for 2 of worker\n"
            "  2 of g, sold by node groups\n"
            "  1.50 an hour\n");
}

TEST_F(GangsTest, DecisionsForGangsCanBeOpened) {
  const json bought = Newest("up");
  EXPECT_EQ(bought["why"], "2 of g, 1.50 an hour");
  EXPECT_EQ(bought["detail"]["lacking"][0]["role"], "worker");
  EXPECT_EQ(bought["detail"]["heldNodes"][0], "n2");
  EXPECT_EQ(bought["detail"]["heldUntil"], kRigNow + 600);
  const json refused = Newest("waits");
  EXPECT_EQ(refused["title"], "gang ml/big");
  EXPECT_EQ(refused["detail"]["refusals"].size(), 1u);
}

TEST_F(GangsTest, EvictionsAreADecisionWithEveryPod) {
  const json evicted = Newest("gang");
  EXPECT_EQ(evicted["title"], "1 pod evicted");
  EXPECT_EQ(evicted["why"], "preempted by ml/train: ml/small-1");
  EXPECT_EQ(evicted["detail"]["evicted"][0]["pod"], "ml/small-1");
}

}  // namespace
}  // namespace coppice::web
