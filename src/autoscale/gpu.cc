#include "autoscale/gpu.h"

#include <algorithm>

#include "model/resources.h"

namespace coppice::autoscale {

int64_t AllocatableGpus(const model::Node& node) {
  const std::string_view resource = AllocatableGpuResource(node);
  return resource.empty() ? 0 : node.status.allocatable.Find(resource)->Value();
}

bool RequestsGpu(const model::Pod& pod) {
  const model::ResourceList requests = model::RequestList(pod);
  return std::ranges::any_of(model::kGpuVendorResources, [&](std::string_view resource) {
    return requests.contains(resource);
  });
}

}  // namespace coppice::autoscale
