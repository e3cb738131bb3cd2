// What goes wrong in a real cluster: nothing is deleted that should not be, the loop recovers by
// itself, and a reason is visible.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

#include "test/e2e/cluster_rig.h"
#include "test/e2e/cutting_proxy.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

bool Marked(const Json& node) {
  for (const Json& taint : node["spec"].value("taints", Json::array())) {
    if (taint.value("key", "") == "ToBeDeletedByClusterAutoscaler") return true;
  }
  return false;
}

class ClusterFaultsTest : public ClusterTest {
 protected:
  size_t MarkedNodes() {
    const Json nodes = Nodes();
    return static_cast<size_t>(std::ranges::count_if(nodes, Marked));
  }
  void Scale(const std::string& app, int replicas) {
    rig_->Kubectl(
        {"scale", "deployment", app, "-n", "default", "--replicas=" + std::to_string(replicas)});
  }
  // A pod of nobody, past the scheduler.
  void BindPod(const std::string& name, const std::string& node) {
    rig_->Apply("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                ", namespace: default, labels: {app: " + name + "}}\nspec:\n  nodeName: " + node +
                "\n  containers: [{name: c, image: none, resources: {requests: {cpu: 100m}}}]\n");
  }
  // As a Deployment's pod would: a process that ended, because it leads no more, is started again.
  void KeepRunning() {
    const std::string said = replicas_.back()->output();
    if (said.find("leads no more") != std::string::npos)
      Start("again-" + std::to_string(replicas_.size()), flags_);
  }
  bool UntilKept(const std::function<bool()>& done, Duration limit) {
    return Until(
        [&] {
          KeepRunning();
          return done();
        },
        limit);
  }
  // A replica whose every connection to the API server goes through the answer.
  std::unique_ptr<CuttingProxy> StartBehindAWire() {
    std::ifstream file(rig_->kubeconfig("component"));
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::string host = "127.0.0.1:";
    const size_t at = text.find(host) + host.size();
    const int port = std::atoi(text.c_str() + at);
    auto wire = std::make_unique<CuttingProxy>(port);
    text.replace(at, std::to_string(port).size(), std::to_string(wire->port()));
    Child& coppice = Start("a", {}, dir_.Write("cut.kubeconfig", text));
    EXPECT_TRUE(coppice.WaitForLine("the view of the cluster is complete").has_value());
    return wire;
  }
  bool Said(const std::string& words) const {
    return replicas_.back()->output().find(words) != std::string::npos;
  }
  std::vector<std::string> flags_;  // of a replica that is started again
  // A full machine beside one that is half empty, whose pods a budget keeps where they are.
  void HalfEmptyWithBudget(const std::string& rule, std::vector<std::string> more) {
    StartAndSync("a", std::move(more));
    rig_->Apply(Deployment("kept", 2) + Budget("kept", rule) + Deployment("other", 4));
    ASSERT_TRUE(Until([&] { return Running("kept") == 2 && Running("other") == 4; }, seconds(60)));
    ASSERT_EQ(cloud_->servers(), 2u);
    Scale("other", 0);
  }
};

TEST_F(ClusterFaultsTest, TheApiServersEndInTheMiddleOfADrainIsSurvived) {
  // Pods that take their time: the drain is long enough to be met in the middle.
  const std::string slowly = "      terminationGracePeriodSeconds: 20\n";
  // A taint that could not be written is a failed removal, after which three minutes would pass.
  flags_ = {"--max-drain-parallelism=4", "--scale-down-utilization-threshold=0.9",
            "--scale-down-delay-after-failure=5s"};
  StartAndSync("a", flags_);
  rig_->Apply(Deployment("web", 12, slowly) + Budget("web", "maxUnavailable: 1"));
  ASSERT_TRUE(Until([&] { return Running("web") == 12; }, seconds(60)));
  ASSERT_EQ(cloud_->servers(), 3u);
  Scale("web", 4);
  ASSERT_TRUE(Until([&] { return MarkedNodes() > 0; }, seconds(60)));
  rig_->Kill("kube-apiserver");
  clock_.SleepFor(seconds(3));
  const size_t meanwhile = cloud_->servers();
  rig_->Restart("kube-apiserver");
  ASSERT_TRUE(Until([&] { return rig_->Ready(); }, seconds(60)));
  EXPECT_GE(meanwhile, 1u);
  // The pods that are wanted run, on one machine; no mark is left behind.
  EXPECT_TRUE(UntilKept(
      [&] {
        return Running("web") == 4 && cloud_->servers() == 1 && Nodes().size() == 1 &&
               MarkedNodes() == 0;
      },
      seconds(120)));
}

