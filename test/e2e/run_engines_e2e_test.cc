// `coppice run` with node pools alone and with the batch scheduler alone: what every process says of
// itself does not hang on node groups, and a dry run of either shows each decision once.

#include <gmock/gmock.h>
#include <signal.h>

#include "net/http_client.h"
#include "test/e2e/child.h"
#include "test/e2e/played_cloud.h"
#include "test/support/api_kinds.h"
#include "test/support/fake_api_server.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::test {
namespace {

using EngineJson = FakeApiServer::Json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr char kEnginesPods[] = "/api/v1/pods";
constexpr char kEnginesPools[] = "/apis/karpenter.sh/v1/nodepools";
constexpr char kEnginesClaims[] = "/apis/karpenter.sh/v1/nodeclaims";
constexpr char kEnginesClasses[] = "/apis/coppice.dev/v1alpha1/nodeclasses";
constexpr char kEnginesGroups[] = "/apis/scheduling.volcano.sh/v1beta1/podgroups";
constexpr char kEnginesQueues[] = "/apis/scheduling.volcano.sh/v1beta1/queues";

class RunEnginesE2eTest : public testing::Test {
 protected:
  RunEnginesE2eTest() {
    dir_.Write("cloud.yaml", "clusterTag: e2e\n");
    dir_.Write("kubeconfig",
               "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n"
               "clusters: [{name: c, cluster: {server: '" +
                   api_.url() + "'}}]\n");
    KnowAllKinds(api_);
    for (const auto& [path, kind] : std::map<std::string, std::string>{
             {kEnginesPools, "NodePool"},
             {kEnginesClaims, "NodeClaim"},
             {kEnginesClasses, "NodeClass"},
             {kEnginesGroups, "PodGroup"},
             {kEnginesQueues, "Queue"},
             {"/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass"},
             {"/api/v1/resourcequotas", "ResourceQuota"}}) {
      api_.Put(path, kind, "first", EngineJson::object(), "x");
      api_.Delete(path, "first", "x");
    }
    cloud_ = std::make_unique<PlayedCloud>(dir_.At("kubeconfig"), milliseconds(200));
  }

  std::unique_ptr<Child> Start(std::vector<std::string> more) {
    std::vector<std::string> command = {COPPICE_BINARY,
                                        "run",
                                        "--kubeconfig=" + dir_.At("kubeconfig"),
                                        "--address=127.0.0.1:0",
                                        "--kube-client-qps=100",
                                        "--kube-client-burst=200",
                                        "--logtostderr=true",
                                        "--v=4"};
    command.insert(command.end(), more.begin(), more.end());
    auto environment = cloud_->Environment();
    environment["COPPICE_LEASE_IDENTITY"] = "a";
    return std::make_unique<Child>(command, environment);
  }
  std::unique_ptr<Child> StartPools(std::vector<std::string> more = {}) {
    EngineJson node_class;
    node_class["spec"] = {{"image", "debian-12"}, {"extra", {{"volumeSizeGB", "50"}}}};
    api_.Put(kEnginesClasses, "NodeClass", "default", node_class);
    EngineJson pool;
    pool["spec"]["disruption"] = {{"consolidateAfter", "Never"}};
    pool["spec"]["template"]["spec"]["nodeClassRef"] = {
        {"group", "coppice.dev"}, {"kind", "NodeClass"}, {"name", "default"}};
    pool["spec"]["template"]["spec"]["requirements"] = {
        {{"key", "node.kubernetes.io/instance-type"},
         {"operator", "In"},
         {"values", {"flex-8-2"}}}};
    api_.Put(kEnginesPools, "NodePool", "general", pool);
    more.insert(more.end(), {"--node-pools", "--node-groups=false", "--cloud-provider=cloudscale",
                             "--cloud-config=" + dir_.At("cloud.yaml")});
    return Start(more);
  }
  std::unique_ptr<Child> StartBatch(std::vector<std::string> more = {}) {
    EngineJson queue;
    queue["spec"] = {{"weight", 1}};
    queue["status"] = {{"state", "Open"}};
    api_.Put(kEnginesQueues, "Queue", "default", queue);
    EngineJson group;
    group["spec"] = {{"minMember", 1}, {"queue", "default"}};
    group["status"] = {{"phase", "Inqueue"}};
    api_.Put(kEnginesGroups, "PodGroup", "g", group, "default");
    EngineJson node;
    node["status"]["allocatable"] = {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "10"}};
    node["status"]["conditions"] = {{{"type", "Ready"}, {"status", "True"}}};
    api_.Put("/api/v1/nodes", "Node", "n1", node);
    more.emplace_back("--batch");
    return Start(more);
  }

  void AddPod(const std::string& name, const std::function<void(EngineJson&)>& change = nullptr) {
    EngineJson pod;
    pod["metadata"]["creationTimestamp"] = "2026-01-02T03:04:05Z";
    pod["spec"]["containers"] = {
        {{"name", "c"}, {"resources", {{"requests", {{"cpu", "500m"}, {"memory", "64Mi"}}}}}}};
    pod["status"] = {{"phase", "Pending"},
                     {"conditions",
                      {{{"type", "PodScheduled"},
                        {"status", "False"},
                        {"reason", "Unschedulable"},
                        {"lastTransitionTime", "2026-01-02T03:04:05Z"}}}}};
    if (change) change(pod);
    api_.Put(kEnginesPods, "Pod", name, pod, "default");
  }
  static void OfTheGang(EngineJson& pod) {
    pod["metadata"]["annotations"] = {{"scheduling.k8s.io/group-name", "g"}};
    pod["spec"]["schedulerName"] = "volcano";
  }
  static void Spoil(EngineJson& pod) {
    pod["metadata"]["creationTimestamp"] = "a fine day in January";
  }

