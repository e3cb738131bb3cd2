#include "test/e2e/cluster_rig.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr char kCloud[] = R"(clusterTag: e2e
nodeGroups:
  - {name: pool, minSize: 0, maxSize: 60, flavor: flex-8-2, image: debian-12, zone: rma1, volumeSizeGB: 50, usePublicNetwork: true}
)";

std::string Binaries() {
  if (const char* folder = std::getenv("COPPICE_UPSTREAM")) return std::string(folder) + "/bin/";
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.cache/coppice/upstream/bin/";
}

bool Built() {
  for (const char* name :
       {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kubectl"}) {
    if (!std::filesystem::exists(Binaries() + name)) return false;
  }
  return true;
}

}  // namespace

ControlPlane* ControlPlane::Get() {
  static ControlPlane* rig = Built() ? new ControlPlane : nullptr;
  return rig;
}

ControlPlane::ControlPlane() {
  setenv("RIG_OWNER_PID", std::to_string(getpid()).c_str(), 1);
  Run("up", "");
  if (std::filesystem::exists(kubeconfig("admin")))
    api_ = std::make_unique<ApiClient>(kubeconfig("admin"));
}

void ControlPlane::Run(const std::string& verb, const std::string& name) const {
  std::vector<std::string> command = {COPPICE_SOURCE "/test/upstream/rig.sh", verb, dir_.At("rig")};
  if (!name.empty()) command.push_back(name);
  Child child(command);
  EXPECT_EQ(child.Wait(), 0) << child.output();
}

void ControlPlane::Restart(const std::string& name) const { Run("restart", name); }
void ControlPlane::Kill(const std::string& name) const { Run("kill", name); }

bool ControlPlane::Ready() const { return api_->Send("GET", "/readyz").status == 200; }

std::string ControlPlane::Kubectl(std::vector<std::string> args) const {
  std::vector<std::string> command = {Binaries() + "kubectl", "--kubeconfig", kubeconfig("admin"),
                                      "--cache-dir", dir_.At("cache")};
  command.insert(command.end(), args.begin(), args.end());
  Child child(command);
  const int code = child.Wait();
  if (code != 0) std::cerr << "kubectl: " << child.output() << "\n";
  return code == 0 ? child.output() : "";
}

void ControlPlane::Apply(const std::string& manifest) const {
  EXPECT_NE(Kubectl({"apply", "-f", dir_.Write("manifest.yaml", manifest)}), "");
}

std::string Deployment(const std::string& name, int replicas, const std::string& more) {
  return "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name +
         ", namespace: default}\nspec:\n  replicas: " + std::to_string(replicas) +
         "\n  selector: {matchLabels: {app: " + name +
         "}}\n  template:\n    metadata: {labels: {app: " + name +
         "}}\n    spec:\n      containers:\n      - {name: c, image: none, resources: {requests: "
         "{cpu: 500m, memory: 64Mi}}}\n" +
         more;
}

std::string Budget(const std::string& app, const std::string& rule) {
  return "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: " + app +
         ", namespace: default}\nspec: {" + rule + ", selector: {matchLabels: {app: " + app +
         "}}}\n";
}

std::string ClusterTest::CloudConfig() const { return kCloud; }

std::vector<std::string> ClusterTest::CloudArguments() {
  return {"--cloud-provider=cloudscale",
          "--cloud-config=" + dir_.Write("cloud.yaml", CloudConfig())};
}

void ClusterTest::SetUp() {
  rig_ = ControlPlane::Get();
  if (rig_ == nullptr) GTEST_SKIP() << "no control plane: run test/upstream/build.sh";
  ASSERT_TRUE(rig_->Ready()) << "the control plane did not come up";
  cloud_ = std::make_unique<PlayedCloud>(rig_->kubeconfig("admin"), seconds(2));
}