TEST_F(ClusterFaultsTest, AnApiServerThatComesBackFindsTheLoopAtWork) {
  Child& coppice = StartAndSync("a");
  rig_->Apply(Deployment("web", 4));
  ASSERT_TRUE(Until([&] { return Running("web") == 4; }, seconds(60)));
  rig_->Restart("kube-apiserver");
  ASSERT_TRUE(Until([&] { return rig_->Ready(); }, seconds(60)));
  Scale("web", 8);
  EXPECT_TRUE(UntilKept([&] { return Running("web") == 8; }, seconds(150)));
  EXPECT_EQ(cloud_->peak(), 2u);
  EXPECT_THAT(coppice.output(), HasSubstr("the view of a kind cannot be refreshed"));
}

TEST_F(ClusterFaultsTest, EtcdsRestartIsSurvived) {
  StartAndSync("a");
  rig_->Apply(Deployment("web", 4));
  ASSERT_TRUE(Until([&] { return Running("web") == 4; }, seconds(60)));
  rig_->Restart("etcd");
  ASSERT_TRUE(Until([&] { return rig_->Ready(); }, seconds(60)));
  Scale("web", 8);
  EXPECT_TRUE(UntilKept([&] { return Running("web") == 8; }, seconds(150)));
  EXPECT_EQ(cloud_->peak(), 2u);
  Scale("web", 4);
  EXPECT_TRUE(
      UntilKept([&] { return cloud_->servers() == 1 && Running("web") == 4; }, seconds(90)));
}

TEST_F(ClusterFaultsTest, CutConnectionsLoseNothingAndDoubleNothing) {
  const std::unique_ptr<CuttingProxy> wire = StartBehindAWire();
  for (int round = 1; round <= 4; ++round) {
    rig_->Apply(Deployment("web", 4 * round));
    for (int cut = 0; cut < 3; ++cut) {
      clock_.SleepFor(std::chrono::milliseconds(300));
      wire->Cut();
    }
    ASSERT_TRUE(Until([&] { return Running("web") == 4 * round; }, seconds(60))) << round;
    EXPECT_EQ(cloud_->servers(), static_cast<size_t>(round)) << "bought twice, or not at all";
  }
  // Nothing gets through for a while, but for less than the lease: no other may lead meanwhile.
  wire->Close();
  rig_->Apply(Deployment("web", 20));
  clock_.SleepFor(seconds(5));
  EXPECT_EQ(cloud_->servers(), 4u);
  wire->Open();
  EXPECT_TRUE(Until([&] { return Running("web") == 20; }, seconds(60)));
  EXPECT_EQ(cloud_->peak(), 5u);
  EXPECT_GT(wire->accepted(), 12u) << "the scissors cut nothing";
}

