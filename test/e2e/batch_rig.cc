#include "test/e2e/batch_rig.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "model/quantity.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr char kDefinitions[] = COPPICE_SOURCE "/deploy/crds/";
constexpr char kGroups[] = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/";

// What the chart grants with batch.enabled and all controllers, for the component user: its own
// lines, without those that choose among them.
std::string BatchRights() {
  std::ifstream file(COPPICE_SOURCE "/deploy/helm/coppice/templates/rbac.yaml");
  std::string rules, line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line == "---") inside = false;
    if (inside && line.find("{{") == std::string::npos) rules += line + "\n";
    if (line.find("if .Values.batch.enabled") != std::string::npos) inside = true;
  }
  EXPECT_NE(rules.find("pods/binding"), std::string::npos);
  return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
         "metadata: {name: coppice-batch}\nrules:\n" +
         rules +
         // The chart runs it beside node groups, under their lease; alone it has one of its own.
         "  - {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: "
         "[vc-scheduler], "
         "verbs: [get, update]}\n"
         "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\n"
         "metadata: {name: coppice-batch}\n"
         "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: coppice-batch}\n"
         "subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: coppice}]\n";
}

int64_t CpuOf(const Json& pod) {
  int64_t millis = 0;
  for (const Json& container : pod["spec"]["containers"]) {
    const auto cpu = Json::json_pointer("/resources/requests/cpu");
    if (container.contains(cpu))
      millis += model::Quantity::Parse(container[cpu].get<std::string>())->MilliValue();
  }
  return millis;
}

}  // namespace

std::string Gang(const GangSpec& gang) {
  const std::string priority =
      gang.priority_class.empty() ? "" : ", priorityClassName: " + gang.priority_class;
  std::ostringstream out;
  out << "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n"
      << "metadata: {name: " << gang.name << ", namespace: default}\n"
      << "spec: {minMember: " << (gang.min < 0 ? gang.size : gang.min) << ", queue: " << gang.queue
      << priority << "}\n";
  for (int i = 0; i < gang.size; ++i) {
    out << "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: " << gang.name << "-" << i
        << "\n  namespace: default\n  labels: {app: " << gang.name << "}\n"
        << "  annotations: {scheduling.k8s.io/group-name: " << gang.name
        << (gang.annotations.empty() ? "" : ", " + gang.annotations) << "}\n"
        << "spec:\n  schedulerName: volcano\n  terminationGracePeriodSeconds: 1\n";
    if (!gang.priority_class.empty()) out << "  priorityClassName: " << gang.priority_class << "\n";
    out << "  containers: [{name: c, image: none, resources: {requests: {cpu: \"" << gang.cpu
        << "\", memory: 64Mi}}}]\n";
  }
  return out.str();
}

std::string QueueOf(const std::string& name, int weight, const std::string& more) {
  return "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " + name +
         "}\nspec: {reclaimable: true, weight: " + std::to_string(weight) + more + "}\n";
}

std::string BatchConf(const std::string& actions, const std::string& more) {
  return "actions: \"" + actions + R"("
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
)" + more;
}

void AllowBatch(ControlPlane& rig) {
  std::vector<std::string> apply = {"apply"};
  for (const char* file : {"scheduling.volcano.sh_podgroups.yaml",
                           "scheduling.volcano.sh_queues.yaml", "batch.volcano.sh_jobs.yaml"}) {
    apply.insert(apply.end(), {"-f", std::string(kDefinitions) + file});
  }
  rig.Kubectl(apply);
  rig.Kubectl({"wait", "--for=condition=Established", "--timeout=30s",
               "crd/podgroups.scheduling.volcano.sh", "crd/queues.scheduling.volcano.sh",
               "crd/jobs.batch.volcano.sh"});
  rig.Apply(BatchRights());
}

void SweepBatch(ControlPlane& rig) {
  rig.Kubectl({"delete", "jobs.batch.volcano.sh,podgroups.scheduling.volcano.sh", "--all", "-n",
               "default", "--wait=false"});
  rig.Kubectl({"delete", "queues.scheduling.volcano.sh", "--all", "--wait=false"});
  rig.Kubectl({"delete", "priorityclass", "low", "high", "--ignore-not-found"});
  rig.Kubectl({"delete", "lease", "vc-scheduler", "-n", "kube-system", "--ignore-not-found"});
}

