// `coppice run` on a real control plane, through its everyday life: up, down, another leader.

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "test/e2e/cluster_rig.h"

namespace coppice::test {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

class ClusterE2eTest : public ClusterTest {};

TEST_F(ClusterE2eTest, AHundredPodsGetNodesAndTheNodesGoWithThem) {
  Child& coppice = StartAndSync("a");
  const TimePoint start = clock_.Now();
  rig_->Apply(Deployment("web", 100));
  ASSERT_TRUE(Until([&] { return cloud_->servers() > 0; }, seconds(60)));
  std::cerr << "first cloud call after " << Since(start) << " s\n";
  ASSERT_TRUE(Until([&] { return Running("web") == 100; }, seconds(120)));
  std::cerr << "100 pods running after " << Since(start) << " s on " << cloud_->servers()
            << " machines\n";
  // Two cores hold four pods of half a core.
  EXPECT_EQ(cloud_->peak(), 25u) << "more was bought than the scheduler needed";

  const TimePoint end = clock_.Now();
  rig_->Kubectl({"delete", "deployment", "web", "-n", "default", "--wait=false"});
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 0; }, seconds(120)));
  std::cerr << "all machines gone " << Since(end) << " s after the Deployment\n";
  coppice.Signal(SIGTERM);
  EXPECT_EQ(coppice.Wait(), 0);
}

TEST_F(ClusterE2eTest, ABudgetHoldsWhileNodesAreDrained) {
  StartAndSync("a");
  rig_->Apply(Deployment("web", 6) + Deployment("guarded", 6) +
              Budget("guarded", "minAvailable: 5"));
  ASSERT_TRUE(Until([&] { return Running("web") == 6 && Running("guarded") == 6; }, seconds(90)));
  const size_t before = cloud_->servers();
  rig_->Kubectl({"delete", "deployment", "web", "-n", "default", "--wait=false"});
  int fewest = 6;
  EXPECT_TRUE(Until(
      [&] {
        fewest = std::min(fewest, Running("guarded"));
        return cloud_->servers() < before && Running("guarded") == 6;
      },
      seconds(120)));
  EXPECT_GE(fewest, 5);
}

TEST_F(ClusterE2eTest, TheOtherReplicaTakesOverFromAKilledLeader) {
  Child& first = StartAndSync("first");
  Child& second = Start("second");
  ASSERT_TRUE(second.WaitForLine("waiting for the lease").has_value());
  first.Signal(SIGKILL);
  const TimePoint killed = clock_.Now();
  rig_->Apply(Deployment("web", 8));
  ASSERT_TRUE(second.WaitForLine("\"leading\"").has_value());
  std::cerr << "the other leads " << Since(killed) << " s after kill -9\n";
  EXPECT_LT(Since(killed), 22);  // 15 s of lease, and the time to ask again
  ASSERT_TRUE(Until([&] { return Running("web") == 8; }, seconds(60)));
  EXPECT_EQ(cloud_->peak(), 2u) << "bought twice";
}

}  // namespace
}  // namespace coppice::test
