// `coppice run` as a process: the real binary, a cloud over HTTP, and an API server that we have in
// our hands, so that this runs everywhere. With the real control plane: cluster_e2e_test.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/strings.h"
#include "cloud/fake_node_groups.h"
#include "cloud/template.h"
#include "grpc/server.h"
#include "net/http_client.h"
#include "rehearse/demand.h"
#include "rehearse/log_file.h"
#include "rpc/node_group_server.h"
#include "test/e2e/child.h"
#include "test/e2e/played_cloud.h"
#include "test/support/api_kinds.h"
#include "test/support/api_schema.h"
#include "test/support/fake_api_server.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::test {
namespace {

using ServedJson = FakeApiServer::Json;
using testing::HasSubstr;
constexpr char kNodes[] = "/api/v1/nodes";
constexpr char kPods[] = "/api/v1/pods";
constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/leases";

constexpr char kCloud[] = R"(clusterTag: e2e
nodeGroups:
  - {name: pool, minSize: 0, maxSize: 10, flavor: flex-8-2, image: debian-12, zone: rma1, volumeSizeGB: 50, usePublicNetwork: true}
)";

ApiSchema ApiFile() {
  std::ifstream file(COPPICE_SOURCE "/src/web/assets/openapi.yaml");
  return ApiSchema(std::string(std::istreambuf_iterator<char>(file), {}));
}

class RunE2eTest : public testing::Test {
 protected:
  RunE2eTest() {
    dir_.Write("cloud.yaml", kCloud);
    dir_.Write("kubeconfig",
               "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n"
               "clusters: [{name: c, cluster: {server: '" +
                   api_.url() + "'}}]\n");
    KnowAllKinds(api_);
    cloud_ = std::make_unique<PlayedCloud>(dir_.At("kubeconfig"), std::chrono::milliseconds(200));
  }

  std::unique_ptr<Child> Start(const std::string& identity, std::vector<std::string> more = {}) {
    std::vector<std::string> command = {COPPICE_BINARY,
                                        "run",
                                        "--kubeconfig=" + dir_.At("kubeconfig"),
                                        "--cloud-provider=cloudscale",
                                        "--cloud-config=" + dir_.At("cloud.yaml"),
                                        "--address=127.0.0.1:0",
                                        "--scan-interval=200ms",
                                        "--scale-down-unneeded-time=1s",
                                        "--scale-down-delay-after-add=0s",
                                        "--node-delete-delay-after-taint=100ms",
                                        "--kube-client-qps=100",
                                        "--kube-client-burst=200",
                                        "--logtostderr=true",
                                        "--v=4"};
    command.insert(command.end(), more.begin(), more.end());
    auto environment = cloud_->Environment();
    environment["COPPICE_LEASE_IDENTITY"] = identity;
    return std::make_unique<Child>(command, environment);
  }

  void AddPods(int count) {
    const std::string now = "2020-01-01T00:00:00Z";
    for (int i = 0; i < count; ++i) {
      const std::string name = "web-" + std::to_string(i);
      api_.Put(kPods, "Pod", name,
               {{"metadata",
                 {{"creationTimestamp", now},
                  {"ownerReferences",
                   {{{"apiVersion", "apps/v1"},
                     {"kind", "ReplicaSet"},
                     {"name", "web"},
                     {"uid", "rs"},
                     {"controller", true}}}}}},
                {"spec",
                 {{"containers",
                   {{{"name", "c"},
                     {"resources", {{"requests", {{"cpu", "500m"}, {"memory", "64Mi"}}}}}}}}}},
                {"status",
                 {{"phase", "Pending"},
                  {"conditions",
                   {{{"type", "PodScheduled"},
                     {"status", "False"},
                     {"reason", "Unschedulable"},
                     {"lastTransitionTime", now}}}}}}},
               "default");
    }
    api_.Put("/apis/apps/v1/replicasets", "ReplicaSet", "web",
             {{"metadata", {{"uid", "rs"}}}, {"spec", {{"replicas", count}}}}, "default");
  }

