// The emulator itself: what clients of the real API rely on.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/fake_clock.h"
#include "test/emulator/cloudscale_emulator.h"
#include "test/support/must.h"

namespace coppice::emulator {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class EmulatorTest : public testing::Test {
 protected:
  json Ask(const std::string& method, const std::string& target, const json& body = nullptr,
           int expect = 200) {
    Request request{.method = method,
                    .headers = {{"authorization", "Bearer x"}},
                    .body = body.is_null() ? "" : body.dump()};
    ParseTarget(target, request);
    const Response response = emulator_.Handle(request);
    EXPECT_EQ(response.status, expect) << method << " " << target << ": " << response.body;
    return response.body.empty() ? json() : json::parse(response.body);
  }
  std::string Create(json more = json::object()) {
    json body = {
        {"name", "a"}, {"flavor", "flex-4-1"}, {"image", "debian-11"}, {"ssh_keys", json::array()}};
    body.update(more);
    return Ask("POST", "/v1/servers", body, 201)["uuid"];
  }

  FakeClock clock_;
  SeededRng rng_{1};
  CloudscaleEmulator emulator_{EmulatorOptions{.boot_time = seconds(5)}, clock_, rng_};
};

TEST_F(EmulatorTest, AServerBootsInTheTimeOfTheClock) {
  const std::string uuid = Create();
  EXPECT_EQ(Ask("GET", "/v1/servers/" + uuid)["status"], "changing");
  clock_.Advance(seconds(5));
  const json server = Ask("GET", "/v1/servers/" + uuid);
  EXPECT_EQ(server["status"], "running");
  EXPECT_EQ(server["created_at"], "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(server["image"]["default_username"], "debian");
}

TEST_F(EmulatorTest, ActionsPassThroughChanging) {
  const std::string uuid = Create();
  clock_.Advance(seconds(5));
  Ask("POST", "/v1/servers/" + uuid + "/stop", nullptr, 204);
  EXPECT_EQ(Ask("GET", "/v1/servers/" + uuid)["status"], "changing");
  clock_.Advance(seconds(5));
  EXPECT_EQ(Ask("GET", "/v1/servers/" + uuid)["status"], "stopped");
  Ask("PATCH", "/v1/servers/" + uuid, {{"flavor", "flex-8-2"}}, 204);
  EXPECT_EQ(Ask("GET", "/v1/servers/" + uuid)["flavor"]["memory_gb"], 8);
}

TEST_F(EmulatorTest, OnlyOneAttributeChangesAtATime) {
  const std::string uuid = Create();
  const json error =
      Ask("PATCH", "/v1/servers/" + uuid, {{"name", "b"}, {"tags", json::object()}}, 400);
  EXPECT_THAT(error["detail"].get<std::string>(), testing::HasSubstr("Only one attribute"));
}

TEST_F(EmulatorTest, TagsFilterByValueAndByKeyAlone) {
  const std::string uuid = Create({{"tags", {{"pool", "a"}, {"x", "1"}}}});
  Create();
  EXPECT_EQ(Ask("GET", "/v1/servers").size(), 2u);
  EXPECT_EQ(Ask("GET", "/v1/servers?tag%3Apool=a&tag%3Ax=1").size(), 1u);
  EXPECT_EQ(Ask("GET", "/v1/servers?tag%3Apool=b").size(), 0u);
  EXPECT_EQ(Ask("GET", "/v1/servers?tag%3Apool").size(), 1u);
  Ask("PATCH", "/v1/servers/" + uuid, {{"tags", {{"other", "b"}}}}, 204);
  EXPECT_EQ(Ask("GET", "/v1/servers?tag%3Apool").size(), 0u);
  EXPECT_EQ(Ask("GET", "/v1/servers?tag%3Aother=b").size(), 1u);
}

TEST_F(EmulatorTest, WhatIsWrongIsSaidByField) {
  const json errors = Ask("POST", "/v1/servers",
                          {{"name", "under_score"},
                           {"flavor", "flex-1-1"},
                           {"image", "none"},
                           {"ssh_keys", nullptr},
                           {"volume_size_gb", 5}},
                          400);
  for (const char* field : {"name", "flavor", "image", "ssh_keys", "volume_size_gb"}) {
    EXPECT_TRUE(errors.contains(field)) << field;
  }
  Ask("POST", "/v1/servers", json::array(), 400);
  Ask("POST", "/v1/servers", {{"name", 7}, {"interfaces", {{{"network", 3}}}}}, 400);
  EXPECT_EQ(Ask("GET", "/v1/servers").size(), 0u);
}

TEST_F(EmulatorTest, VolumesComeInTheOrderOfTheRequest) {
  const std::string uuid = Create(
      {{"volumes", {{{"size_gb", 3}, {"type", "ssd"}}, {{"size_gb", 100}, {"type", "bulk"}}}}});
  const json volumes = Ask("GET", "/v1/servers/" + uuid)["volumes"];
  ASSERT_EQ(volumes.size(), 3u);
  EXPECT_EQ(volumes[0]["size_gb"], 10);
  EXPECT_EQ(volumes[2]["type"], "bulk");
}

TEST_F(EmulatorTest, EveryListOfTheApiIsThere) {
  for (const char* list : {"servers", "flavors", "images", "custom-images", "regions",
                           "server-groups", "networks", "subnets", "volumes", "volume-snapshots",
                           "floating-ips", "load-balancers", "objects-users"}) {
    EXPECT_TRUE(Ask("GET", std::string("/v1/") + list).is_array()) << list;
  }
  Ask("GET", "/v1/nothing", nullptr, 404);
}

TEST_F(EmulatorTest, NetworksSubnetsAndServerGroupsLiveAndDie) {
  const std::string network =
      Ask("POST", "/v1/networks", {{"name", "n"}, {"zone", "lpg1"}}, 201)["uuid"];
  const json subnet =
      Ask("POST", "/v1/subnets", {{"cidr", "10.0.0.0/24"}, {"network", network}}, 201);
  EXPECT_EQ(subnet["network"]["uuid"], network);
  const json group = Ask("POST", "/v1/server-groups",
                         {{"name", "g"}, {"type", "anti-affinity"}, {"zone", "lpg1"}}, 201);
  EXPECT_EQ(group["zone"]["slug"], "lpg1");
  Ask("DELETE", "/v1/networks/" + network, nullptr, 204);
  Ask("GET", "/v1/networks/" + network, nullptr, 404);
}

TEST_F(EmulatorTest, FaultsAreSetByJsonAndCountDown) {
  EXPECT_OK(emulator_.SetFaultsFromJson(R"({"server_errors": 1, "latency": 250})"));
  EXPECT_EQ(emulator_.faults().latency, std::chrono::milliseconds(250));
  Ask("GET", "/v1/servers", nullptr, 500);
  Ask("GET", "/v1/servers");
  EXPECT_FALSE(emulator_.SetFaultsFromJson(R"({"no_such_fault": 1})").ok());
  EXPECT_FALSE(emulator_.SetFaultsFromJson(R"({"server_errors": "many"})").ok());
  EXPECT_EQ(Ask("GET", "/emulator/stats")["requests"]["GET /v1/servers"], 2);
  Ask("POST", "/emulator/reset", nullptr, 204);
  EXPECT_EQ(emulator_.faults().latency, Duration::zero());
}

TEST_F(EmulatorTest, ListsLagBehindCreateAndDelete) {
  emulator_.SetFaults({.list_lag_after_create = seconds(2), .list_lag_after_delete = seconds(3)});
  const std::string uuid = Create();
  EXPECT_EQ(Ask("GET", "/v1/servers").size(), 0u);
  clock_.Advance(seconds(2));
  EXPECT_EQ(Ask("GET", "/v1/servers").size(), 1u);
  Ask("DELETE", "/v1/servers/" + uuid, nullptr, 204);
  EXPECT_EQ(Ask("GET", "/v1/servers").size(), 1u);
  Ask("DELETE", "/v1/servers/" + uuid, nullptr, 404);
  clock_.Advance(seconds(3));
  EXPECT_EQ(Ask("GET", "/v1/servers").size(), 0u);
}

}  // namespace
}  // namespace coppice::emulator
