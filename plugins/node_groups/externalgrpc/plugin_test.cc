#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "cloud/node_groups.h"
#include "cloud/node_groups_context.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::node_groups::externalgrpc {

void Register(cloud::NodeGroupsRegistry&);

namespace {

using testing::HasSubstr;

class PluginTest : public testing::Test {
 protected:
  PluginTest() { Register(registry); }
  Result<std::unique_ptr<cloud::NodeGroups>> Make(const std::string& config) {
    return registry.Make(
        "externalgrpc",
        cloud::NodeGroupsContext{
            .clock = clock, .log = log, .metrics = metrics, .cloud_config = config});
  }
  FakeClock clock;
  const Log log = Log::Null();
  Metrics metrics;
  test::TempDirectory dir;
  cloud::NodeGroupsRegistry registry{"node group provider"};
};

TEST_F(PluginTest, OpensWithoutConnecting) {
  EXPECT_OK(Make(dir.Write("c.yaml", "address: localhost:1\n")));
}

TEST_F(PluginTest, WhenItsCertificateEndsIsShownEvenWhileNobodyAnswers) {
  const test::TestAuthority authority;
  const auto groups = MUST(Make(dir.Write(
      "c.yaml", "address: localhost:1\ncacert: " + dir.Write("ca.crt", authority.pem()) + "\n")));
  EXPECT_FALSE(groups->Refresh(Deadline::In(clock, std::chrono::seconds(1))).ok());
  EXPECT_THAT(metrics.Render(),
              HasSubstr("coppice_externalgrpc_certificate_not_after_timestamp_seconds{file=\"" +
                        dir.At("ca.crt") + "\"} "));
}

TEST_F(PluginTest, WhatCannotBeOpenedIsSaid) {
  EXPECT_THAT(Make("").status().message(), HasSubstr("--cloud-config"));
  EXPECT_THAT(
      Make(dir.Write("c.yaml", "address: p:1\ncert: /none/c\nkey: /none/k\ncacert: /none/a"))
          .status()
          .message(),
      HasSubstr("/none/c"));
  EXPECT_THAT(Make(dir.Write("d.yaml", "address: p:1\ncacert: " + dir.Write("empty", "x") + "\n"))
                  .status()
                  .message(),
              HasSubstr("no PEM certificate"));
}

}  // namespace
}  // namespace coppice::node_groups::externalgrpc
