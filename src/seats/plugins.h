// The registries that main fills before anything else runs: one per kind of plug-in. An out-of-tree
// program adds its own to the same object and hands it to app::Main.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autoscale/plugins.h"
#include "batch/plugin.h"
#include "cloud/cloud.h"
#include "cloud/node_claims.h"
#include "cloud/node_groups.h"

namespace coppice::seats {

// Filters, expanders and processors are the engine's own.
struct Plugins : autoscale::Plugins {
  cloud::CloudRegistry clouds{"cloud"};
  cloud::NodeGroupsRegistry node_groups{"node group provider"};
  cloud::NodeClaimsRegistry node_claims{"node claim provider"};
  coppice::batch::PluginRegistry batch;
};

// Calls Register() of every plug-in folder that the build discovered. Generated.
void RegisterDiscoveredPlugins(Plugins& plugins);

// InvalidArgument if one of `given` is not known, with the nearest known one. For flags that name
// plug-ins.
Status KnownNames(std::string_view flag, const std::vector<std::string>& given,
                  const std::vector<std::string>& known);

// What is linked in, a line per kind of plug-in: for --help.
std::string LinkedIn(const Plugins& plugins);

}  // namespace coppice::seats