  // Four pods of 500m to a node of two cores.
  void Schedule(int count) {
    std::map<std::string, int> used;
    for (int i = 0; i < count; ++i) {
      const std::string name = "web-" + std::to_string(i);
      ServedJson pod = api_.Get(kPods, name, "default");
      if (pod["spec"].contains("nodeName")) ++used[pod["spec"]["nodeName"]];
    }
    for (int i = 0; i < count; ++i) {
      const std::string name = "web-" + std::to_string(i);
      ServedJson pod = api_.Get(kPods, name, "default");
      if (pod["spec"].contains("nodeName")) continue;
      for (const std::string& server : cloud_->emulator().server_names()) {
        if (used[server] >= 4 || api_.Get(kNodes, server).is_null()) continue;
        ++used[server];
        pod["spec"]["nodeName"] = server;
        pod["status"] = {{"phase", "Running"}};
        api_.Put(kPods, "Pod", name, pod, "default");
        break;
      }
    }
  }
  int Running(int count) {
    int running = 0;
    for (int i = 0; i < count; ++i) {
      const ServedJson pod = api_.Get(kPods, "web-" + std::to_string(i), "default");
      running += !pod.is_null() && pod["status"].value("phase", "") == "Running" ? 1 : 0;
    }
    return running;
  }

  // A page of its dashboard; null while it does not answer.
  ServedJson Ask(Child& child, const std::string& page) {
    const auto line = child.WaitForLine("dashboard");
    const size_t begin = line ? line->find("http://") : std::string::npos;
    if (begin == std::string::npos) return {};
    const size_t end = line->find_first_of("\" ", begin);
    const auto client = MUST(net::MakeHttpClient({.proxy = ""}, clock_));
    const auto answer =
        client->Send({.method = "GET", .url = line->substr(begin, end - begin) + "api/v1/" + page},
                     Deadline::In(clock_, std::chrono::seconds(5)));
    return answer.ok() ? ServedJson::parse(answer->body, nullptr, false) : ServedJson();
  }

  ServedJson StatusMap() {
    return api_.Get("/api/v1/configmaps", "cluster-autoscaler-status", "kube-system");
  }

  bool Until(const std::function<bool()>& done, Duration limit = std::chrono::seconds(30)) {
    const TimePoint give_up = clock_.Now() + limit;
    while (!done() && clock_.Now() < give_up) clock_.SleepFor(std::chrono::milliseconds(20));
    return done();
  }

  SystemClock clock_;
  TempDirectory dir_;
  FakeApiServer api_;
  std::unique_ptr<PlayedCloud> cloud_;
};

TEST_F(RunE2eTest, PodsGetNodesAndEmptyNodesGo) {
  const auto coppice = Start("a");
  AddPods(12);
  ASSERT_TRUE(Until([&] {
    Schedule(12);
    return Running(12) == 12;
  })) << coppice->output();
  EXPECT_EQ(cloud_->servers(), 3u) << coppice->output();
  EXPECT_EQ(api_.Get(kLeases, "cluster-autoscaler", "kube-system")["spec"]["holderIdentity"], "a");
  ASSERT_TRUE(Until([&] {
    const ServedJson map =
        api_.Get("/api/v1/configmaps", "cluster-autoscaler-status", "kube-system");
    return !map.is_null() &&
           map["data"]["status"].get<std::string>().find("ready: 3") != std::string::npos;
  })) << api_.Get("/api/v1/configmaps", "cluster-autoscaler-status", "kube-system").dump(1)
      << "\n"
      << coppice->output();

  for (int i = 0; i < 12; ++i) api_.Delete(kPods, "web-" + std::to_string(i), "default");
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 0; })) << coppice->output();
  EXPECT_GT(api_.Count("PUT", "/api/v1/nodes/"), 0u);  // tainted before they went

  coppice->Signal(SIGTERM);
  EXPECT_EQ(coppice->Wait(), 0) << coppice->output();
  EXPECT_EQ(api_.Get(kLeases, "cluster-autoscaler", "kube-system")["spec"]["holderIdentity"], "");
  // Left for the next process, with what it is to know.
  EXPECT_THAT(StatusMap()["metadata"]["annotations"].dump(), HasSubstr("/memory"));
}

