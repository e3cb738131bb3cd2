// The provider as it runs: started from a configuration file on the simulated cloud, asked over
// gRPC and HTTP, re-configured and stopped.

#include "provider/provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "app/main.h"
#include "externalgrpc.pb.h"
#include "grpc/channel.h"
#include "health.pb.h"
#include "net/http_client.h"
#include "rpc/node_group_server.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::provider {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;
using ::testing::HasSubstr;

constexpr char kGroups[] = R"(
  - {name: web, minSize: 0, maxSize: 5, flavor: small-2-4, zone: north1}
)";

class ProviderTest : public testing::Test {
 protected:
  ProviderTest() { app::RegisterDiscoveredPlugins(plugins_); }

  void WriteConfig(const std::string& groups,
                   const std::string& cloud = "{kind: simulated, bootTime: 0s}",
                   const std::string& more = "") {
    dir_.Write("config.yaml", "listen: unix:" + dir_.At("p.sock") + "\nclusterTag: test\ncloud: " +
                                  cloud + more + "\nnodeGroups:" + groups);
  }

  Result<std::unique_ptr<Provider>> TryStart(Serve serve = Serve::kGroups) {
    return Provider::Start(
        {.config_path = dir_.At("config.yaml"), .serve = serve, .metrics_addr = "127.0.0.1:0"},
        {.clouds = plugins_.clouds,
         .clock = clock_,
         .rng = rng_,
         .log = log_,
         .metrics = metrics_});
  }

  template <class Response, class Request>
  Result<Response> Ask(const std::string& method, const Request& request) {
    grpc::Channel channel({.address = "unix:" + dir_.At("p.sock")}, clock_);
    const std::string path =
        method[0] == '/' ? method : "/" + std::string(rpc::kCloudProviderService) + "/" + method;
    const std::string bytes = TRY(channel.Call(path, request.SerializeAsString(),
                                               Deadline::In(clock_, std::chrono::seconds(10))));
    Response response;
    if (!response.ParseFromString(bytes)) return Internal("unreadable");
    return response;
  }

  int CountGroups() {
    return MUST(Ask<pb::NodeGroupsResponse>("NodeGroups", pb::NodeGroupsRequest()))
        .nodegroups_size();
  }

  net::HttpResponse Get(const Provider& provider, const std::string& path) {
    const auto client = MUST(net::MakeHttpClient({.proxy = ""}, clock_));
    return MUST(client->Send(
        {.method = "GET", .url = "http://127.0.0.1:" + std::to_string(provider.http_port()) + path},
        Deadline::In(clock_, std::chrono::seconds(10))));
  }

  std::string lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  app::Plugins plugins_;
  SystemClock clock_;
  SeededRng rng_{1};
  Metrics metrics_;
  test::TempDirectory dir_;
  std::mutex mutex_;
  std::string lines_;
  Log log_{clock_,
           [this](std::string_view line) {
             const std::lock_guard lock(mutex_);
             lines_ += line;
           },
           LogFormat::kJson};
};

TEST_F(ProviderTest, ServesTheVerbsOfItsCloudToProgramsThatHaveNoPlugInForIt) {
  dir_.Write("config.yaml", "listen: unix:" + dir_.At("p.sock") +
                                "\ncloud: {kind: simulated, bootTime: 0s, spotFactor: 0.5}\n");
  EXPECT_THAT(TryStart().status().message(), HasSubstr("at least one node group"));
  const auto provider = MUST(TryStart(Serve::kCloud));
  EXPECT_OK(provider->Ready());
  yaml::Problems problems;
  const yaml::Node config = MUST(yaml::Parse("address: unix:" + dir_.At("p.sock"), "c.yaml"));
  const auto remote = MUST(plugins_.clouds.Make(
      "remote", cloud::CloudContext{clock_, rng_, log_, metrics_, config, problems}));
  const Deadline soon = Deadline::In(clock_, std::chrono::seconds(20));
  EXPECT_EQ(MUST(remote->Flavors(soon)).size(), 8u);
  const auto made = MUST(remote->Create(
      {.name = "a", .flavor = "small-2-4", .zone = "north1", .capacity_type = "spot"}, soon));
  EXPECT_TRUE(remote->OwnsId(made.id));
  EXPECT_EQ(MUST(remote->List({}, soon)).size(), 1u);
  EXPECT_EQ(MUST(remote->Validate({.name = "g", .flavor = "tiny", .zone = "north1"}, soon)).size(),
            1u);
  EXPECT_OK(remote->Delete(made.id, soon));
  EXPECT_THAT(lines(), HasSubstr("audit"));
  EXPECT_EQ(Ask<pb::NodeGroupsResponse>("NodeGroups", pb::NodeGroupsRequest()).code(),
            Code::kUnimplemented)
      << "one or the other";
}

