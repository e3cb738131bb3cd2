#include "autoscale/utilization.h"

#include "autoscale/drain_rules.h"
#include "autoscale/gpu.h"
#include "model/resources.h"
#include "pack/pod_kinds.h"

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

Sums Sum(const cluster::World& world, cluster::NodeIndex index, std::string_view resource,
         const UtilizationRules& rules) {
  Sums sums;
  const cluster::Snapshot& snapshot = world.snapshot();
  for (const cluster::PodIndex pod : snapshot.pods_on(index)) {
    const cluster::PodView view = snapshot.pod(pod);
    const int64_t amount = MillisOf(view.spec, resource);
    const cluster::World::PodEntry* entry = world.EntryOf(pod);
    if (entry != nullptr) {
      const model::Pod& object = *entry->pod;
      if ((rules.ignore_daemon_sets && pack::IsDaemonSetPod(object)) ||
          (rules.ignore_mirror_pods && pack::IsMirrorPod(object))) {
        sums.ignored += amount;
        continue;
      }
      if (view.terminating && IsLongTerminating(object, rules.now)) continue;
    }
    sums.used += amount;
  }
  return sums;
}

std::optional<double> ShareOf(const cluster::World& world, cluster::NodeIndex index,
                              const model::Node& node, std::string_view resource,
                              const UtilizationRules& rules) {
  const model::Quantity* allocatable = node.status.allocatable.Find(resource);
  if (allocatable == nullptr || allocatable->MilliValue() == 0) return std::nullopt;
  const Sums sums = Sum(world, index, resource, rules);
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
    result.gpu = ShareOf(world, index, node, result.resource, rules).value_or(0);
    result.value = result.gpu;
    return result;
  }
  const auto cpu = ShareOf(world, index, node, model::kCpu, rules);
  const auto memory = ShareOf(world, index, node, model::kMemory, rules);
  if (!cpu || !memory) return std::nullopt;
  result.cpu = *cpu;
  result.memory = *memory;
  result.resource = *cpu > *memory ? model::kCpu : model::kMemory;
  result.value = *cpu > *memory ? *cpu : *memory;
  return result;
}

}  // namespace coppice::autoscale
