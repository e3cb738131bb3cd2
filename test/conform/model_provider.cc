#include "test/conform/model_provider.h"

#include <algorithm>

#include "rpc/node_group_server.h"
#include "wire/wire.h"

namespace coppice::conform {
namespace {

namespace wire_pb = clusterautoscaler::cloudprovider::v1::externalgrpc;

constexpr int kRunning = 1;

template <class Request>
bool Read(const grpc::Call& call, Request& request) {
  return request.ParseFromArray(call.request.data(), static_cast<int>(call.request.size()));
}

grpc::Answer Malformed() { return InvalidArgument("not a message"); }
grpc::Answer NoSuchGroup() { return NotFound("no such group"); }

model::Node ATemplate(std::string_view wrong) {
  model::Node node;
  node.metadata.name = "template";
  for (const auto& [key, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"kubernetes.io/os", "linux"},
           {"kubernetes.io/arch", "amd64"},
           {"node.kubernetes.io/instance-type", "small"},
           {"topology.kubernetes.io/zone", "a"}}) {
    if (wrong == "template without zone" && std::string_view(key).ends_with("zone")) continue;
    node.metadata.labels[key] = value;
  }
  for (const auto& [resource, amount] : std::initializer_list<std::pair<const char*, const char*>>{
           {"cpu", "2"}, {"memory", "4Gi"}, {"pods", "110"}}) {
    node.status.capacity[resource] = model::Quantity::Parse(amount).value();
    if (wrong == "template without pods" && std::string_view(resource) == "pods") continue;
    node.status.allocatable[resource] = model::Quantity::Parse(amount).value();
  }
  if (wrong == "more allocatable than there is") {
    node.status.allocatable["cpu"] = model::Quantity::Parse("3").value();
  }
  return node;
}

}  // namespace

ModelProvider::ModelProvider(Clock& clock, std::string wrong)
    : clock_(clock), wrong_(std::move(wrong)) {
  groups_["first"].target = 2;
  groups_["second"];
  for (const char* id : {"model://first/a", "model://first/b"}) {
    machines_[id] = {.group = "first", .state = kRunning};
    start_.insert(id);
  }
}

size_t ModelProvider::SurvivorsOfTheStart() {
  return static_cast<size_t>(
      std::ranges::count_if(start_, [&](const std::string& id) { return machines_.contains(id); }));
}

size_t ModelProvider::Others() {
  return static_cast<size_t>(std::ranges::count_if(
      machines_, [&](const auto& item) { return !start_.contains(item.first); }));
}

grpc::Service ModelProvider::Service() {
  grpc::Service service{.name = rpc::kCloudProviderService, .methods = {}};
  for (const char* name :
       {"NodeGroups", "NodeGroupForNode", "PricingNodePrice", "PricingPodPrice", "GPULabel",
        "GetAvailableGPUTypes", "Cleanup", "Refresh", "NodeGroupTargetSize",
        "NodeGroupIncreaseSize", "NodeGroupDeleteNodes", "NodeGroupDecreaseTargetSize",
        "NodeGroupNodes", "NodeGroupTemplateNodeInfo", "NodeGroupGetOptions"}) {
    service.methods.push_back(
        {.name = name,
         .handler = [this, name](const grpc::Call& call) { return Handle(name, call); },
         .waits = true});
  }
  return service;
}

bool ModelProvider::HurriedCall(const grpc::Call& call) const {
  return call.deadline.Left(clock_) < std::chrono::milliseconds(500);
}

// Mistakes that concern calls as such, before their meaning.
grpc::Answer ModelProvider::Handle(const std::string& method, const grpc::Call& call) {
  const bool alone = (Is("reads one at a time") && method == "NodeGroupTargetSize") ||
                     (Is("refreshes one at a time") && method == "Refresh") ||
                     (Is("deletes one at a time") && method == "NodeGroupDeleteNodes");
  bool together = false;
  if (alone) {
    // Long enough for whoever comes at the same time to be noticed, also on a busy machine: of reads
    // there are many at once, of the others two or three.
    const auto patience = std::chrono::milliseconds(method == "NodeGroupTargetSize" ? 10 : 150);
    std::unique_lock lock(together_mutex_);
    ++in_flight_;
    together_.notify_all();
    together = together_.wait_for(lock, patience, [&] { return in_flight_ > 1; });
  }
  grpc::Answer answer;
  if (together) {
    answer = Status(Code::kAborted, "busy");
  } else {
    const std::lock_guard lock(mutex_);
    answer = Answer(method, call);
  }
  if (alone) {
    const std::lock_guard lock(together_mutex_);
    --in_flight_;
  }
  return answer;
}