int Bindings::Look(const std::string& gang) {
  int bound = 0;
  for (const Json& pod :
       rig_.api().List("/api/v1/namespaces/default/pods?labelSelector=app%3D" + gang)) {
    const std::string node = pod["spec"].value("nodeName", "");
    if (node.empty()) continue;
    ++bound;
    const std::string uid = pod["metadata"]["uid"];
    const auto [at, is_new] = node_of_.emplace(uid, node);
    EXPECT_EQ(at->second, node) << pod["metadata"]["name"] << " was bound twice";
  }
  return bound;
}

void Bindings::ExpectRoom(const Json& nodes) {
  std::map<std::string, int64_t> used;
  for (const Json& pod : rig_.api().List("/api/v1/namespaces/default/pods"))
    used[pod["spec"].value("nodeName", "")] += CpuOf(pod);
  for (const Json& node : nodes) {
    const std::string name = node["metadata"]["name"];
    const auto room =
        model::Quantity::Parse(node["status"]["allocatable"]["cpu"].get<std::string>());
    EXPECT_LE(used[name], room->MilliValue()) << name;
  }
}

void BatchTest::SetUp() {
  ClusterTest::SetUp();
  if (IsSkipped() || HasFailure()) return;
  AllowBatch(*rig_);
}

void BatchTest::TearDown() {
  if (rig_ == nullptr || cloud_ == nullptr) return;
  if (HasFailure()) {
    std::cerr << rig_->Kubectl({"get",
                                "podgroups.scheduling.volcano.sh,queues.scheduling.volcano.sh",
                                "-A", "-o", "wide"})
              << rig_->Kubectl({"get", "events", "-n", "default", "--sort-by=.lastTimestamp"});
  }
  if (HasFailure() && !replicas_.empty())
    std::cerr << "---- the last replica said\n" << replicas_.back()->output();
  replicas_.clear();
  SweepBatch(*rig_);
  ClusterTest::TearDown();
}

void BatchTest::AddNodes(const std::string& name, int count, int cpu) {
  for (int i = 0; i < count; ++i) {
    const std::string node = name + "-" + std::to_string(i);
    const Json room = {{"cpu", std::to_string(cpu)}, {"memory", "64Gi"}, {"pods", "110"}};
    const Json object = {
        {"apiVersion", "v1"},
        {"kind", "Node"},
        {"metadata",
         {{"name", node},
          {"labels", {{"kubernetes.io/hostname", node}, {"pool", name}}},
          {"annotations", {{"kwok.x-k8s.io/node", "fake"}}}}},
        {"status",
         {{"capacity", room},
          {"allocatable", room},
          {"conditions", {{{"type", "Ready"}, {"status", "True"}, {"reason", "Played"}}}}}}};
    EXPECT_TRUE(rig_->api().Send("POST", "/api/v1/nodes", object).ok()) << node;
  }
}

Child& BatchTest::Schedule(const std::string& identity, const std::string& conf,
                           std::vector<std::string> more, bool wait) {
  std::vector<std::string> command = {dir_.At("vc-scheduler"),
                                      "--kubeconfig=" + rig_->kubeconfig("component"),
                                      "--lock-object-namespace=kube-system",
                                      "--listen-address=127.0.0.1:0",
                                      "--scheduler-conf=" + dir_.Write(identity + ".conf", conf),
                                      "--batch-controllers=all",
                                      "--v=4"};
  command.insert(command.end(), more.begin(), more.end());
  std::error_code ignored;
  std::filesystem::create_symlink(COPPICE_BINARY, dir_.At("vc-scheduler"), ignored);
  replicas_.push_back(std::make_unique<Child>(
      command, std::map<std::string, std::string>{{"COPPICE_LEASE_IDENTITY", identity}}));
  Child& child = *replicas_.back();
  if (wait) {
    EXPECT_TRUE(child.WaitForLine("the view of the cluster is complete").has_value())
        << child.output();
  }
  return child;
}

std::string BatchTest::PhaseOf(const std::string& group) {
  const Json got = rig_->api().Send("GET", kGroups + group).body;
  return got.value("status", Json::object()).value("phase", "");
}

}  // namespace coppice::test
