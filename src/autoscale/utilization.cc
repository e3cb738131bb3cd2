#include "autoscale/utilization.h"

#include <array>

#include "autoscale/gpu.h"
#include "drain/rules.h"
#include "model/pod_kinds.h"
#include "model/resources.h"

namespace coppice::autoscale {

namespace {

// In thousandths of a unit, as upstream compares everything.
int64_t MillisOf(const cluster::PodSpecShape& spec, std::string_view resource) {
  if (resource == model::kCpu) return spec.placed.cpu_millis;
  if (resource == model::kMemory) return spec.placed.memory_bytes * 1000;
  return spec.placed.Extended(resource) * 1000;
}

struct Sums {
  int64_t used = 0;
  int64_t ignored = 0;
};

// One for each of `resources`, in one walk over the pods; their objects are looked at only where a
// rule asks for it.
template <size_t N>
std::array<Sums, N> Sum(const cluster::World& world, cluster::NodeIndex index,
                        const std::array<std::string_view, N>& resources,
                        const UtilizationRules& rules) {
  std::array<Sums, N> sums;
  const cluster::Snapshot& snapshot = world.snapshot();
  const bool kinds_matter = rules.ignore_daemon_sets || rules.ignore_mirror_pods;
  for (const cluster::PodIndex pod : snapshot.pods_on(index)) {
    bool ignored = false;
    const cluster::World::PodEntry* entry =
        kinds_matter || snapshot.terminating(pod) ? world.EntryOf(pod) : nullptr;
    if (entry != nullptr) {
      const model::Pod& object = *entry->pod;
      ignored = (rules.ignore_daemon_sets && model::IsDaemonSetPod(object)) ||
                (rules.ignore_mirror_pods && model::IsMirrorPod(object));
      if (!ignored && snapshot.terminating(pod) && drain::IsLongTerminating(object, rules.now))
        continue;
    }
    const cluster::PodSpecShape& spec = snapshot.spec(pod);
    for (size_t i = 0; i < N; ++i)
      (ignored ? sums[i].ignored : sums[i].used) += MillisOf(spec, resources[i]);
  }
  return sums;
}

std::optional<double> ShareOf(const model::Node& node, std::string_view resource,
                              const Sums& sums) {
  const model::Quantity* allocatable = node.status.allocatable.Find(resource);
  if (allocatable == nullptr || allocatable->MilliValue() == 0) return std::nullopt;
  return static_cast<double>(sums.used) /
         static_cast<double>(allocatable->MilliValue() - sums.ignored);
}

}  // namespace

std::optional<report::Utilization> UtilizationOf(const cluster::World& world,
                                                 cluster::NodeIndex index, const model::Node& node,
                                                 const UtilizationRules& rules) {
  report::Utilization result;
  if (!rules.gpu_label.empty() && node.metadata.labels.contains(rules.gpu_label)) {
    const std::string_view found = AllocatableGpuResource(node);
    result.resource = found.empty() ? "nvidia.com/gpu" : std::string(found);
    // GPUs that have not appeared yet are not in use.
    const auto [sums] = Sum<1>(world, index, {result.resource}, rules);
    result.gpu = ShareOf(node, result.resource, sums).value_or(0);
    result.value = result.gpu;
    return result;
  }
  const auto sums = Sum<2>(world, index, {model::kCpu, model::kMemory}, rules);
  const auto cpu = ShareOf(node, model::kCpu, sums[0]);
  const auto memory = ShareOf(node, model::kMemory, sums[1]);
  if (!cpu || !memory) return std::nullopt;
  result.cpu = *cpu;
  result.memory = *memory;
  result.resource = *cpu > *memory ? model::kCpu : model::kMemory;
  result.value = *cpu > *memory ? *cpu : *memory;
  return result;
}

}  // namespace coppice::autoscale
