#include "cloud/cloud_node_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "base/fake_clock.h"
#include "cloud/fake_cloud.h"
#include "cloud/order.h"
#include "test/conformance/node_groups_suite.h"
#include "test/support/must.h"
#include "test/support/step_workers.h"

namespace coppice::cloud {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<GroupConfig> TwoGroups() {
  return {{.name = "web",
           .max_size = 5,
           .flavor = "small",
           .image = "debian",
           .zone = "zone1",
           .volume_size_gb = 50},
          {.name = "batch",
           .min_size = 1,
           .max_size = 20,
           .flavor = "large",
           .image = "debian",
           .zone = "zone1"}};
}

// A provider on a fake cloud. Calls to the cloud are answered at once unless `slow`; then they wait
// for workers.Step(), and the fake clock jumps to the client's deadline meanwhile.
class CloudNodeGroupsTest : public testing::Test {
 protected:
  CloudNodeGroupsTest() {
    workers.now = [this] { return !slow; };
    Restart();
  }

  void Restart() {
    workers.Forget();
    options.cluster = "prod";
    options.audit = [this](const AuditEntry& entry) { audit.push_back(entry); };
    groups = MUST(
        CloudNodeGroups::Create({cloud, workers, clock, rng, log, metrics}, options, TwoGroups()));
    EXPECT_OK(groups->Refresh(Soon()));
  }
  Deadline Soon() { return Deadline::In(clock, seconds(5)); }
  int Target(const std::string& group = "web") { return MUST(groups->TargetSize(group)); }
  std::vector<Instance> List(const std::string& group = "web") {
    return MUST(groups->Instances(group));
  }
  std::vector<NodeRef> Registered(const std::string& group = "web") {
    std::vector<NodeRef> nodes;
    for (const Instance& instance : List(group))
      nodes.push_back({instance.id, "node-of-" + instance.id});
    return nodes;
  }
  // Creates answer as the queue says, then normally.
  void AnswerCreates(std::deque<FakeAnswer> answers) {
    cloud.on_create = [answers = std::move(answers)](const MachineSpec&) mutable {
      if (answers.empty()) return FakeAnswer{};
      FakeAnswer answer = answers.front();
      answers.pop_front();
      return answer;
    };
  }
  void Pass(Duration time) {
    clock.Advance(time);
    ASSERT_OK(groups->Refresh(Soon()));
  }

