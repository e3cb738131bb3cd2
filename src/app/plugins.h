// The registries that main fills before anything else runs: one per kind of plug-in. An out-of-tree
// program adds its own to the same object and hands it to app::Main.

#pragma once

#include "autoscale/plugins.h"
#include "batch/plugin.h"
#include "cloud/cloud.h"
#include "cloud/node_claims.h"
#include "cloud/node_groups.h"

namespace coppice::app {

// Filters, expanders and processors are the engine's own.
struct Plugins : autoscale::Plugins {
  cloud::CloudRegistry clouds{"cloud"};
  cloud::NodeGroupsRegistry node_groups{"node group provider"};
  cloud::NodeClaimsRegistry node_claims{"node claim provider"};
  coppice::batch::PluginRegistry batch;
};

// Calls Register() of every plug-in folder that the build discovered. Generated.
void RegisterDiscoveredPlugins(Plugins& plugins);

}  // namespace coppice::app
