// Every kind of answer, held against assets/openapi.yaml.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "test/support/api_schema.h"
#include "web/site_rig.h"

namespace coppice::web {
namespace {

using nlohmann::json;

std::shared_ptr<const report::ProvisionReport> PoolsWithAllThereIs() {
  auto report = std::make_shared<report::ProvisionReport>();
  report->at = TimePoint(std::chrono::seconds(kRigNow));
  report->took = std::chrono::milliseconds(3);
  report->stages = {{"machines", std::chrono::milliseconds(1)},
                    {"disruption", std::chrono::milliseconds(2)}};
  report->pools = {{.name = "p",
                    .ready = true,
                    .text = "x",
                    .nodes = 1,
                    .usage = {{"cpu", "4"}},
                    .limits = {{"cpu", "100"}},
                    .budgets = {{"Drifted", 1}}}};
  report->claims = {{.name = "p-1",
                     .pool = "p",
                     .node = "n3",
                     .provider_id = "x://1",
                     .type = "small",
                     .zone = "z",
                     .capacity_type = "spot",
                     .price = 0.25,
                     .stage = "Ready",
                     .since = report->at,
                     .expires = report->at + std::chrono::hours(720)},
                    {.name = "p-2", .pool = "p", .stage = "Launching", .text = "waits"}};
  report->provisioning.emplace();
  report->provisioning->at = report->at;
  report->provisioning->machines = {
      {.claim = "p-2", .pool = "p", .types = {"small"}, .pods = {RigPod("api-1", "api")}},
      {.pool = "p", .error = "the limit is reached"}};
  report->provisioning->unplaced = {
      {.pod = RigPod("big-1", "big"),
       .text = "no type fits",
       .misses = {{.pool = "p", .key = "memory", .text = "too much", .tried = true}}}};
  report->staying = {{.node = "n3", .claim = "p-1", .pool = "p", .reason = "r", .text = "t"}};
  report->commands = {{.id = "c1",
                       .reason = "Underutilized",
                       .decision = "replace",
                       .nodes = {"n3"},
                       .pools = {"p"},
                       .replacements = {"p-3"},
                       .stage = "Launching"},
                      {.id = "c2", .nodes = {"n4"}, .stage = "Abandoned", .text = "no offering"}};
  return report;
}

class SchemaTest : public testing::Test {
 protected:
  SchemaTest() {
    rig_.board().Post(PoolsWithAllThereIs());
    rig_.board().Post(std::shared_ptr<const report::SessionReport>(RigSession()));
    auto seen = std::make_shared<Seen>(
        *SiteRig::Cluster({RigPod("web-1", "web"), RigPod("big-1", "big")}, 500));
    seen->at = seen->at + std::chrono::seconds(1);
    seen->nodes.push_back({.node = RigNode("n3"), .cpu = 1, .memory = 1, .gpu = 3});
    rig_.board().Post(std::shared_ptr<const Seen>(seen));
    rig_.board().Flush();
  }
  json Get(const std::string& target) {
    const auto answer = rig_.Ask("/api/v1/" + target);
    EXPECT_EQ(answer.status, 200) << target << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  void Holds(const std::string& target, const std::string& schema) {
    const json value = Get(target);
    EXPECT_EQ(schema_.Complaint(value, schema), "") << target << value.dump(1);
  }

  SiteRig rig_;
  test::ApiSchema schema_{rig_.Ask("/api/v1/openapi.yaml").body};
};

TEST_F(SchemaTest, AnswersAreWhatTheFileSays) {
  Holds("state", "State");
  Holds("timeline", "Timeline");
  Holds("decisions", "Decisions");
  Holds("pass", "Pass");
  Holds("pools", "PoolsPass");
  Holds("explain?node=n1", "Why");
  Holds("explain?node=n3", "Why");
  Holds("explain?pod=shop/web-1", "Why");
  Holds("explain?pod=shop/big-1", "Why");
  Holds("explain?group=g", "Why");
  Holds("explain?pool=p", "Why");
  Holds("explain?claim=p-1", "Why");
  Holds("explain?gang=ml/train", "Why");
  Holds("explain?gang=ml/big", "Why");
  Holds("explain?gang=ml/done", "Why");
}

TEST_F(SchemaTest, EveryDecisionCanBeOpened) {
  std::set<std::string> kinds;
  const json list = Get("decisions");
  for (const json& decision : list["decisions"]) {
    kinds.insert(decision["kind"]);
    Holds("decision?id=" + std::to_string(decision["id"].get<int>()), "Decision");
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"down", "gang", "trouble", "up", "waits"}));
}

TEST_F(SchemaTest, HealthHasThePassesOfEveryEngine) {
  json health = Get("health");
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, json>>{
           {"version", "1"}, {"rssBytes", 1}, {"plugins", json::object()}})
    health[key] = value;  // of whoever puts the program together
  EXPECT_EQ(schema_.Complaint(health, "Health"), "") << health.dump(1);
  EXPECT_EQ(health["engines"][0]["passes"][0]["stages"]["disruption"], 2.0);
  EXPECT_EQ(health["engines"][1]["passes"][0]["tookMs"], 7.0);
}

TEST_F(SchemaTest, WhatIsNotInTheFileIsFound) {
  json state = Get("state");
  state["nodes"]["n1"]["secret"] = "x";
  EXPECT_EQ(schema_.Complaint(state, "State"), "State.nodes.n1: has a field secret");
  state["nodes"].erase("n1");
  state["nodes"]["n2"]["state"] = "odd";
  EXPECT_EQ(schema_.Complaint(state, "State"),
            "State.nodes.n2.state: \"odd\" is none of the words");
  state.erase("seq");
  EXPECT_EQ(schema_.Complaint(state, "State"), "State: has no seq");
  EXPECT_NE(schema_.Complaint(json{{"decisions", "x"}}, "Decisions"), "");
}

}  // namespace
}  // namespace coppice::web