  FakeClock clock;
  FakeCloud cloud{clock};
  test::StepWorkers workers;
  SeededRng rng{7};
  Log log = Log::Null();
  Metrics metrics;
  CloudNodeGroupsOptions options;
  std::vector<AuditEntry> audit;
  bool slow = false;
  std::unique_ptr<CloudNodeGroups> groups;
};

const FakeAnswer kQuota = {.status = ResourceExhausted("quota is used up"), .happens = false};
const FakeAnswer kLost = {.status = Unavailable("connection reset"), .happens = true};
const FakeAnswer kNeverArrived = {.status = Unavailable("connection reset"), .happens = false};

TEST_F(CloudNodeGroupsTest, TagsGoIntoTheCreateRequest) {
  ASSERT_OK(groups->Increase("web", 2, Soon()));
  for (const auto& entry : cloud.everything()) {
    EXPECT_EQ(entry.spec.tags.at(kGroupTag), "web");
    EXPECT_EQ(entry.spec.tags.at(kClusterTag), "prod");
    EXPECT_THAT(entry.spec.name, testing::StartsWith("web-"));
    EXPECT_EQ(entry.spec.disk_bytes, 50LL << 30);
  }
  EXPECT_EQ(Target(), 2);
  EXPECT_EQ(List()[0].state, InstanceState::kCreating);
  Pass(minutes(1));
  EXPECT_EQ(List()[0].state, InstanceState::kRunning);
}

TEST_F(CloudNodeGroupsTest, TheTargetIsRaisedBeforeTheFirstCreate) {
  int target_during_create = -1;
  cloud.on_create = [&](const MachineSpec&) {
    if (target_during_create < 0) target_during_create = Target();
    return FakeAnswer{};
  };
  ASSERT_OK(groups->Increase("web", 3, Soon()));
  EXPECT_EQ(target_during_create, 3);
}

TEST_F(CloudNodeGroupsTest, AboveTheMaximumTheErrorNamesGroupNumbersAndRemedy) {
  ASSERT_OK(groups->Increase("web", 3, Soon()));
  const Status status = groups->Increase("web", 3, Soon());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(
      status.message(),
      "group 'web': cannot grow by 3: the target is 3 and the maximum 5; ask for at most 2 or "
      "raise maxSize");
  EXPECT_EQ(groups->Increase("web", 2147483647, Soon()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(Target(), 3);
  EXPECT_EQ(cloud.creates(), 3);
}

TEST_F(CloudNodeGroupsTest, AfterAPartialFailureTheTargetIsWhatExists) {
  AnswerCreates({{}, kQuota, {}, kQuota});
  const Status status = groups->Increase("web", 4, Soon());
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("group 'web': 2 of 4 machines could not be ordered"),
                    HasSubstr("quota is used up (2 times)"), HasSubstr("2 were"),
                    HasSubstr("raise the quota")));
  EXPECT_EQ(Target(), 2);
  EXPECT_THAT(List(), SizeIs(2));
  EXPECT_THAT(cloud.alive(), SizeIs(2));
  EXPECT_THAT(
      metrics.Render(),
      HasSubstr("node_group_scale_up_total{node_group=\"web\",result=\"partial_failure\"} 1"));
}

TEST_F(CloudNodeGroupsTest, WhatTheCloudHasNotAnsweredGoesOnInTheBackground) {
  slow = true;
  const TimePoint asked = clock.Now();
  ASSERT_OK(groups->Increase("web", 3, Deadline{asked + seconds(5)}));
  EXPECT_LT(clock.Now(), asked + seconds(5));
  EXPECT_EQ(Target(), 3);
  ASSERT_THAT(List(), SizeIs(3));
  for (const Instance& instance : List()) {
    EXPECT_EQ(instance.state, InstanceState::kCreating);
    EXPECT_EQ(instance.error, std::nullopt);
    EXPECT_EQ(MUST(groups->GroupOf({instance.id, instance.id})), "web");
    EXPECT_TRUE(MUST(groups->HasInstance({instance.id, instance.id})));
  }
  workers.StepAll();
  EXPECT_EQ(Target(), 3);
  EXPECT_THAT(cloud.alive(), SizeIs(3));
  for (const Instance& instance : List()) EXPECT_TRUE(cloud.OwnsId(instance.id)) << instance.id;
}

TEST_F(CloudNodeGroupsTest, AFailureKnownLaterIsListedWithItsClassAndCanBeDeleted) {
  slow = true;
  AnswerCreates({kQuota, {.status = InvalidArgument("no such image"), .happens = false}});
  ASSERT_OK(groups->Increase("web", 2, Soon()));
  workers.StepAll();

  const auto listed = List();
  ASSERT_THAT(listed, SizeIs(2));
  EXPECT_EQ(Target(), 2);
  std::map<ErrorClass, std::string> codes;
  for (const Instance& instance : listed) {
    EXPECT_EQ(instance.state, InstanceState::kCreating);
    ASSERT_TRUE(instance.error);
    codes[instance.error->error_class] = instance.error->code;
    EXPECT_EQ(MUST(groups->GroupOf({instance.id, instance.id})), "web");
  }
  EXPECT_EQ(codes[ErrorClass::kOutOfResources], "RESOURCE_EXHAUSTED");
  EXPECT_EQ(codes[ErrorClass::kOther], "INVALID_ARGUMENT");

  ASSERT_OK(groups->Delete("web", {{listed[0].id, listed[0].id}, {listed[1].id, ""}}, Soon()));
  EXPECT_EQ(Target(), 0);
  EXPECT_THAT(List(), IsEmpty());
  // Once more: it is gone, which is what was asked for.
  EXPECT_OK(groups->Delete("web", {{listed[0].id, listed[0].id}}, Soon()));
  EXPECT_FALSE(groups->Delete("batch", {{listed[0].id, listed[0].id}}, Soon()).ok());
}

TEST_F(CloudNodeGroupsTest, AnOrderThatTheCloudHasIsDeletedWhenItComes) {
  slow = true;
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  const auto listed = List();
  // The cloud has it once the step has begun: delete from within the create.
  cloud.on_create = [&](const MachineSpec&) {
    EXPECT_OK(groups->Delete("web", {{listed[0].id, listed[0].id}}, Soon()));
    EXPECT_EQ(Target(), 0);
    EXPECT_EQ(List()[0].state, InstanceState::kDeleting);
    return FakeAnswer{};
  };
  workers.StepAll();
  EXPECT_EQ(cloud.creates(), 1);
  EXPECT_THAT(cloud.alive(), IsEmpty());
  EXPECT_EQ(Target(), 0);
}

TEST_F(CloudNodeGroupsTest, ALostAnswerIsFoundByNameAndNotOrderedTwice) {
  AnswerCreates({kLost});
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  EXPECT_EQ(Target(), 1);
  EXPECT_THAT(List()[0].id, testing::StartsWith(std::string(kPlaceholderScheme)));
  Pass(seconds(10));
  EXPECT_EQ(List()[0].id, cloud.alive()[0].id);
  EXPECT_EQ(Target(), 1);
  Pass(minutes(5));
  EXPECT_EQ(cloud.creates(), 1);
}

TEST_F(CloudNodeGroupsTest, AnOrderThatNeverArrivedIsRepeatedUnderItsNameOnceTheListIsOldEnough) {
  AnswerCreates({kNeverArrived});
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  const std::string placeholder = List()[0].id;
  Pass(seconds(30));
  EXPECT_EQ(cloud.creates(), 1);  // the list may lag by a minute
  EXPECT_EQ(List()[0].id, placeholder);
  Pass(seconds(31));
  EXPECT_EQ(cloud.creates(), 2);
  ASSERT_THAT(cloud.alive(), SizeIs(1));
  EXPECT_EQ(PlaceholderId("web", cloud.alive()[0].name), placeholder);
  EXPECT_EQ(List()[0].id, cloud.alive()[0].id);
}

TEST_F(CloudNodeGroupsTest, AnOrderThatIsNeverAnsweredFailsVisibly) {
  cloud.on_create = [](const MachineSpec&) { return kNeverArrived; };
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  for (int i = 0; i < 3; ++i) Pass(seconds(61));
  EXPECT_EQ(cloud.creates(), 3);
  ASSERT_THAT(List(), SizeIs(1));
  ASSERT_TRUE(List()[0].error);
  EXPECT_EQ(List()[0].error->code, "UNANSWERED");
  EXPECT_EQ(List()[0].error->error_class, ErrorClass::kOther);
}

TEST_F(CloudNodeGroupsTest, AMachineThatEndsInFailureIsACreateError) {
  AnswerCreates({{.ends_failed = true}});
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  Pass(seconds(10));
  ASSERT_THAT(List(), SizeIs(1));
  EXPECT_EQ(List()[0].state, InstanceState::kCreating);
  ASSERT_TRUE(List()[0].error);
  EXPECT_EQ(List()[0].error->code, "BOOT_FAILED");
}

TEST_F(CloudNodeGroupsTest, AMachineThatRanAndFailsIsNoCreateError) {
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  Pass(minutes(2));
  cloud.SetState(List()[0].id, MachineState::kFailed);
  Pass(seconds(10));
  EXPECT_EQ(List()[0].state, InstanceState::kRunning);  // or its pods would be deleted undrained
}

TEST_F(CloudNodeGroupsTest, DeletesTakeWhatWasNamedAndMayBeRepeated) {
  ASSERT_OK(groups->Increase("web", 3, Soon()));
  const auto nodes = Registered();
  ASSERT_OK(groups->Delete("web", {nodes[0], nodes[2]}, Soon()));
  EXPECT_EQ(Target(), 1);
  ASSERT_THAT(cloud.alive(), SizeIs(1));
  EXPECT_EQ(cloud.alive()[0].id, nodes[1].provider_id);
  EXPECT_OK(groups->Delete("web", {nodes[0]}, Soon()));  // lists may still show it
  Pass(minutes(2));
  EXPECT_THAT(List(), SizeIs(1));
  EXPECT_OK(groups->Delete("web", {nodes[0]}, Soon()));  // and now they do not
  EXPECT_EQ(Target(), 1);
}

TEST_F(CloudNodeGroupsTest, ADeleteThatTheCloudConfirmsAsGoneCountsAsDone) {
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  const auto nodes = Registered();
  cloud.Vanish(nodes[0].provider_id);
  EXPECT_OK(groups->Delete("web", nodes, Soon()));
  EXPECT_EQ(Target(), 0);
}

struct BadDelete {
  std::string name;
  std::function<std::vector<NodeRef>(const std::vector<NodeRef>& good, const std::string& foreign)>
      nodes;
  Code code;
  std::string named;
};
class BadDeleteTest : public CloudNodeGroupsTest, public testing::WithParamInterface<BadDelete> {};

TEST_P(BadDeleteTest, DeletesNothingAndNamesTheId) {
  ASSERT_OK(groups->Increase("web", 3, Soon()));
  const std::string foreign =
      cloud.Plant("web-00000000", {{kGroupTag, "web"}, {kClusterTag, "other"}});
  const std::string sibling =
      cloud.Plant("batch-00000000", {{kGroupTag, "batch"}, {kClusterTag, "prod"}});
  ASSERT_EQ(sibling, "fake://00000005");
  Pass(minutes(2));
  const auto alive = cloud.alive();

  const Status status = groups->Delete("web", GetParam().nodes(Registered(), foreign), Soon());

  EXPECT_EQ(status.code(), GetParam().code) << status;
  EXPECT_THAT(status.message(), AllOf(HasSubstr("group 'web'"), HasSubstr("nothing was deleted"),
                                      HasSubstr(GetParam().named)));
  EXPECT_EQ(cloud.alive(), alive);
  EXPECT_EQ(Target(), 3);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadDeleteTest,
    testing::ValuesIn(std::vector<BadDelete>{
        {"WrongGroup", [](auto&, auto&) { return std::vector<NodeRef>{{"fake://00000005", "n"}}; },
         Code::kFailedPrecondition, "'fake://00000005' belongs to group 'batch'"},
        {"WrongCluster", [](auto&, auto& foreign) { return std::vector<NodeRef>{{foreign, "n"}}; },
         Code::kNotFound, "'fake://00000004'"},
        {"UnknownId", [](auto&, auto&) { return std::vector<NodeRef>{{"fake://12345678", "n"}}; },
         Code::kNotFound, "'fake://12345678'"},
        {"MalformedId", [](auto&, auto&) { return std::vector<NodeRef>{{"fake:/1", "n"}}; },
         Code::kInvalidArgument, "'fake:/1'"},
        {"NoId", [](auto&, auto&) { return std::vector<NodeRef>{{"", "node-7"}}; },
         Code::kInvalidArgument, "'node-7'"},
        {"IdTwice", [](auto& good, auto&) { return std::vector<NodeRef>{good[0], good[0]}; },
         Code::kInvalidArgument, "'fake://00000001' is named twice"},
        {"OneBadAmongGood",
         [](auto& good, auto& foreign) {
           return std::vector<NodeRef>{good[0], {foreign, "n"}, good[1]};
         },
         Code::kNotFound, "'fake://00000004'"},
    }),
    [](const auto& row) { return row.param.name; });

TEST_F(CloudNodeGroupsTest, ADeleteBelowTheMinimumIsRefusedUnlessUnregisteredOrACreateError) {
  ASSERT_OK(groups->Increase("batch", 2, Soon()));
  const auto nodes = Registered("batch");
  const Status status = groups->Delete("batch", nodes, Soon());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("below the minimum of 1"));
  EXPECT_THAT(cloud.alive(), SizeIs(2));
  EXPECT_OK(groups->Delete("batch", {nodes[0]}, Soon()));
  EXPECT_FALSE(groups->Delete("batch", {nodes[1]}, Soon()).ok());
  EXPECT_OK(groups->Delete("batch", {{nodes[1].provider_id, nodes[1].provider_id}}, Soon()));
  EXPECT_EQ(Target("batch"), 0);