grpc::Answer ModelProvider::Answer(const std::string& method, const grpc::Call& call) {
  if (Is("breaks when a caller leaves") && method == "Refresh" && HurriedCall(call)) broken_ = true;
  if (broken_) return Unavailable("broken");
  if (Is("small requests only") && call.request.size() > (size_t{4} << 20)) {
    return ResourceExhausted("received message larger than max");
  }
  if (Is("refuses unknown fields") && call.request.starts_with("\xC2\x3E")) return Malformed();
  if (Is("takes garbage") && call.request.starts_with("\xFF")) return grpc::Bytes();
  if (method == "NodeGroups") return NodeGroups();
  if (method == "NodeGroupForNode") return ForNode(call);
  if (method == "Refresh") return Refresh();
  if (method == "NodeGroupTargetSize") return Target(call);
  if (method == "NodeGroupNodes") return Nodes(call);
  if (method == "NodeGroupIncreaseSize") return Increase(call);
  if (method == "NodeGroupDeleteNodes") return Delete(call);
  if (method == "NodeGroupDecreaseTargetSize") return Decrease(call);
  if (method == "NodeGroupTemplateNodeInfo") return Template(call);
  if (method == "NodeGroupGetOptions") return Options(call);
  if (method == "PricingNodePrice") return Price(call, false);
  if (method == "PricingPodPrice") return Price(call, true);
  if (method == "GPULabel" && Is("no gpu label")) return Unimplemented("no GPUs");
  if (method == "GetAvailableGPUTypes" && Is("no gpu types")) return Internal("no GPUs");
  if (method == "Cleanup" && Is("ends at cleanup")) broken_ = true;
  if (method == "Cleanup" && Is("cleanup fails")) return Internal("no");
  return grpc::Bytes();
}

void ModelProvider::Fill(const std::string& id, wire_pb::NodeGroup* group) const {
  const Group& found = groups_.at(id);
  group->set_id(id);
  group->set_minsize(Is("minimum above maximum") && id == "first" ? found.max + 1 : found.min);
  group->set_maxsize(found.max);
}

grpc::Answer ModelProvider::NodeGroups() {
  if (Is("knows nothing before a refresh") && !refreshed_) return Unavailable("not yet");
  wire_pb::NodeGroupsResponse answer;
  std::vector<std::string> ids = order_;
  if (Is("groups in any order") && ++lists_ % 2 == 0) std::ranges::reverse(ids);
  for (const std::string& id : ids) Fill(id, answer.add_nodegroups());
  if (Is("a group twice")) Fill("first", answer.add_nodegroups());
  if (Is("a group without id")) answer.add_nodegroups()->set_maxsize(1);
  return answer.SerializeAsString();
}

grpc::Answer ModelProvider::ForNode(const grpc::Call& call) {
  wire_pb::NodeGroupForNodeRequest request;
  if (!Read(call, request)) return Malformed();
  wire_pb::NodeGroupForNodeResponse answer;
  const std::string& id = request.node().providerid();
  const auto found = machines_.find(id);
  if (found == machines_.end()) {
    if (Is("a machine in two groups") && id == "model://both") {
      Fill("first", answer.mutable_nodegroup());
      return answer.SerializeAsString();
    }
    if (Is("strangers are errors")) return NotFound("unknown node");
    if (Is("strangers are ours")) Fill("first", answer.mutable_nodegroup());
    return answer.SerializeAsString();
  }
  const bool by_name = Is("machines by name") && request.node().name() == id && start_.contains(id);
  const bool not_yet = Is("new machines are unknown") && !start_.contains(id);
  if (by_name || not_yet) return answer.SerializeAsString();
  Fill(found->second.group, answer.mutable_nodegroup());
  if (Is("other limits in the group of a node")) answer.mutable_nodegroup()->set_maxsize(99);
  return answer.SerializeAsString();
}

grpc::Answer ModelProvider::Refresh() {
  if (Is("refresh fails")) return Unavailable("the cloud is away");
  refreshed_ = true;
  for (auto it = machines_.begin(); it != machines_.end();) {
    if (Is("a refresh forgets orders") && it->second.state != kRunning) {
      --groups_[it->second.group].target;
      it = machines_.erase(it);
      continue;
    }
    it->second.state = kRunning;
    ++it;
  }
  if (Is("a refresh brings machines back")) {
    for (const auto& [id, group] : deleted_) {
      machines_[id] = {.group = group, .state = kRunning};
      ++groups_[group].target;
    }
    deleted_.clear();
  }
  return grpc::Bytes();
}

