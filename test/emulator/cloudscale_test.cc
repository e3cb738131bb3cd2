// The cloudscale plug-in over real HTTP on loopback against the emulated API: conformance, and
// every fault that the emulator has a switch for.

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "plugins/clouds/cloudscale/cloudscale_cloud.h"
#include "test/conformance/cloud_suite.h"
#include "test/emulator/rig.h"
#include "test/support/must.h"

namespace coppice::emulator {
namespace {

using clouds::cloudscale::TokenSource;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(CloudscaleOverHttpTest, TheCreateRequestHasEverything) {
  Rig rig;
  const std::string network = rig.emulator.AddNetwork("private", "rma1");
  const std::string subnet = rig.emulator.AddSubnet(network, "10.0.0.0/24");
  const std::string group = rig.emulator.AddServerGroup("spread", "rma1");
  auto spec = rig.Spec("workers-1");
  spec.image = "custom:talos";
  spec.user_data = "#cloud-config\nfoo: \"bar\"\n";
  spec.extra = rig.cloud().Extra({.ssh_keys = {"ssh-ed25519 AAAA me"},
                                  .server_group_uuids = {group},
                                  .use_private_network = true,
                                  .network_uuid = network,
                                  .subnet_uuid = subnet});
  const auto machine = MUST(rig.cloud().Create(spec, rig.Soon()));
  EXPECT_EQ(machine.state, cloud::MachineState::kCreating);
  EXPECT_EQ(machine.flavor, "flex-8-2");
  const auto sent = nlohmann::json::parse(rig.emulator.CreateRequestOf("workers-1"));
  EXPECT_EQ(sent["user_data"], spec.user_data);
  EXPECT_EQ(sent["volume_size_gb"], 50);
  EXPECT_EQ(sent["tags"][cloud::kClusterTag], "test");
  EXPECT_EQ(sent["server_groups"][0], group);
  EXPECT_EQ(sent["interfaces"][0]["addresses"][0]["subnet"], subnet);
}

TEST(CloudscaleOverHttpTest, ConnectionsAreReused) {
  Rig rig;
  for (int i = 0; i < 20; ++i) ASSERT_OK(rig.cloud().Flavors(rig.Soon()));
  EXPECT_EQ(rig.server->connections(), 1);
}

TEST(CloudscaleOverHttpTest, ACreateOnAReusedConnectionThatDiesIsNotSentTwice) {
  Rig rig;
  ASSERT_OK(rig.cloud().Flavors(rig.Soon()));  // the connection that libcurl would repeat on
  rig.emulator.SetFaults({.closed_creates = 1});
  const auto machine = MUST(rig.cloud().Create(rig.Spec("workers-1"), rig.Soon()));
  EXPECT_EQ(machine.name, "workers-1");
  EXPECT_EQ(rig.emulator.Requests("POST /v1/servers"), 1);
  EXPECT_EQ(rig.emulator.server_count(), 1u);
}

TEST(CloudscaleOverHttpTest, ACreateThatNeverAnswersIsFoundByItsName) {
  Rig rig;
  rig.emulator.SetFaults({.hung_creates = 1});
  const auto cloud = rig.Make(TokenSource::Fixed(Secret("right")), milliseconds(100));
  EXPECT_EQ(MUST(cloud->Create(rig.Spec("workers-1"), rig.Soon())).name, "workers-1");
  EXPECT_THAT(rig.emulator.server_names(), ElementsAre("workers-1"));
}

TEST(CloudscaleOverHttpTest, ACreateLostTogetherWithALaggingListStaysOneServer) {
  Rig rig;
  rig.emulator.SetFaults({.closed_creates = 1, .list_lag_after_create = milliseconds(700)});
  const auto first = rig.cloud().Create(rig.Spec("workers-1"), rig.Soon());
  EXPECT_EQ(first.code(), Code::kUnavailable) << first.status();
  rig.clock.SleepFor(milliseconds(300));
  EXPECT_OK(rig.cloud().Create(rig.Spec("workers-1"), rig.Soon()));
  EXPECT_THAT(rig.emulator.server_names(), ElementsAre("workers-1"));
}

TEST(CloudscaleOverHttpTest, TruncatedAnswersAreNotTaken) {
  Rig rig;
  rig.emulator.SetFaults({.truncated_answers = 1, .only = "GET"});
  EXPECT_OK(rig.cloud().Flavors(rig.Soon()));
  rig.emulator.SetFaults({.truncated_answers = 1, .only = "POST"});
  EXPECT_OK(rig.cloud().Create(rig.Spec("workers-1"), rig.Soon()));
  EXPECT_EQ(rig.emulator.server_count(), 1u);
}

TEST(CloudscaleOverHttpTest, ErrorsInFrontOfACreateLeaveNoServerAndNoDouble) {
  Rig rig;
  for (const Faults& faults :
       {Faults{.server_errors = 1, .only = "POST"}, Faults{.html_errors = 1, .only = "POST"}}) {
    rig.emulator.SetFaults(faults);
    const auto result = rig.cloud().Create(rig.Spec("workers-1"), rig.Soon());
    EXPECT_EQ(result.code(), Code::kUnavailable) << "unknown, and not found in the list";
    EXPECT_EQ(rig.emulator.server_count(), 0u);
  }
  EXPECT_OK(rig.cloud().Create(rig.Spec("workers-1"), rig.Soon()));
  EXPECT_EQ(rig.emulator.server_count(), 1u);
}

TEST(CloudscaleOverHttpTest, ThrottlingIsWaitedOut) {
  Rig rig;
  rig.emulator.SetFaults({.too_many_requests = 2, .retry_after_seconds = 0});
  EXPECT_OK(rig.cloud().Create(rig.Spec("workers-1"), rig.Soon()));
  EXPECT_EQ(rig.emulator.Requests("POST /v1/servers"), 3);
  EXPECT_EQ(rig.emulator.server_count(), 1u);
}

TEST(CloudscaleOverHttpTest, QuotaIsOutOfResources) {
  Rig rig;
  rig.emulator.SetFaults({.server_quota = 1});
  ASSERT_OK(rig.cloud().Create(rig.Spec("workers-1"), rig.Soon()));
  const auto second = rig.cloud().Create(rig.Spec("workers-2"), rig.Soon());
  EXPECT_EQ(second.code(), Code::kResourceExhausted);
  EXPECT_THAT(second.status().message(), HasSubstr("quota of servers"));
}

TEST(CloudscaleOverHttpTest, ANameThatIsTakenIsTheOrdersFault) {
  Rig rig;
  rig.emulator.AddServer("workers-1", {});
  rig.emulator.SetFaults({.refuse_duplicate_names = true});
  EXPECT_EQ(rig.cloud().Create(rig.Spec("workers-1"), rig.Soon()).code(), Code::kInvalidArgument);
}

TEST(CloudscaleOverHttpTest, AFailedServerIsListedAsFailed) {
  Rig rig;
  rig.emulator.SetFaults({.failed_creates = 1});
  ASSERT_OK(rig.cloud().Create(rig.Spec("workers-1"), rig.Soon()));
  rig.clock.SleepFor(milliseconds(30));
  const auto listed = MUST(rig.cloud().List({{cloud::kClusterTag, "test"}}, rig.Soon()));
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].state, cloud::MachineState::kFailed);
  ASSERT_TRUE(listed[0].error);
}

