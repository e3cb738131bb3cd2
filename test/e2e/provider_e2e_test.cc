// `coppice provider` as its users meet it: the real binary behind real TLS, a client in another
// language, an end by kill -9 in the middle of a scale-up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "base/strings.h"
#include "externalgrpc.pb.h"
#include "grpc/channel.h"
#include "rpc/node_group_server.h"
#include "test/e2e/child.h"
#include "test/emulator/cloudscale_emulator.h"
#include "test/emulator/wire_server.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::test {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSimulated[] = R"(clusterTag: e2e
cloud: {kind: simulated, bootTime: 1s}
nodeGroups:
  - {name: web, minSize: 0, maxSize: 5, flavor: small-2-4, zone: north1}
  - name: gpu
    maxSize: 2
    flavor: gpu-16-128-2
    zone: north1
    options: {scaleDownUnneededTime: 30m}
)";

// The file of the Go provider, unchanged in kind.
constexpr char kCloudscale[] = R"(clusterTag: e2e
nodeGroups:
  - name: pool
    minSize: 0
    maxSize: 10
    flavor: flex-8-2
    image: debian-12
    zone: rma1
    volumeSizeGB: 50
    usePublicNetwork: true
)";

class ProviderE2eTest : public testing::Test {
 protected:
  ProviderE2eTest() { WriteMutualTls(authority_, dir_); }

  void WriteConfig(const std::string& body) {
    dir_.Write("config.yaml", "listen: 127.0.0.1:0\ntls: {certFile: " + dir_.At("server.crt") +
                                  ", keyFile: " + dir_.At("server.key") +
                                  ", caFile: " + dir_.At("ca.crt") + "}\n" + body);
  }

  // With the flags of the Go provider's manifest.
  std::unique_ptr<Child> StartProvider(std::map<std::string, std::string> environment = {}) {
    auto child = std::make_unique<Child>(
        std::vector<std::string>{COPPICE_BINARY, "provider", "-config=" + dir_.At("config.yaml"),
                                 "--metrics-addr", "127.0.0.1:0", "-v=4", "--logtostderr=true"},
        std::move(environment));
    const auto line = child->WaitForLine("\"serving\"");
    EXPECT_TRUE(line.has_value()) << child->output();
    if (!line) return nullptr;
    const size_t at = line->find("\"port\":");
    address_ = "127.0.0.1:" + std::to_string(std::atoi(line->c_str() + at + 7));
    return child;
  }

  template <class Response, class Request>
  Result<Response> Ask(const std::string& method, const Request& request) {
    const auto store = TRY(grpc::CertificateStore::Open({.cert_file = dir_.At("client.crt"),
                                                         .key_file = dir_.At("client.key"),
                                                         .ca_file = dir_.At("ca.crt")},
                                                        log_));
    grpc::Channel channel({.address = address_, .certificates = store, .server_name = "localhost"},
                          clock_);
    const std::string bytes = TRY(
        channel.Call("/" + std::string(rpc::kCloudProviderService) + "/" + method,
                     request.SerializeAsString(), Deadline::In(clock_, std::chrono::seconds(5))));
    Response response;
    if (!response.ParseFromString(bytes)) return Internal("unreadable");
    return response;
  }

  SystemClock clock_;
  Log log_ = Log::Null();
  TestAuthority authority_;
  TempDirectory dir_;
  std::string address_;
};

TEST_F(ProviderE2eTest, APythonClientRunsTheFifteenMethods) {
  if (std::system("/usr/bin/python3 -c 'import grpc, google.protobuf' 2>/dev/null") != 0) {
    GTEST_SKIP() << "python3-grpcio is not installed";
  }
  WriteConfig(kSimulated);
  const auto provider = StartProvider();
  ASSERT_NE(provider, nullptr);
  ASSERT_EQ(std::system(("protoc --python_out=" + dir_.path().string() +
                         " -Iproto proto/externalgrpc.proto")
                            .c_str()),
            0);

  Child python({"/usr/bin/python3", "test/e2e/fifteen_rpcs.py", address_, dir_.At("ca.crt"),
                dir_.At("client.crt"), dir_.At("client.key"), dir_.path().string()});

  EXPECT_EQ(python.Wait(), 0) << python.output();
  EXPECT_THAT(provider->output(), HasSubstr("autoscaler.kube-system"))
      << "the audit names the certificate";
  provider->Signal(SIGTERM);
  EXPECT_EQ(provider->Wait(), 0) << provider->output();
}

