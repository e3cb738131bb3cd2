// externalgrpc: node groups of anybody's provider, in another process, over Cluster Autoscaler's
// protocol. The file behind --cloud-config says where it is.

#include <memory>

#include "cloud/node_groups.h"
#include "plugins/node_groups/externalgrpc/client.h"

namespace coppice::node_groups::externalgrpc {

void Register(cloud::NodeGroupsRegistry& registry) {
  registry.Add(
      "externalgrpc",
      [](const cloud::NodeGroupsContext& context) -> Result<std::unique_ptr<cloud::NodeGroups>> {
        return TRY(Client::Open(context));
      });
}

}  // namespace coppice::node_groups::externalgrpc
