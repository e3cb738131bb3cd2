#include "model/gpu.h"

namespace coppice::model {

std::string_view AllocatableGpuResource(const Node& node) {
  for (const std::string_view resource : kGpuVendorResources) {
    const Quantity* quantity = node.status.allocatable.Find(resource);
    if (quantity != nullptr && !quantity->IsZero()) return resource;
  }
  return {};
}

}  // namespace coppice::model
