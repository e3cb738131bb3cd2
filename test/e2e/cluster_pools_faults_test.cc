// Node pools on a real control plane when something ends in the middle: the process, the API
// server; and a cloud that is a process in another language. No machine is lost, none is bought
// twice, no finalizer stays.

#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>
#include <iostream>

#include "test/e2e/pools_rig.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr char kOnePerNode[] = R"(      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}
)";
constexpr char kQuickly[] = "consolidateAfter: 0s, budgets: [{nodes: \"100%\"}]";

class ClusterPoolsFaultsTest : public PoolsTest {
 protected:
  bool AllReady(int claims) {
    return Claims().size() == static_cast<size_t>(claims) && ClaimsThatAre("Ready") == claims;
  }
  bool NothingLeft() { return Claims().empty() && Nodes().empty() && cloud_->servers() == 0; }
  size_t Deleting() {
    size_t count = 0;
    for (const Json& claim : Claims()) count += claim["metadata"].contains("deletionTimestamp");
    return count;
  }
};

TEST_F(ClusterPoolsFaultsTest, TheNextReplicaGoesOnWhereAKilledOneStopped) {
  rig_->Apply(Class("debian-12") + Pool("general", kQuickly));
  Child& first = StartAndSync("first");
  Child& second = Start("second");
  ASSERT_TRUE(second.WaitForLine("waiting for the lease").has_value());
  rig_->Apply(Deployment("web", 12, kOnePerNode));
  ASSERT_TRUE(Until([&] { return cloud_->servers() > 0; }, seconds(30)));
  first.Signal(SIGKILL);
  const TimePoint killed = clock_.Now();
  std::cerr << "killed with " << cloud_->servers() << " machines and " << Claims().size()
            << " claims\n";
  ASSERT_TRUE(Until([&] { return Running("web") == 12 && AllReady(12); }, seconds(60)));
  std::cerr << "12 pods running " << Since(killed) << " s after kill -9\n";
  ExpectOneMachinePerClaim();
  EXPECT_EQ(cloud_->peak(), 12u) << "bought twice";

  // And again while machines go. A pod of each takes its time, so the drain is met in the middle.
  rig_->Kubectl({"delete", "deployment", "web", "-n", "default", "--wait=false"});
  ASSERT_TRUE(Until([&] { return Deleting() > 0; }, seconds(60)));
  second.Signal(SIGKILL);
  std::cerr << "killed with " << Deleting() << " claims that end\n";
  Start("third");
  EXPECT_TRUE(Until([&] { return NothingLeft(); }, seconds(90)));
}

TEST_F(ClusterPoolsFaultsTest, TheApiServersEndWhileMachinesAreBoughtIsSurvived) {
  rig_->Apply(Class("debian-12") + Pool("general", kQuickly));
  StartAndSync("a");
  rig_->Apply(Deployment("web", 12, kOnePerNode));
  ASSERT_TRUE(Until([&] { return cloud_->servers() > 0; }, seconds(30)));
  rig_->Restart("kube-apiserver");
  ASSERT_TRUE(Until([&] { return rig_->Ready(); }, seconds(60)));
  // One that lost its lease ends, and its Deployment would start it again.
  EXPECT_TRUE(Until(
      [&] {
        if (replicas_.back()->output().find("leads no more") != std::string::npos)
          Start("again-" + std::to_string(replicas_.size()));
        return Running("web") == 12 && AllReady(12);
      },
      seconds(90)));
  ExpectOneMachinePerClaim();
  EXPECT_EQ(cloud_->peak(), 12u) << "bought twice";
}

// The example of a cloud in Python, plaintext on loopback.
class ClusterPythonPoolsTest : public PoolsTest {
 protected:
  void SetUp() override {
    if (std::system("/usr/bin/python3 -c 'import grpc, google.protobuf' >/dev/null 2>&1 && "
                    "command -v protoc >/dev/null") != 0)
      GTEST_SKIP() << "no python3-grpcio or protoc";
    PoolsTest::SetUp();
    if (IsSkipped() || HasFailure()) return;
    const std::string messages = dir_.path().string();
    ASSERT_EQ(
        std::system(("protoc --python_out=" + messages + " -I " COPPICE_SOURCE "/proto cloud.proto")
                        .c_str()),
        0);
    server_ = std::make_unique<Child>(std::vector<std::string>{
        "/usr/bin/python3", COPPICE_SOURCE "/examples/cloud-python/server.py",
        "--listen=127.0.0.1:0", "--messages=" + messages});
    const auto line = server_->WaitForLine("serving on port ");
    ASSERT_TRUE(line.has_value()) << server_->output();
    address_ = "127.0.0.1:" + line->substr(line->rfind(' ') + 1);
  }
  std::string CloudConfig() const override {
    return "clusterTag: e2e\ncloud: {kind: remote, address: \"" + address_ + "\"}\n";
  }
  std::vector<std::string> CloudArguments() override {
    return {"--cloud-provider=remote", "--node-pools",
            "--cloud-config=" + dir_.Write("cloud.yaml", CloudConfig())};
  }

  std::unique_ptr<Child> server_;
  std::string address_;
};

TEST_F(ClusterPythonPoolsTest, ACloudInPythonSellsToNodePools) {
  // Nobody tells its nodes their provider id, so the engine registers them.
  std::string pool = Pool("general", kQuickly, "", "annotations: {kwok.x-k8s.io/node: fake}");
  pool.replace(pool.find("flex-8-2, flex-16-4"), 19, "small, medium, large");
  rig_->Apply(
      "---\napiVersion: coppice.dev/v1alpha1\nkind: NodeClass\n"
      "metadata: {name: default}\nspec: {image: any, registerNode: true}\n" +
      pool);
  StartAndSync("a");
  rig_->Apply(Deployment("web", 10));
  ASSERT_TRUE(Until([&] { return Running("web") == 10; }, seconds(60)));
  for (const Json& claim : Claims()) {
    EXPECT_EQ(claim["status"].value("providerID", "").rfind("pretend://", 0), 0u);
    // It is cheaper, and it is sold.
    EXPECT_EQ(claim["metadata"]["labels"].value("karpenter.sh/capacity-type", ""), "spot");
  }
  rig_->Kubectl({"delete", "deployment", "web", "-n", "default", "--wait=false"});
  EXPECT_TRUE(Until([&] { return Claims().empty() && Nodes().empty(); }, seconds(90)));
}

}  // namespace
}  // namespace coppice::test
