// How fast, how large: `coppice run` on a real API server without anybody else on it, so that what
// is measured is ours. Run by `tools/bench cluster`, not by ctest. Pods are marked unschedulable by
// the test instead of a scheduler, for then the moment is known.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "test/e2e/cluster_rig.h"
#include "test/e2e/process_usage.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Before the control plane starts.
const bool kAlone = [] {
  for (const char* part : {"RIG_SCHEDULER", "RIG_CONTROLLERS", "RIG_KWOK"}) setenv(part, "0", 1);
  setenv("RIG_APISERVER_FLAGS",
         "--max-requests-inflight=2000 --max-mutating-requests-inflight=1000", 1);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  return true;
}();

constexpr int kWriters = 6;
constexpr char kPodsPath[] = "/api/v1/namespaces/default/pods";

Json APod(const std::string& name, const std::string& cpu, const std::string& node = "") {
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata",
               {{"name", name},
                {"labels", {{"app", "web"}, {"pod-template-hash", "6d4b75cb6d"}}},
                {"ownerReferences",
                 {{{"apiVersion", "apps/v1"},
                   {"kind", "ReplicaSet"},
                   {"name", "web-6d4b75cb6d"},
                   {"uid", "5a1f6f4e-2b1c-4c55-9b64-0d5a4f3f9a10"},
                   {"controller", true}}}}}},
              {"spec",
               {{"containers",
                 {{{"name", "server"},
                   {"image", "registry.example/team/server:1.2.3"},
                   {"ports", {{{"containerPort", 8080}}}},
                   {"env", {{{"name", "MODE"}, {"value", "production"}}}},
                   {"resources",
                    {{"requests", {{"cpu", cpu}, {"memory", "64Mi"}}},
                     {"limits", {{"memory", "128Mi"}}}}}}}}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  return pod;
}

Json ANode(const std::string& name, const std::string& heartbeat) {
  const Json resources = {
      {"cpu", "16"}, {"memory", "64Gi"}, {"ephemeral-storage", "100Gi"}, {"pods", "110"}};
  Json conditions = Json::array();
  for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"}) {
    conditions.push_back({{"type", type},
                          {"status", std::string(type) == "Ready" ? "True" : "False"},
                          {"reason", "Kubelet"},
                          {"message", "as it should be"},
                          {"lastHeartbeatTime", heartbeat},
                          {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
  }
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", name},
            {"labels",
             {{"kubernetes.io/hostname", name},
              {"kubernetes.io/arch", "amd64"},
              {"kubernetes.io/os", "linux"},
              {"node.kubernetes.io/instance-type", "flex-64-16"},
              {"topology.kubernetes.io/zone", "rma1"}}}}},
          {"spec", {{"providerID", "other://" + name}}},
          {"status",
           {{"capacity", resources}, {"allocatable", resources}, {"conditions", conditions}}}};
}

// Thousands of writes on a busy machine: some get no answer the first time.
Json Create(ApiClient& api, const std::string& path, const Json& object) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    const ApiClient::Answer answer = api.Send("POST", path, object);
    if (answer.ok()) return answer.body;
    std::cerr << "POST " << path << ": " << answer.status << " " << answer.body.dump() << "\n";
    const std::string name = object["metadata"]["name"];
    const ApiClient::Answer there = api.Send("GET", path + "/" + name);
    if (there.ok()) return there.body;
  }
  ADD_FAILURE() << "could not be written";
  return object;
}

