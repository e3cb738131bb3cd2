#include "plugins/node_groups/externalgrpc/messages.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "externalgrpc.pb.h"
#include "wire/wire.h"

namespace coppice::node_groups::externalgrpc {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;

constexpr int64_t kNanosPerSecond = 1'000'000'000;
// As upstream marks a stand-in for a machine that has no Node.
constexpr char kStandInAnnotation[] = "k8s.io/cluster-autoscaler/fake-node-reason";

template <class Answer>
Result<Answer> Parse(std::string_view bytes) {
  // What the library has to say about an answer goes to standard error as plain text, where our log
  // is JSON; the failure says it too.
  [[maybe_unused]] static const auto before = google::protobuf::SetLogHandler(nullptr);
  Answer answer;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !answer.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Internal("the answer is not a well-formed " + std::string(Answer::descriptor()->name()));
  }
  return answer;
}

void SetNode(const cloud::NodeRef& node, pb::ExternalGrpcNode* out) {
  out->set_providerid(node.provider_id);
  out->set_name(node.name);
  if (node.node != nullptr) {
    for (const auto& [key, value] : node.node->metadata.labels)
      (*out->mutable_labels())[key] = value;
    for (const auto& [key, value] : node.node->metadata.annotations) {
      (*out->mutable_annotations())[key] = value;
    }
  }
  if (!node.stand_in_reason.empty()) {
    (*out->mutable_annotations())[kStandInAnnotation] = node.stand_in_reason;
  }
}

void SetTime(TimePoint time, google::protobuf::Timestamp* out) {
  const int64_t nanos = time.time_since_epoch().count();
  int64_t seconds = nanos / kNanosPerSecond;
  int64_t rest = nanos % kNanosPerSecond;
  if (rest < 0) {  // the nanoseconds of a Timestamp always count forward
    rest += kNanosPerSecond;
    --seconds;
  }
  out->set_seconds(seconds);
  out->set_nanos(static_cast<int32_t>(rest));
}

template <class Request>
void SetTimes(TimePoint start, TimePoint end, Request& request) {
  SetTime(start, request.mutable_starttime());
  SetTime(end, request.mutable_endtime());
  SetTime(start, request.mutable_starttimestamp());
  SetTime(end, request.mutable_endtimestamp());
}

void SetDuration(Duration value, google::protobuf::Duration* now, pb::LegacyDuration* old) {
  now->set_seconds(value.count() / kNanosPerSecond);
  now->set_nanos(static_cast<int32_t>(value.count() % kNanosPerSecond));
  old->set_duration(value.count());
}

// The newer field, else the older, else the default. What cannot be a time to wait is refused.
Result<Duration> PickDuration(const char* name, const google::protobuf::Duration* now,
                              const pb::LegacyDuration* old, Duration otherwise) {
  int64_t nanos = otherwise.count();
  if (now != nullptr) {
    if (__builtin_mul_overflow(now->seconds(), kNanosPerSecond, &nanos) ||
        __builtin_add_overflow(nanos, static_cast<int64_t>(now->nanos()), &nanos)) {
      return Internal(std::string(name) + " is out of range");
    }
  } else if (old != nullptr) {
    nanos = old->duration();
  }
  if (nanos < 0) return Internal(std::string(name) + " is negative");
  return Duration(nanos);
}

Status CheckShare(const char* name, double value) {
  if (std::isfinite(value) && value >= 0) return Status::Ok();
  return Internal(std::string(name) + " is not a share of a node");
}

// As upstream reads it: a state that is not told voids the error too, and an error needs a code.
cloud::Instance ToInstance(const pb::Instance& in, Oddities& oddities) {
  cloud::Instance out{.id = in.id()};
  const int state = in.status().instancestate();
  if (state < 0 || state > 3) {
    oddities.push_back("instance '" + in.id() + "' is in a state that we do not know, " +
                       std::to_string(state) + ": taken as not told");
    return out;
  }
  out.state = static_cast<cloud::InstanceState>(state);
  const pb::InstanceErrorInfo& error = in.status().errorinfo();
  if (out.state != cloud::InstanceState::kCreating || error.errorcode().empty()) return out;
  out.error = cloud::MachineError{.error_class = error.instanceerrorclass() == 1
                                                     ? cloud::ErrorClass::kOutOfResources
                                                     : cloud::ErrorClass::kOther,
                                  .code = error.errorcode(),
                                  .message = error.errormessage()};
  return out;
}

}  // namespace

std::string IdRequest(const std::string& group) {
  pb::NodeGroupTargetSizeRequest request;  // every request that is an id alone has this shape
  request.set_id(group);
  return request.SerializeAsString();
}