// Beside whatever scales the cluster: it reads, writes files, and asks for nothing else.
TEST_F(RunE2eTest, ARecordIsMadeWithoutAProviderAndNothingIsChanged) {
  AddPods(3);
  api_.Put(kPods, "Pod", "secretive",
           {{"metadata", {{"annotations", {{"vault/token", "hunter2"}}}}},
            {"spec",
             {{"nodeName", "n-1"},
              {"containers",
               {{{"name", "c"},
                 {"args", {"--password=hunter2"}},
                 {"env", {{{"name", "TOKEN"}, {"value", "hunter2"}}}}}}}}},
            {"status", {{"phase", "Running"}}}},
           "default");
  api_.Put(kNodes, "Node", "n-1", {{"status", {{"capacity", {{"cpu", "4"}}}}}});
  const std::string log = dir_.At("log");
  Child coppice({COPPICE_BINARY, "record", log, "--kubeconfig=" + dir_.At("kubeconfig"),
                 "--address=127.0.0.1:0", "--logtostderr=true"},
                {});
  const auto pods = [&]() -> size_t {
    const auto demand = rehearse::ReadDemand(log);
    return demand.ok() ? demand->pods.size() : 0;
  };
  ASSERT_TRUE(Until([&] { return pods() == 4; })) << coppice.output();
  api_.Delete(kPods, "web-0", "default");
  const auto has_ended = [&] {
    const rehearse::Demand demand = MUST(rehearse::ReadDemand(log));
    const auto pod = std::ranges::find(demand.pods, "default/web-0", &rehearse::PodLife::name);
    return pod != demand.pods.end() && pod->done.has_value();
  };
  ASSERT_TRUE(Until(has_ended)) << coppice.output();
  coppice.Signal(SIGTERM);
  EXPECT_EQ(coppice.Wait(), 0) << coppice.output();
  for (const auto& seen : api_.seen()) EXPECT_EQ(seen.method, "GET") << seen.path;
  std::string lines;
  std::vector<std::string> notes;
  EXPECT_TRUE(rehearse::ReadLog(log, [&](std::string_view line) { lines += line; }, notes).ok());
  EXPECT_THAT(lines, HasSubstr("default/secretive"));
  EXPECT_THAT(lines, testing::Not(HasSubstr("hunter2")));
  EXPECT_THAT(lines, testing::Not(HasSubstr("TOKEN")));

  const std::string groups = dir_.Write("groups.yaml", R"(clusterTag: model
cloud: {kind: simulated}
nodeGroups:
  - {name: large, minSize: 1, maxSize: 3, flavor: large-8-32, zone: north1}
)");
  Child rehearsal({COPPICE_BINARY, "rehearse", log, "--groups=" + groups}, {});
  EXPECT_EQ(rehearsal.Wait(), 0) << rehearsal.output();
  EXPECT_THAT(rehearsal.output(), HasSubstr("4 pods of 2 shapes"));
  EXPECT_THAT(rehearsal.output(), HasSubstr("pods started"));
}

TEST_F(RunE2eTest, AsUpstreamTheStatusMapGoesWithTheProcess) {
  const auto coppice = Start("a", {"--survive-restarts=false"});
  ASSERT_TRUE(Until([&] { return !StatusMap().is_null(); })) << coppice->output();
  coppice->Signal(SIGTERM);
  EXPECT_EQ(coppice->Wait(), 0) << coppice->output();
  EXPECT_TRUE(StatusMap().is_null());
}

// The cloud has room again when the second process starts; it waits all the same, as the first
// would.
TEST_F(RunE2eTest, AGroupThatHasJustFailedIsNotAskedAgainByTheNextProcess) {
  cloud_->emulator().SetFaults({.server_quota = 0});
  const auto backed_off = [&] {
    const ServedJson map = StatusMap();
    return !map.is_null() &&
           map["data"]["status"].get<std::string>().find("status: Backoff") != std::string::npos;
  };
  auto first = Start("first");
  AddPods(3);
  ASSERT_TRUE(Until(backed_off)) << first->output();
  first->Signal(SIGTERM);
  ASSERT_EQ(first->Wait(), 0) << first->output();
  cloud_->emulator().SetFaults({});
  ServedJson map = StatusMap();
  map["data"]["status"] = "of the first";
  api_.Put("/api/v1/configmaps", "ConfigMap", "cluster-autoscaler-status", map, "kube-system");
  {
    const auto second = Start("second");
    EXPECT_TRUE(Until(backed_off)) << second->output();
    EXPECT_EQ(cloud_->servers(), 0u) << second->output();
    second->Signal(SIGTERM);
    ASSERT_EQ(second->Wait(), 0);
  }
  const auto forgetful = Start("third", {"--survive-restarts=false"});
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 1; })) << forgetful->output();
}

