// externalgrpc messages to and from our values, for both eras of the protocol. The generated
// classes stay in the .cc files of this module.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cloud/node_groups.h"
#include "model/objects.h"

namespace coppice::rpc {

std::string SerializeGroups(const std::vector<cloud::GroupInfo>& groups);
std::string SerializeGroupOfNode(const cloud::GroupInfo& group);
std::string SerializeInstances(const std::vector<cloud::Instance>& instances);
std::string SerializeTemplate(const model::Node& node);  // in the field of either era
std::string SerializeTargetSize(int size);
std::string SerializePrice(double price);
std::string SerializeGpuLabel(const std::string& label);
std::string SerializeGpuTypes(const std::vector<std::string>& types);
std::string SerializeOptions(const cloud::ScalingOptions& options);  // both families of durations

// Requests. InvalidArgument when the bytes are not such a message or lack what the call cannot do
// without.
struct SizeRequest {
  std::string group;
  int delta = 0;
};
struct DeleteRequest {
  std::string group;
  std::vector<cloud::NodeRef> nodes;
};
struct OptionsRequest {
  std::string group;
  cloud::ScalingOptions defaults;  // what the request leaves out has the value of the stock flags
};
struct NodePriceRequest {
  cloud::NodeRef node;
  std::map<std::string, std::string> labels;
  TimePoint start;
  TimePoint end;
};
struct PodPriceRequest {
  model::Pod pod;
  TimePoint start;
  TimePoint end;
};

Result<std::string> ParseGroupId(std::string_view request);  // every request that is an id alone
Result<SizeRequest> ParseSizeRequest(std::string_view request);
Result<DeleteRequest> ParseDeleteRequest(std::string_view request);
Result<OptionsRequest> ParseOptionsRequest(std::string_view request);
Result<NodePriceRequest> ParseNodePriceRequest(std::string_view request);
Result<PodPriceRequest> ParsePodPriceRequest(std::string_view request);

}  // namespace coppice::rpc
