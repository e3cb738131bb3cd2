// What CloudNodeGroups makes of lists, restarts and new configurations, and what it answers reads
// with.

#include "cloud/cloud_node_groups_fixture.h"
#include "test/conformance/node_groups_suite.h"
#include "test/support/counting_cloud.h"

namespace coppice::cloud {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(CloudNodeGroupsTest, AMachineWhoseTagsChangeMovesToItsNewGroupOrLeaves) {
  ASSERT_OK(groups->Increase("batch", 1, Soon()));
  const auto nodes = Registered("batch");
  cloud.SetTags(nodes[0].provider_id, {{kGroupTag, "web"}, {kClusterTag, "prod"}});
  Pass(seconds(10));
  EXPECT_EQ(MUST(groups->GroupOf(nodes[0])), "web");
  EXPECT_EQ(Target("batch"), 0);
  EXPECT_EQ(Target("web"), 1);
  cloud.SetTags(nodes[0].provider_id, {{kClusterTag, "prod"}});
  Pass(seconds(10));
  EXPECT_EQ(MUST(groups->GroupOf(nodes[0])), std::nullopt);
  EXPECT_FALSE(groups->Delete("web", nodes, Soon()).ok());
  EXPECT_THAT(cloud.alive(), SizeIs(1));
}

TEST_F(CloudNodeGroupsTest, ListsThatLagNeitherForgetNorResurrect) {
  cloud.draw_lag = [] { return seconds(40); };
  ASSERT_OK(groups->Increase("web", 2, Soon()));
  const auto nodes = Registered();
  Pass(seconds(10));
  EXPECT_EQ(Registered().size(), 2u);
  EXPECT_EQ(Target(), 2);
  Pass(minutes(2));
  ASSERT_OK(groups->Delete("web", {nodes[0]}, Soon()));
  Pass(seconds(10));
  EXPECT_EQ(Target(), 1);
  EXPECT_EQ(MUST(groups->GroupOf(nodes[0])), "web");
  EXPECT_EQ(List()[0].state, InstanceState::kDeleting);
  Pass(minutes(2));
  EXPECT_THAT(List(), SizeIs(1));
  EXPECT_EQ(MUST(groups->GroupOf(nodes[0])), std::nullopt);
}

TEST_F(CloudNodeGroupsTest, AMachineThatRefusesToDieCountsAgain) {
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  const auto nodes = Registered();
  cloud.on_delete = [](const ProviderId&) { return FakeAnswer{.happens = false}; };
  ASSERT_OK(groups->Delete("web", nodes, Soon()));
  Pass(minutes(5));
  EXPECT_EQ(Target(), 0);
  Pass(minutes(6));
  EXPECT_EQ(Target(), 1);
}

TEST_F(CloudNodeGroupsTest, AFailedRefreshKeepsWhatWasKnown) {
  ASSERT_OK(groups->Increase("web", 2, Soon()));
  cloud.on_list = [] { return FakeAnswer{.status = Unavailable("page 2 of 3 is missing")}; };
  clock.Advance(minutes(5));
  const Status status = groups->Refresh(Soon());
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("listing machines: page 2 of 3"));
  EXPECT_EQ(Target(), 2);
  EXPECT_THAT(List(), SizeIs(2));
}

TEST_F(CloudNodeGroupsTest, FlavorsAreAskedForOncePerHourAndMayFail) {
  int asked = 0;
  cloud.on_flavors = [&] {
    ++asked;
    return FakeAnswer{.status = Unavailable("down")};
  };
  Pass(minutes(30));
  EXPECT_EQ(asked, 0);
  Pass(minutes(31));
  EXPECT_EQ(asked, 1);
  EXPECT_OK(groups->Template("web"));
}

TEST_F(CloudNodeGroupsTest, AfterARestartEveryMachineIsInAGroupOrAnOrphan) {
  ASSERT_OK(groups->Increase("web", 2, Soon()));
  AnswerCreates({kLost});
  ASSERT_OK(groups->Increase("batch", 1, Soon()));
  const std::string lost_group = cloud.Plant("old-1", {{kGroupTag, "old"}, {kClusterTag, "prod"}});
  cloud.Plant("control-plane", {{kClusterTag, "prod"}});
  cloud.Plant("theirs", {{kGroupTag, "old"}, {kClusterTag, "test"}});
  Restart();
  EXPECT_EQ(Target("web"), 2);
  EXPECT_EQ(Target("batch"), 1);
  const auto picture = groups->picture();
  ASSERT_THAT(*picture->orphans, SizeIs(1));
  EXPECT_EQ(picture->orphans->front().id, lost_group);
  EXPECT_THAT(metrics.Render(), HasSubstr("coppice_provider_orphan_machines 1"));
}

