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

bool TpuRequests::Asks(cluster::PodIndex pod, const cluster::Snapshot& snapshot,
                       const ObjectOf& object_of) {
  if (id_epoch_ != snapshot.id_epoch()) known_.clear();
  id_epoch_ = snapshot.id_epoch();
  const size_t spec = snapshot.spec_id(pod);
  if (spec >= known_.size()) known_.resize(spec + 1, 0);
  if (known_[spec] == 0) known_[spec] = Requests(object_of(pod)) ? 2 : 1;
  return known_[spec] == 2;
}

bool TpuRequests::Any(const std::vector<cluster::PodIndex>& pods, const cluster::Snapshot& snapshot,
                      const ObjectOf& object_of) {
  return std::ranges::any_of(pods,
                             [&](cluster::PodIndex pod) { return Asks(pod, snapshot, object_of); });
}

void TpuRequests::Forget(std::vector<cluster::PodIndex>& pods, cluster::Snapshot& snapshot,
                         const ObjectOf& object_of) {
  for (cluster::PodIndex& pod : pods) {
    if (Asks(pod, snapshot, object_of)) pod = snapshot.AddPod(Without(object_of(pod)));
  }
}

void TpuRequests::Forget(std::vector<fit::PendingPod>& pods, cluster::Snapshot& snapshot) {
  for (fit::PendingPod& pending : pods) {
    const auto object_of = [&](cluster::PodIndex) -> const model::Pod& { return *pending.pod; };
    if (Asks(pending.index, snapshot, object_of))
      pending.index = snapshot.AddPod(Without(*pending.pod));
  }
}

}  // namespace coppice::autoscale