class ClusterSpeedTest : public ClusterTest {
 protected:
  void SetUp() override {
    rig_ = ControlPlane::Get();
    if (rig_ == nullptr) GTEST_SKIP() << "no control plane: run test/upstream/build.sh";
    ASSERT_TRUE(rig_->Ready());
    // Machines that never get ready: what is measured ends with the order.
    cloud_ = std::make_unique<PlayedCloud>(rig_->kubeconfig("admin"), std::chrono::hours(1));
  }
  void TearDown() override {
    if (HasFailure() && !replicas_.empty())
      std::cerr << replicas_.back()->output().substr(0, 20000);
    for (const auto& replica : replicas_) {
      replica->Signal(SIGTERM);
      replica->Wait();
    }
    replicas_.clear();
  }
  std::string CloudConfig() const override {
    return R"(clusterTag: e2e
nodeGroups:
  - {name: pool, minSize: 0, maxSize: 2000, flavor: flex-8-2, image: debian-12, zone: rma1, volumeSizeGB: 50, usePublicNetwork: true}
)";
  }
  // work(i) for i below count, by several clients at once.
  void Spread(int count, const std::function<void(ApiClient&, int)>& work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kWriters; ++t) {
      threads.emplace_back([&, t] {
        ApiClient api(rig_->kubeconfig("admin"));
        for (int i = t; i < count; i += kWriters) work(api, i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::string Now() {
    const std::time_t now = std::time(nullptr);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    return text;
  }
  // As the scheduler would; the answer is there when the server has it.
  void MarkUnschedulable(ApiClient& api, Json pod) {
    pod["status"]["conditions"] = {{{"type", "PodScheduled"},
                                    {"status", "False"},
                                    {"reason", "Unschedulable"},
                                    {"lastTransitionTime", Now()}}};
    const std::string name = pod["metadata"]["name"];
    const std::string path = std::string(kPodsPath) + "/" + name + "/status";
    bool done = false;
    for (int attempt = 0; attempt < 5 && !done; ++attempt) {
      const int status = api.Send("PUT", path, pod).status;
      done = (status >= 200 && status < 300) || status == 409;  // 409: an attempt before did it
    }
    EXPECT_TRUE(done) << name;
  }
};

TEST_F(ClusterSpeedTest, PodsOneByOneThenAThousandAtOnce) {
  // Scaling down is another story, and events have a limit of their own.
  Child& coppice = StartAndSync("a", {"--scan-interval=10s"});
  std::vector<double> waits;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "one-" + std::to_string(i);
    const Json created = Create(rig_->api(), kPodsPath, APod(name, "1900m"));
    const size_t before = cloud_->servers();
    MarkUnschedulable(rig_->api(), created);
    const TimePoint marked = clock_.Now();
    while (cloud_->servers() == before && Since(marked) < 20)
      clock_.SleepFor(std::chrono::microseconds(200));
    waits.push_back(Since(marked) * 1000);
    ASSERT_GT(cloud_->servers(), before) << "pod " << i;
    clock_.SleepFor(milliseconds(150 + (i * 37) % 400));
  }
  std::ranges::sort(waits);
  std::printf(
      "pod unschedulable -> cloud call, 100 one by one  p50 %.0f ms  p99 %.0f ms  max %.0f "
      "ms  (aim: p99 250)\n",
      waits[50], waits[98], waits[99]);

  std::vector<Json> burst(1000);
  Spread(1000, [&](ApiClient& api, int i) {
    burst[static_cast<size_t>(i)] =
        Create(api, kPodsPath, APod("burst-" + std::to_string(i), "500m"));
  });
  const size_t before = cloud_->servers();
  const double cpu = UsageOf(coppice.pid()).cpu_seconds;
  const TimePoint first = clock_.Now();
  std::atomic<bool> watch = true;
  std::vector<double> calls;  // when the cloud had more machines than before, in ms
  std::thread watcher([&] {
    for (size_t seen = before; watch; clock_.SleepFor(std::chrono::microseconds(500))) {
      const size_t now = cloud_->servers();
      if (now > seen) calls.push_back(Since(first) * 1000);
      seen = now;
    }
  });
  std::vector<double> marks(1000);
  Spread(1000, [&](ApiClient& api, int i) {
    MarkUnschedulable(api, burst[static_cast<size_t>(i)]);
    marks[static_cast<size_t>(i)] = Since(first) * 1000;
  });
  const TimePoint last = clock_.Now();
  const double marking = Since(first) * 1000;
  EXPECT_TRUE(Until([&] { return cloud_->servers() >= before + 250; }, seconds(60)));
  const double all = Since(last) * 1000;
  watch = false;
  watcher.join();
  // Until the next call: a pod whose machine was ordered before it asked for one needs none.
  std::vector<double> burst_waits;
  for (const double mark : marks) {
    const auto call = std::ranges::lower_bound(calls, mark);
    if (call != calls.end()) burst_waits.push_back(*call - mark);
  }
  ASSERT_FALSE(burst_waits.empty());
  std::ranges::sort(burst_waits);
  std::printf(
      "burst of 1,000 (marked within %.0f ms)  from a mark to the next cloud call p50 %.0f ms  "
      "p99 %.0f ms (aim: 250), %zu machines ordered %.0f ms after the last mark, CPU %.2f s\n",
      marking, burst_waits[burst_waits.size() / 2], burst_waits[burst_waits.size() * 99 / 100],
      cloud_->servers() - before, all, UsageOf(coppice.pid()).cpu_seconds - cpu);
}

TEST_F(ClusterSpeedTest, FiveThousandNodesAndFiftyThousandPods) {
  const TimePoint begin = clock_.Now();
  const std::string now = Now();
  Spread(5'000, [&](ApiClient& api, int i) {
    Create(api, "/api/v1/nodes", ANode("n" + std::to_string(i), now));
  });
  Spread(50'000, [](ApiClient& api, int i) {
    Create(api, kPodsPath, APod("p-" + std::to_string(i), "500m", "n" + std::to_string(i % 5'000)));
  });
  std::printf("(%.0f s to write 5,000 nodes and 50,000 pods)\n", Since(begin));

  const TimePoint start = clock_.Now();
  Child& coppice = Start("b", {"--scan-interval=10s"});
  ASSERT_TRUE(coppice.WaitForLine("the view of the cluster is complete").has_value());
  const double wall = Since(start);
  const Usage synced = UsageOf(coppice.pid());
  const auto line = coppice.WaitForLine("the view of the cluster is complete");
  std::printf(
      "5,000 nodes, 50,000 pods read  wall %.2f s (aim 10)  CPU %.2f s (aim 2)  RSS %.0f MB, "
      "peak %.0f MB (aim 300)\n  %s\n",
      wall, synced.cpu_seconds, synced.rss_mb, synced.peak_mb, line->c_str());

  clock_.SleepFor(seconds(20));  // the first passes
  const Usage before = UsageOf(coppice.pid());
  // A kubelet writes its node's status every five minutes; its lease, every ten seconds, is
  // nobody's business here.
  const TimePoint rest = clock_.Now();
  int beats = 0;
  while (Since(rest) < 60) {
    const std::string name = "n" + std::to_string(beats * 7 % 5'000);
    ApiClient::Answer node = rig_->api().Send("GET", "/api/v1/nodes/" + name);
    for (Json& condition : node.body["status"]["conditions"])
      condition["lastHeartbeatTime"] = Now();
    rig_->api().Send("PUT", "/api/v1/nodes/" + name + "/status", node.body);
    ++beats;
    const double due = beats * 300.0 / 5'000;
    if (Since(rest) < due)
      clock_.SleepFor(
          std::chrono::duration_cast<Duration>(std::chrono::duration<double>(due - Since(rest))));
  }
  const Usage after = UsageOf(coppice.pid());
  std::printf(
      "at rest, %.0f node heartbeats a second  CPU %.2f %% of a core (aim 2)  RSS %.0f MB\n",
      beats / Since(rest), (after.cpu_seconds - before.cpu_seconds) / Since(rest) * 100,
      after.rss_mb);
}

}  // namespace
}  // namespace coppice::test
