// The fifteen methods over scripted node groups, asked with the generated messages of the protocol.

#include "rpc/node_group_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include <string>
#include <vector>

#include "cloud/audit.h"
#include "cloud/fake_node_groups.h"
#include "externalgrpc.pb.h"
#include "test/support/must.h"
#include "wire/wire.h"

namespace coppice::rpc {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;
using cloud::ErrorClass;
using cloud::Instance;
using cloud::InstanceState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NodeGroupServerTest : public testing::Test {
 protected:
  NodeGroupServerTest() {
    groups_.Add({.info = {.id = "web", .min_size = 1, .max_size = 5, .debug = "web, flex-8-2"},
                 .target = 2,
                 .instances = {{.id = "test://1", .state = InstanceState::kRunning},
                               {.id = "test://2",
                                .state = InstanceState::kCreating,
                                .error = cloud::MachineError{ErrorClass::kOutOfResources, "QUOTA",
                                                             "3 of 3"}}},
                 .node_template = std::make_shared<const model::Node>(Template())});
    groups_.Add({.info = {.id = "bare", .max_size = 3}});
    groups_.SetGpu("test/gpu", {"a100", "l4"});
  }

  static model::Node Template() {
    model::Node node;
    node.metadata.name = "template-web";
    node.metadata.labels["kubernetes.io/os"] = "linux";
    node.status.allocatable["cpu"] = MUST(model::Quantity::Parse("7950m"));
    return node;
  }

  grpc::Answer Ask(const std::string& method, const std::string& bytes) {
    for (const grpc::Method& candidate : service_.methods) {
      if (candidate.name == method)
        return candidate.handler({.request = bytes, .deadline = Deadline::Never()});
    }
    return Unimplemented(method);
  }

  template <class Response, class Request>
  Response Must(const std::string& method, const Request& request) {
    const grpc::Answer answer = Ask(method, request.SerializeAsString());
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    Response response;
    EXPECT_TRUE(response.ParseFromString(std::string(answer.bytes.view())));
    return response;
  }

  template <class Request>
  Status Failure(const std::string& method, const Request& request) {
    return Ask(method, request.SerializeAsString()).status;
  }

  template <class Request>
  static Request WithId(const std::string& id) {
    Request request;
    request.set_id(id);
    return request;
  }

  cloud::FakeNodeGroups groups_;
  grpc::Service service_ = NodeGroupService(groups_);
};

TEST_F(NodeGroupServerTest, OffersTheFifteenMethods) { EXPECT_EQ(service_.methods.size(), 15U); }

TEST_F(NodeGroupServerTest, ListsGroupsInTheirOrder) {
  const auto response = Must<pb::NodeGroupsResponse>("NodeGroups", pb::NodeGroupsRequest());
  ASSERT_EQ(response.nodegroups_size(), 2);
  EXPECT_EQ(response.nodegroups(0).id(), "web");
  EXPECT_EQ(response.nodegroups(0).minsize(), 1);
  EXPECT_EQ(response.nodegroups(0).maxsize(), 5);
  EXPECT_EQ(response.nodegroups(0).debug(), "web, flex-8-2");
  EXPECT_EQ(response.nodegroups(1).id(), "bare");
}

TEST_F(NodeGroupServerTest, FindsTheGroupFromTheProviderIdAlone) {
  pb::NodeGroupForNodeRequest request;
  request.mutable_node()->set_providerid("test://2");
  EXPECT_EQ(Must<pb::NodeGroupForNodeResponse>("NodeGroupForNode", request).nodegroup().id(),
            "web");
}

TEST_F(NodeGroupServerTest, ANodeOfNobodyIsAnAnswerWithAnEmptyGroup) {
  pb::NodeGroupForNodeRequest request;
  request.mutable_node()->set_name("control-plane");
  EXPECT_EQ(Must<pb::NodeGroupForNodeResponse>("NodeGroupForNode", request).nodegroup().id(), "");
}

TEST_F(NodeGroupServerTest, AGroupThatIsNotListedIsNeverNamed) {
  groups_.Map("test://9", "removed");
  pb::NodeGroupForNodeRequest request;
  request.mutable_node()->set_providerid("test://9");
  EXPECT_EQ(Must<pb::NodeGroupForNodeResponse>("NodeGroupForNode", request).nodegroup().id(), "");
}

TEST_F(NodeGroupServerTest, ReportsStatesAndErrorsOfInstances) {
  const auto response =
      Must<pb::NodeGroupNodesResponse>("NodeGroupNodes", WithId<pb::NodeGroupNodesRequest>("web"));
  ASSERT_EQ(response.instances_size(), 2);
  EXPECT_EQ(response.instances(0).id(), "test://1");
  EXPECT_EQ(response.instances(0).status().instancestate(), pb::InstanceStatus::instanceRunning);
  EXPECT_EQ(response.instances(0).status().errorinfo().errorcode(), "");
  EXPECT_EQ(response.instances(1).status().instancestate(), pb::InstanceStatus::instanceCreating);
  EXPECT_EQ(response.instances(1).status().errorinfo().errorcode(), "QUOTA");
  EXPECT_EQ(response.instances(1).status().errorinfo().instanceerrorclass(), 1);
}

TEST_F(NodeGroupServerTest, WhatIsKeptIsForgottenWhenThePictureChanges) {
  const auto request = WithId<pb::NodeGroupNodesRequest>("web");
  EXPECT_EQ(Must<pb::NodeGroupNodesResponse>("NodeGroupNodes", request).instances_size(), 2);
  EXPECT_EQ(Must<pb::NodeGroupNodesResponse>("NodeGroupNodes", request).instances_size(), 2);
  const auto asked =
      std::ranges::count_if(groups_.calls(), [](const auto& c) { return c.method == "Instances"; });
  EXPECT_EQ(asked, 1) << "the second answer comes from what was kept";

  groups_.Change("web", [](auto& group) {
    group.instances.pop_back();
    group.info.max_size = 9;
  });

  EXPECT_EQ(Must<pb::NodeGroupNodesResponse>("NodeGroupNodes", request).instances_size(), 1);
  EXPECT_EQ(
      Must<pb::NodeGroupsResponse>("NodeGroups", pb::NodeGroupsRequest()).nodegroups(0).maxsize(),
      9);
}

TEST_F(NodeGroupServerTest, TheTemplateIsInTheFieldsOfBothEras) {
  const auto response = Must<pb::NodeGroupTemplateNodeInfoResponse>(
      "NodeGroupTemplateNodeInfo", WithId<pb::NodeGroupTemplateNodeInfoRequest>("web"));
  EXPECT_EQ(response.nodeinfo(), response.nodebytes());
  EXPECT_EQ(MUST(wire::FromProto<model::Node>(response.nodebytes())), Template());
}

TEST_F(NodeGroupServerTest, WithoutATemplateTheMethodIsNotOffered) {
  EXPECT_EQ(
      Failure("NodeGroupTemplateNodeInfo", WithId<pb::NodeGroupTemplateNodeInfoRequest>("bare"))
          .code(),
      Code::kUnimplemented);
}

TEST_F(NodeGroupServerTest, OptionsWithoutOverridesAreAbsent) {
  auto request = WithId<pb::NodeGroupAutoscalingOptionsRequest>("web");
  request.mutable_defaults()->set_scaledownutilizationthreshold(0.7);
  EXPECT_FALSE(Must<pb::NodeGroupAutoscalingOptionsResponse>("NodeGroupGetOptions", request)
                   .has_nodegroupautoscalingoptions());
}

TEST_F(NodeGroupServerTest, OptionsCopyTheDefaultsAndAnswerBothFamiliesOfDurations) {
  groups_.Change("web", [](auto& group) {
    group.options = [](const cloud::ScalingOptions& defaults) {
      cloud::ScalingOptions options = defaults;
      options.scale_down_unneeded_time = std::chrono::milliseconds(90'500);
      return options;
    };
  });
  auto request = WithId<pb::NodeGroupAutoscalingOptionsRequest>("web");
  auto* defaults = request.mutable_defaults();
  defaults->set_scaledownutilizationthreshold(0.7);
  defaults->set_zeroormaxnodescaling(true);
  defaults->mutable_scaledownunreadytime()->set_duration(60'000'000'000);  // the old family
  defaults->mutable_maxnodeprovisiontime()->set_duration(1);
  defaults->mutable_maxnodeprovisionduration()->set_seconds(77);  // the new one is preferred

  const auto response =
      Must<pb::NodeGroupAutoscalingOptionsResponse>("NodeGroupGetOptions", request);
  const auto& options = response.nodegroupautoscalingoptions();
  EXPECT_EQ(options.scaledownutilizationthreshold(), 0.7);
  EXPECT_TRUE(options.zeroormaxnodescaling());
  EXPECT_EQ(options.scaledownunneededduration().seconds(), 90);
  EXPECT_EQ(options.scaledownunneededduration().nanos(), 500'000'000);
  EXPECT_EQ(options.scaledownunneededtime().duration(), 90'500'000'000);
  EXPECT_EQ(options.scaledownunreadyduration().seconds(), 60);
  EXPECT_EQ(options.scaledownunreadytime().duration(), 60'000'000'000);
  EXPECT_EQ(options.maxnodeprovisionduration().seconds(), 77);
  EXPECT_EQ(options.maxnodeprovisiontime().duration(), 77'000'000'000);
}

TEST_F(NodeGroupServerTest, OptionsOfAnAutoscalerBefore129KeepTheStockProvisionTime) {
  groups_.Change(
      "web", [](auto& group) { group.options = [](const cloud::ScalingOptions& o) { return o; }; });
  auto request = WithId<pb::NodeGroupAutoscalingOptionsRequest>("web");
  request.mutable_defaults()->mutable_scaledownunneededtime()->set_duration(600'000'000'000);
  const auto response =
      Must<pb::NodeGroupAutoscalingOptionsResponse>("NodeGroupGetOptions", request);
  EXPECT_EQ(response.nodegroupautoscalingoptions().maxnodeprovisiontime().duration(),
            900'000'000'000);
}

TEST_F(NodeGroupServerTest, AnswersSizesAndGpus) {
  EXPECT_EQ(Must<pb::NodeGroupTargetSizeResponse>("NodeGroupTargetSize",
                                                  WithId<pb::NodeGroupTargetSizeRequest>("web"))
                .targetsize(),
            2);
  EXPECT_EQ(Must<pb::GPULabelResponse>("GPULabel", pb::GPULabelRequest()).label(), "test/gpu");
  const auto types = Must<pb::GetAvailableGPUTypesResponse>("GetAvailableGPUTypes",
                                                            pb::GetAvailableGPUTypesRequest());
  EXPECT_EQ(types.gputypes_size(), 2);
  EXPECT_TRUE(types.gputypes().contains("a100"));
}

TEST_F(NodeGroupServerTest, PassesMutationsOn) {
  auto grow = WithId<pb::NodeGroupIncreaseSizeRequest>("web");
  grow.set_delta(2);
  Must<pb::NodeGroupIncreaseSizeResponse>("NodeGroupIncreaseSize", grow);
  auto shrink = WithId<pb::NodeGroupDecreaseTargetSizeRequest>("web");
  shrink.set_delta(-1);
  Must<pb::NodeGroupDecreaseTargetSizeResponse>("NodeGroupDecreaseTargetSize", shrink);
  auto end = WithId<pb::NodeGroupDeleteNodesRequest>("web");
  end.add_nodes()->set_providerid("test://1");
  Must<pb::NodeGroupDeleteNodesResponse>("NodeGroupDeleteNodes", end);
  Must<pb::RefreshResponse>("Refresh", pb::RefreshRequest());
  Must<pb::CleanupResponse>("Cleanup", pb::CleanupRequest());

  std::vector<std::string> methods;
  for (const auto& call : groups_.calls()) methods.push_back(call.method);
  EXPECT_THAT(methods, ElementsAre("Increase", "DecreaseTarget", "Delete", "Refresh", "Cleanup"));
  EXPECT_EQ(groups_.calls()[0].delta, 2);
  EXPECT_THAT(groups_.calls()[2].ids, ElementsAre("test://1"));
}

TEST_F(NodeGroupServerTest, KeepsTheCodeAndTheTextOfAFailure) {
  groups_.Fail("Increase", ResourceExhausted("quota: 3 of 3 servers, ask cloudscale.ch for more"));
  auto grow = WithId<pb::NodeGroupIncreaseSizeRequest>("web");
  grow.set_delta(1);
  EXPECT_EQ(Failure("NodeGroupIncreaseSize", grow),
            ResourceExhausted("quota: 3 of 3 servers, ask cloudscale.ch for more"));
  EXPECT_EQ(Failure("NodeGroupTargetSize", WithId<pb::NodeGroupTargetSizeRequest>("absent")).code(),
            Code::kNotFound);
}

TEST_F(NodeGroupServerTest, AnEmptyListOfNodesToDeleteIsAMistake) {
  EXPECT_EQ(Failure("NodeGroupDeleteNodes", WithId<pb::NodeGroupDeleteNodesRequest>("web")).code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(groups_.calls().empty());
}

TEST_F(NodeGroupServerTest, PricesReadTheTimesOfEitherEra) {
  groups_.SetPrices(2.0, 0.5);
  pb::PricingNodePriceRequest now;
  now.mutable_node()->set_providerid("test://1");
  now.mutable_starttimestamp()->set_seconds(1'000);
  now.mutable_endtimestamp()->set_seconds(1'000 + 7'200);
  EXPECT_DOUBLE_EQ(Must<pb::PricingNodePriceResponse>("PricingNodePrice", now).price(), 4.0);

  pb::PricingPodPriceRequest old;
  model::Pod pod;
  pod.metadata.name = "p";
  old.set_pod(wire::ToProto(pod));
  old.mutable_starttime()->set_seconds(0);
  old.mutable_endtime()->set_seconds(3'600);
  EXPECT_DOUBLE_EQ(Must<pb::PricingPodPriceResponse>("PricingPodPrice", old).price(), 0.5);
}

TEST_F(NodeGroupServerTest, APriceWithoutTimesOrWithoutAnObjectIsAMistake) {
  groups_.SetPrices(2.0, 0.5);
  pb::PricingNodePriceRequest request;
  EXPECT_THAT(Failure("PricingNodePrice", request).message(), HasSubstr("needs a node"));
  request.mutable_node()->set_providerid("test://1");
  EXPECT_THAT(Failure("PricingNodePrice", request).message(), HasSubstr("start and an end"));
  request.mutable_starttimestamp()->set_seconds(9);
  request.mutable_endtimestamp()->set_seconds(3);
  EXPECT_EQ(Failure("PricingNodePrice", request).code(), Code::kInvalidArgument);
  EXPECT_THAT(Failure("PricingPodPrice", pb::PricingPodPriceRequest()).message(),
              HasSubstr("needs a pod"));
}

TEST_F(NodeGroupServerTest, AnUnknownPriceIsNotOffered) {
  pb::PricingNodePriceRequest request;
  request.mutable_node()->set_providerid("test://1");
  request.mutable_starttimestamp();
  request.mutable_endtimestamp();
  EXPECT_EQ(Failure("PricingNodePrice", request).code(), Code::kUnimplemented);
}

TEST_F(NodeGroupServerTest, BytesThatAreNoMessageAreRefusedByEveryMethodThatReadsThem) {
  for (const grpc::Method& method : service_.methods) {
    if (method.name == "NodeGroups" || method.name == "GPULabel" ||
        method.name == "GetAvailableGPUTypes" || method.name == "Refresh" ||
        method.name == "Cleanup") {
      continue;
    }
    EXPECT_EQ(Ask(method.name, "\x0a\xff").status.code(), Code::kInvalidArgument) << method.name;
  }
  EXPECT_TRUE(groups_.calls().empty());
}

TEST_F(NodeGroupServerTest, ATimeBeyondAllTimesIsCutOffAndNotUndefined) {
  groups_.SetPrices(1.0, 1.0);
  pb::PricingNodePriceRequest request;
  request.mutable_node()->set_providerid("test://1");
  request.mutable_starttimestamp()->set_seconds(0);
  request.mutable_endtimestamp()->set_seconds(std::numeric_limits<int64_t>::max());
  EXPECT_GT(Must<pb::PricingNodePriceResponse>("PricingNodePrice", request).price(), 1.0);
}

}  // namespace
}  // namespace coppice::rpc