TEST(CloudscaleOverHttpTest, AListThatStillShowsWhatIsGoneSaysNotFoundAtTheSecondDelete) {
  Rig rig;
  const auto machine = MUST(rig.cloud().Create(rig.Spec("workers-1"), rig.Soon()));
  rig.emulator.SetFaults({.list_lag_after_delete = seconds(60)});
  ASSERT_OK(rig.cloud().Delete(machine.id, rig.Soon()));
  EXPECT_EQ(MUST(rig.cloud().List({}, rig.Soon())).size(), 1u) << "the lag";
  EXPECT_EQ(rig.cloud().Delete(machine.id, rig.Soon()).code(), Code::kNotFound);
}

TEST(CloudscaleOverHttpTest, TheDeadlineIsKept) {
  Rig rig;
  rig.emulator.SetFaults({.latency = milliseconds(500)});
  const TimePoint start = rig.clock.Now();
  const auto result = rig.cloud().List({}, Deadline::In(rig.clock, milliseconds(100)));
  EXPECT_EQ(result.code(), Code::kDeadlineExceeded) << result.status();
  EXPECT_LT(rig.clock.Now() - start, milliseconds(400));
}

TEST(CloudscaleOverHttpTest, AWrongTokenIsNamedButNotShown) {
  Rig rig;
  const auto cloud = rig.Make(TokenSource::Fixed(Secret("wr0ng")));
  const auto result = cloud->List({}, rig.Soon());
  EXPECT_EQ(result.code(), Code::kUnauthenticated);
  EXPECT_THAT(result.status().message(), HasSubstr("API token"));
  EXPECT_THAT(result.status().message(), testing::Not(HasSubstr("wr0ng")));
}

TEST(CloudscaleOverHttpTest, AReadOnlyTokenMayListAndNotCreate) {
  Rig rig({.token = "other", .read_only_token = "right"});
  EXPECT_OK(rig.cloud().List({}, rig.Soon()));
  EXPECT_EQ(rig.cloud().Create(rig.Spec("workers-1"), rig.Soon()).code(), Code::kPermissionDenied);
}

TEST(CloudscaleOverHttpTest, ARotatedTokenFileIsUsedByTheNextRequest) {
  const std::string path = testing::TempDir() + "emulator-token-" + std::to_string(::getpid());
  std::ofstream(path) << "stale";
  Rig rig;
  const auto cloud = rig.Make(TokenSource::File(path));
  EXPECT_EQ(cloud->List({}, rig.Soon()).code(), Code::kUnauthenticated);
  std::ofstream(path) << "right\n";
  EXPECT_OK(cloud->List({}, rig.Soon()));
  std::remove(path.c_str());
}

