#include "app/autoscaler_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace coppice::app {
namespace {

constexpr char kPrefix[] = "cluster_autoscaler_";

std::string Name(const char* name) { return std::string(kPrefix) + name; }

double Seconds(TimePoint time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

// Upstream's: 150 buckets from 0.1 s to half an hour. A scrape of ten functions would be 1,500
// lines, so ours are the first of them at 0.1 ... 0.4 s, where passes of ours end, and every tenth
// after: a subset of the same bounds, so that queries for quantiles work.
std::vector<double> DurationBuckets() {
  std::vector<double> bounds = {0.001, 0.005, 0.01, 0.05};
  const double factor = std::pow(1800.0 / 0.1, 1.0 / 149);
  for (int i = 0; i < 150; ++i) {
    if (i < 20 || i % 10 == 0 || i == 149) bounds.push_back(0.1 * std::pow(factor, i));
  }
  return bounds;
}

// No accelerator is told apart here; upstream's labels are there with its value for none.
const MetricLabels kNoGpu = {{"gpu_resource_name", ""}, {"gpu_name", ""}, {"dra_drivers", ""}};

MetricLabels With(MetricLabels labels, const char* key, std::string value) {
  labels[key] = std::move(value);
  return labels;
}

bool IsUnschedulable(const model::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions, [](const model::PodCondition& c) {
    return c.type == "PodScheduled" && c.status == "False" && c.reason == "Unschedulable";
  });
}

std::string TaintType(const std::string& key, const autoscale::Options& options) {
  if (key == "ToBeDeletedByClusterAutoscaler" || key == "DeletionCandidateOfClusterAutoscaler" ||
      key.starts_with("node.kubernetes.io/"))
    return key;
  const auto listed = [&](const std::vector<std::string>& keys) {
    return std::ranges::find(keys, key) != keys.end();
  };
  if (key.starts_with("startup-taint.cluster-autoscaler.kubernetes.io/") ||
      listed(options.startup_taint))
    return "startup-taint";
  if (key.starts_with("ignore-taint.cluster-autoscaler.kubernetes.io/")) return "ignore-taint";
  if (key.starts_with("status-taint.cluster-autoscaler.kubernetes.io/") ||
      listed(options.status_taint))
    return "status-taint";
  return "other";
}

}  // namespace

AutoscalerMetrics::AutoscalerMetrics(Metrics& metrics, const autoscale::FlagValues& flags)
    : metrics_(metrics), options_(flags.options), per_group_(flags.emit_per_nodegroup_metrics) {
  const autoscale::Options& options = flags.options;
  const auto limit = [&](const char* name, const char* help, const char* direction, double value) {
    metrics_.GetGauge(Name(name), help, {{"direction", direction}}).Set(value);
  };
  limit("cpu_limits_cores", "Minimum and maximum number of cores in the cluster", "minimum",
        static_cast<double>(options.cores_total.min));
  limit("cpu_limits_cores", "", "maximum", static_cast<double>(options.cores_total.max));
  limit("memory_limits_bytes", "Minimum and maximum number of bytes of memory in the cluster",
        "minimum", static_cast<double>(options.memory_total.min));
  limit("memory_limits_bytes", "", "maximum", static_cast<double>(options.memory_total.max));
  // Series that exist before anything has happened: a rate needs a zero to start from.
  for (const char* result : {"succeeded", "failed"}) {
    metrics_.GetCounter(Name("evicted_pods_total"), "Pods evicted by the autoscaler",
                        {{"eviction_result", result}});
  }
  metrics_.GetCounter(Name("scaled_up_nodes_total"), "Nodes added by the autoscaler", kNoGpu);
  for (const char* reason : {"underutilized", "empty", "unready"}) {
    metrics_.GetCounter(Name("scaled_down_nodes_total"), "Nodes removed by the autoscaler",
                        With(kNoGpu, "reason", reason));
  }
  metrics_.GetCounter(Name("old_unregistered_nodes_removed_count"),
                      "Machines removed that never became nodes");
  for (const char* direction : {"up", "down"}) {
    for (const char* reason : {"CpuResourceLimit", "MemoryResourceLimit"}) {
      metrics_.GetCounter(Name("skipped_scale_events_count"),
                          "Scalings that a resource limit prevented",
                          {{"direction", direction}, {"reason", reason}});
    }
  }
  for (const char* type : {"unschedulable", "scheduler_unprocessed"})
    metrics_.GetGauge(Name("unschedulable_pods_count"), "Pods that wait for a node",
                      {{"type", type}});
  metrics_.GetGauge(Name("unneeded_nodes_count"), "Nodes that could go");
  metrics_.GetGauge(Name("scale_down_in_cooldown"), "Whether scale-down is in cool-down");
  metrics_.GetGauge(Name("pending_node_deletions"), "Nodes whose deletion is under way");
  metrics_.GetGauge(Name("overflowing_controllers_count"), "");
  metrics_.GetGauge(Name("cluster_safe_to_autoscale"), "Whether the cluster is healthy enough");
}