TEST_F(RunE2eTest, DryRunTouchesNothingAndSaysWhatItWouldDo) {
  const auto coppice = Start("a", {"--dry-run"});
  AddPods(3);
  EXPECT_TRUE(coppice->WaitForLine("the cloud would have been changed").has_value())
      << coppice->output();
  EXPECT_EQ(cloud_->servers(), 0u);
  coppice->Signal(SIGTERM);
  EXPECT_EQ(coppice->Wait(), 0);
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"})
    EXPECT_EQ(api_.Count(method, ""), 0u) << method;
}

TEST_F(RunE2eTest, DryRunShowsARemovalToItsEndAndOnce) {
  {
    const auto coppice = Start("a", {"--scale-down-enabled=false"});
    AddPods(3);
    ASSERT_TRUE(Until([&] {
      Schedule(3);
      return Running(3) == 3;
    })) << coppice->output();
    coppice->Signal(SIGTERM);
    ASSERT_EQ(coppice->Wait(), 0);
  }
  api_.Delete(kPods, "web-1", "default");
  api_.Delete(kPods, "web-2", "default");
  // A second node, so that the pod of the first has somewhere to go.
  ServedJson other = api_.Get(kNodes, cloud_->emulator().server_names().at(0));
  other["metadata"] = {{"name", "other"}, {"labels", other["metadata"]["labels"]}};
  other["spec"] = ServedJson::object();
  api_.Put(kNodes, "Node", "other", other);
  std::map<std::string, size_t> writes;
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"})
    writes[method] = api_.Count(method, "");
  const auto coppice = Start("b", {"--dry-run"});
  const auto count = [&](const std::string& text) {
    size_t times = 0;
    const std::string output = coppice->output();
    for (size_t at = output.find(text); at != std::string::npos; at = output.find(text, at + 1))
      ++times;
    return times;
  };
  ASSERT_TRUE(coppice->WaitForLine("removal ended").has_value()) << coppice->output();
  EXPECT_EQ(count("a pod would have been evicted"), 1u) << coppice->output();
  EXPECT_EQ(count("the cloud would have been changed"), 1u) << coppice->output();
  EXPECT_GE(count("ToBeDeletedByClusterAutoscaler"), 1u);
  clock_.SleepFor(std::chrono::seconds(4));  // many passes
  EXPECT_EQ(count("removal ended"), 1u) << coppice->output();
  EXPECT_EQ(count("the cloud would have been changed"), 1u) << coppice->output();
  EXPECT_EQ(cloud_->servers(), 1u);
  coppice->Signal(SIGTERM);
  EXPECT_EQ(coppice->Wait(), 0);
  for (const auto& [method, before] : writes) EXPECT_EQ(api_.Count(method, ""), before) << method;
}

TEST_F(RunE2eTest, SighupReadsFilesAgainAndDoesNotEndTheProcess) {
  const auto coppice = Start("a");
  ASSERT_TRUE(coppice->WaitForLine("the view of the cluster is complete").has_value());
  coppice->Signal(SIGHUP);
  ASSERT_TRUE(coppice->WaitForLine("credentials for the API server are read again").has_value());
  dir_.Write("kubeconfig", "clusters: [");
  coppice->Signal(SIGHUP);
  ASSERT_TRUE(coppice->WaitForLine("the old ones stay in use").has_value());
  AddPods(3);
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 1; })) << coppice->output();
  coppice->Signal(SIGTERM);
  EXPECT_EQ(coppice->Wait(), 0);
}

