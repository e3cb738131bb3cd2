// What the families of autoscaler_metrics*.cc share: their prefix and upstream's labels for
// accelerators.

#pragma once

#include <string>
#include <utility>

#include "base/metrics.h"

namespace coppice::autoscale {

inline std::string MetricName(const char* name) {
  return std::string("cluster_autoscaler_") + name;
}

inline const MetricLabels kNoGpu = {
    {"gpu_resource_name", ""}, {"gpu_name", ""}, {"dra_drivers", ""}};

inline MetricLabels With(MetricLabels labels, const char* key, std::string value) {
  labels[key] = std::move(value);
  return labels;
}

}  // namespace coppice::autoscale
