// The client against a scripted provider: what is asked, what is kept, what a failure does.

#include "plugins/node_groups/externalgrpc/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "base/fake_clock.h"
#include "base/rng.h"
#include "externalgrpc.pb.h"
#include "test/externalgrpc/scripted.h"
#include "test/support/must.h"
#include "wire/wire.h"

namespace coppice::node_groups::externalgrpc {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;
using cloud::Instance;
using cloud::InstanceState;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::shared_ptr<const model::Node> ATemplate(const char* cpu = "2") {
  model::Node node;
  node.metadata.name = "template";
  for (const char* resource : {"memory", "pods"}) {
    node.status.allocatable[resource] = MUST(model::Quantity::Parse("100"));
  }
  node.status.allocatable["cpu"] = MUST(model::Quantity::Parse(cpu));
  return std::make_shared<const model::Node>(std::move(node));
}

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    provider.groups.Add({.info = {.id = "web", .min_size = 1, .max_size = 9, .debug = "web"},
                         .target = 2,
                         .instances = {{.id = "test://1", .state = InstanceState::kRunning},
                                       {.id = "test://2", .state = InstanceState::kRunning}},
                         .node_template = ATemplate()});
    provider.groups.Add({.info = {.id = "batch", .max_size = 5}});
    provider.groups.SetGpu("test/gpu", {"l4", "a100"});
    Open();
  }
  void Open() {
    CloudConfig config;
    config.address = "127.0.0.1:1";
    config.mutation_timeout = config.refresh_timeout = seconds(30);
    config.max_concurrent_calls = 4;
    client = std::make_unique<Client>(Client::Parts{.config = config,
                                                    .transport = provider.transport(),
                                                    .clock = clock,
                                                    .log = log,
                                                    .metrics = metrics});
  }
  Deadline Soon() { return Deadline::In(clock, seconds(30)); }
  Status Pass(Duration time = seconds(10)) {
    clock.Advance(time);
    return client->Refresh(Soon());
  }
  // Every read there is, for what is known, unknown, and nonsense.
  void ReadEverything() {
    (void)client->Version();
    (void)client->Groups();
    (void)client->GpuLabel();
    (void)client->GpuTypes();
    cloud::ScalingOptions other;
    other.scale_down_unneeded_time = minutes(3);
    for (const char* group : {"web", "batch", "nobody"}) {
      (void)client->TargetSize(group);
      (void)client->Instances(group);
      (void)client->Template(group);
      (void)client->Options(group, {});
      (void)client->Options(group, other);
    }
    for (const cloud::NodeRef& node : std::vector<cloud::NodeRef>{
             {"test://2", "node-2"}, {"opaque://7", "worker-7"}, {"", "control-plane"}, {"", ""}}) {
      (void)client->GroupOf(node);
      (void)client->HasInstance(node);
      (void)client->NodePrice(node, {{"type", "a"}}, clock.Now(), clock.Now() + minutes(60));
    }
    (void)client->PodPrice({}, clock.Now(), clock.Now() + minutes(60));
    client->TellNodes([](const std::function<void(const cloud::NodeRef&)>& tell) {
      tell({"opaque://9", "worker-9"});
    });
  }
  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const auto& info : client->Groups()) ids.push_back(info.id);
    return ids;
  }

  FakeClock clock;
  std::string lines;
  Log log{clock, [this](std::string_view line) { lines += line; }, LogFormat::kJson};
  Metrics metrics;
  test::ScriptedProvider provider;
  std::unique_ptr<Client> client;
};

TEST_F(ClientTest, ReadsAfterARefreshAskNothing) {
  ASSERT_OK(client->Refresh(Soon()));
  const int asked = provider.asked();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Ids(), ElementsAre("web", "batch"));
    EXPECT_EQ(MUST(client->TargetSize("web")), 2);
    EXPECT_THAT(MUST(client->Instances("web")), SizeIs(2));
    EXPECT_EQ(*MUST(client->Template("web")), *ATemplate());
    EXPECT_EQ(client->Template("batch").code(), Code::kUnimplemented);
    EXPECT_EQ(MUST(client->Options("web", {})), std::nullopt);
    EXPECT_EQ(MUST(client->GroupOf({"test://2", "node-2"})), "web");
    EXPECT_EQ(client->HasInstance({"test://2", "node-2"}).code(), Code::kUnimplemented);
    EXPECT_EQ(client->GpuLabel(), "test/gpu");
    EXPECT_THAT(client->GpuTypes(), ElementsAre("a100", "l4"));
  }
  EXPECT_EQ(provider.asked(), asked);
}

