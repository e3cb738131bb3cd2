// The registries that main fills before anything else runs: one per kind of plug-in. An out-of-tree
// program adds its own to the same object and hands it to app::Main.

#pragma once

#include "autoscale/processor_registry.h"
#include "batch/plugin.h"
#include "cloud/cloud.h"
#include "cloud/node_groups.h"
#include "expand/expander.h"
#include "fit/filter.h"

namespace coppice::app {

struct Plugins {
  cloud::CloudRegistry clouds{"cloud"};
  cloud::NodeGroupsRegistry node_groups{"node group provider"};
  fit::FilterRegistry filters{"filter"};
  expand::ExpanderRegistry expanders{"expander"};
  autoscale::ProcessorRegistry processors;  // one registry per slot
  coppice::batch::PluginRegistry batch;
};

// Calls Register() of every plug-in folder that the build discovered. Generated.
void RegisterDiscoveredPlugins(Plugins& plugins);

}  // namespace coppice::app
