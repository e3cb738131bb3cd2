#include "cloud/cloud_node_groups.h"

#include "cloud/cloud_node_groups_fixture.h"
#include "cloud/group_instances.h"

namespace coppice::cloud {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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

TEST_F(CloudNodeGroupsTest, AnIncreaseAnswersAfterItsTimeWhateverTheDeadlineAndTheRestGoesOn) {
  options.answer_increase_after = seconds(1);
  Restart();
  slow = true;
  AnswerCreates({{}, kQuota});
  const TimePoint asked = clock.Now();
  ASSERT_OK(groups->Increase("web", 3, Deadline{asked + minutes(1)}));
  EXPECT_EQ(clock.Now(), asked + seconds(1));
  EXPECT_EQ(audit.back().done, 0);
  EXPECT_EQ(audit.back().pending, 3);
  EXPECT_EQ(Target(), 3);
  EXPECT_THAT(List(), SizeIs(3));
  // While they are under way: no room is given out twice, a list changes nothing.
  EXPECT_EQ(groups->Increase("web", 3, Soon()).code(), Code::kFailedPrecondition);
  Pass(seconds(2));
  EXPECT_EQ(Target(), 3);
  // Two come, and the refusal is told by the instance: deleted, it takes its share of the target.
  workers.StepAll();
  EXPECT_THAT(cloud.alive(), SizeIs(2));
  EXPECT_EQ(Target(), 3);
  std::vector<NodeRef> failed;
  for (const Instance& instance : List()) {
    if (instance.error) failed.push_back({instance.id, instance.id});
  }
  ASSERT_THAT(failed, SizeIs(1));
  ASSERT_OK(groups->Delete("web", failed, Soon()));
  EXPECT_EQ(Target(), 2);
}

TEST_F(CloudNodeGroupsTest, AnIncreaseThatIsAnsweredSoonerDoesNotWaitForItsTime) {
  options.answer_increase_after = seconds(1);
  Restart();
  const TimePoint asked = clock.Now();
  AnswerCreates({{}, kQuota});
  EXPECT_EQ(groups->Increase("web", 2, Soon()).code(), Code::kResourceExhausted);
  EXPECT_EQ(clock.Now(), asked);
  EXPECT_EQ(Target(), 1);
}

TEST_F(CloudNodeGroupsTest, AnOrderThatIsStillQueuedWhenItsAnswerWasGivenCanBeTakenBack) {
  options.answer_increase_after = seconds(1);
  options.max_parallel = 1;
  Restart();
  slow = true;
  ASSERT_OK(groups->Increase("web", 3, Soon()));
  ASSERT_OK(groups->DecreaseTarget("web", -2, Soon()));
  EXPECT_EQ(Target(), 1);
  workers.StepAll();
  EXPECT_THAT(cloud.alive(), SizeIs(1));
  // And what is queued when the process ends is never ordered.
  ASSERT_OK(groups->Increase("web", 2, Soon()));
  (void)groups->Drain(Soon());
  workers.StepAll();
  EXPECT_THAT(cloud.alive(), SizeIs(1));
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

TEST_F(CloudNodeGroupsTest, AMachineOnItsWayOutIsNoInstanceForItsNode) {
  slow = true;
  ASSERT_OK(groups->Increase("web", 1, Soon()));
  workers.StepAll();
  const ProviderId id = List().front().id;
  EXPECT_TRUE(MUST(groups->HasInstance({id, "node"})));
  ASSERT_OK(groups->Delete("web", {{id, "node"}}, Deadline{clock.Now() + seconds(5)}));
  EXPECT_FALSE(MUST(groups->HasInstance({id, "node"})));  // as it is not in the target any more
  EXPECT_EQ(Target(), 0);
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

}  // namespace
}  // namespace coppice::cloud
