#include "autoscale/tpu.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace coppice::autoscale {

namespace {

constexpr std::string_view kPrefix = "cloud-tpus.google.com/";

bool Requests(const model::Pod& pod) {
  return std::ranges::any_of(pod.spec.containers, [](const model::Container& container) {
    return std::ranges::any_of(container.resources.requests, [](const auto& request) {
      return std::string_view(request.first).starts_with(kPrefix);
    });
  });
}

model::Pod Without(model::Pod pod) {
  for (model::Container& container : pod.spec.containers) {
    model::ResourceList kept;
    for (const auto& [name, amount] : container.resources.requests) {
      if (!std::string_view(name).starts_with(kPrefix)) kept[name] = amount;
    }
    container.resources.requests = std::move(kept);
  }
  return pod;
}

}  // namespace

bool TpuRequests::Asks(const pack::PendingPod& pod, const cluster::Snapshot& snapshot) {
  const size_t spec = snapshot.pod(pod.index).spec_id;
  if (spec >= known_.size()) known_.resize(spec + 1, 0);
  if (known_[spec] == 0) known_[spec] = Requests(*pod.pod) ? 2 : 1;
  return known_[spec] == 2;
}

bool TpuRequests::Any(const std::vector<pack::PendingPod>& pods,
                      const cluster::Snapshot& snapshot) {
  return std::ranges::any_of(pods, [&](const auto& pod) { return Asks(pod, snapshot); });
}

void TpuRequests::Forget(std::vector<pack::PendingPod>& pods, cluster::Snapshot& snapshot) {
  for (pack::PendingPod& pod : pods) {
    if (Asks(pod, snapshot)) pod.index = snapshot.AddPod(Without(*pod.pod));
  }
}

}  // namespace coppice::autoscale