void AutoscalerMetrics::Activity(const char* activity, TimePoint now) {
  metrics_
      .GetGauge(Name("last_activity"), "When an activity last happened", {{"activity", activity}})
      .Set(Seconds(now));
}

void AutoscalerMetrics::Function(const char* function, Duration took) {
  static const std::vector<double> kBuckets = DurationBuckets();
  metrics_
      .GetHistogram(Name("function_duration_seconds"), "How long parts of the loop take", kBuckets,
                    {{"function", function}})
      .Observe(std::chrono::duration<double>(took).count());
}

void AutoscalerMetrics::PassBegan(TimePoint now) { Activity("main", now); }

void AutoscalerMetrics::Waited(Duration wait) { Function("loopWait", wait); }

void AutoscalerMetrics::Evicted(bool succeeded) {
  metrics_
      .GetCounter(Name("evicted_pods_total"), "Pods evicted by the autoscaler",
                  {{"eviction_result", succeeded ? "succeeded" : "failed"}})
      .Increment();
}

void AutoscalerMetrics::Clusterwide(const report::PassReport& report, const cluster::World& world,
                                    cloud::NodeGroups& groups) {
  double cpu = 0;
  double memory = 0;
  std::map<std::string, int> taints;
  for (const cluster::NodePtr& node : world.Nodes()) {
    bool going = false;
    for (const model::Taint& taint : node->spec.taints) {
      going |= taint.key == "ToBeDeletedByClusterAutoscaler";
      ++taints[TaintType(taint.key, options_)];
    }
    if (going) continue;
    for (const auto& [name, quantity] : node->status.capacity) {
      if (name == "cpu") cpu += static_cast<double>(quantity.MilliValue()) / 1000;
      if (name == "memory") memory += static_cast<double>(quantity.Value());
    }
  }
  metrics_.GetGauge(Name("cluster_cpu_current_cores"), "Cores in the cluster").Set(std::floor(cpu));
  metrics_.GetGauge(Name("cluster_memory_current_bytes"), "Memory in the cluster").Set(memory);
  for (const auto& [type, count] : taints)
    metrics_.GetGauge(Name("node_taints_count"), "Taints by kind", {{"type", type}}).Set(count);
  int unschedulable = 0;
  int unprocessed = 0;
  for (const auto* entry : world.Unbound()) {
    if (entry->index == cluster::kNone) continue;
    ++(IsUnschedulable(*entry->pod) ? unschedulable : unprocessed);
  }
  const auto pods = [&](const char* type, int count) {
    metrics_
        .GetGauge(Name("unschedulable_pods_count"), "Pods that wait for a node", {{"type", type}})
        .Set(count);
  };
  pods("unschedulable", unschedulable);
  pods("scheduler_unprocessed", unprocessed);
  int most = 0;
  const auto all = groups.Groups();
  for (const cloud::GroupInfo& group : all) most += group.max_size;
  metrics_.GetGauge(Name("max_nodes_count"), "Most nodes that all groups may have together")
      .Set(options_.max_nodes_total > 0 ? std::min(most, options_.max_nodes_total) : most);
  metrics_.GetGauge(Name("node_groups_count"), "Node groups", {{"node_group_type", "autoscaled"}})
      .Set(static_cast<double>(all.size()));
  metrics_.GetGauge(Name("node_groups_count"), "", {{"node_group_type", "autoprovisioned"}}).Set(0);
  if (!report.status) return;
  metrics_.GetGauge(Name("cluster_safe_to_autoscale"), "").Set(report.status->healthy ? 1 : 0);
  const report::NodeCounts& counts = report.status->counts;
  const std::pair<const char*, int> states[] = {{"ready", counts.ready},
                                                {"unready", counts.unready},
                                                {"notStarted", counts.not_started},
                                                {"suspended", counts.suspended},
                                                {"longUnregistered", counts.long_unregistered},
                                                {"unregistered", counts.unregistered}};
  for (const auto& [state, count] : states)
    metrics_.GetGauge(Name("nodes_count"), "Nodes by state", {{"state", state}}).Set(count);
}

