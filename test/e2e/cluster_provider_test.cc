// Both ends of externalgrpc are ours: the autoscaler on the real control plane, `coppice provider`
// in front of the cloud, mutual TLS between them.

#include <gmock/gmock.h>
#include <signal.h>

#include "test/e2e/cluster_rig.h"

namespace coppice::test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class ClusterProviderTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (IsSkipped() || HasFailure()) return;
    WriteMutualTls(authority_, dir_);
    dir_.Write("provider.yaml", "listen: 127.0.0.1:" + port_ + "\ntls: {certFile: " +
                                    dir_.At("server.crt") + ", keyFile: " + dir_.At("server.key") +
                                    ", caFile: " + dir_.At("ca.crt") + "}\n" + CloudConfig());
    StartProvider();
  }

  void StartProvider() {
    provider_ = std::make_unique<Child>(
        std::vector<std::string>{COPPICE_BINARY, "provider", "-config=" + dir_.At("provider.yaml"),
                                 "--metrics-addr", "127.0.0.1:0", "-v=4", "--logtostderr=true"},
        cloud_->Environment());
    const auto line = provider_->WaitForLine("\"serving\"");
    ASSERT_TRUE(line.has_value()) << provider_->output();
    port_ = std::to_string(std::atoi(line->c_str() + line->find("\"port\":") + 7));
    // The next one listens there, too.
    dir_.Write("provider.yaml", "listen: 127.0.0.1:" + port_ + "\ntls: {certFile: " +
                                    dir_.At("server.crt") + ", keyFile: " + dir_.At("server.key") +
                                    ", caFile: " + dir_.At("ca.crt") + "}\n" + CloudConfig());
  }

  std::vector<std::string> CloudArguments() override {
    return {
        "--cloud-provider=externalgrpc",
        "--cloud-config=" + dir_.Write("cloud.yaml", "address: localhost:" + port_ +
                                                         "\ncert: " + dir_.At("client.crt") +
                                                         "\nkey: " + dir_.At("client.key") +
                                                         "\ncacert: " + dir_.At("ca.crt") + "\n")};
  }

  void TearDown() override {
    if (HasFailure() && provider_) std::cerr << "---- the provider said\n" << provider_->output();
    ClusterTest::TearDown();
    provider_.reset();
  }

  TestAuthority authority_;
  std::string port_ = "0";
  std::unique_ptr<Child> provider_;
};

TEST_F(ClusterProviderTest, PodsGetNodesAndTheNodesGoWithThem) {
  Child& coppice = StartAndSync("a");
  rig_->Apply(Deployment("web", 20));
  ASSERT_TRUE(Until([&] { return Running("web") == 20; }, seconds(90)));
  EXPECT_EQ(cloud_->peak(), 5u);
  rig_->Kubectl({"delete", "deployment", "web", "-n", "default", "--wait=false"});
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 0; }, seconds(90)));
  EXPECT_THAT(provider_->output(), HasSubstr("autoscaler.kube-system"))
      << "the audit names the certificate that asked";
  coppice.Signal(SIGTERM);
  EXPECT_EQ(coppice.Wait(), 0);
}

TEST_F(ClusterProviderTest, AProviderThatIsAwayForAWhileCostsNothingButTime) {
  StartAndSync("a");
  rig_->Apply(Deployment("web", 4));
  ASSERT_TRUE(Until([&] { return Running("web") == 4; }, seconds(60)));
  provider_->Signal(SIGKILL);
  provider_->Wait();
  rig_->Kubectl({"scale", "deployment", "web", "-n", "default", "--replicas=8"});
  clock_.SleepFor(seconds(6));
  EXPECT_EQ(cloud_->servers(), 1u);
  EXPECT_EQ(Running("web"), 4) << "its machines and pods are left alone";
  EXPECT_THAT(replicas_.back()->output(), HasSubstr("the pass failed")) << "a reason is visible";
  StartProvider();
  EXPECT_TRUE(Until([&] { return Running("web") == 8; }, seconds(60)));
  EXPECT_EQ(cloud_->peak(), 2u);
}

}  // namespace
}  // namespace coppice::test