TEST_F(ProviderTest, ServesGroupsHealthAndMetrics) {
  WriteConfig(kGroups);
  const auto provider = MUST(TryStart());
  EXPECT_OK(provider->Ready());
  EXPECT_EQ(CountGroups(), 1);

  pb::NodeGroupIncreaseSizeRequest grow;
  grow.set_id("web");
  grow.set_delta(2);
  ASSERT_OK(Ask<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", grow));
  pb::NodeGroupNodesRequest nodes;
  nodes.set_id("web");
  EXPECT_EQ(MUST(Ask<pb::NodeGroupNodesResponse>("NodeGroupNodes", nodes)).instances_size(), 2);

  const auto health = MUST(Ask<::grpc::health::v1::HealthCheckResponse>(
      "/grpc.health.v1.Health/Check", ::grpc::health::v1::HealthCheckRequest()));
  EXPECT_EQ(health.status(), ::grpc::health::v1::HealthCheckResponse::SERVING);
  EXPECT_EQ(Get(*provider, "/healthz").status, 200);
  EXPECT_EQ(Get(*provider, "/readyz").status, 200);
  EXPECT_EQ(Get(*provider, "/nothing").status, 404);
  const std::string metrics = Get(*provider, "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("coppice_provider_node_group_target_size{node_group=\"web\"} 2"));
  EXPECT_THAT(metrics, HasSubstr("coppice_provider_grpc_requests_total"));
  EXPECT_THAT(lines(), HasSubstr("\"audit\":\"increase\""));
}

TEST_F(ProviderTest, TakesAChangedFileIntoUse) {
  WriteConfig(kGroups);
  const auto provider = MUST(TryStart());
  WriteConfig(std::string(kGroups) +
              "  - {name: batch, maxSize: 3, flavor: medium-4-16, zone: north1}\n");
  provider->Tick();
  EXPECT_EQ(CountGroups(), 2);
  EXPECT_THAT(lines(), HasSubstr("configuration taken into use"));
}

TEST_F(ProviderTest, KeepsTheOldConfigurationWhenTheNewOneIsBadAndSaysWhy) {
  WriteConfig(kGroups);
  const auto provider = MUST(TryStart());
  for (const char* bad :
       {"\n  - {name: web, minSize: 9, maxSize: 1, flavor: small-2-4, zone: north1}\n",
        "\n  - {name: web, maxSize: 1, flavor: no-such-flavor, zone: north1}\n", " [\n"}) {
    WriteConfig(bad);
    provider->Tick();
    EXPECT_EQ(CountGroups(), 1) << bad;
    EXPECT_THAT(lines(), HasSubstr("the old one stays in use")) << bad;
  }
  EXPECT_THAT(lines(), HasSubstr("no-such-flavor"));
}

TEST_F(ProviderTest, AskedToReloadItSaysOnceMoreWhyAFileIsRefused) {
  WriteConfig(kGroups);
  const auto provider = MUST(TryStart());
  WriteConfig(" [\n");
  provider->Tick();
  provider->Tick();
  const auto refusals = [this] {
    const std::string text = lines();
    size_t times = 0;
    for (size_t at = text.find("is refused"); at != std::string::npos;
         at = text.find("is refused", at + 1))
      ++times;
    return times;
  };
  EXPECT_EQ(refusals(), 1u);
  provider->Reload();
  EXPECT_EQ(refusals(), 2u);
  EXPECT_EQ(CountGroups(), 1);
  WriteConfig(std::string(kGroups) +
              "  - {name: batch, maxSize: 3, flavor: medium-4-16, zone: north1}\n");
  provider->Reload();
  EXPECT_EQ(CountGroups(), 2);
}

TEST_F(ProviderTest, SaysAtStartWhatTheCloudDoesNotHave) {
  WriteConfig("\n  - {name: web, maxSize: 1, flavor: no-such-flavor, zone: north1}\n");
  const auto started = TryStart();
  ASSERT_FALSE(started.ok());
  EXPECT_THAT(started.status().message(), HasSubstr("no-such-flavor"));
}

TEST_F(ProviderTest, NamesTheCloudsThereAreWhenOneIsUnknown) {
  WriteConfig(kGroups, "{kind: simulatd}");
  const auto started = TryStart();
  ASSERT_FALSE(started.ok());
  EXPECT_THAT(started.status().message(), HasSubstr("did you mean 'simulated'"));
}

TEST_F(ProviderTest, SaysSoWhenItWasBuiltWithoutClouds) {
  WriteConfig(kGroups);
  const app::Plugins none;
  const auto started = Provider::Start(
      {.config_path = dir_.At("config.yaml"), .metrics_addr = ""},
      {.clouds = none.clouds, .clock = clock_, .rng = rng_, .log = log_, .metrics = metrics_});
  ASSERT_FALSE(started.ok());
  EXPECT_THAT(started.status().message(), HasSubstr("without any cloud"));
}

TEST_F(ProviderTest, IsNotReadyWhileTheCloudCannotBeListed) {
  WriteConfig(kGroups, "{kind: simulated, faults: {listFailure: 1}}");
  const auto provider = MUST(TryStart());
  EXPECT_FALSE(provider->Ready().ok());
  EXPECT_EQ(Get(*provider, "/readyz").status, 503);
  EXPECT_EQ(Get(*provider, "/healthz").status, 200);
  const auto health = MUST(Ask<::grpc::health::v1::HealthCheckResponse>(
      "/grpc.health.v1.Health/Check", ::grpc::health::v1::HealthCheckRequest()));
  EXPECT_EQ(health.status(), ::grpc::health::v1::HealthCheckResponse::NOT_SERVING);
}

// Its creates take twice as long as it may wait; 0 waits for them.
TEST_F(ProviderTest, AnIncreaseIsAnsweredInTimeAndStopWaitsForTheRest) {
  for (const bool waits : {false, true}) {
    WriteConfig(kGroups, "{kind: simulated, latency: 400ms, bootTime: 0s}",
                waits ? "\nanswerIncreaseAfter: 0s" : "\nanswerIncreaseAfter: 200ms");
    const auto provider = MUST(TryStart());
    pb::NodeGroupIncreaseSizeRequest grow;
    grow.set_id("web");
    grow.set_delta(3);
    ASSERT_OK(Ask<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", grow));
    EXPECT_THAT(lines(),
                HasSubstr(waits ? "\"done\":3,\"pending\":0" : "\"done\":0,\"pending\":3"));
    pb::NodeGroupTargetSizeRequest target;
    target.set_id("web");
    EXPECT_EQ(
        MUST(Ask<pb::NodeGroupTargetSizeResponse>("NodeGroupTargetSize", target)).targetsize(), 3);
    EXPECT_OK(provider->Stop());
    EXPECT_THAT(metrics_.Render(),
                HasSubstr("coppice_provider_node_group_current_size{node_group=\"web\"} 3"));
  }
}

TEST_F(ProviderTest, StopFinishesTheOrdersUnderWay) {
  WriteConfig(kGroups, "{kind: simulated, latency: 200ms, bootTime: 0s}");
  const auto provider = MUST(TryStart());
  pb::NodeGroupIncreaseSizeRequest grow;
  grow.set_id("web");
  grow.set_delta(3);
  Status grown;
  std::thread caller([&] {
    grown = Ask<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", grow).status();
  });
  while (lines().find("audit") == std::string::npos && grown.ok()) {
    if (MUST(Ask<pb::NodeGroupTargetSizeResponse>("NodeGroupTargetSize",
                                                  [] {
                                                    pb::NodeGroupTargetSizeRequest request;
                                                    request.set_id("web");
                                                    return request;
                                                  }()))
            .targetsize() == 3) {
      break;
    }
  }
  EXPECT_OK(provider->Stop());
  caller.join();
  EXPECT_OK(grown);
  EXPECT_THAT(lines(), HasSubstr("\"done\":3"));
}

}  // namespace
}  // namespace coppice::provider