TEST_F(ClientTest, ReadsBeforeTheFirstRefreshAskNothingAndSaySo) {
  ReadEverything();
  EXPECT_THAT(Ids(), IsEmpty());
  EXPECT_EQ(client->TargetSize("web").code(), Code::kUnavailable);
  EXPECT_EQ(client->GroupOf({"test://2", "node-2"}).code(), Code::kUnavailable);
  EXPECT_EQ(provider.asked(), 0);
  // What was wanted is asked now, but not what the lists show by then.
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_EQ(MUST(client->GroupOf({"test://2", "node-2"})), "web");
  EXPECT_EQ(MUST(client->GroupOf({"", "control-plane"})), std::nullopt);
  EXPECT_EQ(provider.asked("NodeGroupForNode"), 4);
}

TEST_F(ClientTest, NoReadAsksWhateverItIsAskedFor) {
  for (const char* method : {"", "Refresh", "NodeGroupForNode", "NodeGroupGetOptions"}) {
    if (*method != '\0') provider.Fail(method, Unavailable("away"));
    (void)Pass(minutes(2));
    const int asked = provider.asked();
    ReadEverything();
    EXPECT_EQ(provider.asked(), asked) << method;
  }
}

TEST_F(ClientTest, ANodeThatNoGroupListsIsNotKnownUntilRefreshHasAsked) {
  ASSERT_OK(client->Refresh(Soon()));
  provider.groups.Map("worker-7", "batch");  // known to the provider by its name only
  for (int i = 0; i < 3; ++i) {
    const auto group = client->GroupOf({"opaque://7", "worker-7"});
    EXPECT_EQ(group.code(), Code::kUnavailable);
    EXPECT_THAT(group.status().message(), HasSubstr("worker-7"));
    EXPECT_EQ(client->GroupOf({"", "control-plane"}).code(), Code::kUnavailable);
  }
  EXPECT_EQ(provider.asked("NodeGroupForNode"), 0);
  const uint64_t version = client->Version();
  ASSERT_OK(Pass());
  EXPECT_GT(client->Version(), version);
  EXPECT_EQ(provider.asked("NodeGroupForNode"), 2);
  EXPECT_EQ(MUST(client->GroupOf({"opaque://7", "worker-7"})), "batch");
  provider.groups.Map("control-plane", "web");
  EXPECT_EQ(MUST(client->GroupOf({"", "control-plane"})), std::nullopt);  // until the next Refresh
  ASSERT_OK(Pass());
  EXPECT_EQ(MUST(client->GroupOf({"", "control-plane"})), "web");
  EXPECT_EQ(provider.asked("NodeGroupForNode"), 4);
  // A good answer outlives the failures after it.
  provider.Fail("NodeGroupForNode", Unavailable("busy"));
  ASSERT_OK(Pass());
  EXPECT_EQ(MUST(client->GroupOf({"", "control-plane"})), "web");
  provider.Behave("NodeGroupForNode");
  // What nobody wants any more is not asked for ever.
  for (int i = 0; i < 4; ++i) ASSERT_OK(Pass());
  const int asked = provider.asked("NodeGroupForNode");
  ASSERT_OK(Pass());
  EXPECT_EQ(provider.asked("NodeGroupForNode"), asked);
}

TEST_F(ClientTest, TheFirstRefreshAsksAboutTheNodesThatItWasToldOfAndNoListShows) {
  provider.groups.Map("worker-7", "batch");
  client->TellNodes([](const std::function<void(const cloud::NodeRef&)>& tell) {
    tell({"test://1", "node-1"});
    tell({"test://2", "node-2"});
    tell({"opaque://7", "worker-7"});
    tell({"", "control-plane"});
  });
  EXPECT_EQ(provider.asked(), 0);
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_EQ(provider.asked("NodeGroupForNode"), 2);
  EXPECT_EQ(MUST(client->GroupOf({"opaque://7", "worker-7"})), "batch");
  EXPECT_EQ(MUST(client->GroupOf({"", "control-plane"})), std::nullopt);
  EXPECT_EQ(MUST(client->GroupOf({"test://1", "node-1"})), "web");
}

TEST_F(ClientTest, ADeleteAsksWhoseANodeIsIfNobodyHas) {
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_EQ(client->Delete("web", {{"opaque://7", "worker-7"}}, Soon()).code(),
            Code::kFailedPrecondition);
  provider.Fail("NodeGroupForNode", Unavailable("busy"));
  const Status status = client->Delete("web", {{"opaque://8", "worker-8"}}, Soon());
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("is not deleted, its group is not known"));
  EXPECT_EQ(provider.asked("NodeGroupDeleteNodes"), 0);
}

