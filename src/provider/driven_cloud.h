// A registered cloud as the autoscaler's own provider: the cloud, its threads and the node group
// contract over it, owned together, from a file as `coppice provider` reads it. Saves the detour
// over gRPC where cloud and autoscaler are one program.
//
// The file is looked at with every Refresh: groups are added, changed and removed while it runs; a
// bad file keeps the old ones and says so.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/pool.h"
#include "cloud/node_groups.h"
#include "provider/open_cloud.h"

namespace coppice::provider {

struct DrivenCloudOptions {
  std::string cloud;                          // registered name
  std::string config_path;                    // --cloud-config
  std::vector<std::string> limits;            // --nodes: min:max:name replaces what the file says
  Workers* workers = nullptr;                 // who calls the cloud; null: threads of its own
  Duration drain = std::chrono::seconds(15);  // how long its end waits for orders under way
};

Result<std::unique_ptr<cloud::NodeGroups>> DriveCloud(DrivenCloudOptions options,
                                                      const OpenCloudContext& context);

}  // namespace coppice::provider