std::string SizeRequest(const std::string& group, int delta) {
  pb::NodeGroupIncreaseSizeRequest request;
  request.set_id(group);
  request.set_delta(delta);
  return request.SerializeAsString();
}

std::string DeleteRequest(const std::string& group, const std::vector<cloud::NodeRef>& nodes) {
  pb::NodeGroupDeleteNodesRequest request;
  request.set_id(group);
  for (const cloud::NodeRef& node : nodes) SetNode(node, request.add_nodes());
  return request.SerializeAsString();
}

std::string NodeRequest(const cloud::NodeRef& node) {
  pb::NodeGroupForNodeRequest request;
  SetNode(node, request.mutable_node());
  return request.SerializeAsString();
}

std::string OptionsRequest(const std::string& group, const cloud::ScalingOptions& defaults) {
  pb::NodeGroupAutoscalingOptionsRequest request;
  request.set_id(group);
  pb::NodeGroupAutoscalingOptions* out = request.mutable_defaults();
  out->set_scaledownutilizationthreshold(defaults.scale_down_utilization_threshold);
  out->set_scaledowngpuutilizationthreshold(defaults.scale_down_gpu_utilization_threshold);
  out->set_zeroormaxnodescaling(defaults.zero_or_max_node_scaling);
  out->set_ignoredaemonsetsutilization(defaults.ignore_daemon_sets_utilization);
  SetDuration(defaults.scale_down_unneeded_time, out->mutable_scaledownunneededduration(),
              out->mutable_scaledownunneededtime());
  SetDuration(defaults.scale_down_unready_time, out->mutable_scaledownunreadyduration(),
              out->mutable_scaledownunreadytime());
  SetDuration(defaults.max_node_provision_time, out->mutable_maxnodeprovisionduration(),
              out->mutable_maxnodeprovisiontime());
  return request.SerializeAsString();
}

std::string NodePriceRequest(const cloud::NodeRef& node,
                             const std::map<std::string, std::string>& labels, TimePoint start,
                             TimePoint end) {
  pb::PricingNodePriceRequest request;
  SetNode(node, request.mutable_node());
  for (const auto& [key, value] : labels) (*request.mutable_node()->mutable_labels())[key] = value;
  SetTimes(start, end, request);
  return request.SerializeAsString();
}

std::string PodPriceRequest(const model::Pod& pod, TimePoint start, TimePoint end) {
  pb::PricingPodPriceRequest request;
  request.set_pod_bytes(wire::ToProto(pod));
  request.set_pod(request.pod_bytes());
  SetTimes(start, end, request);
  return request.SerializeAsString();
}

Result<std::vector<cloud::GroupInfo>> ReadGroups(std::string_view bytes, Oddities& oddities) {
  const auto answer = TRY(Parse<pb::NodeGroupsResponse>(bytes));
  std::vector<cloud::GroupInfo> groups;
  groups.reserve(static_cast<size_t>(answer.nodegroups_size()));
  std::set<std::string_view> seen;
  for (const pb::NodeGroup& in : answer.nodegroups()) {
    if (in.id().empty()) {
      oddities.push_back("a group without an id is left out");
      continue;
    }
    if (!seen.insert(in.id()).second) {
      oddities.push_back("group '" + in.id() + "' is listed twice: the first counts");
      continue;
    }
    cloud::GroupInfo info{
        .id = in.id(), .min_size = in.minsize(), .max_size = in.maxsize(), .debug = in.debug()};
    if (info.max_size < 0 || info.min_size < 0 || info.min_size > info.max_size) {
      oddities.push_back("group '" + in.id() + "' has sizes that cannot be, minimum " +
                         std::to_string(in.minsize()) + " and maximum " +
                         std::to_string(in.maxsize()) + ": cut to fit");
      info.max_size = std::max(info.max_size, 0);
      info.min_size = std::clamp(info.min_size, 0, info.max_size);
    }
    groups.push_back(std::move(info));
  }
  return groups;
}

Result<std::string> ReadGroupOfNode(std::string_view bytes) {
  return TRY(Parse<pb::NodeGroupForNodeResponse>(bytes)).nodegroup().id();
}

Result<int> ReadTargetSize(std::string_view bytes) {
  const int size = TRY(Parse<pb::NodeGroupTargetSizeResponse>(bytes)).targetsize();
  if (size < 0) return Internal("the target size is negative, " + std::to_string(size));
  return size;
}

