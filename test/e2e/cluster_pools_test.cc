// Node pools on a real control plane, through their everyday life: pods that wait get claims,
// machines and nodes, machines that are not worth their price or out of date go again.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "test/e2e/pools_rig.h"
#include "test/e2e/wishes.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;

class ClusterPoolsTest : public PoolsTest {};

constexpr char kBatchPool[] = R"(      taints: [{key: dedicated, value: batch, effect: NoSchedule}]
)";
// Never by itself.
constexpr char kStay[] = "consolidateAfter: Never";

TEST_F(ClusterPoolsTest, EveryPodThatWasBoughtForRunsOnWhatWasBought) {
  rig_->Apply(Class("debian-12") + Pool("general", kStay) +
              Pool("batch", kStay, kBatchPool, "labels: {work: batch}"));
  Child& coppice = StartAndSync("a");
  rig_->Apply(std::string(kAgent) + Deployment("zones", 10, kOverZones) +
              Deployment("apart", 6, kApart) + Deployment("batch", 9, kForBatch));
  const std::map<std::string, int> wanted = {{"zones", 10}, {"apart", 6}, {"batch", 9}};
  const TimePoint start = clock_.Now();
  EXPECT_TRUE(Until(
      [&] {
        return std::ranges::all_of(
            wanted, [&](const auto& one) { return Running(one.first) == one.second; });
      },
      seconds(90)));
  for (const auto& [app, count] : wanted) EXPECT_EQ(Running(app), count) << app;
  std::cerr << "25 pods with constraints running after " << Since(start) << " s on "
            << cloud_->servers() << " machines\n";
  EXPECT_TRUE(Until([&] { return ClaimsThatAre("Ready") == static_cast<int>(Claims().size()); },
                    seconds(20)));
  ExpectOneMachinePerClaim();

  std::map<std::string, int> per_zone;
  for (const auto& [node, pods] : PodsPerNode("zones"))
    per_zone[NodeLabel(node, "topology.kubernetes.io/zone")] += pods;
  EXPECT_EQ(per_zone["rma1"], 5);
  EXPECT_EQ(per_zone["lpg1"], 5);
  EXPECT_EQ(PodsPerNode("apart").size(), 6u);
  std::set<std::string> used;
  for (const auto& [app, count] : wanted) {
    for (const auto& [node, pods] : PodsPerNode(app)) {
      used.insert(node);
      EXPECT_EQ(NodeLabel(node, "karpenter.sh/nodepool"), app == "batch" ? "batch" : "general");
    }
  }
  // Nobody disagrees: what was bought is used, all of it, and nothing is bought afterwards.
  EXPECT_EQ(used.size(), cloud_->servers()) << "a machine that the scheduler did not need";
  EXPECT_EQ(PodsPerNode("agent").size(), cloud_->servers());
  const size_t servers = cloud_->servers();
  clock_.SleepFor(seconds(2));
  EXPECT_EQ(cloud_->servers(), servers);
  EXPECT_EQ(cloud_->peak(), servers);
  coppice.Signal(SIGTERM);
  EXPECT_EQ(coppice.Wait(), 0);
}

TEST_F(ClusterPoolsTest, MachinesGoWhenHalfThePodsAreGoneButNotWhereAPodMustNotBeDisturbed) {
  rig_->Apply(Class("debian-12") +
              Pool("general", "consolidateAfter: 0s, budgets: [{nodes: \"100%\"}]"));
  StartAndSync("a");
  rig_->Apply(Deployment("web", 24));
  ASSERT_TRUE(Until([&] { return Running("web") == 24; }, seconds(60)));
  ASSERT_TRUE(Until([&] { return ClaimsThatAre("Ready") == static_cast<int>(Claims().size()); },
                    seconds(20)));
  const size_t before = cloud_->servers();
  // One pod that must stay where it is keeps its whole machine.
  const Json pods = Pods("web");
  const std::string held_pod = pods[0]["metadata"]["name"], held = pods[0]["spec"]["nodeName"];
  rig_->Kubectl({"annotate", "pod", held_pod, "karpenter.sh/do-not-disrupt=true"});
  rig_->Kubectl({"annotate", "pod", held_pod, "controller.kubernetes.io/pod-deletion-cost=1000"});
  const TimePoint start = clock_.Now();
  Scale("web", 12);
  const auto few_enough = [&] { return cloud_->servers() <= (before + 1) / 2; };
  EXPECT_TRUE(Until(few_enough, seconds(120)));
  std::cerr << "from " << before << " machines to " << cloud_->servers() << " in " << Since(start)
            << " s\n";
  EXPECT_TRUE(Until([&] { return Running("web") == 12; }, seconds(30)));
  EXPECT_TRUE(PodsPerNode("web").contains(held)) << "its machine was taken";
  bool still_there = false;
  for (const Json& pod : Pods("web"))
    still_there = still_there || pod["metadata"]["name"] == held_pod;
  EXPECT_TRUE(still_there) << "the pod that must not be disturbed was";
  EXPECT_THAT(Events(held), Contains(HasSubstr("DisruptionBlocked")));
}

