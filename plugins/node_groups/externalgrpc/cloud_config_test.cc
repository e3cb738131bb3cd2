#include "plugins/node_groups/externalgrpc/cloud_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::node_groups::externalgrpc {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

Result<CloudConfig> Parse(std::string_view text) {
  return ParseCloudConfig(text, "cloud-config.yaml", Log::Null());
}

TEST(CloudConfigTest, UpstreamsFileMeansWhatItMeansUpstream) {
  const auto config =
      MUST(Parse("address: provider.kube-system:8086\nkey: /k\ncert: /c\ncacert: /ca\n"
                 "grpc_timeout: 1m30s\n"));
  EXPECT_EQ(config.address, "provider.kube-system:8086");
  EXPECT_EQ(config.host(), "provider.kube-system");
  EXPECT_EQ(config.key, "/k");
  EXPECT_EQ(config.cert, "/c");
  EXPECT_EQ(config.cacert, "/ca");
  EXPECT_EQ(config.grpc_timeout, seconds(90));
  EXPECT_EQ(config.mutation_timeout, seconds(90));  // who waits longer for reads waits for changes
  EXPECT_TRUE(config.tls());
}

TEST(CloudConfigTest, KeysMayBeInAnyCaseAndUnknownOnesAreIgnoredAsUpstreamDoes) {
  const auto config =
      MUST(Parse("Address: \"[::1]:8086\"\nGRPC_Timeout: 10s\nMax_Concurrent_Calls: 7\n"
                 "some_key: 5\nother: [1]\n"));
  EXPECT_EQ(config.max_concurrent_calls, 7);
  EXPECT_EQ(config.address, "[::1]:8086");
  EXPECT_EQ(config.host(), "::1");
  EXPECT_EQ(config.grpc_timeout, seconds(10));
}

TEST(CloudConfigTest, DefaultsAreUpstreamsForReadsAndLongerForChanges) {
  const auto config = MUST(Parse("address: localhost:1"));
  EXPECT_EQ(config.grpc_timeout, seconds(5));
  EXPECT_EQ(config.mutation_timeout, seconds(30));
  EXPECT_EQ(config.refresh_timeout, seconds(30));
  EXPECT_FALSE(config.tls());
}

TEST(CloudConfigTest, OurKeysAreRead) {
  const auto config =
      MUST(Parse("address: unix:/run/p.sock\nmutation_timeout: 5m\nrefresh_timeout: 1m\n"
                 "overlapping_orders: true\n"
                 "describe_ttl: 10m\nmax_concurrent_calls: 4\nmax_message_bytes: 1048576\n"
                 "server_name: p\ngroup_prefix: south-\n"));
  EXPECT_EQ(config.host(), "");
  EXPECT_EQ(config.mutation_timeout, seconds(300));
  EXPECT_TRUE(config.overlapping_orders);
  EXPECT_EQ(config.refresh_timeout, seconds(60));
  EXPECT_EQ(config.describe_ttl, seconds(600));
  EXPECT_EQ(config.max_concurrent_calls, 4);
  EXPECT_EQ(config.max_message_bytes, 1'048'576u);
  EXPECT_EQ(config.server_name, "p");
  EXPECT_EQ(config.group_prefix, "south-");
}

struct Row {
  const char* name;
  const char* text;
  const char* complaint;
};
class BadCloudConfigTest : public testing::TestWithParam<Row> {};

TEST_P(BadCloudConfigTest, IsRefusedWithASentence) {
  const auto config = Parse(GetParam().text);
  EXPECT_EQ(config.code(), Code::kInvalidArgument);
  EXPECT_THAT(config.status().message(), HasSubstr(GetParam().complaint));
  EXPECT_THAT(config.status().message(), HasSubstr("cloud-config.yaml"));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadCloudConfigTest,
    testing::ValuesIn(std::vector<Row>{
        {"NoAddress", "key: /k\n", "address"},
        {"NoPort", "address: provider\n", "is not host:port"},
        {"PortIsNoNumber", "address: provider:http\n", "is not host:port"},
        {"PortOutOfRange", "address: provider:70000\n", "is not host:port"},
        {"BareIpv6", "address: 'fe80::1:80'\n", "is not host:port"},
        {"EmptySocket", "address: 'unix:'\n", "unix:/path"},
        {"BareNumberAsTimeout", "address: localhost:1\ngrpc_timeout: 5\n", "grpc_timeout"},
        {"ZeroTimeout", "address: localhost:1\ngrpc_timeout: 0s\n", "grpc_timeout"},
        {"NegativeTimeout", "address: localhost:1\nmutation_timeout: -1s\n", "mutation_timeout"},
        {"NoCalls", "address: localhost:1\nmax_concurrent_calls: 0\n", "max_concurrent_calls"},
        {"CertWithoutKey", "address: p:1\ncert: /c\ncacert: /ca\n", "belong together"},
        {"CertWithoutCa", "address: p:1\ncert: /c\nkey: /k\n", "cacert"},
        {"PlaintextElsewhere", "address: p.example:1\n", "plaintext: true"},
        {"PlaintextToANameLikeLoopback", "address: 127.example.com:1\n", "plaintext: true"},
        {"NotAMap", "- address\n", "must be a map"},
        {"NotYaml", "address: [\n", "cloud-config.yaml"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(CloudConfigTest, PlaintextGoesToThisMachineOrWhereItIsAllowedByName) {
  for (const char* text : {"address: 127.0.0.1:1", "address: localhost:1", "address: '[::1]:1'",
                           "address: unix:/run/p.sock", "address: p.example:1\nplaintext: true",
                           "address: p.example:1\ncacert: /ca"}) {
    EXPECT_OK(Parse(text)) << text;
  }
}

TEST(CloudConfigTest, AMissingFileIsSaidByName) {
  EXPECT_THAT(ReadCloudConfig("", Log::Null()).status().message(), HasSubstr("--cloud-config"));
  EXPECT_THAT(ReadCloudConfig("/does/not/exist", Log::Null()).status().message(),
              HasSubstr("/does/not/exist"));
  const test::TempDirectory dir;
  EXPECT_OK(ReadCloudConfig(dir.Write("c.yaml", "address: localhost:1\n"), Log::Null()));
}

}  // namespace
}  // namespace coppice::node_groups::externalgrpc