void AutoscalerMetrics::ScaleUps(const report::ScaleUp& scale_up, TimePoint now) {
  if (scale_up.result != report::ScaleUpResult::kNotTried) Activity("scaleUp", now);
  if (scale_up.result == report::ScaleUpResult::kSuccessful) {
    int added = 0;
    for (const report::GroupResize& resize : scale_up.resizes) added += resize.to - resize.from;
    metrics_.GetCounter(Name("scaled_up_nodes_total"), "", kNoGpu).Add(added);
  }
  if (!scale_up.failed_groups.empty()) {
    const std::string reason =
        scale_up.error_type.empty() ? "cloudProviderError" : scale_up.error_type;
    metrics_
        .GetCounter(Name("failed_scale_ups_total"), "Scale-ups that failed",
                    With(kNoGpu, "reason", reason))
        .Add(static_cast<double>(scale_up.failed_groups.size()));
  }
}

void AutoscalerMetrics::ScaleDowns(const report::ScaleDown& scale_down, TimePoint now) {
  if (scale_down.result != report::ScaleDownResult::kNotTried) Activity("scaleDown", now);
  metrics_.GetGauge(Name("unneeded_nodes_count"), "")
      .Set(static_cast<double>(scale_down.unneeded.size()));
  metrics_.GetGauge(Name("scale_down_in_cooldown"), "")
      .Set(scale_down.result == report::ScaleDownResult::kInCooldown ? 1 : 0);
  for (const report::RemovedNode& node : scale_down.removed) {
    const char* reason = node.evicted.empty() ? "empty" : "underutilized";
    metrics_.GetCounter(Name("scaled_down_nodes_total"), "", With(kNoGpu, "reason", reason))
        .Increment();
  }
  std::map<std::string, int> reasons;
  for (const report::StayingNode& node : scale_down.staying)
    ++reasons[std::string(report::ToString(node.reason))];
  for (const auto& [reason, count] : reasons) {
    metrics_
        .GetGauge(Name("unremovable_nodes_count"), "Nodes that stay, by reason",
                  {{"reason", reason}})
        .Set(count);
  }
}

void AutoscalerMetrics::Groups(const report::ClusterStatus& status) {
  for (const report::GroupStatus& group : status.groups) {
    const auto gauge = [&](const char* name, const char* help, double value) {
      metrics_.GetGauge(Name(name), help, {{"node_group", group.group}}).Set(value);
    };
    gauge("node_group_min_count", "Fewest nodes of the group", group.min);
    gauge("node_group_max_count", "Most nodes of the group", group.max);
    gauge("node_group_target_count", "Target size of the group", group.target);
    gauge("node_group_healthiness", "Whether the group is healthy", group.healthy ? 1 : 0);
    metrics_
        .GetGauge(Name("node_group_backoff_status"), "Whether the group is backed off",
                  {{"node_group", group.group}, {"reason", group.backoff_code}})
        .Set(group.scale_up == "Backoff" ? 1 : 0);
  }
}

void AutoscalerMetrics::PassEnded(const report::PassReport& report, const cluster::World& world,
                                  cloud::NodeGroups& groups, TimePoint began, TimePoint ended) {
  Function("main", ended - began);
  const bool good = report.error.empty() || report.error_type == "transientError";
  if (good) {
    Activity("mainSuccessful", ended);
  } else {
    metrics_.GetCounter(Name("errors_total"), "Errors of the loop", {{"type", report.error_type}})
        .Increment();
  }
  if (report.status) Activity("autoscaling", began);
  Clusterwide(report, world, groups);
  ScaleUps(report.scale_up, began);
  ScaleDowns(report.scale_down, began);
  if (per_group_ && report.status) Groups(*report.status);
}

void AutoscalerMetrics::ViewAge(Duration age) {
  metrics_.GetGauge("coppice_view_age_seconds", "How old the view of nodes and pods may be")
      .Set(std::chrono::duration<double>(age).count());
}

void AutoscalerMetrics::Leads(bool leads) {
  metrics_.GetGauge("coppice_leader", "Whether this replica acts").Set(leads ? 1 : 0);
}

void AutoscalerMetrics::Lists(const std::string& kind, uint64_t lists, uint64_t watches,
                              size_t objects) {
  const MetricLabels labels = {{"kind", kind}};
  metrics_.GetGauge("coppice_objects", "Objects in the view", labels)
      .Set(static_cast<double>(objects));
  metrics_.GetGauge("coppice_lists", "How often a kind has been read whole", labels)
      .Set(static_cast<double>(lists));
  metrics_.GetGauge("coppice_watches", "How often a kind's watch has been opened", labels)
      .Set(static_cast<double>(watches));
}

}  // namespace coppice::app