  AnswerCreates({{.ends_failed = true}});
  ASSERT_OK(groups->Increase("batch", 1, Soon()));
  EXPECT_OK(groups->Delete("batch", {{cloud.alive()[0].id, "a-node"}}, Soon()));
  EXPECT_EQ(Target("batch"), 0);
}

TEST_F(CloudNodeGroupsTest, ADeleteUnderWayIsNotAskedForTwiceAndGoesOnAfterTheDeadline) {
  ASSERT_OK(groups->Increase("web", 2, Soon()));
  const auto nodes = Registered();
  slow = true;
  ASSERT_OK(groups->Delete("web", {nodes[0]}, Soon()));
  EXPECT_EQ(Target(), 1);
  EXPECT_EQ(List()[0].state, InstanceState::kDeleting);
  const Status again = groups->Delete("web", {nodes[0]}, Soon());
  EXPECT_EQ(again.code(), Code::kFailedPrecondition);
  EXPECT_THAT(again.message(), HasSubstr("is being deleted already"));
  // Not confirmed: it may come back, so it still counts against the maximum of 5.
  EXPECT_EQ(groups->Increase("web", 4, Soon()).code(), Code::kFailedPrecondition);
  workers.StepAll();
  EXPECT_THAT(cloud.alive(), SizeIs(1));
  EXPECT_OK(groups->Delete("web", {nodes[0]}, Soon()));
}

