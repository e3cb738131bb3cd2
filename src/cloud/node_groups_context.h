// What a node group provider's factory is given. All references outlive the provider.

#pragma once

#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "cloud/node_groups.h"

namespace coppice::cloud {

struct NodeGroupsContext {
  Clock& clock;
  const Log& log;
  Metrics& metrics;
  std::string cloud_config;  // path, as --cloud-config says; "" if not given
  // How the operator calls this provider among several; "": there is one, its kind says enough.
  std::string name = {};
  // What Options() will be asked with: a provider behind a network asks ahead, in Refresh.
  ScalingOptions group_defaults = {};
};

}  // namespace coppice::cloud