TEST_F(ClientTest, LabelsAndAnnotationsOfTheNodeReachTheProvider) {
  provider.On("NodeGroupForNode", [](std::string_view bytes, Deadline) {
    pb::NodeGroupForNodeRequest request;
    EXPECT_TRUE(request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
    pb::NodeGroupForNodeResponse answer;
    answer.mutable_nodegroup()->set_id(request.node().labels().at("pool"));
    EXPECT_EQ(request.node().annotations().at("a"), "b");
    return Result<std::string>(answer.SerializeAsString());
  });
  ASSERT_OK(client->Refresh(Soon()));
  auto node = std::make_shared<model::Node>();
  node->metadata.labels["pool"] = "batch";
  node->metadata.annotations["a"] = "b";
  node->metadata.resource_version = "1";
  const cloud::NodeRef ref{.provider_id = "x://1", .name = "n", .node = node};
  EXPECT_FALSE(client->GroupOf(ref).ok());
  ASSERT_OK(Pass());
  EXPECT_EQ(MUST(client->GroupOf(ref)), "batch");
  // A node that has changed is asked about as it is now.
  node->metadata.labels["pool"] = "web";
  node->metadata.resource_version = "2";
  EXPECT_EQ(MUST(client->GroupOf(ref)), "batch");
  ASSERT_OK(Pass());
  EXPECT_EQ(MUST(client->GroupOf(ref)), "web");
}

TEST_F(ClientTest, ANodeOfAGroupThatIsNotListedIsNobodys) {
  pb::NodeGroupForNodeResponse answer;
  answer.mutable_nodegroup()->set_id("removed");
  provider.Answer("NodeGroupForNode", answer.SerializeAsString());
  EXPECT_FALSE(client->GroupOf({"x://1", "n"}).ok());
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_EQ(MUST(client->GroupOf({"x://1", "n"})), std::nullopt);
}

TEST_F(ClientTest, AFailedRefreshKeepsEverythingAndSaysSinceWhen) {
  ASSERT_OK(client->Refresh(Soon()));
  const uint64_t version = client->Version();
  for (const char* method : {"Refresh", "NodeGroups"}) {
    provider.Fail(method, Unavailable("connection refused"));
    const Status status = Pass();
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("provider 'externalgrpc' at 127.0.0.1:1"));
    EXPECT_THAT(status.message(), HasSubstr(std::string(method) + ": connection refused"));
    EXPECT_THAT(status.message(), HasSubstr("ago stay in use"));
    EXPECT_THAT(Ids(), ElementsAre("web", "batch"));
    EXPECT_EQ(client->Groups()[0].debug, "web (stale)");
    EXPECT_EQ(MUST(client->TargetSize("web")), 2);
    EXPECT_EQ(MUST(client->GroupOf({"test://2", "node-2"})), "web");
    EXPECT_EQ(client->picture()->stale_groups(), 2u);
    EXPECT_GT(client->Version(), version);
    // A provider that is known to be away is not asked for every node.
    const int asked = provider.asked();
    EXPECT_EQ(client->GroupOf({"", "control-plane"}).code(), Code::kUnavailable);
    EXPECT_EQ(provider.asked(), asked);
    provider.Behave(method);
  }
  EXPECT_THAT(metrics.Render(), HasSubstr("coppice_externalgrpc_up{provider=\"externalgrpc\"} 0"));
  EXPECT_THAT(
      metrics.Render(),
      HasSubstr("coppice_externalgrpc_oldest_answer_seconds{provider=\"externalgrpc\"} 20"));
  ASSERT_OK(Pass());
  EXPECT_EQ(client->Groups()[0].debug, "web");
  EXPECT_THAT(metrics.Render(), HasSubstr("coppice_externalgrpc_up{provider=\"externalgrpc\"} 1"));
  EXPECT_THAT(lines, HasSubstr("the provider failed"));
  EXPECT_THAT(lines, HasSubstr("the provider answers again"));
}

TEST_F(ClientTest, AFailureAtTheStartIsAnErrorAndNotAnEmptyCluster) {
  provider.Fail("NodeGroups", Unavailable("starting"));
  EXPECT_EQ(client->Refresh(Soon()).code(), Code::kUnavailable);
  EXPECT_EQ(client->TargetSize("web").code(), Code::kUnavailable);
  EXPECT_EQ(client->GroupOf({"test://1", "n"}).code(), Code::kUnavailable);
}

TEST_F(ClientTest, AGroupThatFailsFailsAlone) {
  ASSERT_OK(client->Refresh(Soon()));
  const auto fails = [](const std::string& group) {
    return [group](std::string_view request, Deadline) -> std::optional<Result<std::string>> {
      if (request.find(group) == std::string_view::npos) return std::nullopt;
      return Result<std::string>(Internal("boom"));
    };
  };
  provider.On("NodeGroupTargetSize", fails("web"));
  provider.groups.Change("web", [](auto& group) { group.target = 7; });
  provider.groups.Change("batch", [](auto& group) { group.target = 3; });
  ASSERT_OK(Pass());
  EXPECT_EQ(MUST(client->TargetSize("web")), 2);
  EXPECT_EQ(MUST(client->TargetSize("batch")), 3);
  EXPECT_EQ(client->picture()->stale_groups(), 1u);
  EXPECT_EQ(client->Groups()[0].debug, "web (stale)");
  EXPECT_THAT(lines, HasSubstr("their last answers are kept"));
  provider.On("NodeGroupTargetSize", fails(""));
  const Status status = Pass();
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("answered for none of 2 groups"));
  EXPECT_THAT(Ids(), ElementsAre("web", "batch"));
}

