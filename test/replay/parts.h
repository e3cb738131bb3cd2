// The product's own parts that several areas replay through: all plug-ins, the default filter
// chain.

#pragma once

#include "test/support/discovered_plugins.h"

namespace coppice::replay {

using test::TheFilters;  // kube-scheduler's default profile
using test::ThePlugins;

}  // namespace coppice::replay
