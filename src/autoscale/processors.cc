#include "autoscale/processors.h"

namespace coppice::autoscale {

Quotas::DevicesOf DevicesFrom(Processors& slots, std::string gpu_label) {
  if (!slots.custom_resources) return nullptr;
  return [&slots, gpu_label = std::move(gpu_label)](const Quotas::NodeOf& of) {
    const auto standard = [&gpu_label](const model::Node& node) {
      return Quotas::GpusOf(node, gpu_label);
    };
    return slots.custom_resources->DevicesOf(*of.node, of.group, standard);
  };
}

}  // namespace coppice::autoscale