TEST_F(ClientTest, AGroupThatWasNeverReadIsNotListedYet) {
  provider.On("NodeGroupNodes",
              [](std::string_view request, Deadline) -> std::optional<Result<std::string>> {
                if (request.find("web") == std::string_view::npos) return std::nullopt;
                return Result<std::string>(Internal("boom"));
              });
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_THAT(Ids(), ElementsAre("batch"));
  EXPECT_EQ(client->TargetSize("web").code(), Code::kNotFound);
  provider.Behave("NodeGroupNodes");
  ASSERT_OK(Pass());
  EXPECT_THAT(Ids(), ElementsAre("web", "batch"));
}

TEST_F(ClientTest, AGroupThatDisappearsIsGoneAfterTheNextList) {
  ASSERT_OK(client->Refresh(Soon()));
  pb::NodeGroupsResponse answer;
  answer.add_nodegroups()->set_id("batch");
  provider.Answer("NodeGroups", answer.SerializeAsString());
  ASSERT_OK(Pass());
  EXPECT_THAT(Ids(), ElementsAre("batch"));
  EXPECT_EQ(client->TargetSize("web").code(), Code::kNotFound);
  EXPECT_EQ(client->GroupOf({"test://1", "n"}).code(), Code::kUnavailable);
  ASSERT_OK(Pass());
  EXPECT_EQ(MUST(client->GroupOf({"test://1", "n"})), std::nullopt);
}

TEST_F(ClientTest, GroupsKeepTheirOrderWhateverTheProviderDoes) {
  ASSERT_OK(client->Refresh(Soon()));
  pb::NodeGroupsResponse answer;
  for (const char* id : {"new", "batch", "web"}) {
    answer.add_nodegroups()->set_id(id);
    answer.mutable_nodegroups()->rbegin()->set_maxsize(9);
  }
  provider.groups.Add({.info = {.id = "new", .max_size = 9}});
  provider.Answer("NodeGroups", answer.SerializeAsString());
  ASSERT_OK(Pass());
  EXPECT_THAT(Ids(), ElementsAre("web", "batch", "new"));
}

TEST_F(ClientTest, ATemplateIsKeptAcrossRefreshesAndAskedAgainNowAndThen) {
  ASSERT_OK(client->Refresh(Soon()));
  const auto first = MUST(client->Template("web"));
  const int asked = provider.asked("NodeGroupTemplateNodeInfo");
  ASSERT_OK(Pass(seconds(30)));
  EXPECT_EQ(provider.asked("NodeGroupTemplateNodeInfo"), asked);
  ASSERT_OK(Pass(minutes(1)));  // the same bytes are the same node
  EXPECT_GT(provider.asked("NodeGroupTemplateNodeInfo"), asked);
  EXPECT_EQ(MUST(client->Template("web")), first);
  provider.groups.Change("web", [](auto& group) { group.node_template = ATemplate("8"); });
  ASSERT_OK(Pass(minutes(1)));
  EXPECT_EQ(*MUST(client->Template("web")), *ATemplate("8"));
  // What cannot be one leaves the last good one.
  for (const std::string bytes : {"", "\x12\x03zzz"}) {
    provider.Answer("NodeGroupTemplateNodeInfo", bytes);
    ASSERT_OK(Pass(minutes(1)));
    EXPECT_EQ(*MUST(client->Template("web")), *ATemplate("8"));
  }
}

TEST_F(ClientTest, ATemplateOfTheOldEraIsRead) {
  pb::NodeGroupTemplateNodeInfoResponse answer;
  answer.set_nodeinfo(wire::ToProto(*ATemplate("4")));
  provider.Answer("NodeGroupTemplateNodeInfo", answer.SerializeAsString());
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_EQ(*MUST(client->Template("web")), *ATemplate("4"));
}

TEST_F(ClientTest, AnAnswerWithoutATemplateIsAnError) {
  provider.Answer("NodeGroupTemplateNodeInfo", "");
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_EQ(client->Template("web").code(), Code::kInternal);
}

