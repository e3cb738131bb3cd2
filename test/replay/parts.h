// The product's own parts that several areas replay through: all plug-ins, the default filter
// chain.

#pragma once

#include "app/plugins.h"
#include "fit/chain.h"

namespace coppice::replay {

app::Plugins& ThePlugins();
const fit::Chain& TheFilters();  // kube-scheduler's default profile

}  // namespace coppice::replay