grpc::Answer ModelProvider::Target(const grpc::Call& call) {
  wire_pb::NodeGroupTargetSizeRequest request;
  if (!Read(call, request)) return Malformed();
  wire_pb::NodeGroupTargetSizeResponse answer;
  if (!groups_.contains(request.id())) {
    return Is("any group is a group") ? grpc::Answer(answer.SerializeAsString()) : NoSuchGroup();
  }
  int target = groups_[request.id()].target;
  if (Is("a target of what runs")) {
    target = static_cast<int>(std::ranges::count_if(machines_, [&](const auto& item) {
      return item.second.group == request.id() && item.second.state == kRunning;
    }));
  }
  if (Is("a target below the machines") && request.id() == "first") target = 1;
  if (Is("a negative target") && request.id() == "first") target = -1;
  if (Is("no target") && request.id() == "first") return Internal("cannot say");
  answer.set_targetsize(target);
  return answer.SerializeAsString();
}

grpc::Answer ModelProvider::Nodes(const grpc::Call& call) {
  wire_pb::NodeGroupNodesRequest request;
  if (!Read(call, request)) return Malformed();
  if (!groups_.contains(request.id())) return NoSuchGroup();
  wire_pb::NodeGroupNodesResponse answer;
  for (const auto& [id, machine] : machines_) {
    if (machine.group != request.id() || machine.hidden) continue;
    wire_pb::Instance& one = *answer.add_instances();
    one.set_id(id);
    const auto state = static_cast<wire_pb::InstanceStatus::InstanceState>(machine.state);
    one.mutable_status()->set_instancestate(
        Is("machines without a state") ? wire_pb::InstanceStatus::unspecified : state);
    if (Is("an error of a running machine") && request.id() == "first") {
      one.mutable_status()->mutable_errorinfo()->set_errorcode("E");
    }
  }
  if (Is("a machine without id") && request.id() == "first") {
    answer.add_instances()->mutable_status()->set_instancestate(
        wire_pb::InstanceStatus::instanceCreating);
  }
  if (Is("a machine in two groups")) {
    wire_pb::Instance& one = *answer.add_instances();
    one.set_id("model://both");
    one.mutable_status()->set_instancestate(wire_pb::InstanceStatus::instanceDeleting);
  }
  return answer.SerializeAsString();
}

grpc::Answer ModelProvider::Increase(const grpc::Call& call) {
  wire_pb::NodeGroupIncreaseSizeRequest request;
  if (!Read(call, request)) return Malformed();
  if (!groups_.contains(request.id())) return NoSuchGroup();
  Group& group = groups_[request.id()];
  if (request.delta() <= 0) {
    return Is("orders of nothing") ? grpc::Answer(grpc::Bytes())
                                   : grpc::Answer(InvalidArgument("delta must be positive"));
  }
  if (group.target + request.delta() > group.max && !Is("orders above the maximum")) {
    return FailedPrecondition("above the maximum");
  }
  if (Is("no orders")) return Internal("cannot");
  group.target += request.delta();
  if (Is("half an order") && HurriedCall(call)) return DeadlineExceeded("too late");
  for (int i = 0; i < request.delta(); ++i) {
    const std::string id = "model://" + request.id() + "/" + std::to_string(++made_);
    machines_[id] = {.group = request.id(), .hidden = Is("machines that are never listed")};
  }
  return grpc::Bytes();
}

grpc::Answer ModelProvider::Delete(const grpc::Call& call) {
  wire_pb::NodeGroupDeleteNodesRequest request;
  if (!Read(call, request)) return Malformed();
  if (!groups_.contains(request.id())) return NoSuchGroup();
  Group& group = groups_[request.id()];
  std::vector<std::string> good;
  Status refused;
  for (const wire_pb::ExternalGrpcNode& node : request.nodes()) {
    const std::string& id = node.providerid();
    const auto found = machines_.find(id);
    if (found == machines_.end() && Is("deletes twice") && deleted_.contains(id)) {
      --group.target;
    } else if (found == machines_.end()) {
      if (Is("strangers may be deleted") && request.nodes_size() == 1) return grpc::Bytes();
      refused = NotFound(id + " is not in the group");
    } else if (found->second.group != request.id() && !Is("deletes in any group's name")) {
      refused = FailedPrecondition(id + " is in another group");
    } else {
      good.push_back(id);
    }
  }
  if (!refused.ok() && !Is("deletes by halves")) return refused;
  if (Is("deletes three and no more") && deleted_.size() >= 3) return Internal("tired");
  for (const std::string& id : good) {
    if (!Is("deletes without lowering the target")) --groups_[machines_[id].group].target;
    if (Is("deleted machines stay")) continue;
    deleted_[id] = machines_[id].group;
    machines_.erase(id);
  }
  if (!refused.ok()) return refused;
  return grpc::Bytes();
}