TEST_F(ClientTest, OptionsAreAskedWithTheDefaultsAndKept) {
  provider.groups.Change("web", [](auto& group) {
    group.options = [](cloud::ScalingOptions defaults) {
      defaults.scale_down_unneeded_time += minutes(1);
      return defaults;
    };
  });
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_EQ(MUST(client->Options("web", {}))->scale_down_unneeded_time, minutes(11));
  // With other defaults: not known before the next Refresh, which asks for all groups.
  cloud::ScalingOptions other;
  other.scale_down_unneeded_time = minutes(3);
  other.max_node_startup_time = minutes(44);
  const int asked = provider.asked("NodeGroupGetOptions");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client->Options("web", other).code(), Code::kUnavailable);
  }
  EXPECT_EQ(provider.asked("NodeGroupGetOptions"), asked);
  ASSERT_OK(Pass());
  EXPECT_EQ(provider.asked("NodeGroupGetOptions"), asked + 2);
  const auto options = MUST(client->Options("web", other));
  EXPECT_EQ(options->scale_down_unneeded_time, minutes(4));
  EXPECT_EQ(options->max_node_startup_time, minutes(44));  // upstream would read zero
  EXPECT_EQ(MUST(client->Options("batch", other)), std::nullopt);
  ASSERT_OK(Pass(minutes(2)));
  EXPECT_EQ(MUST(client->Options("web", other))->scale_down_unneeded_time, minutes(4));
  EXPECT_EQ(provider.asked("NodeGroupGetOptions"), asked + 4);
}

TEST_F(ClientTest, WhatIsNotImplementedIsRememberedAndTriedAgainMuchLater) {
  for (const char* method : {"NodeGroupGetOptions", "NodeGroupTemplateNodeInfo", "GPULabel",
                             "GetAvailableGPUTypes", "NodeGroupForNode", "Refresh", "Cleanup"}) {
    provider.Fail(method, Unimplemented(""));
  }
  EXPECT_FALSE(client->GroupOf({"", "control-plane"}).ok());
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_EQ(MUST(client->GroupOf({"", "control-plane"})), std::nullopt);
  const auto optional = [&] {
    return provider.asked("NodeGroupGetOptions") + provider.asked("NodeGroupTemplateNodeInfo") +
           provider.asked("GPULabel") + provider.asked("GetAvailableGPUTypes") +
           provider.asked("NodeGroupForNode") + provider.asked("Refresh");
  };
  const int asked = optional();
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(Pass(minutes(1)));
    EXPECT_EQ(MUST(client->Options("web", {})), std::nullopt);
    EXPECT_EQ(client->Template("web").code(), Code::kUnimplemented);
    EXPECT_EQ(client->GpuLabel(), "");
    EXPECT_EQ(MUST(client->GroupOf({"", "control-plane"})), std::nullopt);
    EXPECT_EQ(MUST(client->GroupOf({"", "another"})), std::nullopt);
  }
  EXPECT_EQ(optional(), asked);
  EXPECT_OK(client->Cleanup());
  for (const char* method : {"GPULabel", "NodeGroupTemplateNodeInfo"}) provider.Behave(method);
  clock.Advance(minutes(11));  // the provider was upgraded meanwhile; nobody has asked yet
  EXPECT_EQ(MUST(client->GroupOf({"", "another"})), std::nullopt);
  ASSERT_OK(Pass());
  EXPECT_EQ(client->GpuLabel(), "test/gpu");
  EXPECT_OK(client->Template("web"));
}

TEST_F(ClientTest, PricesAreLearnedOncePerShapeAndThenLookedUp) {
  provider.groups.SetPrices(0.5, 0.25);
  ASSERT_OK(client->Refresh(Soon()));
  const auto hour = std::chrono::hours(1);
  const auto node_price = [&](const std::string& type, const char* name = "x") {
    return client->NodePrice({"", name}, {{"type", type}}, clock.Now(), clock.Now() + hour);
  };
  std::vector<model::Pod> pods(5);
  EXPECT_EQ(client->PodPrice(pods[0], clock.Now(), clock.Now() + hour).code(), Code::kUnavailable);
  EXPECT_EQ(node_price("a").code(), Code::kUnavailable);
  const auto learn = [&](const std::string& type) {
    cloud::PriceQuestions questions{.start = clock.Now(), .end = clock.Now() + hour};
    for (size_t i = 0; i < pods.size(); ++i) {
      pods[i].metadata.name = "copy-" + std::to_string(i);
      questions.pods.push_back(&pods[i]);
      questions.nodes.push_back({{"", "template-" + std::to_string(i)}, {{"type", type}}});
    }
    client->LearnPrices(questions, Soon());
  };
  for (int i = 0; i < 3; ++i) {
    clock.Advance(seconds(1));
    learn("a");
    for (const model::Pod& pod : pods) {
      EXPECT_EQ(MUST(client->PodPrice(pod, clock.Now(), clock.Now() + hour)), 0.25);
    }
    EXPECT_EQ(MUST(node_price("a", "template-7")), 0.5);
  }
  EXPECT_EQ(provider.asked("PricingPodPrice"), 1);
  EXPECT_EQ(provider.asked("PricingNodePrice"), 1);
  provider.Fail("PricingNodePrice", Unavailable("down"));
  clock.Advance(minutes(5));
  learn("a");
  learn("c");
  EXPECT_EQ(MUST(node_price("a")), 0.5);
  EXPECT_EQ(node_price("c").code(), Code::kUnavailable);
  EXPECT_THAT(node_price("c").status().message(), HasSubstr("down"));
}

