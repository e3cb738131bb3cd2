#include "rpc/messages.h"

#include <limits>
#include <utility>

#include "externalgrpc.pb.h"
#include "wire/wire.h"

namespace coppice::rpc {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;

constexpr int64_t kNanosPerSecond = 1'000'000'000;

// Seconds and nanoseconds as the wire has them, any int64, to nanoseconds; what does not fit is cut
// off.
int64_t SaturatedNanos(int64_t seconds, int64_t nanos) {
  int64_t total = 0;
  if (__builtin_mul_overflow(seconds, kNanosPerSecond, &total) ||
      __builtin_add_overflow(total, nanos, &total)) {
    return seconds < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  }
  return total;
}

template <class Request>
Result<Request> Parse(std::string_view bytes) {
  Request request;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("the request is not a well-formed " +
                           std::string(Request::descriptor()->name()));
  }
  return request;
}

TimePoint ToTime(const google::protobuf::Timestamp& time) {
  return TimePoint(Duration(SaturatedNanos(time.seconds(), time.nanos())));
}

// The new field, else the old one, else what the stock flags say.
Duration PickDuration(bool has_new, const google::protobuf::Duration& now, bool has_old,
                      const pb::LegacyDuration& old, Duration otherwise) {
  if (has_new) return Duration(SaturatedNanos(now.seconds(), now.nanos()));
  if (has_old) return Duration(old.duration());
  return otherwise;
}

void SetDuration(Duration value, google::protobuf::Duration* now, pb::LegacyDuration* old) {
  const int64_t nanos = value.count();
  now->set_seconds(nanos / kNanosPerSecond);
  now->set_nanos(static_cast<int32_t>(nanos % kNanosPerSecond));
  old->set_duration(nanos);
}

void SetGroup(const cloud::GroupInfo& info, pb::NodeGroup* group) {
  group->set_id(info.id);
  group->set_minsize(info.min_size);
  group->set_maxsize(info.max_size);
  group->set_debug(info.debug);
}

cloud::NodeRef ToRef(const pb::ExternalGrpcNode& node) {
  return {.provider_id = node.providerid(), .name = node.name()};
}

// Both price requests carry their times under two pairs of names.
template <class Request>
Status ReadTimes(const Request& request, TimePoint& start, TimePoint& end) {
  if ((!request.has_starttimestamp() && !request.has_starttime()) ||
      (!request.has_endtimestamp() && !request.has_endtime())) {
    return InvalidArgument("a price needs a start and an end time");
  }
  start = ToTime(request.has_starttimestamp() ? request.starttimestamp() : request.starttime());
  end = ToTime(request.has_endtimestamp() ? request.endtimestamp() : request.endtime());
  if (end < start) return InvalidArgument("a price needs a start that is not after its end");
  return Status::Ok();
}

}  // namespace

std::string SerializeGroups(const std::vector<cloud::GroupInfo>& groups) {
  pb::NodeGroupsResponse response;
  for (const cloud::GroupInfo& info : groups) SetGroup(info, response.add_nodegroups());
  return response.SerializeAsString();
}

std::string SerializeGroupOfNode(const cloud::GroupInfo& group) {
  pb::NodeGroupForNodeResponse response;
  SetGroup(group, response.mutable_nodegroup());
  return response.SerializeAsString();
}

std::string SerializeInstances(const std::vector<cloud::Instance>& instances) {
  pb::NodeGroupNodesResponse response;
  for (const cloud::Instance& instance : instances) {
    pb::Instance* out = response.add_instances();
    out->set_id(instance.id);
    pb::InstanceStatus* status = out->mutable_status();
    status->set_instancestate(static_cast<pb::InstanceStatus::InstanceState>(instance.state));
    pb::InstanceErrorInfo* error = status->mutable_errorinfo();  // an empty code means none
    if (!instance.error) continue;
    error->set_errorcode(instance.error->code);
    error->set_errormessage(instance.error->message);
    error->set_instanceerrorclass(static_cast<int>(instance.error->error_class));
  }
  return response.SerializeAsString();
}

std::string SerializeTemplate(const model::Node& node) {
  pb::NodeGroupTemplateNodeInfoResponse response;
  response.set_nodebytes(wire::ToProto(node));
  response.set_nodeinfo(response.nodebytes());
  return response.SerializeAsString();
}

std::string SerializeTargetSize(int size) {
  pb::NodeGroupTargetSizeResponse response;
  response.set_targetsize(size);
  return response.SerializeAsString();
}

std::string SerializePrice(double price) {
  pb::PricingNodePriceResponse response;  // that of a pod has the same field
  response.set_price(price);
  return response.SerializeAsString();
}

std::string SerializeGpuLabel(const std::string& label) {
  pb::GPULabelResponse response;
  response.set_label(label);
  return response.SerializeAsString();
}