TEST_F(ClusterFaultsTest, AServerThatHasForgottenOurVersionIsReadAnew) {
  const std::unique_ptr<CuttingProxy> wire = StartBehindAWire();
  rig_->Apply(Deployment("web", 4) + Deployment("gone", 4));
  ASSERT_TRUE(Until([&] { return Running("web") == 4 && Running("gone") == 4; }, seconds(60)));
  ASSERT_EQ(cloud_->servers(), 2u);
  // A restarted server remembers nothing of what was before its start: it answers 410, or, if it is
  // asked before its caches are filled, from etcd. In the first case what was added, changed and
  // deleted meanwhile is in no watch. The outcome must be the same.
  wire->Close();
  rig_->Kubectl({"delete", "deployment", "gone", "-n", "default"});
  Scale("web", 12);
  rig_->Restart("kube-apiserver");
  ASSERT_TRUE(Until([&] { return rig_->Ready(); }, seconds(60)));
  wire->Open();
  EXPECT_TRUE(UntilKept([&] { return Running("web") == 12; }, seconds(120)));
  EXPECT_EQ(cloud_->peak(), 3u) << "pods that are gone were bought for, or some twice";
  const bool told =
      replicas_.front()->output().find("has forgotten our version") != std::string::npos;
  std::cerr << "the server " << (told ? "said 410" : "went on from our version") << "\n";
}

TEST_F(ClusterFaultsTest, EvictionsThatTheServerFailsAtAreTriedAgainAndLoseNothing) {
  StartAndSync("a", {"--max-pod-eviction-time=8s", "--scale-down-utilization-threshold=0.9"});
  rig_->Apply(Deployment("web", 4) + Deployment("other", 2));
  ASSERT_TRUE(Until([&] { return Running("web") == 4 && Running("other") == 2; }, seconds(60)));
  ASSERT_EQ(cloud_->servers(), 2u);
  // 500 from the real server: it has to ask somebody who is not there.
  rig_->Apply(R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: nobody}
webhooks:
- name: nobody.example.org
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods/eviction]}]
)");
  clock_.SleepFor(seconds(2));
  Scale("web", 2);
  EXPECT_TRUE(Until([&] { return Said("failed calling webhook"); }, seconds(60)))
      << "a reason is visible";
  EXPECT_TRUE(Until([&] { return MarkedNodes() == 0 && Said("FailedToEvictPods"); }, seconds(60)))
      << "the node has to come back";
  EXPECT_EQ(cloud_->servers(), 2u);
  EXPECT_EQ(Running("web") + Running("other"), 4);
  rig_->Kubectl({"delete", "validatingwebhookconfiguration", "nobody"});
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 1; }, seconds(120)));
  EXPECT_TRUE(Until([&] { return Running("web") + Running("other") == 4; }, seconds(60)));
}

// Seen on a real API server: it takes this pod, and no event of any pod could be read after it.
TEST_F(ClusterFaultsTest, APodWithAnAbsurdQuantityHidesNoOther) {
  Child& coppice = StartAndSync("a");
  rig_->Apply(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: absurd, namespace: default, labels: {app: "
      "absurd}}\nspec:\n  volumes: [{name: v, emptyDir: {sizeLimit: 1e5000}}]\n"
      "  nodeSelector: {nowhere: to-be-found}\n"
      "  containers: [{name: c, image: none, resources: {requests: {cpu: 100m}}}]\n");
  ASSERT_TRUE(Until([&] { return Pods("absurd").size() == 1; }, seconds(30)));
  rig_->Apply(Deployment("web", 4));
  EXPECT_TRUE(Until([&] { return Running("web") == 4; }, seconds(60)));
  EXPECT_EQ(cloud_->servers(), 1u);
  // Also a process that finds it in its first list sees the others.
  coppice.Signal(SIGTERM);
  EXPECT_EQ(coppice.Wait(), 0);
  StartAndSync("b");
  rig_->Apply(Deployment("more", 4));
  EXPECT_TRUE(Until([&] { return Running("more") == 4; }, seconds(60)));
  EXPECT_EQ(cloud_->servers(), 2u);
  EXPECT_FALSE(Said("cannot be read"));
}

// A time that Go's API machinery has and 64 bits of nanoseconds have not.
TEST_F(ClusterFaultsTest, ANodeThatCannotBeReadStaysAndTheOthersAreLookedAfter) {
  StartAndSync("a");
  rig_->Apply(Deployment("web", 4));
  ASSERT_TRUE(Until([&] { return Running("web") == 4; }, seconds(60)));
  const Json nodes = Nodes();
  ASSERT_EQ(nodes.size(), 1u);
  Json odd = nodes[0];
  const std::string name = odd["metadata"]["name"];
  odd["metadata"].erase("resourceVersion");
  odd["spec"]["taints"].push_back({{"key", "example.org/odd"},
                                   {"effect", "PreferNoSchedule"},
                                   {"timeAdded", "3000-01-01T00:00:00Z"}});
  ASSERT_TRUE(rig_->api().Send("PUT", "/api/v1/nodes/" + name, odd).ok());
  ASSERT_TRUE(Until([&] { return Said("an object cannot be read"); }, seconds(30)));
  Scale("web", 8);
  EXPECT_TRUE(Until([&] { return Running("web") == 8; }, seconds(60)));
  Scale("web", 0);
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 1; }, seconds(90)));
  clock_.SleepFor(seconds(20));
  EXPECT_EQ(cloud_->servers(), 1u) << "the node that cannot be read is not removed";
  odd["spec"].erase("taints");
  ASSERT_TRUE(rig_->api().Send("PUT", "/api/v1/nodes/" + name, odd).ok());
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 0; }, seconds(90))) << "now it can be read";
}