TEST_F(ClientTest, AProviderWithoutPricesIsAskedOnceAndNotPerPod) {
  provider.Fail("PricingPodPrice", Unimplemented(""));
  ASSERT_OK(client->Refresh(Soon()));
  std::vector<model::Pod> pods(100);
  cloud::PriceQuestions questions{.start = clock.Now(), .end = clock.Now() + minutes(60)};
  for (size_t i = 0; i < pods.size(); ++i) {
    pods[i].metadata.namespace_ = "n" + std::to_string(i);
    questions.pods.push_back(&pods[i]);
  }
  client->LearnPrices(questions, Soon());
  EXPECT_LE(provider.asked("PricingPodPrice"), 4);  // as many as run at a time
  EXPECT_EQ(client->PodPrice(pods[99], questions.start, questions.end).code(),
            Code::kUnimplemented);
}

// ---- Changes ----------------------------------------------------------------------------------

TEST_F(ClientTest, RefusalsOfTheProviderKeepTheirCode) {
  ASSERT_OK(client->Refresh(Soon()));
  for (const Status& refusal :
       {ResourceExhausted("quota: 3 of 3"), FailedPrecondition("not now"),
        PermissionDenied("token"), Status(Code::kUnknown, "some Go error")}) {
    provider.Fail("NodeGroupIncreaseSize", refusal);
    const Status status = client->Increase("web", 1, Soon());
    EXPECT_EQ(status.code(), refusal.code());
    EXPECT_EQ(status.message(), "NodeGroupIncreaseSize: " + refusal.message());
  }
  EXPECT_EQ(MUST(client->TargetSize("web")), 2);
  // gRPC's own limit is no stock-out.
  provider.Fail("NodeGroupIncreaseSize",
                ResourceExhausted("Received message larger than max (9 vs. 4)"));
  EXPECT_EQ(client->Increase("web", 1, Soon()).code(), Code::kInternal);
}

TEST_F(ClientTest, ALostAnswerToAnIncreaseThatHappenedIsASuccess) {
  ASSERT_OK(client->Refresh(Soon()));
  provider.On("NodeGroupIncreaseSize", [this](std::string_view, Deadline) {
    provider.groups.Change("web", [](auto& group) { group.target = 5; });
    return Result<std::string>(DeadlineExceeded("Deadline Exceeded"));
  });
  EXPECT_OK(client->Increase("web", 3, Soon()));
  EXPECT_EQ(MUST(client->TargetSize("web")), 5);
  EXPECT_THAT(lines, HasSubstr("answer was lost"));
  provider.Fail("NodeGroupIncreaseSize", DeadlineExceeded("Deadline Exceeded"));
  EXPECT_EQ(client->Increase("web", 1, Soon()).code(), Code::kDeadlineExceeded);
  EXPECT_EQ(MUST(client->TargetSize("web")), 5);
}

TEST_F(ClientTest, ASuccessWhoseTargetCannotBeReadIsWorkedOut) {
  ASSERT_OK(client->Refresh(Soon()));
  provider.Fail("NodeGroupTargetSize", Unavailable("busy"));
  ASSERT_OK(client->Increase("web", 3, Soon()));
  EXPECT_EQ(MUST(client->TargetSize("web")), 5);
  // Now the target is stale: the next change reads it first, and is not made if it cannot.
  EXPECT_EQ(client->Increase("web", 1, Soon()).code(), Code::kUnavailable);
  provider.Behave("NodeGroupTargetSize");
  EXPECT_OK(client->Increase("web", 1, Soon()));
  EXPECT_EQ(MUST(client->TargetSize("web")), 6);
}

TEST_F(ClientTest, ADecisionOnAnOldTargetIsNotCarriedOut) {
  ASSERT_OK(client->Refresh(Soon()));
  provider.Fail("Refresh", Unavailable("down"));
  EXPECT_FALSE(Pass().ok());
  provider.groups.Change("web", [](auto& group) { group.target = 4; });
  const Status status = client->Increase("web", 2, Soon());
  EXPECT_EQ(status.code(), Code::kAborted);
  EXPECT_THAT(status.message(), HasSubstr("target of 4 and not of 2"));
  EXPECT_EQ(provider.asked("NodeGroupIncreaseSize"), 0);
  EXPECT_EQ(MUST(client->TargetSize("web")), 4);
}