std::string SerializeGpuTypes(const std::vector<std::string>& types) {
  pb::GetAvailableGPUTypesResponse response;
  for (const std::string& type : types) (*response.mutable_gputypes())[type];
  return response.SerializeAsString();
}

std::string SerializeOptions(const cloud::ScalingOptions& options) {
  pb::NodeGroupAutoscalingOptionsResponse response;
  pb::NodeGroupAutoscalingOptions* out = response.mutable_nodegroupautoscalingoptions();
  out->set_scaledownutilizationthreshold(options.scale_down_utilization_threshold);
  out->set_scaledowngpuutilizationthreshold(options.scale_down_gpu_utilization_threshold);
  out->set_zeroormaxnodescaling(options.zero_or_max_node_scaling);
  out->set_ignoredaemonsetsutilization(options.ignore_daemon_sets_utilization);
  // An autoscaler of either era takes a missing duration of its own family as zero, or crashes on
  // it.
  SetDuration(options.scale_down_unneeded_time, out->mutable_scaledownunneededduration(),
              out->mutable_scaledownunneededtime());
  SetDuration(options.scale_down_unready_time, out->mutable_scaledownunreadyduration(),
              out->mutable_scaledownunreadytime());
  SetDuration(options.max_node_provision_time, out->mutable_maxnodeprovisionduration(),
              out->mutable_maxnodeprovisiontime());
  return response.SerializeAsString();
}

Result<std::string> ParseGroupId(std::string_view request) {
  return std::move(*TRY(Parse<pb::NodeGroupTargetSizeRequest>(request)).mutable_id());
}

Result<SizeRequest> ParseSizeRequest(std::string_view request) {
  const auto parsed = TRY(Parse<pb::NodeGroupIncreaseSizeRequest>(request));
  return SizeRequest{.group = parsed.id(), .delta = parsed.delta()};
}

Result<DeleteRequest> ParseDeleteRequest(std::string_view request) {
  const auto parsed = TRY(Parse<pb::NodeGroupDeleteNodesRequest>(request));
  DeleteRequest out{.group = parsed.id()};
  out.nodes.reserve(static_cast<size_t>(parsed.nodes_size()));
  for (const auto& node : parsed.nodes()) out.nodes.push_back(ToRef(node));
  if (out.nodes.empty())
    return InvalidArgument("no node of group '" + out.group + "' is named: nothing to delete");
  return out;
}

Result<OptionsRequest> ParseOptionsRequest(std::string_view request) {
  const auto parsed = TRY(Parse<pb::NodeGroupAutoscalingOptionsRequest>(request));
  OptionsRequest out{.group = parsed.id()};
  if (!parsed.has_defaults()) return out;
  const pb::NodeGroupAutoscalingOptions& in = parsed.defaults();
  cloud::ScalingOptions& defaults = out.defaults;
  defaults.scale_down_utilization_threshold = in.scaledownutilizationthreshold();
  defaults.scale_down_gpu_utilization_threshold = in.scaledowngpuutilizationthreshold();
  defaults.zero_or_max_node_scaling = in.zeroormaxnodescaling();
  defaults.ignore_daemon_sets_utilization = in.ignoredaemonsetsutilization();
  defaults.scale_down_unneeded_time =
      PickDuration(in.has_scaledownunneededduration(), in.scaledownunneededduration(),
                   in.has_scaledownunneededtime(), in.scaledownunneededtime(),
                   defaults.scale_down_unneeded_time);
  defaults.scale_down_unready_time = PickDuration(
      in.has_scaledownunreadyduration(), in.scaledownunreadyduration(),
      in.has_scaledownunreadytime(), in.scaledownunreadytime(), defaults.scale_down_unready_time);
  defaults.max_node_provision_time = PickDuration(
      in.has_maxnodeprovisionduration(), in.maxnodeprovisionduration(),
      in.has_maxnodeprovisiontime(), in.maxnodeprovisiontime(), defaults.max_node_provision_time);
  return out;
}

Result<NodePriceRequest> ParseNodePriceRequest(std::string_view request) {
  const auto parsed = TRY(Parse<pb::PricingNodePriceRequest>(request));
  if (!parsed.has_node()) return InvalidArgument("a node price needs a node");
  NodePriceRequest out{.node = ToRef(parsed.node())};
  out.labels.insert(parsed.node().labels().begin(), parsed.node().labels().end());
  TRY(ReadTimes(parsed, out.start, out.end));
  return out;
}

Result<PodPriceRequest> ParsePodPriceRequest(std::string_view request) {
  const auto parsed = TRY(Parse<pb::PricingPodPriceRequest>(request));
  const std::string& bytes = parsed.pod_bytes().empty() ? parsed.pod() : parsed.pod_bytes();
  if (bytes.empty()) return InvalidArgument("a pod price needs a pod");
  PodPriceRequest out{.pod = TRY(wire::FromProto<model::Pod>(bytes).Context("pod"))};
  TRY(ReadTimes(parsed, out.start, out.end));
  return out;
}

}  // namespace coppice::rpc