  // A page of its status server; "" while it does not answer.
  std::string Page(Child& child, const std::string& path) {
    const auto line = child.WaitForLine("pages are served");
    if (!line) return "";
    const size_t at = line->find("port");
    const size_t begin = line->find_first_of("0123456789", at);
    const std::string port =
        line->substr(begin, line->find_first_not_of("0123456789", begin) - begin);
    const auto client = MUST(net::MakeHttpClient({.proxy = ""}, clock_));
    const auto answer = client->Send({.method = "GET", .url = "http://127.0.0.1:" + port + path},
                                     Deadline::In(clock_, seconds(5)));
    return answer.ok() ? answer->body : "";
  }
  bool Until(const std::function<bool()>& done, Duration limit = seconds(30)) {
    const TimePoint give_up = clock_.Now() + limit;
    while (!done() && clock_.Now() < give_up) clock_.SleepFor(milliseconds(20));
    return done();
  }
  static size_t Times(const std::string& text, const std::string& what) {
    size_t times = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
      ++times;
    return times;
  }
  void ExpectItSaysWhatItCannotRead(Child& child) {
    EXPECT_TRUE(Until([&] {
      return Page(child, "/metrics")
                 .find("coppice_unreadable_objects{kind=\"Pod\",reason=\"time\"} 1") !=
             std::string::npos;
    })) << child.output();
    const std::string page = Page(child, "/metrics");
    EXPECT_THAT(page, HasSubstr("coppice_view_age_seconds"));
    EXPECT_THAT(page, HasSubstr("coppice_kind_age_seconds{kind=\"Node\"}"));
    EXPECT_THAT(Page(child, "/explain?pod=default/odd"),
                HasSubstr("cannot be read, so it is not placed and nothing is bought for it"));
  }

  SystemClock clock_;
  TempDirectory dir_;
  FakeApiServer api_;
  std::unique_ptr<PlayedCloud> cloud_;
};

TEST_F(RunEnginesE2eTest, NodePoolsAloneSayWhatTheyCannotReadAndHowOldTheirViewIs) {
  AddPod("odd", Spoil);
  const auto coppice = StartPools();
  ExpectItSaysWhatItCannotRead(*coppice);
  clock_.SleepFor(seconds(2));
  EXPECT_EQ(cloud_->servers(), 0U) << "nothing is bought for it";
  AddPod("good");
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 1; })) << coppice->output();
}

TEST_F(RunEnginesE2eTest, ABatchSchedulerAloneSaysWhatItCannotReadAndHowOldItsViewIs) {
  AddPod("odd", [](EngineJson& pod) {
    OfTheGang(pod);
    Spoil(pod);
  });
  const auto coppice = StartBatch();
  ExpectItSaysWhatItCannotRead(*coppice);
  EXPECT_TRUE(Until([&] {
    return Page(*coppice, "/explain?gang=default/g").find("its pod default/odd cannot be read") !=
           std::string::npos;
  })) << Page(*coppice, "/explain?gang=default/g")
      << coppice->output();
  AddPod("good", OfTheGang);
  EXPECT_TRUE(Until([&] {
    return api_.Get(kEnginesPods, "good", "default")["spec"].value("nodeName", "") == "n1";
  })) << coppice->output();
  EXPECT_FALSE(api_.Get(kEnginesPods, "odd", "default")["spec"].contains("nodeName"));
}

TEST_F(RunEnginesE2eTest, ADryRunOfNodePoolsShowsEachMachineOnceAndWritesNothing) {
  for (int i = 0; i < 6; ++i) AddPod("p" + std::to_string(i));
  const auto coppice = StartPools({"--dry-run"});
  ASSERT_TRUE(coppice->WaitForLine("dry run: a machine would be asked for").has_value())
      << coppice->output();
  clock_.SleepFor(seconds(3));
  const size_t shown = Times(coppice->output(), "dry run: a machine would be asked for");
  EXPECT_EQ(shown, 2U) << coppice->output();  // four pods of 500m to a machine of two cores
  clock_.SleepFor(seconds(20));               // longer than a claim that nobody shows is kept
  EXPECT_EQ(Times(coppice->output(), "dry run: a machine would be asked for"), shown)
      << coppice->output();
  EXPECT_THAT(coppice->output(), Not(HasSubstr("node claim created")));
  EXPECT_EQ(cloud_->servers(), 0U);
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"})
    EXPECT_EQ(api_.Count(method, ""), 0U) << method;
}

TEST_F(RunEnginesE2eTest, ADryRunOfTheBatchSchedulerShowsEachBindingOnceAndWritesNothing) {
  AddPod("job", OfTheGang);
  const auto coppice = StartBatch({"--dry-run"});
  ASSERT_TRUE(coppice->WaitForLine("dry run: a pod would have been bound").has_value())
      << coppice->output();
  clock_.SleepFor(seconds(4));  // several sessions
  const std::string output = coppice->output();
  EXPECT_EQ(Times(output, "dry run: a pod would have been bound"), 1U) << output;
  EXPECT_LE(Times(output, "dry run: an object would have been written"), 4U) << output;
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE"})
    EXPECT_EQ(api_.Count(method, ""), 0U) << method;
}

}  // namespace
}  // namespace coppice::test
