// The example in Python, which speaks gRPC with somebody else's library, driven by our client: with
// the fields of both eras of the protocol, and of either alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "test/e2e/child.h"
#include "test/externalgrpc/served.h"

namespace coppice::test {
namespace {

constexpr char kExample[] = "examples/provider-python";

bool HavePythonsGrpc() {
  static const bool have =
      std::system(
          "/usr/bin/python3 -c 'import grpc, google.protobuf' >/dev/null 2>&1 && "
          "command -v protoc >/dev/null") == 0;
  return have;
}

// The Python messages, made once.
const TempDirectory& Messages() {
  static const TempDirectory dir;
  static const int made =
      std::system(("protoc --python_out=" + dir.path().string() + " -I proto -I " + kExample +
                   " externalgrpc.proto node.proto")
                      .c_str());
  EXPECT_EQ(made, 0);
  return dir;
}

}  // namespace

class PythonProvider {
 public:
  explicit PythonProvider(const std::string& eras) {
    if (!HavePythonsGrpc()) return;
    const TempDirectory& files = credentials_.dir();
    server_ = std::make_unique<Child>(std::vector<std::string>{
        "/usr/bin/python3", std::string(kExample) + "/server.py", "--listen=127.0.0.1:0",
        "--groups=" + std::string(kExample) + "/groups.json", "--cert=" + files.At("server.crt"),
        "--key=" + files.At("server.key"), "--ca=" + files.At("ca.crt"),
        "--messages=" + Messages().path().string(), "--eras=" + eras});
    const auto line = server_->WaitForLine("serving on port ");
    EXPECT_TRUE(line.has_value()) << server_->output();
    if (!line) return;
    const std::string port = line->substr(line->rfind(' ') + 1);
    client_ = MUST(node_groups::externalgrpc::Client::Open(
        {.clock = real_clock_,
         .log = log_,
         .metrics = metrics_,
         .cloud_config =
             credentials_.CloudConfig("127.0.0.1:" + std::to_string(std::stoi(port)))}));
  }

  cloud::NodeGroups& groups() { return *client_; }
  Clock& clock() { return real_clock_; }

 private:
  SystemClock real_clock_;
  Log log_ = Log::Null();
  Metrics metrics_;
  Credentials credentials_;
  std::unique_ptr<Child> server_;
  std::unique_ptr<node_groups::externalgrpc::Client> client_;
};

class PythonProviderTest : public testing::TestWithParam<const char*> {};

TEST_P(PythonProviderTest, IsDrivenFromEmptyToEmpty) {
  if (!HavePythonsGrpc()) GTEST_SKIP() << "no python3-grpcio or protoc";
  PythonProvider provider(GetParam());
  cloud::NodeGroups& groups = provider.groups();
  const auto soon = [&] { return Deadline::In(provider.clock(), std::chrono::seconds(30)); };
  ASSERT_OK(groups.Refresh(soon()));
  ASSERT_EQ(groups.Groups().size(), 2u);
  EXPECT_EQ(groups.Groups()[0].max_size, 5);
  const auto node = MUST(groups.Template("first"));
  EXPECT_EQ(*node->metadata.labels.Find("topology.kubernetes.io/zone"), "a");
  EXPECT_EQ(*node->status.allocatable.Find("memory"), MUST(model::Quantity::Parse("4Gi")));
  cloud::ScalingOptions defaults;
  defaults.scale_down_unready_time = std::chrono::minutes(7);
  // Not known yet with these defaults, nor whose that node is: the next Refresh asks.
  EXPECT_EQ(groups.Options("first", defaults).code(), Code::kUnavailable);
  EXPECT_EQ(groups.GroupOf({"aws:///a/i-1", "control-plane"}).code(), Code::kUnavailable);
  ASSERT_OK(groups.Refresh(soon()));
  const auto options = MUST(groups.Options("first", defaults));
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->scale_down_unneeded_time, std::chrono::seconds(90));
  EXPECT_EQ(options->scale_down_unready_time, std::chrono::minutes(7));
  EXPECT_EQ(MUST(groups.Options("second", defaults)), std::nullopt);

  EXPECT_EQ(groups.Increase("first", 6, soon()).code(), Code::kFailedPrecondition);
  ASSERT_OK(groups.Increase("first", 3, soon()));
  EXPECT_EQ(MUST(groups.TargetSize("first")), 3);
  ASSERT_OK(groups.Refresh(soon()));
  const auto machines = MUST(groups.Instances("first"));
  ASSERT_EQ(machines.size(), 3u);
  EXPECT_EQ(machines[0].state, cloud::InstanceState::kRunning);
  EXPECT_EQ(MUST(groups.GroupOf({machines[1].id, "node"})), "first");
  EXPECT_EQ(MUST(groups.GroupOf({"aws:///a/i-1", "control-plane"})), std::nullopt);
  EXPECT_FALSE(groups.Delete("second", {{machines[0].id, "node"}}, soon()).ok());
  EXPECT_EQ(groups.DecreaseTarget("first", -1, soon()).code(), Code::kFailedPrecondition);
  for (const auto& machine : machines) {
    ASSERT_OK(groups.Delete("first", {{machine.id, "node"}}, soon()));
  }
  ASSERT_OK(groups.Refresh(soon()));
  EXPECT_EQ(MUST(groups.TargetSize("first")), 0);
  EXPECT_EQ(groups.GpuLabel(), "example.com/gpu");
  const cloud::PriceQuestions questions{.nodes = {{}}};
  groups.LearnPrices(questions, soon());
  EXPECT_EQ(groups.NodePrice({}, {}, {}, {}).code(), Code::kUnimplemented);
  EXPECT_OK(groups.Cleanup());
}

INSTANTIATE_TEST_SUITE_P(Eras, PythonProviderTest, testing::Values("old,new", "old", "new"),
                         [](const auto& row) -> std::string {
                           return std::string(row.param) == "old,new" ? "both" : row.param;
                         });

}  // namespace coppice::test
