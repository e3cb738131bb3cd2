// Node groups on the cloudscale plug-in on real HTTP: what an autoscaler sees when the cloud
// misbehaves.

#include <gmock/gmock.h>

#include <set>

#include "base/pool.h"
#include "cloud/cloud_node_groups.h"
#include "test/conformance/node_groups_suite.h"
#include "test/emulator/rig.h"

namespace coppice::emulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr char kWorkers[] = "workers";

cloud::GroupConfig AServedGroup(const std::string& name) {
  return {.name = name,
          .max_size = 5,
          .flavor = "flex-8-2",
          .image = "debian-12",
          .zone = "rma1",
          .volume_size_gb = 10,
          .use_private_network = true};
}

class GroupsRig : public Rig {
 public:
  GroupsRig() { Restart(); }
  ~GroupsRig() { Stop(); }

  // As after a crash: nothing is remembered but what the cloud knows.
  void Restart() {
    Stop();
    workers_ = std::make_unique<Pool>(10, 1000);
    groups_ =
        MUST(cloud::CloudNodeGroups::Create({cloud(), *workers_, clock, rng, log, metrics},
                                            {.cluster = "test", .list_lag = milliseconds(300)},
                                            {AServedGroup(kWorkers), AServedGroup("others")}));
  }
  cloud::NodeGroups& groups() { return *groups_; }
  Status Refresh() { return groups_->Refresh(Soon()); }
  int Target() { return MUST(groups_->TargetSize(kWorkers)); }

  // Refreshes until `done` or five seconds: what happens in the background has no other end to wait
  // for.
  bool Eventually(const std::function<bool()>& done) {
    const Deadline patience = Deadline::In(clock, seconds(5));
    while (!patience.Passed(clock)) {
      if (Refresh().ok() && done()) return true;
      clock.SleepFor(milliseconds(20));
    }
    return false;
  }
  size_t Running() {
    size_t running = 0;
    for (const auto& instance : MUST(groups_->Instances(kWorkers))) {
      running += instance.state == cloud::InstanceState::kRunning ? 1 : 0;
    }
    return running;
  }

 private:
  void Stop() {
    if (groups_) (void)groups_->Drain(Deadline::In(clock, seconds(5)));
    groups_.reset();
    workers_.reset();
  }

  std::unique_ptr<Pool> workers_;
  std::unique_ptr<cloud::CloudNodeGroups> groups_;
};

TEST(CloudscaleNodeGroupsTest, ACreateSlowerThanTheClientsDeadlineIsNoFailure) {
  GroupsRig rig;
  ASSERT_OK(rig.Refresh());
  rig.emulator.SetFaults({.create_latency = milliseconds(900)});
  EXPECT_OK(rig.groups().Increase(kWorkers, 2, Deadline::In(rig.clock, milliseconds(600))));
  EXPECT_EQ(rig.Target(), 2);
  EXPECT_TRUE(rig.Eventually([&] { return rig.Running() == 2; }));
  EXPECT_EQ(rig.emulator.server_count(), 2u);
}

TEST(CloudscaleNodeGroupsTest, LostAnswersNeitherLeakNorDouble) {
  GroupsRig rig;
  ASSERT_OK(rig.Refresh());
  rig.emulator.SetFaults({.closed_creates = 3, .list_lag_after_create = milliseconds(100)});
  (void)rig.groups().Increase(kWorkers, 5, rig.Soon());
  EXPECT_TRUE(rig.Eventually([&] { return rig.Running() == 5; }));
  EXPECT_EQ(rig.emulator.server_count(), 5u);
  EXPECT_EQ(rig.Target(), 5);
}

TEST(CloudscaleNodeGroupsTest, QuotaIsListedAsOutOfResources) {
  GroupsRig rig;
  ASSERT_OK(rig.Refresh());
  rig.emulator.SetFaults({.server_quota = 2});
  const Status status = rig.groups().Increase(kWorkers, 3, rig.Soon());
  EXPECT_THAT(status.message(), testing::HasSubstr("quota")) << status;
  EXPECT_TRUE(rig.Eventually([&] { return rig.Running() == 2; }));
  EXPECT_EQ(rig.emulator.server_count(), 2u);
}