TEST_F(CloudNodeGroupsTest, GroupsCanBeAddedChangedAndRemoved) {
  ASSERT_OK(groups->Increase("web", 2, Soon()));
  const auto nodes = Registered();
  auto changed = TwoGroups();
  changed[0] = {.name = "new", .max_size = 3, .flavor = "small", .zone = "zone1"};
  changed[1].max_size = 30;
  ASSERT_OK(groups->Reconfigure(changed));
  EXPECT_EQ(groups->Groups()[1].max_size, 30);
  EXPECT_EQ(groups->TargetSize("web").code(), Code::kNotFound);
  EXPECT_EQ(MUST(groups->GroupOf(nodes[0])), std::nullopt);
  EXPECT_THAT(*groups->picture()->orphans, SizeIs(2));
  EXPECT_OK(groups->Increase("new", 1, Soon()));
  EXPECT_THAT(metrics.Render(), testing::Not(HasSubstr("target_size{node_group=\"web\"}")));

  EXPECT_EQ(groups->Reconfigure({{.name = "Bad Name", .flavor = "small"}}).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(groups->Groups().size(), 2u);

  auto back = TwoGroups();
  ASSERT_OK(groups->Reconfigure(back));
  EXPECT_EQ(Target("web"), 2);
  EXPECT_EQ(MUST(groups->GroupOf(nodes[0])), "web");
  EXPECT_THAT(*groups->picture()->orphans, SizeIs(1));
}

TEST_F(CloudNodeGroupsTest, AMistakeInTheGroupsGetsASentenceEach) {
  auto bad = TwoGroups();
  bad[0].name = "batch";
  bad[1].max_size = 0;
  bad[1].tags[kClusterTag] = "test";
  const Status status = groups->Reconfigure(bad);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("used twice"), HasSubstr("below minSize 1"),
                                      HasSubstr("clusterTag says 'prod'")));
}

TEST_F(CloudNodeGroupsTest, AnUnchangedPictureKeepsItsVersion) {
  ASSERT_OK(groups->Increase("web", 2, Soon()));
  Pass(minutes(1));
  const uint64_t version = groups->Version();
  const auto before = groups->picture();
  Pass(seconds(10));
  EXPECT_EQ(groups->Version(), version);
  EXPECT_GT(groups->picture()->refreshed_at, before->refreshed_at);
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  EXPECT_GT(groups->Version(), version);
  const auto after = groups->picture();
  EXPECT_GT(after->Find("web")->version, before->Find("web")->version);
  EXPECT_EQ(after->Find("batch"), before->Find("batch"));  // shared
}

TEST_F(CloudNodeGroupsTest, PricesComeFromTheFlavor) {
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  const TimePoint start = clock.Now();
  const TimePoint end = start + minutes(30);
  EXPECT_DOUBLE_EQ(MUST(groups->NodePrice(Registered()[0], {}, start, end)), 0.025);
  EXPECT_DOUBLE_EQ(
      MUST(groups->NodePrice({"", "template"}, {{"node.kubernetes.io/instance-type", "large"}},
                             start, end)),
      0.10);
  EXPECT_EQ(groups->NodePrice({"x", "y"}, {}, start, end).code(), Code::kUnimplemented);

  model::Pod pod;
  pod.spec.containers.resize(1);
  pod.spec.containers[0].resources.requests["cpu"] = MUST(model::Quantity::Parse("1"));
  EXPECT_DOUBLE_EQ(MUST(groups->PodPrice(pod, start, end)), 0.0125);  // 1/8 large = 1/2 small
  pod.spec.containers[0].resources.requests["nvidia.com/gpu"] = MUST(model::Quantity::Parse("1"));
  EXPECT_EQ(groups->PodPrice(pod, start, end).code(), Code::kUnimplemented);  // no group has one
}

TEST_F(CloudNodeGroupsTest, OptionsOverrideACopyOfTheDefaults) {
  auto configured = TwoGroups();
  configured[0].options.scale_down_unneeded_time = minutes(3);
  ASSERT_OK(groups->Reconfigure(configured));
  ScalingOptions defaults;
  defaults.max_node_provision_time = minutes(99);
  const auto own = MUST(groups->Options("web", defaults));
  ASSERT_TRUE(own);
  EXPECT_EQ(own->scale_down_unneeded_time, minutes(3));
  EXPECT_EQ(own->max_node_provision_time, minutes(99));
  EXPECT_EQ(MUST(groups->Options("batch", defaults)), std::nullopt);
}

