// GPUs as the scheduler sees them: extended resources of a few vendors.

#pragma once

#include <array>
#include <string_view>

#include "model/node.h"

namespace coppice::model {

// In the order in which they are looked for; upstream's list.
inline constexpr std::array<std::string_view, 5> kGpuVendorResources = {
    "nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe", "amd.com/gpu",
    "microsoft.com/directx"};

// The first of them of which the node offers any; "" if none.
std::string_view AllocatableGpuResource(const Node& node);

}  // namespace coppice::model