TEST_F(ClusterPoolsTest, AnotherImageReplacesEveryMachineWithinBudgets) {
  rig_->Apply(Class("debian-12") +
              Pool("general", "consolidateAfter: Never, budgets: [{nodes: \"1\"}]"));
  StartAndSync("a");
  rig_->Apply(Deployment("web", 9) + Budget("web", "minAvailable: 8"));
  ASSERT_TRUE(Until([&] { return Running("web") == 9; }, seconds(60)));
  ASSERT_TRUE(Until([&] { return ClaimsThatAre("Ready") == static_cast<int>(Claims().size()); },
                    seconds(20)));
  const std::vector<std::string> names = cloud_->emulator().server_names();
  const std::set<std::string> before(names.begin(), names.end());
  rig_->Apply(Class("ubuntu-24.04"));
  const TimePoint start = clock_.Now();
  int fewest = 9;
  size_t most_leaving = 0;
  const auto all_new = [&] {
    fewest = std::min(fewest, Running("web"));
    // A machine that the cloud has been told to end counts no more, as with the peer.
    size_t leaving = 0;
    for (const Json& claim : Claims())
      leaving += claim["metadata"].contains("deletionTimestamp") &&
                 ConditionOf(claim, "InstanceTerminating") != "True";
    most_leaving = std::max(most_leaving, leaving);
    const auto now = cloud_->emulator().server_names();
    return std::ranges::none_of(now,
                                [&](const std::string& name) { return before.contains(name); });
  };
  EXPECT_TRUE(Until(all_new, seconds(150)));
  std::cerr << before.size() << " machines replaced in " << Since(start) << " s\n";
  EXPECT_LT(Since(start), 60) << "the cloud is asked about a class when it changes";
  EXPECT_GE(fewest, 8) << "evicted against the budget of the pods";
  EXPECT_LE(most_leaving, 1u) << "more at a time than the budget of the pool";
  EXPECT_TRUE(Until([&] { return Running("web") == 9; }, seconds(30)));
  for (const std::string& name : cloud_->emulator().server_names())
    EXPECT_THAT(cloud_->emulator().CreateRequestOf(name), HasSubstr("ubuntu-24.04"));
}

TEST_F(ClusterPoolsTest, AMachineThatIsOldEnoughGoesAndItsPodsFindAnother) {
  rig_->Apply(Class("debian-12") + Pool("general", kStay, "      expireAfter: 25s\n"));
  StartAndSync("a");
  rig_->Apply(Deployment("web", 3));
  ASSERT_TRUE(Until([&] { return Running("web") == 3; }, seconds(60)));
  const std::vector<std::string> first = cloud_->emulator().server_names();
  ASSERT_EQ(first.size(), 1u);
  // No machine of the next generation may be there for ever either: the pool is told to keep.
  rig_->Kubectl({"patch", "nodepool", "general", "--type=merge", "-p",
                 R"({"spec": {"template": {"spec": {"expireAfter": "Never"}},
                              "disruption": {"budgets": [{"nodes": "0"}]}}})"});
  EXPECT_TRUE(Until(
      [&] {
        const auto now = cloud_->emulator().server_names();
        return std::ranges::find(now, first[0]) == now.end() && Running("web") == 3;
      },
      seconds(90)));
  EXPECT_EQ(cloud_->servers(), 1u);
}

// By the definition itself, whoever writes the claim.
TEST_F(ClusterPoolsTest, AClaimMayNotDemandALabelThatIsNotAnybodysToDemand) {
  const auto answer = [&](const std::string& key) {
    const Json claim = {
        {"apiVersion", "karpenter.sh/v1"},
        {"kind", "NodeClaim"},
        {"metadata", {{"name", "by-hand"}}},
        {"spec",
         {{"nodeClassRef", {{"group", "coppice.dev"}, {"kind", "NodeClass"}, {"name", "default"}}},
          {"requirements",
           Json::array({{{"key", key}, {"operator", "In"}, {"values", {"any"}}}})}}}};
    return rig_->api().Send("POST", "/apis/karpenter.sh/v1/nodeclaims?dryRun=All", claim);
  };
  for (const char* key : {"karpenter.sh/capacity-type", "karpenter.sh/nodepool",
                          "coppice.dev/nodeclass", "topology.kubernetes.io/zone"}) {
    EXPECT_EQ(answer(key).status, 201) << key << ": " << answer(key).body;
  }
  for (const char* key :
       {"karpenter.sh/initialized", "sub.karpenter.sh/any", "kubernetes.io/hostname"}) {
    const auto refused = answer(key);
    EXPECT_EQ(refused.status, 422) << key;
    EXPECT_THAT(refused.body.value("message", ""), HasSubstr("is restricted")) << key;
  }
}

}  // namespace
}  // namespace coppice::test
