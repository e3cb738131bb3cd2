#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/filter_world.h"

namespace coppice::filters::node_ports {
void Register(fit::FilterRegistry&);

namespace {

using test::Answers;

constexpr const char* kNo = "node(s) didn't have free ports for the requested pod ports";

model::Pod WithPort(std::string ip, std::string protocol, int32_t port) {
  model::Pod pod;
  pod.spec.containers.emplace_back().ports = {
      {.host_port = port, .protocol = std::move(protocol), .host_ip = std::move(ip)}};
  return pod;
}

struct Case {
  std::string name;
  model::Pod placed;
  model::Pod asking;
  bool fits;
};

class NodePortsTest : public testing::TestWithParam<Case> {};

TEST_P(NodePortsTest, Decides) {
  test::FilterWorld world(Register, "NodePorts");
  world.AddNode("n");
  world.Place(GetParam().placed, "n");
  EXPECT_EQ(world.Ask(GetParam().asking), (Answers{{"n", GetParam().fits ? "" : kNo}}));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, NodePortsTest,
    testing::ValuesIn(std::vector<Case>{
        {"TheSamePortIsTaken", WithPort("", "TCP", 80), WithPort("", "TCP", 80), false},
        {"AnotherPortIsFree", WithPort("", "TCP", 80), WithPort("", "TCP", 81), true},
        {"AnotherProtocolIsFree", WithPort("", "TCP", 80), WithPort("", "UDP", 80), true},
        {"NoProtocolIsTcp", WithPort("", "", 80), WithPort("", "TCP", 80), false},
        {"EveryAddressClashesWithOne", WithPort("0.0.0.0", "TCP", 80),
         WithPort("10.0.0.1", "TCP", 80), false},
        {"OneAddressClashesWithEvery", WithPort("10.0.0.1", "TCP", 80), WithPort("", "TCP", 80),
         false},
        {"TwoAddressesAreTwo", WithPort("10.0.0.1", "TCP", 80), WithPort("10.0.0.2", "TCP", 80),
         true},
        {"TheIpv6WildcardIsAnOrdinaryAddress", WithPort("::", "TCP", 80),
         WithPort("10.0.0.1", "TCP", 80), true},
    }),
    [](const auto& row) { return row.param.name; });

TEST(NodePortsSkipTest, APodWithoutHostPortsIsSkipped) {
  test::FilterWorld world(Register, "NodePorts");
  world.AddNode("n");
  EXPECT_EQ(world.Ask({}), Answers{});
}

}  // namespace
}  // namespace coppice::filters::node_ports
