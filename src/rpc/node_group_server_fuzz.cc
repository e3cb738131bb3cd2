// Any bytes through any of the fifteen handlers: no crash, every answer a well-formed message, and
// the quick reader of node identities agrees with the generated parser.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "cloud/fake_node_groups.h"
#include "externalgrpc.pb.h"
#include "rpc/node_group_server.h"
#include "rpc/node_identity.h"

namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;
using coppice::cloud::FakeNodeGroups;

void Require(bool condition) {
  if (!condition) std::abort();
}

std::unique_ptr<FakeNodeGroups> MakeGroups() {
  auto groups = std::make_unique<FakeNodeGroups>();
  FakeNodeGroups::Group group{.info = {.id = "a", .max_size = 1'000'000}, .target = 1};
  group.instances.push_back({.id = "i", .state = coppice::cloud::InstanceState::kRunning});
  group.node_template = std::make_shared<const coppice::model::Node>();
  group.options = [](const coppice::cloud::ScalingOptions& defaults) { return defaults; };
  groups->Add(std::move(group));
  groups->SetGpu("gpu", {"x"});
  groups->SetPrices(1.0, 1.0);
  return groups;
}

void CompareIdentities(std::string_view request) {
  pb::NodeGroupForNodeRequest full;
  if (!full.ParseFromArray(request.data(), static_cast<int>(request.size()))) return;
  const auto quick = coppice::rpc::ReadNodeIdentity(request);
  // Ten-byte numbers that overflow and mismatched groups are read by the full parser and refused by
  // ours.
  if (!quick) return;
  Require(quick->present == full.has_node());
  Require(quick->provider_id == full.node().providerid());
  Require(quick->name == full.node().name());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // Anew each time: mutations change the groups, and a finding must not depend on what came before.
  const auto groups = MakeGroups();
  const coppice::grpc::Service service = coppice::rpc::NodeGroupService(*groups);
  const auto& method = service.methods[data[0] % service.methods.size()];
  const std::string_view request(reinterpret_cast<const char*>(data + 1), size - 1);
  CompareIdentities(request);
  const coppice::grpc::Answer answer = method.handler({.request = request});
  if (!answer.status.ok()) {
    Require(!answer.status.message().empty());
    return 0;
  }
  pb::NodeGroupForNodeResponse any;  // unknown fields are kept: parses every well-formed message
  const std::string bytes(answer.bytes.view());
  if (method.name == "NodeGroupForNode") Require(any.ParseFromString(bytes));
  if (method.name == "NodeGroupTemplateNodeInfo") {
    pb::NodeGroupTemplateNodeInfoResponse response;
    Require(response.ParseFromString(bytes));
  }
  if (method.name == "NodeGroupGetOptions") {
    pb::NodeGroupAutoscalingOptionsResponse response;
    Require(response.ParseFromString(bytes));
    if (response.has_nodegroupautoscalingoptions()) {
      const auto& options = response.nodegroupautoscalingoptions();
      Require(options.has_scaledownunneededtime() && options.has_scaledownunneededduration());
      Require(options.has_maxnodeprovisiontime() && options.has_maxnodeprovisionduration());
    }
  }
  return 0;
}
