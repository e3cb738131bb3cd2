// `coppice run` on a real control plane: etcd, API server, scheduler and controllers as Kubernetes
// ships them, kubelets played by kwok, a cloud over HTTP whose machines become nodes, and no more
// rights than upstream's chart grants. Skipped where test/upstream/build.sh has not been run.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/strings.h"
#include "test/e2e/child.h"
#include "test/e2e/played_cloud.h"
#include "test/support/test_certificates.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr char kCloud[] = R"(clusterTag: e2e
nodeGroups:
  - {name: pool, minSize: 0, maxSize: 60, flavor: flex-8-2, image: debian-12, zone: rma1, volumeSizeGB: 50, usePublicNetwork: true}
)";

std::string Peers() {
  if (const char* folder = std::getenv("COPPICE_UPSTREAM")) return folder;
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.cache/coppice/upstream";
}

// One control plane for all tests of this file.
class Rig {
 public:
  static Rig* Get() {
    static Rig* rig = [] {
      for (const char* name : {"etcd", "kube-apiserver", "kube-controller-manager",
                               "kube-scheduler", "kwok", "kubectl"}) {
        if (!std::filesystem::exists(Peers() + "/bin/" + name)) return static_cast<Rig*>(nullptr);
      }
      auto* made = new Rig;
      return made->up_ ? made : nullptr;
    }();
    return rig;
  }
  std::string kubeconfig(const std::string& user) const {
    return dir_.At("rig/pki/" + user + ".kubeconfig");
  }
  void Restart(const std::string& name) const {
    Child restart({COPPICE_SOURCE "/test/upstream/rig.sh", "restart", dir_.At("rig"), name});
    EXPECT_EQ(restart.Wait(), 0) << restart.output();
  }
  // What kubectl printed; "" when it failed.
  std::string Kubectl(std::vector<std::string> args) const {
    std::vector<std::string> command = {Peers() + "/bin/kubectl", "--kubeconfig",
                                        kubeconfig("admin"), "--cache-dir", dir_.At("cache")};
    command.insert(command.end(), args.begin(), args.end());
    Child child(command);
    const int code = child.Wait();
    if (code != 0) std::cerr << "kubectl: " << child.output() << "\n";
    return code == 0 ? child.output() : "";
  }
  void Apply(const std::string& manifest) const {
    EXPECT_NE(Kubectl({"apply", "-f", dir_.Write("manifest.yaml", manifest)}), "");
  }
  Json List(const std::string& what) const {
    const std::string text = Kubectl({"get", what, "-A", "-o", "json"});
    const Json json = Json::parse(text, nullptr, false);
    return json.is_object() ? json["items"] : Json::array();
  }

 private:
  Rig() {
    setenv("RIG_OWNER_PID", std::to_string(getpid()).c_str(), 1);
    Child up({COPPICE_SOURCE "/test/upstream/rig.sh", "up", dir_.At("rig")});
    up_ = up.Wait() == 0;
    if (!up_) std::cerr << up.output();
  }
  TempDirectory dir_;
  bool up_ = false;
};

std::string Deployment(const std::string& name, int replicas, const std::string& more_spec = "") {
  return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name +
         ", namespace: default}\nspec:\n  replicas: " + std::to_string(replicas) +
         "\n  selector: {matchLabels: {app: " + name +
         "}}\n  template:\n    metadata: {labels: {app: " + name +
         "}}\n    spec:\n      containers:\n      - name: c\n        image: none\n        "
         "resources: "
         "{requests: {cpu: 500m, memory: 64Mi}}\n" +
         more_spec;
}

class ClusterE2eTest : public testing::Test {
 protected:
  void SetUp() override {
    rig_ = Rig::Get();
    if (rig_ == nullptr) GTEST_SKIP() << "no control plane: run test/upstream/build.sh";
    dir_.Write("cloud.yaml", kCloud);
    cloud_ = std::make_unique<PlayedCloud>(rig_->kubeconfig("admin"), seconds(2));
  }
  void TearDown() override {
    if (rig_ == nullptr) return;
    replicas_.clear();
    rig_->Kubectl(
        {"delete", "deployments,pdb,daemonsets", "--all", "-n", "default", "--wait=false"});
    rig_->Kubectl({"delete", "nodes", "--all", "--wait=false"});
    rig_->Kubectl({"delete", "pods", "--all", "-n", "default", "--force", "--grace-period=0"});
    rig_->Kubectl(
        {"delete", "lease", "cluster-autoscaler", "-n", "kube-system", "--ignore-not-found"});
  }

  Child& Start(const std::string& identity, std::vector<std::string> more = {}) {
    // The arguments that upstream's chart renders, and shorter times.
    std::vector<std::string> command = {dir_.At("cluster-autoscaler"),
                                        "--cloud-provider=cloudscale",
                                        "--namespace=kube-system",
                                        "--logtostderr=true",
                                        "--stderrthreshold=info",
                                        "--v=4",
                                        "--cloud-config=" + dir_.At("cloud.yaml"),
                                        "--kubeconfig=" + rig_->kubeconfig("component"),
                                        "--address=127.0.0.1:0",
                                        "--scale-down-unneeded-time=5s",
                                        "--scale-down-delay-after-add=1s",
                                        "--scan-interval=2s"};
    command.insert(command.end(), more.begin(), more.end());
    std::error_code ignored;
    std::filesystem::create_symlink(COPPICE_BINARY, dir_.At("cluster-autoscaler"), ignored);
    auto environment = cloud_->Environment();
    environment["COPPICE_LEASE_IDENTITY"] = identity;
    replicas_.push_back(std::make_unique<Child>(command, environment));
    return *replicas_.back();
  }

