// From the real Karpenter to us and back, on its kwok provider: who takes over goes on with what
// the other has left, replaces nothing, and can take away what the other bought. The recipe is in
// docs/node-pools.md. Skipped where `tools/peer karpenter` has not been run.

#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include "test/e2e/pools_rig.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

// Karpenter's program and its definitions, where tools/peer puts them.
std::string Karpenter() {
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.cache/coppice/peers/karpenter-v1.15.0/";
}

constexpr char kObjects[] = R"(---
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
spec: {}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 0s, budgets: [{nodes: "100%"}]}
  limits: {cpu: 200}
  template:
    metadata: {labels: {team: web}}
    spec:
      expireAfter: 720h
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: default}
      requirements:
      - {key: karpenter.kwok.sh/instance-cpu, operator: In, values: ["2", "4"]}
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
)";

constexpr char kClassRights[] = R"(---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: coppice-kwok-classes}
rules:
- {apiGroups: [karpenter.kwok.sh], resources: [kwoknodeclasses], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: coppice-kwok-classes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: coppice-kwok-classes}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: coppice}]
)";

class ClusterHandoverTest : public PoolsTest {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(Karpenter() + "karpenter"))
      GTEST_SKIP() << "no Karpenter: run tools/peer karpenter";
    PoolsTest::SetUp();
    if (IsSkipped() || HasFailure()) return;
    rig_->Kubectl({"apply", "--server-side", "--force-conflicts", "-f", Karpenter() + "crds"});
    rig_->Kubectl({"wait", "--for=condition=Established", "--timeout=30s",
                   "crd/kwoknodeclasses.karpenter.kwok.sh"});
    rig_->Apply(kClassRights);
  }
  void TearDown() override {
    karpenter_.reset();
    PoolsTest::TearDown();
    if (rig_ == nullptr) return;
    rig_->Kubectl({"delete", "kwoknodeclasses", "--all", "--wait=false"});
  }
  std::vector<std::string> CloudArguments() override {
    return {"--cloud-provider=kwok", "--node-pools"};
  }
  void StartKarpenter() {
    karpenter_ = std::make_unique<Child>(
        std::vector<std::string>{Karpenter() + "karpenter", "--metrics-port=0",
                                 "--health-probe-port=0", "--disable-leader-election",
                                 "--batch-idle-duration=500ms"},
        std::map<std::string, std::string>{{"KUBECONFIG", rig_->kubeconfig("admin")},
                                           {"SYSTEM_NAMESPACE", "kube-system"}});
  }
  void StopKarpenter() {
    karpenter_->Signal(SIGTERM);
    karpenter_->Wait();
  }
  std::set<std::string> Names() {
    std::set<std::string> names;
    for (const Json& claim : Claims()) names.insert(claim["metadata"]["name"]);
    return names;
  }
  bool AllReady() {
    const size_t claims = Claims().size();
    return claims > 0 && ClaimsThatAre("Ready") == static_cast<int>(claims) &&
           Nodes().size() == claims;
  }

  std::unique_ptr<Child> karpenter_;
};

TEST_F(ClusterHandoverTest, FromKarpenterToUsAndBackNothingIsReplaced) {
  rig_->Apply(kObjects);
  StartKarpenter();
  rig_->Apply(Deployment("web", 12));
  ASSERT_TRUE(Until([&] { return Running("web") == 12 && AllReady(); }, seconds(90)))
      << karpenter_->output();
  StopKarpenter();
  const std::set<std::string> karpenters = Names();
  std::cerr << "Karpenter has left " << karpenters.size() << " claims\n";

  // Ours: what is there stays, what is lacking is bought.
  Child& coppice = StartAndSync("a");
  Scale("web", 24);
  ASSERT_TRUE(Until([&] { return Running("web") == 24 && AllReady(); }, seconds(60)));
  std::set<std::string> both = Names();
  for (const std::string& name : karpenters) EXPECT_TRUE(both.contains(name)) << name;
  EXPECT_EQ(ClaimsThatAre("Drifted"), 0);
  EXPECT_GT(both.size(), karpenters.size());
  coppice.Signal(SIGTERM);
  EXPECT_EQ(coppice.Wait(), 0);

  // Back: Karpenter knows ours as its own.
  StartKarpenter();
  Scale("web", 30);
  ASSERT_TRUE(Until([&] { return Running("web") == 30 && AllReady(); }, seconds(90)))
      << karpenter_->output();
  const std::set<std::string> all = Names();
  for (const std::string& name : both) EXPECT_TRUE(all.contains(name)) << name;
  EXPECT_EQ(ClaimsThatAre("Drifted"), 0);
  // It begins to take away what nobody needs, also what we bought; in the middle of that we do.
  rig_->Kubectl({"delete", "deployment", "web", "-n", "default", "--wait=false"});
  ASSERT_TRUE(Until(
      [&] {
        for (const Json& claim : Claims()) {
          if (claim["metadata"].contains("deletionTimestamp")) return true;
        }
        return Claims().size() < all.size();
      },
      seconds(90)))
      << karpenter_->output();
  karpenter_->Signal(SIGKILL);
  karpenter_->Wait();
  std::cerr << "Karpenter was killed with " << Claims().size() << " of " << all.size()
            << " claims left\n";
  Start("b");
  EXPECT_TRUE(Until([&] { return Claims().empty() && Nodes().empty(); }, seconds(120)));
}

}  // namespace
}  // namespace coppice::test
