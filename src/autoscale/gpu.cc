#include "autoscale/gpu.h"

#include <algorithm>
#include <array>

#include "model/resources.h"

namespace coppice::autoscale {

namespace {
// In the order in which they are looked for.
constexpr std::array<std::string_view, 5> kVendorResources = {"nvidia.com/gpu", "habana.ai/gaudi",
                                                              "gpu.intel.com/xe", "amd.com/gpu",
                                                              "microsoft.com/directx"};
}  // namespace

std::string_view AllocatableGpuResource(const model::Node& node) {
  for (const std::string_view resource : kVendorResources) {
    const model::Quantity* quantity = node.status.allocatable.Find(resource);
    if (quantity != nullptr && !quantity->IsZero()) return resource;
  }
  return {};
}

int64_t AllocatableGpus(const model::Node& node) {
  const std::string_view resource = AllocatableGpuResource(node);
  return resource.empty() ? 0 : node.status.allocatable.Find(resource)->Value();
}

bool RequestsGpu(const model::Pod& pod) {
  const model::ResourceList requests = model::RequestList(pod);
  return std::ranges::any_of(
      kVendorResources, [&](std::string_view resource) { return requests.contains(resource); });
}

}  // namespace coppice::autoscale