TEST_F(ClientTest, WhatCannotBeIsRefusedWithoutACall) {
  ASSERT_OK(client->Refresh(Soon()));
  const int asked = provider.asked();
  EXPECT_EQ(client->Increase("web", 8, Soon()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(client->Increase("web", 2'147'483'647, Soon()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(client->DecreaseTarget("web", 0, Soon()).code(), Code::kInvalidArgument);
  EXPECT_EQ(client->DecreaseTarget("web", -2'147'483'648, Soon()).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(client->IncreaseAtomically("web", 1, Soon()).code(), Code::kUnimplemented);
  EXPECT_EQ(client->Delete("web", {}, Soon()).code(), Code::kInvalidArgument);
  EXPECT_EQ(client->Delete("batch", {{"test://1", "n"}}, Soon()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(provider.asked(), asked);
}

TEST_F(ClientTest, WhatIsDeletedShowsAsGoingUntilTheProviderSaysOtherwise) {
  ASSERT_OK(client->Refresh(Soon()));
  ASSERT_OK(client->Delete("web", {{"test://1", "node-1"}}, Soon()));
  EXPECT_EQ(MUST(client->TargetSize("web")), 1);
  EXPECT_EQ(MUST(client->Instances("web"))[0].state, InstanceState::kDeleting);
  EXPECT_EQ(MUST(client->Instances("web"))[1].state, InstanceState::kRunning);
  ASSERT_OK(Pass());
  EXPECT_THAT(MUST(client->Instances("web")), SizeIs(1));
}

TEST_F(ClientTest, ALostAnswerToADeleteIsJudgedByWhatIsListed) {
  ASSERT_OK(client->Refresh(Soon()));
  provider.Fail("NodeGroupDeleteNodes", Unavailable("connection reset"));
  EXPECT_EQ(client->Delete("web", {{"test://1", "n"}}, Soon()).code(), Code::kUnavailable);
  EXPECT_EQ(MUST(client->Instances("web"))[0].state, InstanceState::kRunning);
  provider.On("NodeGroupDeleteNodes", [this](std::string_view, Deadline) {
    EXPECT_OK(provider.groups.Delete("web", {{"test://1", "n"}}, Deadline::Never()));
    return Result<std::string>(Unavailable("connection reset"));
  });
  EXPECT_OK(client->Delete("web", {{"test://1", "n"}}, Soon()));
}

TEST_F(ClientTest, StandInsSayWhyTheyGo) {
  std::string seen;
  provider.On("NodeGroupDeleteNodes",
              [&](std::string_view bytes, Deadline) -> std::optional<Result<std::string>> {
                pb::NodeGroupDeleteNodesRequest request;
                EXPECT_TRUE(request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
                seen =
                    request.nodes(0).annotations().at("k8s.io/cluster-autoscaler/fake-node-reason");
                return std::nullopt;
              });
  ASSERT_OK(client->Refresh(Soon()));
  ASSERT_OK(client->Delete(
      "web", {{.provider_id = "test://1", .name = "test://1", .stand_in_reason = "create-error"}},
      Soon()));
  EXPECT_EQ(seen, "create-error");
}

TEST_F(ClientTest, TheTargetComesDownAndALostAnswerIsJudgedByIt) {
  provider.groups.Change("batch", [](auto& group) { group.target = 4; });
  ASSERT_OK(client->Refresh(Soon()));
  ASSERT_OK(client->DecreaseTarget("batch", -1, Soon()));
  EXPECT_EQ(MUST(client->TargetSize("batch")), 3);
  provider.On("NodeGroupDecreaseTargetSize", [this](std::string_view, Deadline) {
    provider.groups.Change("batch", [](auto& group) { group.target = 1; });
    return Result<std::string>(Unavailable("connection reset"));
  });
  EXPECT_OK(client->DecreaseTarget("batch", -2, Soon()));
  EXPECT_EQ(MUST(client->TargetSize("batch")), 1);
}

// ---- Odd answers ------------------------------------------------------------------------------

TEST_F(ClientTest, OddAnswersArePutRightAndSaidOnce) {
  pb::NodeGroupsResponse groups;
  for (const char* id : {"web", "batch", "web", ""}) {
    auto* group = groups.add_nodegroups();
    group->set_id(id);
    group->set_minsize(-3);
    group->set_maxsize(7);
  }
  provider.Answer("NodeGroups", groups.SerializeAsString());
  pb::NodeGroupNodesResponse nodes;
  for (const char* id : {"test://1", "test://1", ""}) nodes.add_instances()->set_id(id);
  nodes.mutable_instances(0)->mutable_status()->set_instancestate(
      static_cast<pb::InstanceStatus::InstanceState>(77));
  provider.Answer("NodeGroupNodes", nodes.SerializeAsString());
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_THAT(Ids(), ElementsAre("web", "batch"));
  EXPECT_EQ(client->Groups()[0].min_size, 0);
  EXPECT_EQ(client->Groups()[0].max_size, 7);
  EXPECT_THAT(MUST(client->Instances("web")),
              ElementsAre(Instance{.id = "test://1", .state = InstanceState::kUnspecified}));
  EXPECT_EQ(MUST(client->GroupOf({"test://1", "n"})), "web");  // both list it: the first
  EXPECT_THAT(lines, HasSubstr("listed twice"));
  const size_t said = lines.size();
  ASSERT_OK(Pass());
  EXPECT_EQ(lines.size(), said);
}

// Answers cut short, with a bit turned, or replaced by a failure of any code, in any method.
TEST_F(ClientTest, WhateverComesBackIsAValueOrAFailure) {
  SeededRng rng(11);
  std::mutex rng_mutex;
  for (const char* method :
       {"Refresh", "NodeGroups", "NodeGroupTargetSize", "NodeGroupNodes", "NodeGroupForNode",
        "NodeGroupTemplateNodeInfo", "NodeGroupGetOptions", "GPULabel", "GetAvailableGPUTypes",
        "NodeGroupIncreaseSize", "NodeGroupDeleteNodes", "PricingNodePrice"}) {
    provider.On(
        method,
        [this, &rng, &rng_mutex, method](std::string_view request,
                                         Deadline deadline) -> std::optional<Result<std::string>> {
          const std::lock_guard lock(rng_mutex);
          if (rng.Below(4) == 0) {
            return Result<std::string>(Status(static_cast<Code>(1 + rng.Below(20)), "drawn"));
          }
          auto good = provider.Answered(method, request, deadline);
          if (!good.ok() || good->empty()) return good;
          if (rng.Below(3) == 0) good->resize(rng.Below(good->size()));
          if (!good->empty() && rng.Below(3) == 0) {
            (*good)[rng.Below(good->size())] ^= static_cast<char>(1U << rng.Below(8));
          }
          return good;
        });
  }
  for (int i = 0; i < 500; ++i) {
    (void)Pass(seconds(30));
    std::set<std::string> ids;
    for (const auto& group : client->Groups()) {
      EXPECT_TRUE(ids.insert(group.id).second);
      EXPECT_LE(group.min_size, group.max_size);
      EXPECT_GE(MUST(client->TargetSize(group.id)), 0);
      for (const auto& instance : MUST(client->Instances(group.id))) {
        EXPECT_FALSE(instance.id.empty());
      }
      (void)client->Template(group.id);
      (void)client->Options(group.id, {});
      (void)client->Increase(group.id, 1, Soon());
      (void)client->Delete(group.id, {{"test://1", "n"}}, Soon());
    }
    (void)client->GroupOf({"", "control-plane"});
    (void)client->NodePrice({"", "n"}, {}, clock.Now(), clock.Now() + minutes(1));
  }
}

// A pass puts a node into its model for each machine on its way: two thousand million of them would
// be the end of it.
TEST_F(ClientTest, ATargetThatCannotBeIsRefusedAndTheRestGoesOn) {
  for (const int absurd : {2'000'000'000, 2'147'483'647, 1'001}) {
    Open();
    provider.On("NodeGroupTargetSize",
                [&](std::string_view request, Deadline) -> std::optional<Result<std::string>> {
                  if (request.find("web") == std::string_view::npos) return std::nullopt;
                  pb::NodeGroupTargetSizeResponse answer;
                  answer.set_targetsize(absurd);
                  return Result<std::string>(answer.SerializeAsString());
                });
    lines.clear();
    ASSERT_OK(client->Refresh(Soon()));
    EXPECT_THAT(Ids(), ElementsAre("batch"));  // never read, so not listed yet
    EXPECT_THAT(lines, HasSubstr("a target of " + std::to_string(absurd) + " is not believed"));
    provider.Behave("NodeGroupTargetSize");
    ASSERT_OK(Pass());
    EXPECT_EQ(MUST(client->TargetSize("web")), 2);
  }
  // After a good answer that one stays, and a change is not made on an absurd one.
  pb::NodeGroupTargetSizeResponse answer;
  answer.set_targetsize(2'000'000'000);
  provider.Answer("NodeGroupTargetSize", answer.SerializeAsString());
  EXPECT_FALSE(Pass().ok());
  EXPECT_EQ(MUST(client->TargetSize("web")), 2);
  EXPECT_EQ(client->Increase("web", 1, Soon()).code(), Code::kInternal);
  EXPECT_EQ(provider.asked("NodeGroupIncreaseSize"), 0);
}

TEST_F(ClientTest, ATargetAboveALoweredMaximumIsBelieved) {
  provider.groups.Change("batch", [](auto& group) { group.target = 600; });
  provider.groups.Change("web",
                         [](auto& group) { group.info.max_size = 50'000, group.target = 40'000; });
  ASSERT_OK(client->Refresh(Soon()));
  EXPECT_EQ(MUST(client->TargetSize("batch")), 600);
  EXPECT_EQ(MUST(client->TargetSize("web")), 40'000);
}

TEST_F(ClientTest, ANegativeTargetIsNoTarget) {
  ASSERT_OK(client->Refresh(Soon()));
  pb::NodeGroupTargetSizeResponse answer;
  answer.set_targetsize(-5);
  provider.Answer("NodeGroupTargetSize", answer.SerializeAsString());
  EXPECT_FALSE(Pass().ok());
  EXPECT_EQ(MUST(client->TargetSize("web")), 2);
}

}  // namespace
}  // namespace coppice::node_groups::externalgrpc