TEST_F(CloudNodeGroupsTest, EveryMutationLeavesAnAuditEntryWithItsCaller) {
  {
    const CallerScope scope("cluster-autoscaler");
    AnswerCreates({{}, kQuota});
    EXPECT_FALSE(groups->Increase("web", 2, Soon()).ok());
  }
  EXPECT_OK(groups->Delete("web", Registered(), Soon()));
  EXPECT_FALSE(groups->DecreaseTarget("web", -1, Soon()).ok());
  ASSERT_THAT(audit, SizeIs(3));
  EXPECT_EQ(audit[0].caller, "cluster-autoscaler");
  EXPECT_EQ(audit[0].action, "increase");
  EXPECT_EQ(audit[0].asked, 2);
  EXPECT_EQ(audit[0].done, 1);
  EXPECT_EQ(audit[0].status.code(), Code::kResourceExhausted);
  EXPECT_EQ(audit[1].caller, "");
  EXPECT_EQ(audit[1].names.size(), 1u);
  EXPECT_EQ(audit[2].action, "decrease_target");
}

TEST_F(CloudNodeGroupsTest, BeforeTheFirstListReadsSaySoAndMutationsListFirst) {
  cloud.Plant("web-1", {{kGroupTag, "web"}, {kClusterTag, "prod"}});
  groups = MUST(
      CloudNodeGroups::Create({cloud, workers, clock, rng, log, metrics}, options, TwoGroups()));
  EXPECT_EQ(groups->TargetSize("web").code(), Code::kUnavailable);
  EXPECT_EQ(groups->Instances("web").code(), Code::kUnavailable);
  EXPECT_EQ(groups->Groups().size(), 2u);
  EXPECT_EQ(groups->Increase("web", 5, Soon()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(Target(), 1);
}

TEST_F(CloudNodeGroupsTest, DrainingDropsWhatWasNotSentAndRefusesMore) {
  options.max_parallel = 1;
  Restart();
  slow = true;
  ASSERT_OK(groups->Increase("web", 3, Soon()));
  const Status status = groups->Drain(Soon());
  EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
  EXPECT_EQ(groups->Increase("web", 1, Soon()).code(), Code::kUnavailable);
  workers.StepAll();
  EXPECT_THAT(cloud.alive(), IsEmpty());
  EXPECT_OK(groups->Drain(Soon()));
}

TEST_F(CloudNodeGroupsTest, WithoutAClusterTagMachinesOfOtherClustersAreNotOurs) {
  options.cluster = "";
  groups = MUST(
      CloudNodeGroups::Create({cloud, workers, clock, rng, log, metrics}, options, TwoGroups()));
  cloud.Plant("web-1", {{kGroupTag, "web"}, {kClusterTag, "other"}});
  const std::string ours = cloud.Plant("web-2", {{kGroupTag, "web"}});
  ASSERT_OK(groups->Refresh(Soon()));
  ASSERT_THAT(List(), SizeIs(1));
  EXPECT_EQ(List()[0].id, ours);
}

TEST_F(CloudNodeGroupsTest, OnlyOfMachinesThatWereOursIsSaidThatTheyAreGone) {
  const auto has = [&](const ProviderId& id) { return groups->HasInstance({id, "node"}); };
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  const ProviderId ours = List().at(0).id;
  const ProviderId orphan = cloud.Plant("o", {{kClusterTag, "prod"}, {kGroupTag, "old"}});
  const ProviderId control_plane = cloud.Plant("c", {{kClusterTag, "prod"}});
  Pass(std::chrono::seconds(1));
  EXPECT_TRUE(MUST(has(ours)));
  EXPECT_TRUE(MUST(has(orphan)));
  EXPECT_EQ(has(control_plane).code(), Code::kUnimplemented);
  EXPECT_EQ(has("fake://of-another-account").code(), Code::kUnimplemented);
  EXPECT_EQ(has("").code(), Code::kUnimplemented);
  cloud.Vanish(ours);
  Pass(std::chrono::minutes(2));
  EXPECT_FALSE(MUST(has(ours)));
}

}  // namespace
}  // namespace coppice::cloud

namespace coppice::conformance {

struct CloudNodeGroupsUnderTest {
  FakeClock fake_clock;
  cloud::FakeCloud fake{fake_clock};
  test::CountingCloud cloud{fake};
  InlineWorkers workers;
  SeededRng rng{1};
  Log log = Log::Null();
  Metrics metrics;
  std::unique_ptr<cloud::CloudNodeGroups> under_test = MUST(cloud::CloudNodeGroups::Create(
      {cloud, workers, fake_clock, rng, log, metrics}, {.cluster = "c"},
      {{.name = "first", .max_size = 5, .flavor = "small"},
       {.name = "second", .max_size = 5, .flavor = "large"}}));

  cloud::NodeGroups& groups() { return *under_test; }
  Clock& clock() { return fake_clock; }
  std::string Group() { return "first"; }
  std::string OtherGroup() { return "second"; }
  void Settle() { fake_clock.Advance(std::chrono::minutes(2)); }
  int CallsOut() { return cloud.calls(); }
};
INSTANTIATE_TYPED_TEST_SUITE_P(CloudNodeGroups, NodeGroupsSuite, CloudNodeGroupsUnderTest);

}  // namespace coppice::conformance