TEST_F(CloudNodeGroupsTest, AFailedDeleteKeepsTheMachineInTheTarget) {
  ASSERT_OK(groups->Increase("web", 2, Soon()));
  const auto nodes = Registered();
  cloud.on_delete = [&](const ProviderId& id) {
    return id == nodes[0].provider_id ? FakeAnswer{.status = Internal("boom"), .happens = false}
                                      : FakeAnswer{};
  };
  const Status status = groups->Delete("web", nodes, Soon());
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("1 of 2 machines could not be deleted"),
                                      HasSubstr(nodes[0].provider_id)));
  EXPECT_EQ(Target(), 1);
  cloud.on_delete = nullptr;
  EXPECT_OK(groups->Delete("web", nodes, Soon()));  // one is done, one is done now
  EXPECT_EQ(Target(), 0);
}

TEST_F(CloudNodeGroupsTest, DecreaseTargetCancelsOnlyWhatTheCloudHasNotHeardOf) {
  options.max_parallel = 2;
  Restart();
  slow = true;
  ASSERT_OK(groups->Increase("web", 5, Soon()));
  cloud.on_create = [&, first = true](const MachineSpec&) mutable {
    if (std::exchange(first, false)) {
      EXPECT_EQ(groups->DecreaseTarget("web", -5, Soon()).code(), Code::kFailedPrecondition);
      EXPECT_EQ(Target(), 5);
      EXPECT_OK(groups->DecreaseTarget("web", -4, Soon()));
      EXPECT_EQ(Target(), 1);
    }
    return FakeAnswer{};
  };
  workers.StepAll();
  EXPECT_THAT(cloud.alive(), SizeIs(1));
  EXPECT_EQ(Target(), 1);
  EXPECT_EQ(groups->DecreaseTarget("web", -1, Soon()).code(), Code::kFailedPrecondition);
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
  const auto snapshot = groups->snapshot();
  ASSERT_THAT(*snapshot->orphans, SizeIs(1));
  EXPECT_EQ(snapshot->orphans->front().id, lost_group);
  EXPECT_THAT(metrics.Render(), HasSubstr("autoscaler_cloudscale_orphan_machines 1"));
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
  EXPECT_THAT(*groups->snapshot()->orphans, SizeIs(2));
  EXPECT_OK(groups->Increase("new", 1, Soon()));
  EXPECT_THAT(metrics.Render(), testing::Not(HasSubstr("target_size{node_group=\"web\"}")));

  EXPECT_EQ(groups->Reconfigure({{.name = "Bad Name", .flavor = "small"}}).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(groups->Groups().size(), 2u);

  auto back = TwoGroups();
  ASSERT_OK(groups->Reconfigure(back));
  EXPECT_EQ(Target("web"), 2);
  EXPECT_EQ(MUST(groups->GroupOf(nodes[0])), "web");
  EXPECT_THAT(*groups->snapshot()->orphans, SizeIs(1));
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
  const auto before = groups->snapshot();
  Pass(seconds(10));
  EXPECT_EQ(groups->Version(), version);
  EXPECT_GT(groups->snapshot()->refreshed_at, before->refreshed_at);
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  EXPECT_GT(groups->Version(), version);
  const auto after = groups->snapshot();
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

}  // namespace
}  // namespace coppice::cloud

namespace coppice::conformance {

struct CloudNodeGroupsUnderTest {
  FakeClock fake_clock;
  cloud::FakeCloud cloud{fake_clock};
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
};
INSTANTIATE_TYPED_TEST_SUITE_P(CloudNodeGroups, NodeGroupsSuite, CloudNodeGroupsUnderTest);

}  // namespace coppice::conformance
