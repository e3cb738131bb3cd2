// The autoscaler drives `coppice provider`, through its everyday life and an absence.

#include <gmock/gmock.h>
#include <signal.h>

#include "test/e2e/provider_rig.h"

namespace coppice::test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST_F(ClusterProviderTest, PodsGetNodesAndTheNodesGoWithThem) {
  Child& coppice = StartAndSync("a");
  rig_->Apply(Deployment("web", 20));
  ASSERT_TRUE(Until([&] { return Running("web") == 20; }, seconds(90)));
  EXPECT_EQ(cloud_->peak(), 5u);
  rig_->Kubectl({"delete", "deployment", "web", "-n", "default", "--wait=false"});
  EXPECT_TRUE(Until([&] { return cloud_->servers() == 0; }, seconds(90)));
  EXPECT_THAT(provider_->output(), HasSubstr("autoscaler.kube-system"))
      << "the audit names the certificate that asked";
  coppice.Signal(SIGTERM);
  EXPECT_EQ(coppice.Wait(), 0);
}

TEST_F(ClusterProviderTest, AProviderThatIsAwayForAWhileCostsNothingButTime) {
  StartAndSync("a");
  rig_->Apply(Deployment("web", 4));
  ASSERT_TRUE(Until([&] { return Running("web") == 4; }, seconds(60)));
  provider_->Signal(SIGKILL);
  provider_->Wait();
  rig_->Kubectl({"scale", "deployment", "web", "-n", "default", "--replicas=8"});
  clock_.SleepFor(seconds(6));
  EXPECT_EQ(cloud_->servers(), 1u);
  EXPECT_EQ(Running("web"), 4) << "its machines and pods are left alone";
  EXPECT_THAT(replicas_.back()->output(), HasSubstr("the pass failed")) << "a reason is visible";
  StartProvider();
  EXPECT_TRUE(Until([&] { return Running("web") == 8; }, seconds(60)));
  EXPECT_EQ(cloud_->peak(), 2u);
}

}  // namespace
}  // namespace coppice::test
