#include "plugins/clouds/cloudscale/messages.h"

#include <gmock/gmock.h>

#include "plugins/clouds/cloudscale/error_text.h"
#include "plugins/clouds/cloudscale/provider_id.h"
#include "test/support/must.h"

namespace coppice::clouds::cloudscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kUuid[] = "47cec963-fcd2-482f-bdb6-24461b2d47b1";

std::string ServerJson(const std::string& status, const std::string& more = "") {
  return R"({"uuid":"47cec963-fcd2-482f-bdb6-24461b2d47b1","name":"workers-1","status":")" +
         status +
         R"(","created_at":"2026-03-01T12:30:45.250000Z","zone":{"slug":"rma1"},)"
         R"("flavor":{"slug":"flex-8-2"},"tags":{"k8s-autoscaler-group":"workers"})" +
         more + "}";
}

TEST(CloudscaleMessagesTest, ReadsAServer) {
  const auto machine = MUST(ParseServer(ServerJson("running")));
  EXPECT_EQ(machine.id, std::string("cloudscale://") + kUuid);
  EXPECT_EQ(machine.name, "workers-1");
  EXPECT_EQ(machine.flavor, "flex-8-2");
  EXPECT_EQ(machine.zone, "rma1");
  EXPECT_EQ(machine.tags, (cloud::Tags{{"k8s-autoscaler-group", "workers"}}));
  EXPECT_EQ(machine.created_at,
            TimePoint(std::chrono::seconds(1'772'368'245) + std::chrono::milliseconds(250)));
  EXPECT_FALSE(machine.error);
}

TEST(CloudscaleMessagesTest, EveryStatusHasAState) {
  using enum cloud::MachineState;
  const std::map<std::string, cloud::MachineState> rows = {
      {"changing", kCreating},    {"running", kRunning},   {"rescue_running", kRunning},
      {"stopped", kStopped},      {"paused", kStopped},    {"error", kFailed},
      {"unknown", kStopped},      {"deleting", kDeleting}, {"", kStopped},
      {"something-new", kStopped}};
  for (const auto& [status, state] : rows) {
    EXPECT_EQ(MUST(ParseServer(ServerJson(status))).state, state) << status;
  }
}

TEST(CloudscaleMessagesTest, AServerInErrorSaysSo) {
  const auto machine = MUST(ParseServer(ServerJson("error")));
  ASSERT_TRUE(machine.error);
  EXPECT_EQ(machine.error->error_class, cloud::ErrorClass::kOther);
  EXPECT_EQ(machine.error->code, "SERVER_ERROR");
}

TEST(CloudscaleMessagesTest, OneServerThatCannotBeReadMakesTheWholeListAnError) {
  for (
      const std::string bad :
      {R"({"uuid":"not-a-uuid","name":"a","status":"running"})",
       R"({"name":"a","status":"running"})",
       R"({"uuid":"47cec963-fcd2-482f-bdb6-24461b2d47b2","status":"running"})",
       R"({"uuid":"47cec963-fcd2-482f-bdb6-24461b2d47b2","name":"a","status":7})",
       R"({"uuid":"47cec963-fcd2-482f-bdb6-24461b2d47b2","name":"a","status":"running","tags":[1]})",
       R"({"uuid":"47cec963-fcd2-482f-bdb6-24461b2d47b2","name":"a","status":"running","tags":{"a":1}})",
       "null", "7"}) {
    EXPECT_EQ(ParseServers("[" + ServerJson("running") + "," + bad + "]").code(), Code::kInternal)
        << bad;
  }
  for (const char* bad : {"", "{}", "null", "[", R"({"detail":"x"})", "<html></html>", "[]]"}) {
    EXPECT_FALSE(ParseServers(bad).ok()) << bad;
  }
  EXPECT_TRUE(MUST(ParseServers("[]")).empty());
}

TEST(CloudscaleMessagesTest, AServerListedTwiceCountsOnce) {
  EXPECT_EQ(
      MUST(ParseServers("[" + ServerJson("running") + "," + ServerJson("changing") + "]")).size(),
      1u);
}

TEST(CloudscaleMessagesTest, FlavorsAreMemoryFirstAndMayHaveGpus) {
  const auto flavors = MUST(ParseFlavors(
      R"([{"slug":"flex-8-2","vcpu_count":2,"memory_gb":8,"gpu":null,"zones":[{"slug":"rma1"},{"slug":"lpg1"}]},)"
      R"({"slug":"gpu2-128-16-1-200","vcpu_count":16,"memory_gb":128,"zones":[{"slug":"rma1"}],)"
      R"("gpu":{"name":"NVIDIA L40S","count":1,"vram_per_gpu_gb":48,"total_vram_gb":48}}])"));
  ASSERT_EQ(flavors.size(), 2u);
  EXPECT_EQ(flavors[0].cpu_millis, 2000);
  EXPECT_EQ(flavors[0].memory_bytes, int64_t{8} << 30);
  EXPECT_EQ(flavors[0].gpu_count, 0);
  EXPECT_THAT(flavors[0].zones, ElementsAre("rma1", "lpg1"));
  EXPECT_EQ(flavors[1].gpu_count, 1);
  EXPECT_EQ(flavors[1].gpu_type, "NVIDIA L40S");
  EXPECT_FALSE(ParseFlavors(R"([{"slug":"flex-8-2","vcpu_count":-2,"memory_gb":8}])").ok());
}

cloud::MachineSpec ASpec() {
  return {.name = "workers-1",
          .flavor = "flex-8-2",
          .zone = "rma1",
          .image = "debian-12",
          .disk_bytes = int64_t{50} << 30,
          .tags = {{"k8s-autoscaler-group", "workers"}, {"k8s-cluster", "test"}}};
}

TEST(CloudscaleMessagesTest, ACreateRequestCarriesTagsAndAnEmptyListOfKeys) {
  EXPECT_EQ(
      MUST(CreateRequest(ASpec())),
      R"({"name":"workers-1","flavor":"flex-8-2","image":"debian-12","zone":"rma1","volume_size_gb":50,)"
      R"("ssh_keys":[],"tags":{"k8s-autoscaler-group":"workers","k8s-cluster":"test"}})");
}

TEST(CloudscaleMessagesTest, AGroupsNetworksKeysAndServerGroupsReachTheRequest) {
  auto spec = ASpec();
  spec.extra = ExtraOf({.ssh_keys = {"ssh-ed25519 AAAA a", "ssh-rsa BBBB b"},
                        .server_group_uuids = {"group-1", "group-2"},
                        .use_public_network = true,
                        .use_private_network = true,
                        .network_uuid = "net",
                        .subnet_uuid = "sub"});
  const std::string body = MUST(CreateRequest(spec));
  EXPECT_THAT(body, HasSubstr(R"("ssh_keys":["ssh-ed25519 AAAA a","ssh-rsa BBBB b"])"));
  EXPECT_THAT(body, HasSubstr(R"("server_groups":["group-1","group-2"])"));
  EXPECT_THAT(
      body,
      HasSubstr(
          R"("interfaces":[{"network":"public"},{"network":"net","addresses":[{"subnet":"sub"}]}])"));
  EXPECT_THAT(body, testing::Not(HasSubstr("use_public_network")))
      << "one family of network keys only";

  spec.extra = ExtraOf({.use_public_network = false, .use_private_network = true});
  EXPECT_THAT(MUST(CreateRequest(spec)),
              HasSubstr(R"("use_public_network":false,"use_private_network":true)"));
}

TEST(CloudscaleMessagesTest, UserDataPassesAsBytesOrIsRefused) {
  auto spec = ASpec();
  spec.user_data = "#cloud-config\r\n\"quoted\" \\ \xc3\xa9 ${NOT_EXPANDED}\n";
  EXPECT_THAT(
      MUST(CreateRequest(spec)),
      HasSubstr(
          "\"user_data\":\"#cloud-config\\r\\n\\\"quoted\\\" \\\\ \xc3\xa9 ${NOT_EXPANDED}\\n\""));
  spec.user_data = "\xff\xfe";
  EXPECT_EQ(CreateRequest(spec).code(), Code::kInvalidArgument);
}

TEST(CloudscaleErrorTextTest, ReadsEveryShape) {
  const std::map<std::string, std::string> rows = {
      {R"({"detail":"Not found."})", "Not found."},
      {R"({"flavor":"Flavor does not exist."})", "flavor: Flavor does not exist."},
      {R"({"a":["one","two"],"b":{"c":"three"}})", "a: one; a: two; b.c: three"},
      {R"(["one"])", "one"},
      {R"("text")", "text"},
      {R"({"code":7})", "code: 7"},
      {"<html><head><title>502 Bad Gateway</title></head>\n<body>nginx</body></html>",
       "502 Bad Gateway nginx"},
      {"upstream connect error", "upstream connect error"},
      {"", ""},
      {"\xff\xfe\x01", "bytes that are not text"}};
  for (const auto& [body, text] : rows) EXPECT_EQ(ErrorText(body), text) << body;
  EXPECT_LE(ErrorText(std::string(10'000, 'x')).size(), 400u);
}

TEST(CloudscaleErrorTextTest, KnowsQuotaFromMistake) {
  EXPECT_TRUE(MeansOutOfResources("Your quota of servers is exhausted."));
  EXPECT_TRUE(MeansOutOfResources("Maximum number of servers reached"));
  EXPECT_FALSE(MeansOutOfResources("flavor: Flavor does not exist."));
}

TEST(CloudscaleProviderIdTest, OnlyAWholeUuidWithThePrefixIsOurs) {
  EXPECT_EQ(MUST(UuidOf(std::string("cloudscale://") + kUuid)), kUuid);
  for (const char* bad : {"", "cloudscale://", "47cec963-fcd2-482f-bdb6-24461b2d47b1",
                          "cloudscale:///47cec963-fcd2-482f-bdb6-24461b2d47b1",
                          "cloudscale://47cec963-fcd2-482f-bdb6-24461b2d47b1 ",
                          " cloudscale://47cec963-fcd2-482f-bdb6-24461b2d47b1",
                          "cloudscale://47cec963fcd2482fbdb624461b2d47b1",
                          "cloudscale://47cec963-fcd2-482f-bdb6-24461b2d47bg",
                          "cloudscale://../../servers/47cec963-fcd2-482f-bdb",
                          "CLOUDSCALE://47cec963-fcd2-482f-bdb6-24461b2d47b1"}) {
    EXPECT_EQ(UuidOf(bad).code(), Code::kInvalidArgument) << bad;
  }
}

TEST(CloudscaleTimeTest, ReadsRfc3339) {
  const TimePoint at(std::chrono::seconds(1'772'368'245));
  EXPECT_EQ(ParseTime("2026-03-01T12:30:45Z"), at);
  EXPECT_EQ(ParseTime("2026-03-01T14:30:45+02:00"), at);
  for (const char* bad : {"", "yesterday", "2026-13-01T12:30:45Z", "2026-03-01",
                          "2026-03-01T12:30:45", "-001-03-01T12:30:45Z"}) {
    EXPECT_EQ(ParseTime(bad), TimePoint()) << bad;
  }
}

}  // namespace
}  // namespace coppice::clouds::cloudscale