grpc::Answer ModelProvider::Decrease(const grpc::Call& call) {
  wire_pb::NodeGroupDecreaseTargetSizeRequest request;
  if (!Read(call, request)) return Malformed();
  if (!groups_.contains(request.id())) return NoSuchGroup();
  Group& group = groups_[request.id()];
  if (request.delta() >= 0) {
    return Is("decreases upwards") ? grpc::Answer(grpc::Bytes())
                                   : grpc::Answer(InvalidArgument("delta must be negative"));
  }
  const auto there = std::ranges::count_if(
      machines_, [&](const auto& item) { return item.second.group == request.id(); });
  if (group.target + request.delta() < there) {
    if (!Is("a decrease takes machines")) return FailedPrecondition("these machines exist");
    std::erase_if(machines_, [&, left = -request.delta()](const auto& item) mutable {
      return item.second.group == request.id() && left-- > 0;
    });
  }
  group.target += request.delta();
  return grpc::Bytes();
}

grpc::Answer ModelProvider::Template(const grpc::Call& call) {
  wire_pb::NodeGroupTemplateNodeInfoRequest request;
  if (!Read(call, request)) return Malformed();
  if (!groups_.contains(request.id())) return NoSuchGroup();
  wire_pb::NodeGroupTemplateNodeInfoResponse answer;
  if (Is("an empty template")) return answer.SerializeAsString();
  const std::string bytes =
      Is("a template that is no node") ? "\x0A\xFFno node" : wire::ToProto(ATemplate(wrong_));
  if (!Is("new fields of templates alone")) answer.set_nodeinfo(bytes);
  if (!Is("old fields of templates alone")) answer.set_nodebytes(bytes);
  return answer.SerializeAsString();
}

grpc::Answer ModelProvider::Options(const grpc::Call& call) {
  wire_pb::NodeGroupAutoscalingOptionsRequest request;
  if (!Read(call, request)) return Malformed();
  wire_pb::NodeGroupAutoscalingOptionsResponse answer;
  if (!groups_.contains(request.id())) return NoSuchGroup();
  if (Is("options fail")) return Internal("no");
  if (request.id() != "second") return answer.SerializeAsString();
  auto& options = *answer.mutable_nodegroupautoscalingoptions();
  options = request.defaults();
  if (Is("options of one thing")) {
    options.Clear();
    options.set_scaledownutilizationthreshold(0.7);
  }
  if (Is("options without thresholds")) {
    options.clear_scaledownutilizationthreshold();
    options.clear_scaledowngpuutilizationthreshold();
  }
  if (Is("options of the new era alone")) {
    options.clear_scaledownunneededtime();
    options.clear_scaledownunreadytime();
    options.clear_maxnodeprovisiontime();
  }
  if (Is("options that disagree") && options.has_scaledownunneededtime()) {
    options.mutable_scaledownunneededtime()->set_duration(1'000'000'000);
  }
  if (Is("options mixed up") && options.has_scaledownunreadyduration()) {
    *options.mutable_scaledownunreadyduration() = options.scaledownunneededduration();
    *options.mutable_scaledownunreadytime() = options.scaledownunneededtime();
  }
  return answer.SerializeAsString();
}

grpc::Answer ModelProvider::Price(const grpc::Call& call, bool pod) {
  if (Is("no prices")) return Unimplemented("no prices");
  bool new_times = false;
  if (pod) {
    wire_pb::PricingPodPriceRequest request;
    if (!Read(call, request)) return Malformed();
    new_times = request.has_starttimestamp();
    if (Is("pods of the new era alone") && request.pod_bytes().empty())
      return InvalidArgument("no pod");
  } else {
    wire_pb::PricingNodePriceRequest request;
    if (!Read(call, request)) return Malformed();
    new_times = request.has_starttimestamp();
  }
  wire_pb::PricingNodePriceResponse answer;  // the same bytes for a pod
  answer.set_price(!pod && Is("prices of the new era alone") && !new_times ? 0 : 0.25);
  if (!pod && Is("prices below nothing")) answer.set_price(-1);
  return answer.SerializeAsString();
}

}  // namespace coppice::conform
