// One life of a Deployment, with the times and numbers that were measured for the real Cluster
// Autoscaler 1.36 with the Go provider on the same rig: the same control plane, pods, scan interval
// and unneeded time, machines that boot in two seconds, a provider over mutual TLS. Run by
// `tools/bench cluster`, not by ctest.

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>

#include "base/strings.h"
#include "net/http_client.h"
#include "test/e2e/process_usage.h"
#include "test/e2e/provider_rig.h"
#include "test/support/must.h"

namespace coppice::test {
namespace {

using std::chrono::seconds;

class ClusterLifeTest : public ClusterProviderTest {
 protected:
  std::string CloudConfig() const override {
    return R"(clusterTag: e2e
nodeGroups:
  - {name: pool, minSize: 0, maxSize: 100, flavor: flex-16-4, image: debian-12, zone: rma1, volumeSizeGB: 50, usePublicNetwork: true}
)";
  }
  // Calls that the provider has been asked, of every kind.
  double ProviderCalls() {
    const auto client = MUST(net::MakeHttpClient({.proxy = ""}, clock_));
    const auto page =
        client->Send({.method = "GET", .url = "http://127.0.0.1:" + http_port_ + "/metrics"},
                     Deadline::In(clock_, seconds(5)));
    if (!page.ok()) return 0;
    double calls = 0;
    for (const std::string& line : Split(page->body, '\n')) {
      if (line.starts_with("autoscaler_cloudscale_grpc_requests_total"))
        calls += std::atof(line.c_str() + line.rfind(' '));
    }
    return calls;
  }
};

TEST_F(ClusterLifeTest, NinetyEightPodsComeAndGo) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  Child& coppice = StartAndSync("a", {"--scan-interval=10s", "--scale-down-unneeded-time=30s"});
  const TimePoint start = clock_.Now();
  rig_->Apply(Deployment("web", 98));
  ASSERT_TRUE(Until([&] { return cloud_->servers() > 0; }, seconds(60)));
  const double first = Since(start);
  ASSERT_TRUE(Until([&] { return Running("web") == 98; }, seconds(120)));
  std::printf("98 pods: first cloud call %.2f s (1.5), all running %.1f s (6.3) on %zu machines\n",
              first, Since(start), cloud_->servers());

  clock_.SleepFor(seconds(12));  // the passes that follow a productive one
  const double before = ProviderCalls();
  clock_.SleepFor(seconds(60));
  std::printf("provider calls per loop with %zu nodes: %.1f (76-80), RSS %.0f MB (77 MiB)\n",
              cloud_->servers(), (ProviderCalls() - before) / 6, UsageOf(coppice.pid()).rss_mb);

  const TimePoint end = clock_.Now();
  rig_->Kubectl({"scale", "deployment", "web", "-n", "default", "--replicas=0"});
  ASSERT_TRUE(Until([&] { return cloud_->servers() == 0; }, seconds(400)));
  std::printf("last machine gone %.1f s after scaling to 0, unneeded time 30 s (56.6)\n",
              Since(end));
}

}  // namespace
}  // namespace coppice::test
