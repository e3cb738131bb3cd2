#include "test/e2e/pools_rig.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr char kCrds[] = COPPICE_SOURCE "/deploy/crds/";

// Of a template's text what stands there whatever the values are.
std::string Unconditional(const std::string& text) {
  std::istringstream lines(text);
  std::string kept;
  int conditions = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("{{- if ") != std::string::npos) {
      ++conditions;
    } else if (line.find("{{- end }}") != std::string::npos) {
      --conditions;
    } else if (conditions == 0) {
      kept += line + "\n";
    }
  }
  return kept;
}

// The chart's own rules for node pools, for the component user, as its values are by default.
std::string Rights() {
  std::ifstream file(COPPICE_SOURCE "/deploy/helm/coppice/templates/node-pools.yaml");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t from = text.find("\nrules:\n");
  const size_t to = text.find("\n---", from);
  EXPECT_NE(from, std::string::npos);
  return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
         "metadata: {name: coppice-node-pools}" +
         Unconditional(text.substr(from, to - from)) +
         "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\n"
         "metadata: {name: coppice-node-pools}\n"
         "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "
         "coppice-node-pools}\n"
         "subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: coppice}]\n";
}

}  // namespace

std::string ConditionOf(const Json& object, const std::string& type) {
  for (const Json& condition :
       object.value("status", Json::object()).value("conditions", Json::array())) {
    if (condition.value("type", "") == type) return condition.value("status", "");
  }
  return "";
}

std::string Class(const std::string& image, const std::string& more) {
  return "---\napiVersion: coppice.dev/v1alpha1\nkind: NodeClass\nmetadata: {name: default}\n"
         "spec:\n  image: " +
         image + "\n  extra: {volumeSizeGB: \"50\"}\n" + more;
}

std::string Pool(const std::string& name, const std::string& disruption, const std::string& more,
                 const std::string& metadata) {
  return "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: " + name +
         "}\nspec:\n  disruption: {" + disruption + "}\n  template:\n    metadata: {" + metadata +
         "}\n    spec:\n      nodeClassRef: {group: coppice.dev, kind: NodeClass, name: default}\n"
         "      requirements:\n"
         "      - {key: node.kubernetes.io/instance-type, operator: In, values: [flex-8-2, "
         "flex-16-4]}\n" +
         more;
}

void PoolsTest::SetUp() {
  ClusterTest::SetUp();
  if (IsSkipped() || HasFailure()) return;
  rig_->Kubectl({"apply", "-f", std::string(kCrds) + "karpenter.sh_nodepools.yaml", "-f",
                 std::string(kCrds) + "karpenter.sh_nodeclaims.yaml", "-f",
                 std::string(kCrds) + "coppice.dev_nodeclasses.yaml"});
  rig_->Kubectl({"wait", "--for=condition=Established", "--timeout=30s",
                 "crd/nodepools.karpenter.sh", "crd/nodeclaims.karpenter.sh",
                 "crd/nodeclasses.coppice.dev"});
  rig_->Apply(Rights());
  for (const char* pool : {"nc-general", "nc-batch"}) {
    cloud_->Dress(pool, R"({"spec": {"taints":
      [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}]}})");
  }
}

void PoolsTest::TearDown() {
  if (rig_ == nullptr || cloud_ == nullptr) return;
  if (HasFailure()) {
    std::cerr << rig_->Kubectl({"get", "nodepools,nodeclaims,nodeclasses", "-o", "wide"})
              << rig_->Kubectl({"get", "events", "-A", "--sort-by=.lastTimestamp"});
  }
  ClusterTest::TearDown();
  for (const char* path : {"/apis/karpenter.sh/v1/nodepools", "/apis/karpenter.sh/v1/nodeclaims",
                           "/api/v1/nodes", "/apis/coppice.dev/v1alpha1/nodeclasses"}) {
    Sweep(path);
  }
}

void PoolsTest::Sweep(const std::string& path) {
  EXPECT_TRUE(Until(
      [&] {
        const Json all = rig_->api().List(path);
        for (const Json& object : all) {
          const std::string one = path + "/" + object["metadata"].value("name", "");
          rig_->api().Send("DELETE", one);
          Json kept = rig_->api().Send("GET", one).body;
          if (!kept.contains("metadata") || !kept["metadata"].contains("finalizers")) continue;
          kept["metadata"].erase("finalizers");
          rig_->api().Send("PUT", one, kept);
        }
        return all.empty();
      },
      seconds(20)))
      << path;
}

std::vector<std::string> PoolsTest::CloudArguments() {
  std::vector<std::string> arguments = ClusterTest::CloudArguments();
  arguments.push_back("--node-pools");
  return arguments;
}

Json PoolsTest::Claims() { return rig_->api().List("/apis/karpenter.sh/v1/nodeclaims"); }

int PoolsTest::ClaimsThatAre(const std::string& condition) {
  int count = 0;
  for (const Json& claim : Claims()) count += ConditionOf(claim, condition) == "True" ? 1 : 0;
  return count;
}

void PoolsTest::ExpectOneMachinePerClaim() {
  std::set<std::string> of_claims, of_nodes;
  for (const Json& claim : Claims()) {
    EXPECT_EQ(ConditionOf(claim, "Initialized"), "True") << claim["metadata"]["name"];
    const std::string id = claim["status"].value("providerID", "");
    EXPECT_TRUE(of_claims.insert(id).second) << id << " is two claims' machine";
  }
  for (const Json& node : Nodes()) of_nodes.insert(node["spec"].value("providerID", ""));
  EXPECT_EQ(of_claims, of_nodes);
  EXPECT_EQ(of_claims.size(), cloud_->servers());
}

void PoolsTest::Scale(const std::string& app, int replicas) {
  rig_->Kubectl(
      {"scale", "deployment", app, "-n", "default", "--replicas=" + std::to_string(replicas)});
}

std::map<std::string, int> PoolsTest::PodsPerNode(const std::string& app) {
  std::map<std::string, int> pods;
  for (const Json& pod : Pods(app)) {
    if (pod["spec"].contains("nodeName") && !pod["metadata"].contains("deletionTimestamp"))
      ++pods[pod["spec"]["nodeName"].get<std::string>()];
  }
  return pods;
}

std::string PoolsTest::NodeLabel(const std::string& node, const std::string& label) {
  const Json got = rig_->api().Send("GET", "/api/v1/nodes/" + node).body;
  return got.value("metadata", Json::object()).value("labels", Json::object()).value(label, "");
}

}  // namespace coppice::test
