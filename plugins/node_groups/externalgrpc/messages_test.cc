#include "plugins/node_groups/externalgrpc/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "externalgrpc.pb.h"
#include "test/support/must.h"
#include "wire/wire.h"

namespace coppice::node_groups::externalgrpc {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;
using cloud::ErrorClass;
using cloud::Instance;
using cloud::InstanceState;
using cloud::MachineError;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

template <class Message>
Message Back(const std::string& bytes) {
  Message message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return message;
}

TEST(MessagesTest, RequestsOfEitherEraAreWritten) {
  cloud::ScalingOptions defaults;
  defaults.max_node_provision_time = std::chrono::milliseconds(1'500);
  const auto options =
      Back<pb::NodeGroupAutoscalingOptionsRequest>(OptionsRequest("web", defaults));
  EXPECT_EQ(options.id(), "web");
  EXPECT_EQ(options.defaults().maxnodeprovisiontime().duration(), 1'500'000'000);
  EXPECT_EQ(options.defaults().maxnodeprovisionduration().seconds(), 1);
  EXPECT_EQ(options.defaults().maxnodeprovisionduration().nanos(), 500'000'000);
  EXPECT_EQ(options.defaults().scaledownutilizationthreshold(), 0.5);

  model::Pod pod;
  pod.metadata.name = "p";
  const TimePoint start(seconds(100));
  const auto price =
      Back<pb::PricingPodPriceRequest>(PodPriceRequest(pod, start, start + minutes(1)));
  EXPECT_EQ(price.pod(), price.pod_bytes());
  EXPECT_EQ(MUST(wire::FromProto<model::Pod>(price.pod())), pod);
  EXPECT_EQ(price.starttime().seconds(), 100);
  EXPECT_EQ(price.starttimestamp().seconds(), 100);
  EXPECT_EQ(price.endtime().seconds(), 160);
  EXPECT_EQ(price.endtimestamp().seconds(), 160);

  const auto node = Back<pb::PricingNodePriceRequest>(
      NodePriceRequest({"id://1", "n"}, {{"type", "a"}}, TimePoint(Duration(-1)), start));
  EXPECT_EQ(node.node().labels().at("type"), "a");
  EXPECT_EQ(node.starttimestamp().seconds(), -1);
  EXPECT_EQ(node.starttimestamp().nanos(), 999'999'999);
}

TEST(MessagesTest, SizesAndIdsStandInTheirFields) {
  const auto size = Back<pb::NodeGroupIncreaseSizeRequest>(SizeRequest("web", -3));
  EXPECT_EQ(size.id(), "web");
  EXPECT_EQ(size.delta(), -3);
  EXPECT_EQ(Back<pb::NodeGroupNodesRequest>(IdRequest("web")).id(), "web");
  const auto gone = Back<pb::NodeGroupDeleteNodesRequest>(
      DeleteRequest("web", {{"id://1", "a"}, {"id://2", "b"}}));
  EXPECT_EQ(gone.id(), "web");
  ASSERT_EQ(gone.nodes_size(), 2);
  EXPECT_EQ(gone.nodes(1).providerid(), "id://2");
}

TEST(MessagesTest, InstancesAreReadAsUpstreamReadsThem) {
  pb::NodeGroupNodesResponse answer;
  const auto add = [&](const char* id, int state, const char* code, int error_class) {
    auto* instance = answer.add_instances();
    instance->set_id(id);
    instance->mutable_status()->set_instancestate(
        static_cast<pb::InstanceStatus::InstanceState>(state));
    instance->mutable_status()->mutable_errorinfo()->set_errorcode(code);
    instance->mutable_status()->mutable_errorinfo()->set_errormessage("m");
    instance->mutable_status()->mutable_errorinfo()->set_instanceerrorclass(error_class);
  };
  add("running", 1, "", 0);
  add("stock-out", 2, "QUOTA", 1);
  add("other", 2, "BAD_IMAGE", 99);
  add("unheard-of class", 2, "X", 42);
  add("no code, no error", 2, "", 1);
  add("untold state voids the error", 0, "QUOTA", 1);
  add("unknown state", 9, "QUOTA", 1);
  answer.add_instances()->set_id("no status");
  Oddities oddities;
  EXPECT_THAT(MUST(ReadInstances(answer.SerializeAsString(), oddities)),
              ElementsAre(Instance{"running", InstanceState::kRunning, {}},
                          Instance{"stock-out", InstanceState::kCreating,
                                   MachineError{ErrorClass::kOutOfResources, "QUOTA", "m"}},
                          Instance{"other", InstanceState::kCreating,
                                   MachineError{ErrorClass::kOther, "BAD_IMAGE", "m"}},
                          Instance{"unheard-of class", InstanceState::kCreating,
                                   MachineError{ErrorClass::kOther, "X", "m"}},
                          Instance{"no code, no error", InstanceState::kCreating, {}},
                          Instance{"untold state voids the error", InstanceState::kUnspecified, {}},
                          Instance{"unknown state", InstanceState::kUnspecified, {}},
                          Instance{"no status", InstanceState::kUnspecified, {}}));
  EXPECT_THAT(oddities, SizeIs(1));
}

TEST(MessagesTest, OptionsOfEitherFamilyAreReadTheNewerFirst) {
  cloud::ScalingOptions defaults;
  defaults.scale_down_unready_time = minutes(77);
  defaults.max_node_startup_time = minutes(88);
  pb::NodeGroupAutoscalingOptionsResponse answer;
  EXPECT_EQ(MUST(ReadOptions(answer.SerializeAsString(), defaults)), std::nullopt);
  auto* options = answer.mutable_nodegroupautoscalingoptions();
  options->set_scaledownutilizationthreshold(0.7);
  options->mutable_scaledownunneededtime()->set_duration(60'000'000'000);
  options->mutable_maxnodeprovisiontime()->set_duration(1);
  options->mutable_maxnodeprovisionduration()->set_seconds(120);
  const auto read = *MUST(ReadOptions(answer.SerializeAsString(), defaults));
  EXPECT_EQ(read.scale_down_utilization_threshold, 0.7);
  EXPECT_EQ(read.scale_down_unneeded_time, minutes(1));
  EXPECT_EQ(read.max_node_provision_time, minutes(2));
  EXPECT_EQ(read.scale_down_unready_time, minutes(77));  // missing is not zero
  EXPECT_EQ(read.max_node_startup_time, minutes(88));    // and neither is what has no field
  options->mutable_scaledownunneededduration();          // present and zero is
  EXPECT_EQ(MUST(ReadOptions(answer.SerializeAsString(), defaults))->scale_down_unneeded_time,
            Duration::zero());
}

TEST(MessagesTest, OptionsThatCannotBeAreRefused) {
  const auto with = [](auto change) {
    pb::NodeGroupAutoscalingOptionsResponse answer;
    change(*answer.mutable_nodegroupautoscalingoptions());
    return ReadOptions(answer.SerializeAsString(), {}).code();
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(with([&](auto& o) { o.set_scaledownutilizationthreshold(nan); }), Code::kInternal);
  EXPECT_EQ(with([](auto& o) { o.set_scaledowngpuutilizationthreshold(-1); }), Code::kInternal);
  EXPECT_EQ(with([](auto& o) { o.mutable_scaledownunneededtime()->set_duration(-1); }),
            Code::kInternal);
  EXPECT_EQ(
      with([](auto& o) {
        o.mutable_maxnodeprovisionduration()->set_seconds(std::numeric_limits<int64_t>::max());
      }),
      Code::kInternal);
}

TEST(MessagesTest, TemplatesThatNoPodFitsAreSaidToBe) {
  model::Node node;
  node.status.allocatable["cpu"] = MUST(model::Quantity::Parse("4"));
  Oddities oddities;
  EXPECT_EQ(MUST(ReadTemplate(wire::ToProto(node), oddities)), node);
  EXPECT_THAT(oddities, ElementsAre(HasSubstr("memory"), HasSubstr("pods")));
}

TEST(MessagesTest, PricesAndGpusAreRead) {
  pb::PricingNodePriceResponse price;
  price.set_price(0.25);
  EXPECT_EQ(MUST(ReadPrice(price.SerializeAsString())), 0.25);
  EXPECT_EQ(MUST(ReadPrice("")), 0.0);
  price.set_price(-1);
  EXPECT_EQ(ReadPrice(price.SerializeAsString()).code(), Code::kInternal);
  pb::GetAvailableGPUTypesResponse types;
  (*types.mutable_gputypes())["l4"];
  (*types.mutable_gputypes())["a100"];
  EXPECT_THAT(MUST(ReadGpuTypes(types.SerializeAsString())), ElementsAre("a100", "l4"));
  EXPECT_THAT(MUST(ReadGpuTypes("")), IsEmpty());
}

TEST(MessagesTest, BytesThatAreNoMessageAreAnError) {
  const std::string bytes = "\xff\xff\xff";
  Oddities oddities;
  EXPECT_EQ(ReadGroups(bytes, oddities).code(), Code::kInternal);
  EXPECT_EQ(ReadGroupOfNode(bytes).code(), Code::kInternal);
  EXPECT_EQ(ReadTargetSize(bytes).code(), Code::kInternal);
  EXPECT_EQ(ReadInstances(bytes, oddities).code(), Code::kInternal);
  EXPECT_EQ(ReadTemplateBytes(bytes).code(), Code::kInternal);
  EXPECT_EQ(ReadTemplate(bytes, oddities).code(), Code::kInternal);
  EXPECT_EQ(ReadOptions(bytes, {}).code(), Code::kInternal);
  EXPECT_EQ(ReadGpuLabel(bytes).code(), Code::kInternal);
}

}  // namespace
}  // namespace coppice::node_groups::externalgrpc