  int Running(const std::string& app) {
    int running = 0;
    for (const Json& pod : rig_->List("pods")) {
      const bool ours = pod["metadata"]["labels"].value("app", "") == app;
      running += ours && pod["status"].value("phase", "") == "Running" &&
                         !pod["metadata"].contains("deletionTimestamp")
                     ? 1
                     : 0;
    }
    return running;
  }
  bool Until(const std::function<bool()>& done, Duration limit) {
    const TimePoint give_up = clock_.Now() + limit;
    while (!done() && clock_.Now() < give_up) clock_.SleepFor(std::chrono::milliseconds(200));
    return done();
  }
  double Since(TimePoint start) {
    return std::chrono::duration<double>(clock_.Now() - start).count();
  }

  SystemClock clock_;
  TempDirectory dir_;
  Rig* rig_ = nullptr;
  std::unique_ptr<PlayedCloud> cloud_;
  std::vector<std::unique_ptr<Child>> replicas_;
};

TEST_F(ClusterE2eTest, AHundredPodsGetNodesAndTheNodesGoWithThem) {
  Child& coppice = Start("a");
  ASSERT_TRUE(coppice.WaitForLine("the view of the cluster is complete").has_value())
      << coppice.output();
  const TimePoint start = clock_.Now();
  rig_->Apply(Deployment("web", 100));
  ASSERT_TRUE(Until([&] { return cloud_->servers() > 0; }, seconds(60))) << coppice.output();
  std::cerr << "first cloud call after " << Since(start) << " s\n";
  ASSERT_TRUE(Until([&] { return Running("web") == 100; }, seconds(120))) << coppice.output();
  std::cerr << "100 pods running after " << Since(start) << " s on " << cloud_->servers()
            << " machines\n";
  // Every machine is needed: two cores hold at most four pods of half a core.
  EXPECT_LE(cloud_->peak(), 34u) << "more was bought than the scheduler needed";

  const TimePoint end = clock_.Now();
  rig_->Kubectl({"delete", "deployment", "web", "-n", "default", "--wait=false"});
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 0; }, seconds(180))) << coppice.output();
  std::cerr << "all machines gone " << Since(end) << " s after the Deployment\n";
  coppice.Signal(SIGTERM);
  EXPECT_EQ(coppice.Wait(), 0) << coppice.output();
}

TEST_F(ClusterE2eTest, ABudgetHoldsWhileNodesAreDrained) {
  Child& coppice = Start("a");
  rig_->Apply(Deployment("web", 6) + "---\n" + Deployment("guarded", 6) +
              "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: guarded, "
              "namespace: default}\nspec: {minAvailable: 5, selector: {matchLabels: {app: "
              "guarded}}}\n");
  ASSERT_TRUE(Until([&] { return Running("web") == 6 && Running("guarded") == 6; }, seconds(90)))
      << coppice.output();
  const size_t before = cloud_->servers();
  rig_->Kubectl({"delete", "deployment", "web", "-n", "default", "--wait=false"});
  int fewest = 6;
  EXPECT_TRUE(Until(
      [&] {
        fewest = std::min(fewest, Running("guarded"));
        return cloud_->servers() < before && Running("guarded") == 6;
      },
      seconds(120)))
      << coppice.output();
  EXPECT_GE(fewest, 5) << coppice.output();
}

TEST_F(ClusterE2eTest, TheOtherReplicaTakesOverFromAKilledLeader) {
  Child& first = Start("first");
  ASSERT_TRUE(first.WaitForLine("the view of the cluster is complete").has_value());
  Child& second = Start("second");
  ASSERT_TRUE(second.WaitForLine("waiting for the lease").has_value());
  first.Signal(SIGKILL);
  const TimePoint killed = clock_.Now();
  rig_->Apply(Deployment("web", 8));
  ASSERT_TRUE(second.WaitForLine("\"leading\"").has_value()) << second.output();
  std::cerr << "the other leads " << Since(killed) << " s after kill -9\n";
  EXPECT_LT(Since(killed), 22);  // 15 s of lease, and the time to ask again
  ASSERT_TRUE(Until([&] { return Running("web") == 8; }, seconds(60))) << second.output();
  EXPECT_LE(cloud_->peak(), 3u) << "bought twice\n" << second.output();
}

TEST_F(ClusterE2eTest, TheApiServersEndAndReturnIsSurvived) {
  Child& coppice = Start("a");
  ASSERT_TRUE(coppice.WaitForLine("the view of the cluster is complete").has_value());
  rig_->Apply(Deployment("web", 4));
  ASSERT_TRUE(Until([&] { return Running("web") == 4; }, seconds(60))) << coppice.output();
  rig_->Restart("kube-apiserver");
  ASSERT_TRUE(
      Until([&] { return !rig_->Kubectl({"get", "--raw", "/readyz"}).empty(); }, seconds(60)));
  rig_->Kubectl({"scale", "deployment", "web", "-n", "default", "--replicas=8"});
  // It may have lost its lease meanwhile and ended, as upstream's would; a pod is then restarted.
  const auto run = [&] {
    if (coppice.output().find("leads no more") != std::string::npos && replicas_.size() == 1)
      Start("b");
    return Running("web") == 8;
  };
  EXPECT_TRUE(Until(run, seconds(90))) << replicas_.back()->output();
  EXPECT_GE(cloud_->servers(), 2u);
}

}  // namespace
}  // namespace coppice::test
