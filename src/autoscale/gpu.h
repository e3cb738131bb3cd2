// GPUs as the autoscaler sees them: extended resources of a few vendors, and the cloud's label.

#pragma once

#include <string_view>

#include "model/node.h"
#include "model/pod.h"

namespace coppice::autoscale {

// The first vendor resource of which the node offers any; "" if none.
std::string_view AllocatableGpuResource(const model::Node& node);
int64_t AllocatableGpus(const model::Node& node);
// Does the pod ask for a GPU, be it zero of them?
bool RequestsGpu(const model::Pod& pod);

}  // namespace coppice::autoscale
