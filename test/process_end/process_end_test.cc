// SIGTERM and a lost lease while something outside is at work: a cloud on a Refresh, an Increase or a
// Delete of node groups, on a Create, a Delete or a List of node claims; the API server on a binding; an
// extender on a question of a session.

#include <gmock/gmock.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <thread>

#include "app/main.h"
#include "app/real_cluster.h"
#include "autoscale/restart_memory.h"
#include "base/boot_time.h"
#include "base/strings.h"
#include "cloud/fake_node_claims.h"
#include "cloud/fake_node_groups.h"
#include "cloud/node_groups_context.h"
#include "net/http_server.h"
#include "test/e2e/child.h"
#include "test/support/api_kinds.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::test {
namespace {

using Json = FakeApiServer::Json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr char kNodes[] = "/api/v1/nodes";
constexpr char kPods[] = "/api/v1/pods";
constexpr char kLeases[] = "/apis/coordination.k8s.io/v1/leases";
constexpr char kMaps[] = "/api/v1/configmaps";

std::string Said(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

model::Node Template() {
  model::Node node;
  node.metadata.name = "template";
  for (const char* resource : {"cpu", "memory", "pods"}) {
    const int64_t amount = std::strcmp(resource, "memory") == 0 ? int64_t{8} << 30 : 8;
    node.status.allocatable[resource] = model::Quantity::FromUnits(amount);
    node.status.capacity[resource] = model::Quantity::FromUnits(amount);
  }
  node.status.conditions.push_back({.type = "Ready", .status = "True"});
  return node;
}

// Says so, and takes as long as the test wants it to.
void Hold(Clock& clock, std::string_view method, Deadline by) {
  if (method != Said("HOLD_IN") && Said("HOLD_IN") != "everything") return;
  std::cerr << "inside " << method << "\n" << std::flush;
  const TimePoint until = clock.Now() + milliseconds(std::stoi(Said("HOLD_FOR")));
  clock.SleepUntil(Said("HOLD_ON").empty() ? std::min(until, by.at) : until);
  std::cerr << "outside at " << SinceBoot().count() << "\n" << std::flush;
}

class SlowClaims final : public cloud::FakeNodeClaims {
 public:
  explicit SlowClaims(Clock& clock) : FakeNodeClaims(clock), clock_(clock) {}
  std::vector<cloud::NodeClassKind> SupportedNodeClasses() const override {
    return {{"coppice.dev", "v1alpha1", "NodeClass"}};
  }
  Result<model::NodeClaim> Create(const model::NodeClaim& claim, Deadline by) override {
    Hold(clock_, "Create", by);
    return FakeNodeClaims::Create(claim, by);
  }
  Status Delete(const model::NodeClaim& claim, Deadline by) override {
    Hold(clock_, "DeleteMachine", by);
    return FakeNodeClaims::Delete(claim, by);
  }
  Result<std::vector<model::NodeClaim>> List(Deadline by) override {
    Hold(clock_, "List", by);
    return FakeNodeClaims::List(by);
  }
  Result<model::NodeClaim> Get(const cloud::ProviderId& id, Deadline by) override {
    Hold(clock_, "Get", by);
    return FakeNodeClaims::Get(id, by);
  }
  Status Refresh(Deadline by) override {
    Hold(clock_, "Refresh", by);
    return Status::Ok();
  }

 private:
  Clock& clock_;
};

// What runs in the child beside or instead of node groups: ENGINE is pools or batch.
void ChooseEngine(seats::RunSettings& settings) {
  if (Said("ENGINE").empty()) return;
  settings.node_groups = false;
  if (Said("ENGINE") == "pools") {
    settings.node_pools.emplace();
    settings.node_pools->options.garbage_every = milliseconds(300);
  } else {
    settings.batch.emplace();
    settings.batch->scheduler_conf = Said("CONF");
  }
}

// The process, in the child. Its provider is slow in HOLD_IN for HOLD_FOR milliseconds, with
// HOLD_ON beyond any deadline.
int RunChild(const std::vector<std::string>& args) {
  app::Plugins plugins;
  app::RegisterDiscoveredPlugins(plugins);
  plugins.node_groups.Add(
      "slow",
      [](const cloud::NodeGroupsContext& context) -> Result<std::unique_ptr<cloud::NodeGroups>> {
        auto groups = std::make_unique<cloud::FakeNodeGroups>();
        groups->Add({.info = {.id = "pool", .min_size = 0, .max_size = 5},
                     .target = 1,
                     .instances = {{"fake://pool/1", cloud::InstanceState::kRunning, {}}},
                     .node_template = std::make_shared<const model::Node>(Template())});
        const auto times = std::make_shared<std::atomic<int>>(0);
        groups->before = [&clock = context.clock, times, in = Said("HOLD_IN"),
                          hold = milliseconds(std::stoi(Said("HOLD_FOR"))),
                          on = !Said("HOLD_ON").empty()](std::string_view method, Deadline by) {
          // Refresh is slow from the third pass on, for there is to be something to remember.
          if (method != in || (in == "Refresh" && ++*times < 3)) return;
          std::cerr << "inside " << method << "\n" << std::flush;
          const TimePoint until = clock.Now() + hold;
          clock.SleepUntil(on ? until : std::min(until, by.at));
          std::cerr << "outside at " << SinceBoot().count() << "\n" << std::flush;
        };
        return std::unique_ptr<cloud::NodeGroups>(std::move(groups));
      });
  plugins.node_claims.Add(
      "slow-claims",
      [](const cloud::NodeClaimsContext& context) -> Result<std::unique_ptr<cloud::NodeClaims>> {
        Hold(context.clock, "Open", Deadline::Never());
        return std::unique_ptr<cloud::NodeClaims>(std::make_unique<SlowClaims>(context.clock));
      });
  const auto flags = autoscale::ParseFlags(args);
  if (!flags.ok()) {
    std::cerr << flags.status().message() << "\n";
    return 2;
  }
  seats::RunSettings settings{.flags = *flags};
  ChooseEngine(settings);
  return app::RunOnRealCluster(settings, plugins, {.pass = seconds(3), .calls = seconds(2)});
}

class ProcessEndTest : public testing::TestWithParam<const char*> {
 protected:
  ProcessEndTest() {
    dir_.Write("kubeconfig",
               "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n"
               "clusters: [{name: c, cluster: {server: '" +
                   api_.url() + "'}}]\n");
    KnowAllKinds(api_);
    Json node = {{"metadata", {{"creationTimestamp", "2020-01-01T00:00:00Z"}}},
                 {"spec", {{"providerID", "fake://pool/1"}}}};
    for (const char* what : {"allocatable", "capacity"})
      node["status"][what] = {{"cpu", "8"}, {"memory", "8Gi"}, {"pods", "8"}};
    node["status"]["conditions"] = {
        {{"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", "2020-01-01T00:00:00Z"}}};
    api_.Put(kNodes, "Node", "pool-1", node);
  }

  // Until it is inside the method that it is slow in.
  void Start(const std::string& method, milliseconds hold, bool on = false) {
    if (method == "Increase") AddPod();
    child_ = std::make_unique<Child>(
        std::vector<std::string>{
            "/proc/self/exe", "--child", "--kubeconfig=" + dir_.At("kubeconfig"),
            "--cloud-provider=slow", "--address=127.0.0.1:0", "--scan-interval=200ms",
            "--scale-down-unneeded-time=1s", "--scale-down-delay-after-add=0s",
            "--node-delete-delay-after-taint=100ms",
            method == "Delete" ? "--v=4" : "--scale-down-enabled=false",
            "--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=1s",
            "--leader-elect-retry-period=200ms"},
        std::map<std::string, std::string>{{"HOLD_IN", method},
                                           {"HOLD_FOR", std::to_string(hold.count())},
                                           {"HOLD_ON", on ? "yes" : ""},
                                           {"COPPICE_LEASE_IDENTITY", "a"}});
    ASSERT_TRUE(child_->WaitForLine("inside " + method).has_value()) << child_->output();
  }
  void AddPod(const std::string& cpu = "8") {
    const std::string now = "2020-01-01T00:00:00Z";
    Json pod;
    pod["metadata"]["creationTimestamp"] = now;
    pod["spec"]["containers"] = {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}};
    pod["status"] = {{"phase", "Pending"},
                     {"conditions",
                      {{{"type", "PodScheduled"},
                        {"status", "False"},
                        {"reason", "Unschedulable"},
                        {"lastTransitionTime", now}}}}};
    api_.Put(kPods, "Pod", "web", pod, "default");
    pod["spec"]["nodeName"] = "pool-1";  // the one node is taken
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "8";
    pod["status"] = {{"phase", "Running"}};
    api_.Put(kPods, "Pod", "other", pod, "default");
  }
  std::string Holder() {
    return api_.Get(kLeases, "cluster-autoscaler", "kube-system")["spec"].value("holderIdentity",
                                                                                "");
  }
  // When the lease had no holder any more; zero if the child ended with it.
  Duration WatchRelease() {
    const TimePoint give_up = clock_.Now() + seconds(60);
    while (clock_.Now() < give_up) {
      if (Holder().empty()) return SinceBoot();
      if (kill(child_->pid(), 0) != 0) break;
      clock_.SleepFor(milliseconds(5));
    }
    return Duration::zero();
  }
  // When the call was over.
  Duration Outside() {
    const std::string output = child_->output();
    const size_t at = output.find("outside at ");
    return at == std::string::npos ? Duration::zero()
                                   : Duration(std::stoll(output.substr(at + 11)));
  }

  SystemClock clock_;
  TempDirectory dir_;
  FakeApiServer api_;
  std::unique_ptr<Child> child_;
};

TEST_P(ProcessEndTest, ASignalWaitsForTheCallAndThenGivesTheLeaseAway) {
  ASSERT_NO_FATAL_FAILURE(Start(GetParam(), milliseconds(1'500)));
  const TimePoint signalled = clock_.Now();
  child_->Signal(SIGTERM);
  const Duration released = WatchRelease();
  EXPECT_EQ(child_->Wait(), 0) << child_->output();
  EXPECT_GT(Outside(), Duration::zero()) << child_->output();
  EXPECT_GE(released, Outside()) << child_->output();
  // What the last pass knew, and later than the signal: the pass under way was finished.
  const Json map = api_.Get(kMaps, "cluster-autoscaler-status", "kube-system");
  ASSERT_FALSE(map.is_null());
  const auto memory = autoscale::ParseMemory(
      map["metadata"]["annotations"].value(autoscale::kMemoryAnnotation, ""));
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_GE(memory->written, signalled - seconds(1)) << child_->output();
}

TEST_P(ProcessEndTest, ALostLeaseEndsTheProcessWithoutTouchingItAgain) {
  ASSERT_NO_FATAL_FAILURE(Start(GetParam(), milliseconds(2'500)));
  api_.Refuse({.path = "/apis/coordination", .status = 503, .body = "{}", .times = 100'000});
  EXPECT_EQ(child_->Wait(), 1) << child_->output();
  EXPECT_THAT(child_->output(), HasSubstr("leads no more"));
  EXPECT_EQ(Holder(), "a");
}

INSTANTIATE_TEST_SUITE_P(During, ProcessEndTest, testing::Values("Refresh", "Increase", "Delete"),
                         [](const auto& test) { return std::string(test.param); });

// A cloud that keeps to no deadline: nobody waits for it for ever, and nobody else leads while it
// may still be at work.
TEST_F(ProcessEndTest, ACallThatDoesNotEndKeepsTheLeaseAndNotTheProcess) {
  ASSERT_NO_FATAL_FAILURE(Start("Delete", milliseconds(60'000), true));
  const TimePoint signalled = clock_.Now();
  child_->Signal(SIGTERM);
  EXPECT_EQ(child_->Wait(), 0) << child_->output();
  EXPECT_LT(clock_.Now() - signalled, seconds(30));
  EXPECT_EQ(Holder(), "a");
  EXPECT_THAT(child_->output(), HasSubstr("left to run out"));
}

TEST_F(ProcessEndTest, ARefreshThatDoesNotEndIsLeftBehindAndTheLeaseGivenAway) {
  ASSERT_NO_FATAL_FAILURE(Start("Refresh", milliseconds(60'000), true));
  child_->Signal(SIGTERM);
  EXPECT_EQ(child_->Wait(), 0) << child_->output();
  EXPECT_EQ(Holder(), "");
  EXPECT_THAT(child_->output(), HasSubstr("left behind"));
}

TEST_F(ProcessEndTest, SighupDoesNotEndIt) {
  ASSERT_NO_FATAL_FAILURE(Start("Refresh", milliseconds(10)));
  child_->Signal(SIGHUP);
  EXPECT_TRUE(child_->WaitForLine("files are read again").has_value());
  child_->Signal(SIGTERM);
  EXPECT_EQ(child_->Wait(), 0) << child_->output();
}

// Of node claims.
class ClaimsEndTest : public ProcessEndTest {
 protected:
  void StartPools(const std::string& method, milliseconds hold) {
    api_.Put("/apis/coppice.dev/v1alpha1/nodeclasses", "NodeClass", "default");
    api_.Put("/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses", "KWOKNodeClass", "first");
    api_.Delete("/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses", "first");
    const Json reference = {{"group", "coppice.dev"}, {"kind", "NodeClass"}, {"name", "default"}};
    Json pool;
    pool["spec"]["template"]["spec"] = {{"nodeClassRef", reference},
                                        {"requirements", Json::array()}};
    pool["spec"]["disruption"] = {{"consolidateAfter", "0s"}};
    api_.Put("/apis/karpenter.sh/v1/nodepools", "NodePool", "default", pool);
    Json claim;
    claim["spec"] = {{"nodeClassRef", reference}, {"requirements", Json::array()}};
    claim["metadata"]["labels"] = {{"karpenter.sh/nodepool", "default"}};
    claim["metadata"]["finalizers"] = {"karpenter.sh/termination"};
    claim["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z";
    claim["metadata"]["deletionTimestamp"] = "2020-01-02T00:00:00Z";
    claim["status"] = {{"providerID", "fake://old"}};
    api_.Put("/apis/karpenter.sh/v1/nodeclaims", "NodeClaim", "old", claim);
    if (method != "DeleteMachine") api_.Delete("/apis/karpenter.sh/v1/nodeclaims", "old");
    if (method == "Create" || method == "everything") AddPod("1");
    child_ = std::make_unique<Child>(
        std::vector<std::string>{
            "/proc/self/exe", "--child", "--kubeconfig=" + dir_.At("kubeconfig"),
            "--cloud-provider=slow-claims", "--address=127.0.0.1:0",
            "--leader-elect-lease-duration=5s", "--leader-elect-renew-deadline=1s",
            "--leader-elect-retry-period=200ms", "--v=4"},
        std::map<std::string, std::string>{{"ENGINE", "pools"},
                                           {"HOLD_IN", method},
                                           {"HOLD_FOR", std::to_string(hold.count())},
                                           {"COPPICE_LEASE_IDENTITY", "a"}});
    if (method == "everything") return;
    ASSERT_TRUE(child_->WaitForLine("inside " + method).has_value()) << child_->output();
  }
};

// The thread that decides renews the lease as well: the shortest wait for one of the answers would
// cost it.
TEST_F(ClaimsEndTest, AProviderWhoseEveryVerbTakesFiveSecondsCostsNoLease) {
  ASSERT_NO_FATAL_FAILURE(StartPools("everything", seconds(5)));
  const TimePoint give_up = clock_.Now() + seconds(60);
  const auto launched = [&] { return child_->output().find("node claim launched"); };
  while (launched() == std::string::npos && clock_.Now() < give_up)
    clock_.SleepFor(milliseconds(50));
  const std::string output = child_->output();
  ASSERT_NE(launched(), std::string::npos) << output;
  for (const char* verb : {"Open", "Refresh", "List", "Create"})
    EXPECT_THAT(output, HasSubstr(std::string("inside ") + verb));
  EXPECT_THAT(output, Not(HasSubstr("leads no more")));
  EXPECT_EQ(Holder(), "a");
  child_->Signal(SIGTERM);
  EXPECT_EQ(child_->Wait(), 0) << child_->output();
}

TEST_P(ClaimsEndTest, ASignalWaitsForTheCallAndThenGivesTheLeaseAway) {
  ASSERT_NO_FATAL_FAILURE(StartPools(GetParam(), milliseconds(1'500)));
  child_->Signal(SIGTERM);
  const Duration released = WatchRelease();
  EXPECT_EQ(child_->Wait(), 0) << child_->output();
  EXPECT_GT(released, Duration::zero()) << child_->output();
  if (GetParam() == std::string_view("List")) return;  // changes nothing: nobody waits for it
  EXPECT_GT(Outside(), Duration::zero()) << child_->output();
  EXPECT_GE(released, Outside()) << child_->output();
}

TEST_P(ClaimsEndTest, ALostLeaseEndsTheProcessWithoutTouchingItAgain) {
  ASSERT_NO_FATAL_FAILURE(StartPools(GetParam(), milliseconds(2'500)));
  api_.Refuse({.path = "/apis/coordination", .status = 503, .body = "{}", .times = 100'000});
  EXPECT_EQ(child_->Wait(), 1) << child_->output();
  EXPECT_THAT(child_->output(), HasSubstr("leads no more"));
  EXPECT_EQ(Holder(), "a");
}

INSTANTIATE_TEST_SUITE_P(During, ClaimsEndTest, testing::Values("Create", "DeleteMachine", "List"),
                         [](const auto& test) { return std::string(test.param); });

// Of the batch scheduler.
class BatchEndTest : public ProcessEndTest {
 protected:
  static constexpr char kConf[] =
      "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n"
      "  - name: gang\n  - name: predicates\n";

  void StartBatch(const std::string& more = "") {
    for (const auto& [path, kind] : std::map<std::string, std::string>{
             {"/apis/scheduling.volcano.sh/v1beta1/podgroups", "PodGroup"},
             {"/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass"},
             {"/api/v1/resourcequotas", "ResourceQuota"}}) {
      api_.Put(path, kind, "first", Json::object(), "default");
      api_.Delete(path, "first", "default");
    }
    Json queue;
    queue["spec"] = {{"weight", 1}};
    queue["status"] = {{"state", "Open"}};
    api_.Put("/apis/scheduling.volcano.sh/v1beta1/queues", "Queue", "default", queue);
    Json group;
    group["spec"] = {{"minMember", 1}, {"queue", "default"}};
    group["status"] = {{"phase", "Inqueue"}};
    api_.Put("/apis/scheduling.volcano.sh/v1beta1/podgroups", "PodGroup", "g", group, "default");
    Json pod;
    pod["metadata"]["annotations"] = {{"scheduling.k8s.io/group-name", "g"}};
    pod["spec"]["schedulerName"] = "volcano";
    pod["spec"]["containers"] = {{{"name", "c"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}};
    pod["status"] = {{"phase", "Pending"}};
    api_.Put(kPods, "Pod", "job", pod, "default");
    const std::string conf = dir_.Write("conf.yaml", kConf + more);
    child_ = std::make_unique<Child>(
        std::vector<std::string>{
            "/proc/self/exe", "--child", "--kubeconfig=" + dir_.At("kubeconfig"),
            "--address=127.0.0.1:0", "--leader-elect-lease-duration=5s",
            "--leader-elect-renew-deadline=1s", "--leader-elect-retry-period=200ms", "--v=4"},
        std::map<std::string, std::string>{
            {"ENGINE", "batch"}, {"CONF", conf}, {"COPPICE_LEASE_IDENTITY", "a"}});
  }
  bool Until(const std::function<bool()>& done) {
    const TimePoint give_up = clock_.Now() + seconds(30);
    while (!done() && clock_.Now() < give_up) clock_.SleepFor(milliseconds(5));
    return done();
  }
};

TEST_F(BatchEndTest, ABindingThatIsNotAnsweredKeepsTheLeaseForAsLongAsItMayBeAtWork) {
  api_.HoldAnswers("/binding");
  StartBatch();
  ASSERT_TRUE(Until([&] { return api_.held() > 0; })) << child_->output();
  child_->Signal(SIGTERM);
  clock_.SleepFor(milliseconds(500));
  EXPECT_EQ(Holder(), "a") << child_->output();
  api_.LetGo();
  EXPECT_EQ(child_->Wait(), 0) << child_->output();
  EXPECT_EQ(Holder(), "") << child_->output();
  EXPECT_EQ(api_.Count("POST", "/binding"), 1U);
}

TEST_F(BatchEndTest, ABindingThatIsTriedAgainAndAgainEndsWithTheProcess) {
  api_.Refuse({.method = "POST",
               .path = "/api/v1/namespaces/default/pods/job/binding",
               .status = 503,
               .body = "{}",
               .times = 1'000'000});
  StartBatch();
  ASSERT_TRUE(Until([&] { return api_.Count("POST", "/binding") > 2; })) << child_->output();
  child_->Signal(SIGTERM);
  EXPECT_EQ(child_->Wait(), 0) << child_->output();
  EXPECT_EQ(Holder(), "") << child_->output();
  EXPECT_FALSE(api_.Get(kPods, "job", "default")["spec"].contains("nodeName"));
}

TEST_F(BatchEndTest, ALostLeaseEndsTheProcessWithABindingUnderWay) {
  api_.HoldAnswers("/binding");
  StartBatch();
  ASSERT_TRUE(Until([&] { return api_.held() > 0; })) << child_->output();
  api_.Refuse({.path = "/apis/coordination", .status = 503, .body = "{}", .times = 100'000});
  EXPECT_EQ(child_->Wait(), 1) << child_->output();
  EXPECT_EQ(Holder(), "a");
}

// A session runs on a worker and waits there for somebody outside.
class ExtenderEndTest : public BatchEndTest {
 protected:
  void StartWithExtender(milliseconds takes) {
    server_ = MUST(net::HttpServer::Create(
        {.port = 0, .max_body_bytes = 1 << 20}, [this, takes](const net::ServerRequest&) {
          ++asked_;
          clock_.SleepFor(takes);
          return net::ServerResponse{.content_type = "application/json", .body = "{}"};
        }));
    StartBatch("  - name: extender\n    arguments:\n      extender.urlPrefix: http://127.0.0.1:" +
               std::to_string(server_->port()) +
               "\n      extender.httpTimeout: 20s\n"
               "      extender.predicateVerb: predicate\n");
    ASSERT_TRUE(Until([&] { return asked_ > 0; })) << child_->output();
  }

  std::atomic<int> asked_ = 0;
  std::unique_ptr<net::HttpServer> server_;
};

TEST_F(ExtenderEndTest, ASignalWaitsForTheSessionAndGivesTheLeaseAway) {
  ASSERT_NO_FATAL_FAILURE(StartWithExtender(milliseconds(1'500)));
  child_->Signal(SIGTERM);
  EXPECT_EQ(child_->Wait(), 0) << child_->output();
  EXPECT_EQ(Holder(), "");
}

TEST_F(ExtenderEndTest, ASessionThatHangsIsLeftBehindAndTheLeaseGivenAway) {
  ASSERT_NO_FATAL_FAILURE(StartWithExtender(milliseconds(15'000)));
  const TimePoint signalled = clock_.Now();
  child_->Signal(SIGTERM);
  EXPECT_EQ(child_->Wait(), 0) << child_->output();
  EXPECT_LT(clock_.Now() - signalled, seconds(12));
  EXPECT_EQ(Holder(), "");
  EXPECT_THAT(child_->output(), HasSubstr("left behind"));
}

}  // namespace
}  // namespace coppice::test

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--child") == 0)
    return coppice::test::RunChild({argv + 2, argv + argc});
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
