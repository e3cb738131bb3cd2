// The World as kubectl would print it: a v1 List of everything that decisions read, which `coppice
// simulate --cluster` takes. Decision thread.

#pragma once

#include <string>

#include "cluster/world.h"

namespace coppice::app {

std::string DumpCluster(const cluster::World& world);

}  // namespace coppice::app