TEST_F(ClusterFaultsTest, ANodeWhoseClockLiesIsANodeLikeOthers) {
  StartAndSync("a");
  rig_->Apply(Deployment("web", 8));
  ASSERT_TRUE(Until([&] { return Running("web") == 8; }, seconds(60)));
  ASSERT_EQ(cloud_->servers(), 2u);
  // One lives in the past, one in the future; both say that they are ready.
  const Json nodes = Nodes();
  const char* times[] = {"2001-01-01T00:00:00Z", "2099-01-01T00:00:00Z"};
  for (size_t i = 0; i < 2; ++i) {
    Json node = nodes[i];
    for (Json& condition : node["status"]["conditions"])
      condition["lastHeartbeatTime"] = condition["lastTransitionTime"] = times[i];
    node["metadata"].erase("resourceVersion");
    ASSERT_TRUE(
        rig_->api()
            .Send("PUT", "/api/v1/nodes/" + node["metadata"].value("name", "") + "/status", node)
            .ok());
  }
  // They count as what they are: a pod more is one machine more, none of theirs is replaced, and
  // what is not needed goes, theirs too.
  clock_.SleepFor(seconds(5));
  EXPECT_EQ(cloud_->servers(), 2u);
  Scale("web", 9);
  EXPECT_TRUE(Until([&] { return Running("web") == 9; }, seconds(60)));
  EXPECT_EQ(cloud_->peak(), 3u);
  Scale("web", 0);
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 0; }, seconds(90)));
}

TEST_F(ClusterFaultsTest, ABudgetThatAllowsNothingKeepsTheNode) {
  HalfEmptyWithBudget("maxUnavailable: 0", {});
  // Both pods on one node, or one on each of the two that are left: they stay, and run.
  ASSERT_TRUE(Until([&] { return Running("other") == 0; }, seconds(30)));
  clock_.SleepFor(seconds(20));
  EXPECT_EQ(Running("kept"), 2);
  for (const Json& pod : Pods("kept")) EXPECT_FALSE(pod["metadata"].contains("deletionTimestamp"));
  EXPECT_GE(cloud_->servers(), 1u);
  EXPECT_EQ(MarkedNodes(), 0u);
  EXPECT_TRUE(Said("a node stays that is not needed")) << "a reason is visible";
  EXPECT_TRUE(Said("NotEnoughPdb") || Said("disruption budget")) << "and names what it is";
}