TEST(CloudscaleOverHttpTest, ManyThreadsCreateAndListAtOnce) {
  Rig rig;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 4; ++i) {
        const auto machine =
            rig.cloud().Create(rig.Spec("workers-" + std::to_string(t * 10 + i)), rig.Soon());
        if (!machine.ok() || !rig.cloud().List({}, rig.Soon()).ok()) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(rig.emulator.server_count(), 64u);
  EXPECT_LE(rig.server->connections(), 16);
}

cloud::GroupConfig AGroup() {
  return {.name = "workers",
          .max_size = 3,
          .flavor = "flex-8-2",
          .image = "debian-12",
          .zone = "rma1",
          .volume_size_gb = 50,
          .use_private_network = true};
}

TEST(CloudscaleValidateTest, AGoodGroupHasNoMistakes) {
  Rig rig;
  auto group = AGroup();
  EXPECT_THAT(MUST(rig.cloud().Validate(group, rig.Soon())), testing::IsEmpty());
  group.image = "custom:talos";
  group.network_uuid = rig.emulator.AddNetwork("n", "rma1");
  group.subnet_uuid = rig.emulator.AddSubnet(group.network_uuid, "10.0.0.0/24");
  group.server_group_uuids = {rig.emulator.AddServerGroup("g", "rma1")};
  EXPECT_THAT(MUST(rig.cloud().Validate(group, rig.Soon())), testing::IsEmpty());
}

TEST(CloudscaleValidateTest, EachMistakeHasASentence) {
  Rig rig;
  const std::string elsewhere = rig.emulator.AddNetwork("n", "lpg1");
  const std::string other = rig.emulator.AddNetwork("m", "rma1");
  const std::string foreign_subnet = rig.emulator.AddSubnet(other, "10.0.0.0/24");
  const std::string far_group = rig.emulator.AddServerGroup("g", "lpg1");
  const std::vector<std::pair<std::function<void(cloud::GroupConfig&)>, std::string>> rows = {
      {[](auto& g) { g.flavor = "flex-8-3"; }, "flavor 'flex-8-3' does not exist"},
      {[](auto& g) { g.flavor = "flex-8-3"; }, "did you mean 'flex-8-"},
      {[](auto& g) { g.image = "debian-99"; }, "image 'debian-99' does not exist"},
      {[](auto& g) { g.image = "custom:nothing"; },
       "among the custom images of this project; there are: custom:talos"},
      {[](auto& g) { g.zone = "rma9"; },
       "zone 'rma9' does not exist at cloudscale.ch; there are: lpg1, rma1"},
      {[](auto& g) { g.zone = "lpg1", g.flavor = "gpu2-128-16-1-200"; },
       "flavor 'gpu2-128-16-1-200' is not in zone lpg1, only in rma1"},
      {[&](auto& g) { g.network_uuid = elsewhere; }, "is not in zone rma1, only in lpg1"},
      {[&](auto& g) { g.network_uuid = "no-such-network"; },
       "network no-such-network does not exist"},
      {[&](auto& g) { g.network_uuid = elsewhere, g.subnet_uuid = foreign_subnet; },
       "belongs to network " + other + ", not to " + elsewhere},
      {[&](auto& g) { g.server_group_uuids = {far_group}; },
       "server group " + far_group + " is not in zone rma1"},
      {[](auto& g) { g.volume_size_gb = 5; },
       "volumeSizeGB is 5, and the smallest volume has 10 GB"},
      {[](auto& g) { g.user_data = "\xff"; }, "not UTF-8"}};
  for (const auto& [spoil, sentence] : rows) {
    auto group = AGroup();
    spoil(group);
    EXPECT_THAT(MUST(rig.cloud().Validate(group, rig.Soon())),
                testing::Contains(HasSubstr(sentence)));
  }
}

TEST(CloudscaleValidateTest, ManyGroupsAskTheApiOnce) {
  Rig rig;
  for (int i = 0; i < 50; ++i) ASSERT_OK(rig.cloud().Validate(AGroup(), rig.Soon()));
  EXPECT_EQ(rig.emulator.Requests("GET /v1/flavors"), 1);
}

TEST(CloudscaleValidateTest, AnApiThatDoesNotAnswerIsAnErrorAndNotAMistake) {
  Rig rig;
  rig.emulator.SetFaults({.server_errors = 100});
  EXPECT_EQ(rig.cloud().Validate(AGroup(), rig.Soon()).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace coppice::emulator

namespace coppice::conformance {

struct EmulatedCloudscale {
  cloud::Cloud& cloud() { return rig.cloud(); }
  Clock& clock() { return rig.clock; }
  cloud::MachineSpec ASpec(const std::string& name) { return rig.Spec(name); }
  cloud::ProviderId AnUnknownId() { return "cloudscale://47cec963-fcd2-482f-bdb6-24461b2d47b1"; }
  void Settle() { rig.clock.SleepFor(std::chrono::milliseconds(25)); }

  emulator::Rig rig;
};
INSTANTIATE_TYPED_TEST_SUITE_P(CloudscaleOverHttp, CloudSuite, EmulatedCloudscale);

}  // namespace coppice::conformance
