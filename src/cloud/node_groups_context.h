// What a node group provider's factory is given. All references outlive the provider.

#pragma once

#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"

namespace coppice::cloud {

struct NodeGroupsContext {
  Clock& clock;
  const Log& log;
  Metrics& metrics;
  std::string cloud_config;  // path, as --cloud-config says; "" if not given
};

}  // namespace coppice::cloud