TEST_F(ClusterFaultsTest, EvictionsThatAreRefusedForLongAreGivenUpAndTheNodeComesBack) {
  // Two pods that stay together, one of which may be missing: when the first has been evicted, its
  // successor waits for a place beside the second, which may not go before.
  const std::string together =
      "      affinity:\n        podAffinity:\n          "
      "requiredDuringSchedulingIgnoredDuringExecution:\n          - {topologyKey: "
      "kubernetes.io/hostname, labelSelector: {matchLabels: {app: kept}}}\n";
  StartAndSync("a", {"--max-pod-eviction-time=8s", "--scale-down-utilization-threshold=0.9"});
  rig_->Apply(Deployment("kept", 2, together) + Deployment("other", 6) +
              Budget("kept", "maxUnavailable: 1"));
  ASSERT_TRUE(Until([&] { return Running("kept") == 2 && Running("other") == 6; }, seconds(60)));
  const std::string home = Pods("kept")[0]["spec"]["nodeName"];
  for (const Json& node : Nodes()) {
    if (node["metadata"]["name"] != home) BindPod("anchor", node["metadata"]["name"]);
  }
  Scale("other", 0);
  ASSERT_TRUE(Until([&] { return MarkedNodes() > 0; }, seconds(60)));
  EXPECT_TRUE(Until(
      [&] { return replicas_.back()->output().find("FailedToEvictPods") != std::string::npos; },
      seconds(90)))
      << "a reason is visible";
  EXPECT_TRUE(Until([&] { return MarkedNodes() == 0; }, seconds(30)));
  EXPECT_EQ(cloud_->servers(), 2u);
  EXPECT_TRUE(Until([&] { return Running("kept") == 2; }, seconds(30)));
  EXPECT_EQ(Running("anchor"), 1);
}

TEST_F(ClusterFaultsTest, ANodeThatSomebodyDeletesIsReplacedAndItsMachineGoes) {
  StartAndSync("a", {"--max-node-provision-time=10s", "--unremovable-node-recheck-timeout=1s"});
  rig_->Apply(Deployment("web", 4));
  ASSERT_TRUE(Until([&] { return Running("web") == 4; }, seconds(60)));
  const std::string node = Nodes()[0]["metadata"]["name"];
  // The machine is still there and its Node is not: its pods come back elsewhere.
  rig_->Kubectl({"delete", "node", node, "--wait=false"});
  for (const Json& pod : Pods("web")) {
    rig_->api().Send("DELETE", "/api/v1/namespaces/default/pods/" +
                                   pod["metadata"].value("name", "") + "?gracePeriodSeconds=0");
  }
  EXPECT_TRUE(Until([&] { return Running("web") == 4; }, seconds(90)));
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 1; }, seconds(90)))
      << "the machine without a Node is not left behind";
  EXPECT_LE(cloud_->peak(), 2u);
  EXPECT_EQ(Running("web"), 4);
}

TEST_F(ClusterFaultsTest, APodThatIsBoundWhileItsNodeIsToGoKeepsTheNode) {
  StartAndSync("a", {"--node-delete-delay-after-taint=8s"});
  rig_->Apply(Deployment("web", 4));
  ASSERT_TRUE(Until([&] { return Running("web") == 4; }, seconds(60)));
  const std::string node = Nodes()[0]["metadata"]["name"];
  Scale("web", 0);
  ASSERT_TRUE(Until([&] { return MarkedNodes() == 1; }, seconds(60)));
  // Bound past the mark, as a scheduler does that has not seen it yet.
  BindPod("late", node);
  EXPECT_TRUE(Until([&] { return MarkedNodes() == 0; }, seconds(60)));
  EXPECT_EQ(cloud_->servers(), 1u);
  EXPECT_EQ(Running("late"), 1);
  EXPECT_TRUE(replicas_.back()->WaitForLine("pod default/late has no controller").has_value())
      << "a reason is visible";
}

}  // namespace
}  // namespace coppice::test