void ClusterTest::TearDown() {
  if (rig_ == nullptr || cloud_ == nullptr) return;
  // COPPICE_E2E_LOG=1: also when all went well, and more of it.
  if (HasFailure() || std::getenv("COPPICE_E2E_LOG") != nullptr) {
    std::cerr << rig_->Kubectl({"get", "pods,nodes,pdb", "-n", "default", "-o", "wide"})
              << rig_->Kubectl({"get", "configmap", "cluster-autoscaler-status", "-n",
                                "kube-system", "-o", "yaml"});
    if (!replicas_.empty())
      std::cerr << "---- the last replica said\n" << replicas_.back()->output();
  }
  replicas_.clear();
  cloud_.reset();
  rig_->Kubectl({"delete", "deployments,pdb,daemonsets", "--all", "-n", "default", "--wait=false"});
  rig_->Kubectl({"delete", "nodes", "--all", "--wait=false"});
  // What nobody plays any more does not end by itself.
  EXPECT_TRUE(Until(
      [&] {
        for (const Json& pod : rig_->api().List("/api/v1/namespaces/default/pods"))
          rig_->api().Send("DELETE", "/api/v1/namespaces/default/pods/" +
                                         pod["metadata"].value("name", "") +
                                         "?gracePeriodSeconds=0");
        return rig_->api().List("/api/v1/namespaces/default/pods").empty();
      },
      seconds(30)));
  rig_->Kubectl(
      {"delete", "lease", "cluster-autoscaler", "-n", "kube-system", "--ignore-not-found"});
  // The next test may give its objects the same names, and asks what is told about them.
  rig_->api().Send("DELETE", "/api/v1/namespaces/default/events");
  // What the last replica remembers is not for the next test: a removal that failed here would hold off those there.
  rig_->Kubectl({"delete", "configmap", "cluster-autoscaler-status", "-n", "kube-system",
                 "--ignore-not-found"});
}

Child& ClusterTest::Start(const std::string& identity, std::vector<std::string> more,
                          const std::string& kubeconfig) {
  std::vector<std::string> command = {dir_.At("cluster-autoscaler"),
                                      "--namespace=kube-system",
                                      "--logtostderr=true",
                                      "--stderrthreshold=info",
                                      std::getenv("COPPICE_E2E_LOG") != nullptr ? "--v=5" : "--v=4",
                                      "--address=127.0.0.1:0",
                                      "--scale-down-unneeded-time=5s",
                                      "--scale-down-delay-after-add=1s",
                                      "--scan-interval=2s"};
  command.push_back("--kubeconfig=" +
                    (kubeconfig.empty() ? rig_->kubeconfig("component") : kubeconfig));
  const std::vector<std::string> cloud = CloudArguments();
  command.insert(command.end(), cloud.begin(), cloud.end());
  command.insert(command.end(), more.begin(), more.end());
  std::error_code ignored;
  std::filesystem::create_symlink(COPPICE_BINARY, dir_.At("cluster-autoscaler"), ignored);
  auto environment = cloud_->Environment();
  environment["COPPICE_LEASE_IDENTITY"] = identity;
  replicas_.push_back(std::make_unique<Child>(command, environment));
  return *replicas_.back();
}

Child& ClusterTest::StartAndSync(const std::string& identity, std::vector<std::string> more) {
  Child& child = Start(identity, std::move(more));
  EXPECT_TRUE(child.WaitForLine("the view of the cluster is complete").has_value());
  return child;
}

Json ClusterTest::Pods(const std::string& app) {
  return rig_->api().List("/api/v1/namespaces/default/pods?labelSelector=app%3D" + app);
}

Json ClusterTest::Nodes() { return rig_->api().List("/api/v1/nodes"); }

int ClusterTest::Running(const std::string& app) {
  int running = 0;
  for (const Json& pod : Pods(app)) {
    running += pod["status"].value("phase", "") == "Running" &&
                       !pod["metadata"].contains("deletionTimestamp")
                   ? 1
                   : 0;
  }
  return running;
}

std::vector<std::string> ClusterTest::Events(const std::string& name) {
  std::vector<std::string> texts;
  for (const Json& event :
       rig_->api().List("/api/v1/events?fieldSelector=involvedObject.name%3D" + name))
    texts.push_back(event.value("reason", "") + ": " + event.value("message", ""));
  return texts;
}

bool ClusterTest::Until(const std::function<bool()>& done, Duration limit) {
  const TimePoint give_up = clock_.Now() + limit;
  while (!done()) {
    if (clock_.Now() >= give_up) return false;
    clock_.SleepFor(std::chrono::milliseconds(100));
  }
  return true;
}

double ClusterTest::Since(TimePoint start) {
  return std::chrono::duration<double>(clock_.Now() - start).count();
}

}  // namespace coppice::test
