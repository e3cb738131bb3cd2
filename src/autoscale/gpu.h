// GPUs as the autoscaler counts them. Which resources are GPUs: model/gpu.h.

#pragma once

#include <string_view>

#include "model/gpu.h"
#include "model/node.h"
#include "model/pod.h"

namespace coppice::autoscale {

using model::AllocatableGpuResource;
int64_t AllocatableGpus(const model::Node& node);
// Does the pod ask for a GPU, be it zero of them?
bool RequestsGpu(const model::Pod& pod);

}  // namespace coppice::autoscale
