// Both ends of externalgrpc are ours: the autoscaler on the real control plane, `coppice provider`
// in front of the cloud, mutual TLS between them.

#pragma once

#include <iostream>

#include "test/e2e/cluster_rig.h"

namespace coppice::test {

class ClusterProviderTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (IsSkipped() || HasFailure()) return;
    WriteMutualTls(authority_, dir_);
    StartProvider();
  }

  // On the port of the one before, if there was one.
  void StartProvider() {
    dir_.Write("provider.yaml", "listen: 127.0.0.1:" + port_ + "\ntls: {certFile: " +
                                    dir_.At("server.crt") + ", keyFile: " + dir_.At("server.key") +
                                    ", caFile: " + dir_.At("ca.crt") + "}\n" + CloudConfig());
    provider_ = std::make_unique<Child>(
        std::vector<std::string>{COPPICE_BINARY, "provider", "-config=" + dir_.At("provider.yaml"),
                                 "--metrics-addr", "127.0.0.1:0", "-v=4", "--logtostderr=true"},
        cloud_->Environment());
    const auto line = provider_->WaitForLine("\"serving\"");
    ASSERT_TRUE(line.has_value()) << provider_->output();
    port_ = std::to_string(std::atoi(line->c_str() + line->find("\"port\":") + 7));
    http_port_ = std::to_string(std::atoi(line->c_str() + line->find("\"http_port\":") + 12));
  }

  std::vector<std::string> CloudArguments() override {
    return {"--cloud-provider=externalgrpc",
            "--cloud-config=" +
                dir_.Write("cloud.yaml",
                           "address: localhost:" + port_ + "\ncert: " + dir_.At("client.crt") +
                               "\nkey: " + dir_.At("client.key") +
                               "\ncacert: " + dir_.At("ca.crt") + "\noverlapping_orders: true\n")};
  }

  void TearDown() override {
    if (HasFailure() && provider_) std::cerr << "---- the provider said\n" << provider_->output();
    ClusterTest::TearDown();
    provider_.reset();
  }

  TestAuthority authority_;
  std::string port_ = "0";
  std::string http_port_;
  std::unique_ptr<Child> provider_;
};

}  // namespace coppice::test