TEST_F(RunE2eTest, AnotherTakesOverWhenTheLeaderIsKilled) {
  const std::vector<std::string> quick = {"--leader-elect-lease-duration=3s",
                                          "--leader-elect-renew-deadline=2s",
                                          "--leader-elect-retry-period=300ms"};
  auto first = Start("first", quick);
  ASSERT_TRUE(first->WaitForLine("the view of the cluster is complete").has_value());
  const auto second = Start("second", quick);
  ASSERT_TRUE(second->WaitForLine("waiting for the lease").has_value());
  AddPods(6);
  ASSERT_TRUE(Until([&] { return cloud_->servers() == 2; })) << first->output();
  first->Signal(SIGKILL);
  const TimePoint killed = clock_.Now();
  ASSERT_TRUE(second->WaitForLine("\"leading\"").has_value());
  EXPECT_LT(clock_.Now() - killed, std::chrono::seconds(6));
  ASSERT_TRUE(Until([&] {
    Schedule(6);
    return Running(6) == 6;
  })) << second->output();
  EXPECT_EQ(cloud_->peak(), 2u) << "nobody bought twice\n" << second->output();
}

TEST_F(RunE2eTest, TheHealthPageSaysWhoLeadsWhatTheServerRefusesAndHowOldTheViewIs) {
  api_.Refuse({.method = "POST",
               .path = "/api/v1/namespaces/kube-system/configmaps",
               .status = 403,
               .body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":403,)"
                       R"("reason":"Forbidden","message":"not for you"})",
               .times = 1'000});
  const auto first = Start("first", {"--web-address=127.0.0.1:0"});
  ASSERT_TRUE(first->WaitForLine("the view of the cluster is complete").has_value());
  const auto second = Start("second", {"--web-address=127.0.0.1:0"});
  ASSERT_TRUE(second->WaitForLine("waiting for the lease").has_value());
  ServedJson health;
  ASSERT_TRUE(Until([&] {
    health = Ask(*first, "health");
    return !health["apiFailures"].empty() && health["leads"] == true;
  })) << health.dump(1);
  const ApiSchema schema = ApiFile();
  EXPECT_EQ(schema.Complaint(health, "Health"), "") << health.dump(1);
  EXPECT_EQ(schema.Complaint(Ask(*second, "health"), "Health"), "");
  EXPECT_EQ(health["leader"], "first");
  EXPECT_EQ(health["identity"], "first");
  EXPECT_EQ(health["apiFailures"][0]["status"], 403);
  EXPECT_THAT(health["apiFailures"][0]["why"].get<std::string>(), HasSubstr("not for you"));
  EXPECT_THAT(health["errors"].dump(), HasSubstr("coppice_api_request_failures_total"));
  std::map<std::string, double> ages;
  for (const ServedJson& kind : health["kinds"]) ages[kind["kind"]] = kind["ageSeconds"];
  ASSERT_TRUE(ages.contains("Pod") && ages.contains("Node")) << health["kinds"].dump();
  EXPECT_LT(ages["Pod"], 60);
  ASSERT_TRUE(Until([&] { return Ask(*second, "health")["leader"] == "first"; }))
      << Ask(*second, "health").dump(1);
  EXPECT_EQ(Ask(*second, "health")["leads"], false);
}

// Without node groups there is something to see, too.
TEST_F(RunE2eTest, TheDashboardOfABatchSchedulerAloneShowsNodesAndQueues) {
  for (const auto& [path, kind] : std::map<std::string, std::string>{
           {"/apis/scheduling.volcano.sh/v1beta1/podgroups", "PodGroup"},
           {"/apis/scheduling.volcano.sh/v1beta1/queues", "Queue"},
           {"/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass"},
           {"/api/v1/resourcequotas", "ResourceQuota"}}) {
    api_.Put(path, kind, "default", ServedJson::object(), kind == "Queue" ? "" : "x");
    if (kind != "Queue") api_.Delete(path, "default", "x");
  }
  api_.Put(kNodes, "Node", "n1",
           {{"status", {{"allocatable", {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "10"}}}}}});
  const std::map<std::string, std::string> environment = {{"COPPICE_LEASE_IDENTITY", "a"}};
  Child alone({COPPICE_BINARY, "run", "--batch", "--kubeconfig=" + dir_.At("kubeconfig"),
               "--address=127.0.0.1:0", "--web-address=127.0.0.1:0", "--logtostderr=true", "--v=4"},
              environment);
  ServedJson state;
  EXPECT_TRUE(Until([&] {
    state = Ask(alone, "state");
    return state.is_object() && state.contains("nodes") && state["nodes"].contains("n1") &&
           state.contains("queues") && state["queues"].contains("default");
  })) << state.dump(1)
      << alone.output();
  EXPECT_EQ(ApiFile().Complaint(state, "State"), "") << state.dump(1);
}

// Every method takes five seconds, and three nodes are not the provider's, so that it has to be
// asked about each. The thread that decides renews the lease as well: if it waited for one of the
// answers, the lease would be lost after ten seconds and the process would end with 1.
TEST_F(RunE2eTest, AProviderWhoseEveryMethodTakesFiveSecondsCostsNoLease) {
  constexpr Duration kSlow = std::chrono::seconds(5);
  cloud::FakeNodeGroups groups;
  const cloud::Flavor flavor{.name = "f", .cpu_millis = 2'000, .memory_bytes = 4LL << 30};
  groups.Add({.info = {.id = "pool", .max_size = 10},
              .node_template = std::make_shared<const model::Node>(
                  MUST(cloud::MakeTemplate({.name = "pool"}, flavor, "")))});
  grpc::Service service = rpc::NodeGroupService(groups);
  for (grpc::Method& method : service.methods) {
    method.waits = true;
    method.handler = [this, kSlow, handler = std::move(method.handler)](const grpc::Call& call) {
      clock_.SleepFor(kSlow);
      return handler(call);
    };
  }
  std::vector<grpc::Service> services;
  services.push_back(std::move(service));
  Pool workers(64, 1'000);
  const Log log = Log::Null();
  const std::string socket = "unix:" + dir_.At("provider.sock");
  const auto server =
      MUST(grpc::Server::Start({.listen = socket}, std::move(services), workers, clock_, log));
  dir_.Write("provider.yaml", "address: " + socket + "\ngrpc_timeout: 8s\n");
  for (const char* name : {"control-plane-1", "control-plane-2", "elsewhere"}) {
    api_.Put(kNodes, "Node", name,
             {{"spec", {{"taints", {{{"key", "k"}, {"effect", "NoSchedule"}}}}}}});
  }
  AddPods(3);
  const auto coppice =
      Start("a", {"--cloud-provider=externalgrpc", "--cloud-config=" + dir_.At("provider.yaml")});
  const auto bought = [&] {
    return std::ranges::any_of(groups.calls(),
                               [](const auto& call) { return call.method == "Increase"; });
  };
  ASSERT_TRUE(Until(bought, std::chrono::minutes(1))) << coppice->output();
  // All three have been asked about, and another pass is over.
  ASSERT_TRUE(Until(
      [&] {
        const ServedJson map = StatusMap();
        return !map.is_null() && map["data"]["status"].get<std::string>().find(
                                     "cloudProviderTarget: 1") != std::string::npos;
      },
      std::chrono::minutes(1)))
      << StatusMap().dump(1) << coppice->output();
  EXPECT_THAT(coppice->output(), testing::Not(HasSubstr("leads no more")));
  EXPECT_EQ(api_.Get(kLeases, "cluster-autoscaler", "kube-system")["spec"]["holderIdentity"], "a");
  coppice->Signal(SIGKILL);
}

TEST_F(RunE2eTest, AReplicaThatIsCutOffStopsActing) {
  const auto coppice =
      Start("a", {"--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=1s",
                  "--leader-elect-retry-period=200ms"});
  ASSERT_TRUE(coppice->WaitForLine("the view of the cluster is complete").has_value());
  api_.Refuse({.path = "/apis/coordination", .status = 503, .body = "{}", .times = 100'000});
  EXPECT_EQ(coppice->Wait(), 1);
  EXPECT_THAT(coppice->output(), HasSubstr("leads no more"));
}

}  // namespace
}  // namespace coppice::test