TEST_F(ProviderE2eTest, AfterKill9InAScaleUpNoMachineIsLostAndNoneIsDoubled) {
  SeededRng rng(1);
  emulator::CloudscaleEmulator cloud({.boot_time = std::chrono::milliseconds(100)}, clock_, rng);
  const auto api = MUST(emulator::WireServer::Start(
      "127.0.0.1", 0, clock_, [&](const emulator::Request& r) { return cloud.Handle(r); }));
  WriteConfig(kCloudscale);
  const std::map<std::string, std::string> environment{{"CLOUDSCALE_API_TOKEN", "token"},
                                                       {"CLOUDSCALE_API_URL", api->url()}};
  ASSERT_OK(cloud.SetFaultsFromJson(R"({"create_latency": 400})"));
  auto provider = StartProvider(environment);
  ASSERT_NE(provider, nullptr);
  std::thread caller([this] {
    pb::NodeGroupIncreaseSizeRequest grow;
    grow.set_id("pool");
    grow.set_delta(10);
    (void)Ask<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", grow);
  });
  while (cloud.server_count() == 0) std::this_thread::yield();

  provider->Signal(SIGKILL);
  provider->Wait();
  caller.join();
  ASSERT_OK(cloud.SetFaultsFromJson(R"({"create_latency": 0})"));
  provider = StartProvider(environment);
  ASSERT_NE(provider, nullptr);

  ASSERT_OK(Ask<pb::RefreshResponse>("Refresh", pb::RefreshRequest()));
  pb::NodeGroupNodesRequest nodes;
  nodes.set_id("pool");
  const auto listed = MUST(Ask<pb::NodeGroupNodesResponse>("NodeGroupNodes", nodes));
  EXPECT_EQ(static_cast<size_t>(listed.instances_size()), cloud.server_count())
      << "every machine that bills is in its group";
  EXPECT_LE(cloud.server_count(), 10U);
  std::set<std::string> names;
  for (const std::string& name : cloud.server_names())
    EXPECT_TRUE(names.insert(name).second) << name;

  // The autoscaler asks again for what is missing, and ends where it wanted to be.
  pb::NodeGroupIncreaseSizeRequest rest;
  rest.set_id("pool");
  rest.set_delta(10 - listed.instances_size());
  if (rest.delta() > 0) {
    ASSERT_OK(Ask<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", rest));
  }
  EXPECT_EQ(cloud.server_count(), 10U);
}

// The example that is handed out, word by word: only where it listens and where its certificates
// lie is another place here.
TEST_F(ProviderE2eTest, TheExampleForCloudscaleServesAndBuysWhatItSays) {
  std::ifstream file(COPPICE_SOURCE "/deploy/examples/cloudscale.yaml");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string folder = "/etc/autoscaler-cloudscale/tls/";
  for (const auto& [there, here] :
       std::map<std::string, std::string>{{"\":8086\"", "127.0.0.1:0"},
                                          {folder + "tls.crt", dir_.At("server.crt")},
                                          {folder + "tls.key", dir_.At("server.key")},
                                          {folder + "ca.crt", dir_.At("ca.crt")}}) {
    const size_t at = text.find(there);
    ASSERT_NE(at, std::string::npos) << there;
    text.replace(at, there.size(), here);
  }
  dir_.Write("config.yaml", text);
  SeededRng rng(1);
  emulator::CloudscaleEmulator cloud({.boot_time = std::chrono::milliseconds(1)}, clock_, rng);
  const auto api = MUST(emulator::WireServer::Start(
      "127.0.0.1", 0, clock_, [&](const emulator::Request& r) { return cloud.Handle(r); }));
  const auto provider =
      StartProvider({{"CLOUDSCALE_API_TOKEN", "token"}, {"CLOUDSCALE_API_URL", api->url()}});
  ASSERT_NE(provider, nullptr);
  const auto groups = MUST(Ask<pb::NodeGroupsResponse>("NodeGroups", pb::NodeGroupsRequest()));
  ASSERT_EQ(groups.nodegroups_size(), 1);
  EXPECT_EQ(groups.nodegroups(0).id(), "workers");
  EXPECT_EQ(groups.nodegroups(0).maxsize(), 10);
  pb::NodeGroupIncreaseSizeRequest grow;
  grow.set_id("workers");
  grow.set_delta(2);
  ASSERT_OK(Ask<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", grow));
  EXPECT_EQ(cloud.server_count(), 2U);
  provider->Signal(SIGTERM);
  EXPECT_EQ(provider->Wait(), 0) << provider->output();
  EXPECT_THAT(provider->output(), Not(HasSubstr("unknown key")));
  EXPECT_THAT(provider->output(), Not(HasSubstr("could not be checked")));
}

// The Go provider ends this with an error and a back-off of five minutes.
TEST_F(ProviderE2eTest, ACreateSlowerThanTheClientsDeadlineIsNoFailure) {
  SeededRng rng(1);
  emulator::CloudscaleEmulator cloud({.boot_time = std::chrono::milliseconds(100)}, clock_, rng);
  const auto api = MUST(emulator::WireServer::Start(
      "127.0.0.1", 0, clock_, [&](const emulator::Request& r) { return cloud.Handle(r); }));
  WriteConfig(kCloudscale);
  ASSERT_OK(cloud.SetFaultsFromJson(R"({"create_latency": 6000})"));
  const auto provider =
      StartProvider({{"CLOUDSCALE_API_TOKEN", "token"}, {"CLOUDSCALE_API_URL", api->url()}});
  ASSERT_NE(provider, nullptr);
  pb::NodeGroupIncreaseSizeRequest grow;
  grow.set_id("pool");
  grow.set_delta(2);
  EXPECT_OK(Ask<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", grow));
  pb::NodeGroupNodesRequest nodes;
  nodes.set_id("pool");
  const auto creating = MUST(Ask<pb::NodeGroupNodesResponse>("NodeGroupNodes", nodes));
  EXPECT_EQ(creating.instances_size(), 2);
  for (const auto& instance : creating.instances()) {
    EXPECT_EQ(instance.status().instancestate(), pb::InstanceStatus::instanceCreating);
    EXPECT_EQ(instance.status().errorinfo().errorcode(), "");
  }
  while (cloud.server_count() < 2) std::this_thread::yield();
  ASSERT_OK(Ask<pb::RefreshResponse>("Refresh", pb::RefreshRequest()));
  EXPECT_EQ(MUST(Ask<pb::NodeGroupNodesResponse>("NodeGroupNodes", nodes)).instances_size(), 2);
}

TEST_F(ProviderE2eTest, PlaintextOnTheNetworkIsRefusedWithTheRemedy) {
  dir_.Write("config.yaml", std::string("listen: :0\n") + kSimulated);
  Child provider({COPPICE_BINARY, "provider", "--config", dir_.At("config.yaml"), "--insecure"});
  EXPECT_EQ(provider.Wait(), 1);
  EXPECT_TRUE(provider.WaitForLine("tls block").has_value()) << provider.output();
}

TEST_F(ProviderE2eTest, ValidateNamesTheLineAndTheKeyThatWasMeant) {
  dir_.Write("config.yaml",
             "listen: unix:/tmp/x\nclusterTag: a\ncloud: {kind: simulated}\nnodeGroups:\n"
             "  - {name: web, maxsize: 3, flavor: small-2-4, zone: north1}\n");
  Child bad({COPPICE_BINARY, "validate", dir_.At("config.yaml")});
  EXPECT_EQ(bad.Wait(), 1);
  const auto line = bad.WaitForLine("maxSize");
  ASSERT_TRUE(line.has_value()) << bad.output();
  EXPECT_THAT(*line, HasSubstr("config.yaml:5:"));

  dir_.Write("config.yaml", std::string("listen: unix:/tmp/x\n") + kSimulated);
  Child good({COPPICE_BINARY, "validate", dir_.At("config.yaml")});
  EXPECT_EQ(good.Wait(), 0) << good.output();
}

TEST_F(ProviderE2eTest, RunPlaysSomeHoursAndTheSameSeedRepeatsThem) {
  const auto lines = [](const std::string& output) {  // but for how long it took us, and the port
    std::string kept;
    for (const std::string& line : Split(output, '\n')) {
      if (line.starts_with("Summary of ") || line.starts_with("Dashboard: ")) continue;
      kept += line + "\n";
    }
    return kept;
  };
  Child run({COPPICE_BINARY, "run", "--seed", "7", "--for=6h", "--speed=0"});
  EXPECT_EQ(run.Wait(), 0) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("Summary of 6.0 simulated hours"));
  EXPECT_THAT(run.output(), HasSubstr(" -> "));  // somebody was bought
  Child again({COPPICE_BINARY, "run", "--for", "6h", "--speed", "0", "--seed=7"});
  EXPECT_EQ(again.Wait(), 0) << again.output();
  EXPECT_EQ(lines(run.output()), lines(again.output()));
}

}  // namespace
}  // namespace coppice::test