Result<std::vector<cloud::Instance>> ReadInstances(std::string_view bytes, Oddities& oddities) {
  const auto answer = TRY(Parse<pb::NodeGroupNodesResponse>(bytes));
  std::vector<cloud::Instance> instances;
  instances.reserve(static_cast<size_t>(answer.instances_size()));
  std::set<std::string_view> seen;
  for (const pb::Instance& in : answer.instances()) {
    if (in.id().empty()) {
      oddities.push_back("an instance without an id is left out");
    } else if (!seen.insert(in.id()).second) {
      oddities.push_back("instance '" + in.id() + "' is listed twice: the first counts");
    } else {
      instances.push_back(ToInstance(in, oddities));
    }
  }
  return instances;
}

Result<std::string> ReadTemplateBytes(std::string_view bytes) {
  auto answer = TRY(Parse<pb::NodeGroupTemplateNodeInfoResponse>(bytes));
  if (!answer.nodebytes().empty()) return std::move(*answer.mutable_nodebytes());
  if (!answer.nodeinfo().empty()) return std::move(*answer.mutable_nodeinfo());
  return Internal("the answer holds no node, neither in nodeBytes nor in nodeInfo");
}

Result<model::Node> ReadTemplate(std::string_view node_bytes, Oddities& oddities) {
  auto node = wire::FromProto<model::Node>(node_bytes);
  if (!node.ok()) return Internal("the node is not well-formed: " + node.status().message());
  // Without these no pod fits, and nobody would find out why.
  for (const char* resource : {"cpu", "memory", "pods"}) {
    const auto* amount = node->status.allocatable.Find(resource);
    if (amount == nullptr || amount->Sign() <= 0) {
      oddities.push_back(std::string("the template has no allocatable ") + resource +
                         ": hardly a pod will fit");
    }
  }
  return node;
}

Result<std::optional<cloud::ScalingOptions>> ReadOptions(std::string_view bytes,
                                                         const cloud::ScalingOptions& defaults) {
  const auto answer = TRY(Parse<pb::NodeGroupAutoscalingOptionsResponse>(bytes));
  if (!answer.has_nodegroupautoscalingoptions()) return std::optional<cloud::ScalingOptions>();
  const pb::NodeGroupAutoscalingOptions& in = answer.nodegroupautoscalingoptions();
  cloud::ScalingOptions out = defaults;
  out.scale_down_utilization_threshold = in.scaledownutilizationthreshold();
  out.scale_down_gpu_utilization_threshold = in.scaledowngpuutilizationthreshold();
  TRY(CheckShare("scaleDownUtilizationThreshold", out.scale_down_utilization_threshold));
  TRY(CheckShare("scaleDownGpuUtilizationThreshold", out.scale_down_gpu_utilization_threshold));
  out.zero_or_max_node_scaling = in.zeroormaxnodescaling();
  out.ignore_daemon_sets_utilization = in.ignoredaemonsetsutilization();
  out.scale_down_unneeded_time = TRY(
      PickDuration("scaleDownUnneededDuration",
                   in.has_scaledownunneededduration() ? &in.scaledownunneededduration() : nullptr,
                   in.has_scaledownunneededtime() ? &in.scaledownunneededtime() : nullptr,
                   defaults.scale_down_unneeded_time));
  out.scale_down_unready_time =
      TRY(PickDuration("scaleDownUnreadyDuration",
                       in.has_scaledownunreadyduration() ? &in.scaledownunreadyduration() : nullptr,
                       in.has_scaledownunreadytime() ? &in.scaledownunreadytime() : nullptr,
                       defaults.scale_down_unready_time));
  out.max_node_provision_time =
      TRY(PickDuration("MaxNodeProvisionDuration",
                       in.has_maxnodeprovisionduration() ? &in.maxnodeprovisionduration() : nullptr,
                       in.has_maxnodeprovisiontime() ? &in.maxnodeprovisiontime() : nullptr,
                       defaults.max_node_provision_time));
  return std::optional(out);
}

Result<double> ReadPrice(std::string_view bytes) {
  const double price = TRY(Parse<pb::PricingNodePriceResponse>(bytes)).price();
  if (!std::isfinite(price) || price < 0) return Internal("the price is not an amount");
  return price;
}

Result<std::string> ReadGpuLabel(std::string_view bytes) {
  return TRY(Parse<pb::GPULabelResponse>(bytes)).label();
}

Result<std::vector<std::string>> ReadGpuTypes(std::string_view bytes) {
  const auto answer = TRY(Parse<pb::GetAvailableGPUTypesResponse>(bytes));
  std::vector<std::string> types;
  for (const auto& [type, unused] : answer.gputypes()) types.push_back(type);
  std::ranges::sort(types);
  return types;
}

}  // namespace coppice::node_groups::externalgrpc
