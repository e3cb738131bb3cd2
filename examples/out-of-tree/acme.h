// The plug-ins of Acme: a cloud, a provider of node claims, an expander, a pod-list processor, a
// batch plug-in.

#pragma once

#include "autoscale/processor_registry.h"
#include "batch/plugin.h"
#include "cloud/cloud.h"
#include "cloud/node_claims.h"
#include "expand/expander.h"

namespace acme {

void Register(coppice::cloud::CloudRegistry& clouds);
void Register(coppice::cloud::NodeClaimsRegistry& claims);
void Register(coppice::expand::ExpanderRegistry& expanders);
void Register(coppice::autoscale::ProcessorRegistry& processors);
void Register(coppice::batch::PluginRegistry& plugins);

}  // namespace acme
