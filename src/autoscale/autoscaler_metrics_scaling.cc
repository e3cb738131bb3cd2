// The metrics of what was bought, what failed and what was removed.

#include <algorithm>

#include "autoscale/autoscaler_metrics.h"
#include "autoscale/metric_names.h"
#include "autoscale/readiness.h"
#include "model/gpu.h"

namespace coppice::autoscale {
namespace {

// The accelerator of a group's nodes, under upstream's labels; none is "".
MetricLabels DevicesOf(const std::string& group, const AutoscalerMetrics::Around& around) {
  const std::string label = around.groups.GpuLabel();
  const auto node_template = around.templates.Find(group);
  if (label.empty() || node_template == nullptr) return kNoGpu;
  const model::Node& node = node_template->node;
  const std::string* name = node.metadata.labels.Find(label);
  if (name == nullptr) return kNoGpu;
  const std::string resource(model::AllocatableGpuResource(node));
  return {{"gpu_resource_name", resource},
          {"gpu_name", resource.empty() ? "missing-gpu"
                       : name->empty()  ? "generic"
                                        : *name},
          {"dra_drivers", ""}};
}

// Upstream's families for GPUs alone, of before the labels above; it has them still.
MetricLabels WithoutDrivers(MetricLabels labels) {
  labels.erase("dra_drivers");
  return labels;
}
bool HasGpu(const MetricLabels& labels) { return !labels.at("gpu_name").empty(); }

}  // namespace

void AutoscalerMetrics::ScaleUp(const report::ScaleUp& scale_up, const Around& around,
                                TimePoint now) {
  for (const report::Took& took : scale_up.took) Function(took.part, took.time);
  for (const report::Packing& packing : scale_up.packings) {
    const std::string namespaces = packing.namespaces <= 5    ? std::to_string(packing.namespaces)
                                   : packing.namespaces <= 10 ? "6-10"
                                                              : "11+";
    metrics_
        .GetHistogram(MetricName("binpacking_heterogeneity"),
                      "Kinds of pods that were packed together",
                      {1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32},
                      {{"instance_type", packing.instance_type},
                       {"cpu_count", packing.cpu},
                       {"namespace_count", namespaces}})
        .Observe(static_cast<double>(packing.kinds));
  }
  if (!scale_up.took.empty()) Activity("scaleUp", now);  // it was planned
  if (scale_up.result == report::ScaleUpResult::kSuccessful) {
    for (const report::GroupResize& resize : scale_up.resizes) {
      const MetricLabels devices = DevicesOf(resize.group, around);
      metrics_.GetCounter(MetricName("scaled_up_nodes_total"), "", devices)
          .Add(resize.to - resize.from);
      if (!HasGpu(devices)) continue;
      metrics_
          .GetCounter(MetricName("scaled_up_gpu_nodes_total"), "GPU nodes added (deprecated)",
                      WithoutDrivers(devices))
          .Add(resize.to - resize.from);
    }
  }
  // The same skips are told of every kind of pods.
  const auto* unhelped = !scale_up.unhelped.empty()   ? &scale_up.unhelped
                         : !scale_up.unserved.empty() ? &scale_up.unserved
                                                      : nullptr;
  if (unhelped == nullptr || unhelped->front().skipped == nullptr) return;
  for (const auto& [group, reasons] : *unhelped->front().skipped) {
    for (const std::string& reason : reasons) {
      if (!reason.starts_with("exceeded quota")) continue;
      for (const auto& [resource, name] :
           {std::pair("cpu", "CpuResourceLimit"), std::pair("memory", "MemoryResourceLimit")}) {
        if (reason.find(resource) == std::string::npos) continue;
        metrics_
            .GetCounter(MetricName("skipped_scale_events_count"), "",
                        {{"direction", "up"}, {"reason", name}})
            .Increment();
      }
    }
  }
}

void AutoscalerMetrics::Failures(const report::PassReport& report, const Around& around) {
  for (const report::FailedAddition& failed : report.failed_additions) {
    const MetricLabels devices = DevicesOf(failed.group, around);
    metrics_
        .GetCounter(MetricName("failed_scale_ups_total"), "",
                    With(devices, "reason", failed.reason))
        .Increment();
    metrics_.GetCounter(MetricName("failed_node_creations_total"), "", {{"reason", failed.reason}})
        .Add(failed.nodes);
    if (!HasGpu(devices)) continue;
    metrics_
        .GetCounter(MetricName("failed_gpu_scale_ups_total"), "Scale-ups of GPU nodes (deprecated)",
                    WithoutDrivers(With(devices, "reason", failed.reason)))
        .Increment();
  }
}

void AutoscalerMetrics::ScaleDown(const report::ScaleDown& scale_down, const Around& around,
                                  TimePoint now) {
  if (scale_down.result != report::ScaleDownResult::kNotTried &&
      scale_down.result != report::ScaleDownResult::kInCooldown) {
    Activity("scaleDown", now);
  }
  metrics_.GetGauge(MetricName("unneeded_nodes_count"), "")
      .Set(static_cast<double>(scale_down.unneeded.size()));
  metrics_.GetGauge(MetricName("scale_down_in_cooldown"), "")
      .Set(scale_down.result == report::ScaleDownResult::kInCooldown ? 1 : 0);
  for (const report::RemovedNode& removed : scale_down.removed) {
    const cluster::NodePtr node = around.world.FindNode(removed.node);
    const bool ready = node == nullptr || ReadinessOf(*node).ready;
    const char* reason = !ready ? "unready" : removed.evicted.empty() ? "empty" : "underutilized";
    going_[removed.node] = With(DevicesOf(removed.group, around), "reason", reason);
  }
  for (const report::DeletionOutcome& outcome : scale_down.outcomes) {
    const auto going = going_.extract(outcome.node);
    if (going.empty() || !outcome.ok()) continue;
    metrics_.GetCounter(MetricName("scaled_down_nodes_total"), "", going.mapped()).Increment();
    if (!HasGpu(going.mapped())) continue;
    metrics_
        .GetCounter(MetricName("scaled_down_gpu_nodes_total"), "GPU nodes removed (deprecated)",
                    WithoutDrivers(going.mapped()))
        .Increment();
  }
  std::map<std::string, int> reasons;
  for (const report::StayingNode& node : scale_down.staying)
    ++reasons[std::string(report::ToString(node.reason))];
  SetAll("unremovable_nodes_count", "Nodes that stay, by reason", "reason", reasons);
}

}  // namespace coppice::autoscale
