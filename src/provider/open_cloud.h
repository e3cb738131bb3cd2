// A cloud opened from the configuration file of `coppice provider`, and its groups held against it.
// Shared by the provider and by the autoscaler that drives a cloud itself.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/rng.h"
#include "cloud/cloud.h"
#include "provider/provider_config.h"

namespace coppice::provider {

struct OpenCloudContext {
  const cloud::CloudRegistry& clouds;
  Clock& clock;
  Rng& rng;
  const Log& log;
  Metrics& metrics;
};

// The cloud that the configuration names. A build without clouds says so.
Result<std::unique_ptr<cloud::Cloud>> OpenCloud(const ProviderConfig& config,
                                                const OpenCloudContext& context);

// A sentence per mistake that only the cloud can tell: a flavor, image, zone or network that is not
// there, or reserves that leave nothing of the flavor for pods. A cloud that is away is no mistake:
// it is logged.
Status CheckAgainstCloud(cloud::Cloud& cloud, const std::vector<cloud::GroupConfig>& groups,
                         const std::string& config_path, Duration timeout, Clock& clock,
                         const Log& log);

}  // namespace coppice::provider
