#include "rpc/node_group_server.h"

#include <memory>
#include <string>
#include <utility>

#include "cloud/audit.h"
#include "rpc/answer_cache.h"
#include "rpc/messages.h"
#include "rpc/node_identity.h"

namespace coppice::rpc {
namespace {

using grpc::Answer;
using grpc::Bytes;
using grpc::Call;

class NodeGroupServer {
 public:
  explicit NodeGroupServer(cloud::NodeGroups& groups) : groups_(groups), cache_(groups) {}

  Answer NodeGroups(const Call&) { return cache_.NodeGroups(); }

  // From the provider id alone: stand-ins for machines that have not registered carry nothing else.
  // No group is an ordinary answer (a control plane node), never an error, which would stop the
  // caller's loop.
  Answer NodeGroupForNode(const Call& call) {
    const auto node = ReadNodeIdentity(call.request);
    if (!node) return InvalidArgument("the request is not a well-formed NodeGroupForNodeRequest");
    if (!node->present) return InvalidArgument("the request names no node");
    const auto group = groups_.GroupOf(
        {.provider_id = std::string(node->provider_id), .name = std::string(node->name)});
    if (!group.ok()) return group.status();
    if (!group->has_value()) return AnswerCache::NoGroup();
    return cache_.GroupOfNode(**group);
  }

  Answer PricingNodePrice(const Call& call) {
    return Handle(ParseNodePriceRequest(call.request),
                  [&](const NodePriceRequest& request) -> Answer {
                    const auto price =
                        groups_.NodePrice(request.node, request.labels, request.start, request.end);
                    return price.ok() ? Answer(SerializePrice(*price)) : Answer(price.status());
                  });
  }

  Answer PricingPodPrice(const Call& call) {
    return Handle(ParsePodPriceRequest(call.request),
                  [&](const PodPriceRequest& request) -> Answer {
                    const auto price = groups_.PodPrice(request.pod, request.start, request.end);
                    return price.ok() ? Answer(SerializePrice(*price)) : Answer(price.status());
                  });
  }

  // Always succeeds, an empty label too: a failure here makes the caller ask again for every node.
  Answer GpuLabel(const Call&) { return SerializeGpuLabel(groups_.GpuLabel()); }
  Answer GetAvailableGpuTypes(const Call&) { return SerializeGpuTypes(groups_.GpuTypes()); }

  Answer Cleanup(const Call&) { return Empty(groups_.Cleanup()); }
  Answer Refresh(const Call& call) { return Empty(groups_.Refresh(call.deadline)); }

  Answer TargetSize(const Call& call) {
    return Handle(ParseGroupId(call.request), [&](const std::string& group) -> Answer {
      const auto size = groups_.TargetSize(group);
      return size.ok() ? Answer(SerializeTargetSize(*size)) : Answer(size.status());
    });
  }

  Answer IncreaseSize(const Call& call) {
    return Handle(ParseSizeRequest(call.request), [&](const SizeRequest& request) {
      const std::string caller = grpc::Describe(call.caller);
      const cloud::CallerScope scope(caller);
      return Empty(groups_.Increase(request.group, request.delta, call.deadline));
    });
  }

  Answer DeleteNodes(const Call& call) {
    return Handle(ParseDeleteRequest(call.request), [&](const DeleteRequest& request) {
      const std::string caller = grpc::Describe(call.caller);
      const cloud::CallerScope scope(caller);
      return Empty(groups_.Delete(request.group, request.nodes, call.deadline));
    });
  }

  Answer DecreaseTargetSize(const Call& call) {
    return Handle(ParseSizeRequest(call.request), [&](const SizeRequest& request) {
      const std::string caller = grpc::Describe(call.caller);
      const cloud::CallerScope scope(caller);
      return Empty(groups_.DecreaseTarget(request.group, request.delta, call.deadline));
    });
  }

  Answer Nodes(const Call& call) {
    return Handle(ParseGroupId(call.request),
                  [&](const std::string& group) { return cache_.Nodes(group); });
  }

  Answer TemplateNodeInfo(const Call& call) {
    return Handle(ParseGroupId(call.request),
                  [&](const std::string& group) { return cache_.Template(group); });
  }

  // No overrides: the message is absent, which every autoscaler takes as "the defaults". Overrides:
  // complete, for a message that is there replaces every option.
  Answer GetOptions(const Call& call) {
    return Handle(ParseOptionsRequest(call.request), [&](const OptionsRequest& request) -> Answer {
      const auto options = groups_.Options(request.group, request.defaults);
      if (!options.ok()) return options.status();
      return options->has_value() ? Answer(SerializeOptions(**options)) : Answer(Bytes());
    });
  }

 private:
  static Answer Empty(const Status& status) {
    return status.ok() ? Answer(Bytes()) : Answer(status);
  }

  template <class T, class Then>
  static Answer Handle(const Result<T>& request, Then then) {
    if (!request.ok()) return request.status();
    return then(*request);
  }

  cloud::NodeGroups& groups_;
  AnswerCache cache_;
};

}  // namespace

grpc::Service NodeGroupService(cloud::NodeGroups& groups) {
  const auto server = std::make_shared<NodeGroupServer>(groups);
  const auto on = [&server](Answer (NodeGroupServer::*method)(const Call&)) -> grpc::Handler {
    return [server, method](const Call& call) { return (server.get()->*method)(call); };
  };
  using S = NodeGroupServer;
  return {.name = kCloudProviderService,
          .methods = {
              {.name = "NodeGroups", .handler = on(&S::NodeGroups)},
              {.name = "NodeGroupForNode", .handler = on(&S::NodeGroupForNode)},
              {.name = "PricingNodePrice", .handler = on(&S::PricingNodePrice)},
              {.name = "PricingPodPrice", .handler = on(&S::PricingPodPrice)},
              {.name = "GPULabel", .handler = on(&S::GpuLabel)},
              {.name = "GetAvailableGPUTypes", .handler = on(&S::GetAvailableGpuTypes)},
              {.name = "Cleanup", .handler = on(&S::Cleanup), .waits = true},
              {.name = "Refresh", .handler = on(&S::Refresh), .waits = true},
              {.name = "NodeGroupTargetSize", .handler = on(&S::TargetSize)},
              {.name = "NodeGroupIncreaseSize", .handler = on(&S::IncreaseSize), .waits = true},
              {.name = "NodeGroupDeleteNodes", .handler = on(&S::DeleteNodes), .waits = true},
              {.name = "NodeGroupDecreaseTargetSize",
               .handler = on(&S::DecreaseTargetSize),
               .waits = true},
              {.name = "NodeGroupNodes", .handler = on(&S::Nodes)},
              {.name = "NodeGroupTemplateNodeInfo", .handler = on(&S::TemplateNodeInfo)},
              {.name = "NodeGroupGetOptions", .handler = on(&S::GetOptions)},
          }};
}

}  // namespace coppice::rpc