TEST(CloudscaleNodeGroupsTest, AfterARestartEveryMachineIsInItsGroup) {
  GroupsRig rig;
  ASSERT_OK(rig.Refresh());
  ASSERT_OK(rig.groups().Increase(kWorkers, 3, rig.Soon()));
  rig.Restart();
  ASSERT_TRUE(rig.Eventually([&] { return rig.Running() == 3; }));
  EXPECT_EQ(rig.Target(), 3);
  const auto instances = MUST(rig.groups().Instances(kWorkers));
  EXPECT_OK(rig.groups().Delete(kWorkers, {{instances[0].id, "node"}}, rig.Soon()));
  EXPECT_EQ(rig.emulator.server_count(), 2u);
}

TEST(CloudscaleNodeGroupsTest, ServersOfOthersAreNeverDeleted) {
  GroupsRig rig;
  const std::string control_plane = rig.emulator.AddServer("control-plane", {});
  const std::string other_cluster = rig.emulator.AddServer(
      "workers-x", {{cloud::kGroupTag, kWorkers}, {cloud::kClusterTag, "else"}});
  const std::string other_group = rig.emulator.AddServer(
      "others-x", {{cloud::kGroupTag, "others"}, {cloud::kClusterTag, "test"}});
  ASSERT_OK(rig.Refresh());
  ASSERT_OK(rig.groups().Increase(kWorkers, 1, rig.Soon()));
  ASSERT_TRUE(rig.Eventually([&] { return rig.Running() == 1; }));
  const std::string ours = MUST(rig.groups().Instances(kWorkers))[0].id;
  for (const std::string& id :
       {"cloudscale://" + control_plane, "cloudscale://" + other_cluster,
        "cloudscale://" + other_group,
        std::string("cloudscale://47cec963-fcd2-482f-bdb6-24461b2d47b1"),
        std::string("cloudscale://x"), std::string("aws:///a/b"), std::string()}) {
    const Status status = rig.groups().Delete(kWorkers, {{ours, "a"}, {id, "b"}}, rig.Soon());
    EXPECT_FALSE(status.ok()) << id;
    EXPECT_THAT(status.message(), testing::HasSubstr(id));
  }
  EXPECT_EQ(rig.emulator.server_count(), 4u) << "not even the good one among the bad";
  EXPECT_EQ(rig.emulator.Requests("DELETE /v1/servers"), 0);
}

TEST(CloudscaleNodeGroupsTest, AnApiThatIsDownKeepsTheLastPicture) {
  GroupsRig rig;
  ASSERT_OK(rig.Refresh());
  ASSERT_OK(rig.groups().Increase(kWorkers, 2, rig.Soon()));
  ASSERT_TRUE(rig.Eventually([&] { return rig.Running() == 2; }));
  rig.emulator.SetFaults({.html_errors = 100});
  EXPECT_EQ(rig.Refresh().code(), Code::kUnavailable);
  EXPECT_EQ(rig.Target(), 2);
  EXPECT_EQ(rig.Running(), 2u);
}

}  // namespace
}  // namespace coppice::emulator

namespace coppice::conformance {

struct CloudscaleGroupsUnderTest : emulator::GroupsRig {
  Clock& clock() { return emulator::Rig::clock; }
  std::string Group() { return "workers"; }
  std::string OtherGroup() { return "others"; }
  void Settle() { clock().SleepFor(std::chrono::milliseconds(40)); }
  int CallsOut() {
    int sum = 0;
    for (const char* what :
         {"GET /v1/servers", "POST /v1/servers", "DELETE /v1/servers", "GET /v1/flavors"}) {
      sum += emulator.Requests(what);
    }
    return sum;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(CloudscaleGroups, NodeGroupsSuite, CloudscaleGroupsUnderTest);

}  // namespace coppice::conformance
