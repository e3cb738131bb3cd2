#include "autoscale/autoscaler_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autoscale/metric_names.h"

namespace coppice::autoscale {
namespace {

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

const model::PodCondition* Scheduled(const model::Pod& pod) {
  const auto it =
      std::ranges::find(pod.status.conditions, "PodScheduled", &model::PodCondition::type);
  return it == pod.status.conditions.end() ? nullptr : &*it;
}

std::string TaintType(const std::string& key, const StartupTaintOptions& options) {
  if (key == "ToBeDeletedByClusterAutoscaler" || key == "DeletionCandidateOfClusterAutoscaler" ||
      key.starts_with("node.kubernetes.io/") ||
      key.starts_with("node.cloudprovider.kubernetes.io/"))
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

AutoscalerMetrics::AutoscalerMetrics(Metrics& metrics, MetricsOptions options)
    : metrics_(metrics), options_(std::move(options)) {
  const LimitOptions& limits = options_.limits;
  const auto limit = [&](const char* name, const char* help, const char* direction, double value) {
    metrics_.GetGauge(MetricName(name), help, {{"direction", direction}}).Set(value);
  };
  limit("cpu_limits_cores", "Minimum and maximum number of cores in the cluster", "minimum",
        static_cast<double>(limits.cores_total.min));
  limit("cpu_limits_cores", "", "maximum", static_cast<double>(limits.cores_total.max));
  limit("memory_limits_bytes", "Minimum and maximum number of bytes of memory in the cluster",
        "minimum", static_cast<double>(limits.memory_total.min));
  limit("memory_limits_bytes", "", "maximum", static_cast<double>(limits.memory_total.max));
  AddFamilies();
}

// Series that exist before anything has happened: a rate needs a zero to start from.
void AutoscalerMetrics::AddFamilies() {
  for (const char* type :
       {"cloudProviderError", "apiCallError", "internalError", "transientError",
        "configurationError", "nodeGroupDoesNotExistError", "unexpectedScaleDownStateError"}) {
    metrics_.GetCounter(MetricName("errors_total"), "Errors of the loop", {{"type", type}});
  }
  for (const char* reason : {"cloudProviderError", "apiCallError", "timeout"}) {
    metrics_.GetCounter(MetricName("failed_scale_ups_total"), "Scale-ups that failed",
                        With(kNoGpu, "reason", reason));
    metrics_.GetCounter(MetricName("failed_node_creations_total"), "Nodes that failed to come",
                        {{"reason", reason}});
  }
  for (const char* result : {"succeeded", "failed"}) {
    metrics_.GetCounter(MetricName("evicted_pods_total"), "Pods evicted by the autoscaler",
                        {{"eviction_result", result}});
  }
  metrics_.GetCounter(MetricName("scaled_up_nodes_total"), "Nodes added by the autoscaler", kNoGpu);
  for (const char* reason : {"underutilized", "empty", "unready"}) {
    metrics_.GetCounter(MetricName("scaled_down_nodes_total"), "Nodes removed by the autoscaler",
                        With(kNoGpu, "reason", reason));
  }
  metrics_.GetCounter(MetricName("old_unregistered_nodes_removed_count"),
                      "Machines removed that never became nodes");
  for (const char* direction : {"up", "down"}) {
    for (const char* reason : {"CpuResourceLimit", "MemoryResourceLimit"}) {
      metrics_.GetCounter(MetricName("skipped_scale_events_count"),
                          "Scalings that a resource limit prevented",
                          {{"direction", direction}, {"reason", reason}});
    }
  }
  for (const char* type : {"unschedulable", "scheduler_unprocessed"})
    metrics_.GetGauge(MetricName("unschedulable_pods_count"), "Pods that wait for a node",
                      {{"type", type}});
  metrics_.GetGauge(MetricName("unneeded_nodes_count"), "Nodes that could go");
  metrics_.GetGauge(MetricName("scale_down_in_cooldown"), "Whether scale-down is in cool-down");
  metrics_.GetGauge(MetricName("pending_node_deletions"), "Nodes whose deletion is under way");
  metrics_.GetGauge(MetricName("overflowing_controllers_count"),
                    "Controllers of more kinds of pods than are told apart");
  metrics_.GetGauge(MetricName("cluster_safe_to_autoscale"),
                    "Whether the cluster is healthy enough");
  // Of one provider of upstream's own; here it has nothing to count.
  metrics_.GetGauge(MetricName("inconsistent_instances_migs_count"), "Always 0");
}

void AutoscalerMetrics::SetAll(const char* name, const char* help, const char* label,
                               const std::map<std::string, int>& values) {
  std::set<std::string>& shown = shown_[name];
  for (const std::string& before : shown) {
    if (!values.contains(before))
      metrics_.GetGauge(MetricName(name), help, {{label, before}}).Set(0);
  }
  for (const auto& [value, count] : values) {
    metrics_.GetGauge(MetricName(name), help, {{label, value}}).Set(count);
    shown.insert(value);
  }
}

void AutoscalerMetrics::Activity(const char* activity, TimePoint now) {
  metrics_
      .GetGauge(MetricName("last_activity"), "When an activity last happened",
                {{"activity", activity}})
      .Set(std::floor(Seconds(now)));  // upstream counts whole seconds
}

void AutoscalerMetrics::Function(std::string_view function, Duration took) {
  static const std::vector<double> kBuckets = DurationBuckets();
  metrics_
      .GetHistogram(MetricName("function_duration_seconds"), "How long parts of the loop take",
                    kBuckets, {{"function", std::string(function)}})
      .Observe(std::chrono::duration<double>(took).count());
  metrics_
      .GetSummary(MetricName("function_duration_quantile_seconds"),
                  "How long parts of the loop take", {{"function", std::string(function)}})
      .Observe(std::chrono::duration<double>(took).count());
}

void AutoscalerMetrics::PassBegan(TimePoint now) { Activity("main", now); }

void AutoscalerMetrics::Waited(Duration wait) { Function("loopWait", wait); }

void AutoscalerMetrics::Evicted(bool succeeded) {
  metrics_
      .GetCounter(MetricName("evicted_pods_total"), "Pods evicted by the autoscaler",
                  {{"eviction_result", succeeded ? "succeeded" : "failed"}})
      .Increment();
}

void AutoscalerMetrics::Nodes(const Around& around) {
  double cpu = 0;
  double memory = 0;
  std::map<std::string, int> taints;
  for (const cluster::NodePtr& node : around.world.Nodes()) {
    bool going = false;
    for (const model::Taint& taint : node->spec.taints) {
      going |= taint.key == "ToBeDeletedByClusterAutoscaler";
      ++taints[TaintType(taint.key, options_.taints)];
    }
    if (going) continue;
    for (const auto& [name, quantity] : node->status.capacity) {
      if (name == "cpu") cpu += static_cast<double>(quantity.MilliValue()) / 1000;
      if (name == "memory") memory += static_cast<double>(quantity.Value());
    }
  }
  metrics_.GetGauge(MetricName("cluster_cpu_current_cores"), "Cores in the cluster")
      .Set(std::floor(cpu));
  metrics_.GetGauge(MetricName("cluster_memory_current_bytes"), "Memory in the cluster")
      .Set(memory);
  SetAll("node_taints_count", "Taints by kind", "type", taints);
  int most = 0;
  const auto all = around.groups.Groups();
  for (const cloud::GroupInfo& group : all) most += group.max_size;
  metrics_.GetGauge(MetricName("max_nodes_count"), "Most nodes that all groups may have together")
      .Set(options_.limits.max_nodes_total > 0 ? std::min(most, options_.limits.max_nodes_total)
                                               : most);
  SetAll("node_groups_count", "Node groups", "node_group_type",
         {{"autoscaled", static_cast<int>(all.size())}, {"autoprovisioned", 0}});
}

void AutoscalerMetrics::Pods(const cluster::World& world) {
  const auto bypassed = [this](const std::string& scheduler) {
    const std::string& name = scheduler.empty() ? "default-scheduler" : scheduler;
    const auto& names = options_.bypassed_scheduler_names;
    return std::ranges::find(names, name) != names.end();
  };
  int unschedulable = 0;
  int unprocessed = 0;
  for (const auto* entry : world.Unbound()) {
    const model::Pod& pod = *entry->pod;
    if (entry->index == cluster::kNone || pod.metadata.deletion_timestamp ||
        !pod.status.nominated_node_name.empty()) {
      continue;
    }
    const model::PodCondition* condition = Scheduled(pod);
    if (condition != nullptr && condition->status == "False" &&
        condition->reason == "Unschedulable") {
      ++unschedulable;
    } else if (bypassed(pod.spec.scheduler_name) &&
               (condition == nullptr || condition->reason.empty())) {
      ++unprocessed;
    }
  }
  SetAll("unschedulable_pods_count", "Pods that wait for a node", "type",
         {{"unschedulable", unschedulable}, {"scheduler_unprocessed", unprocessed}});
}

void AutoscalerMetrics::Clusterwide(const report::PassReport& report, const Around& around) {
  Nodes(around);
  Pods(around.world);
  metrics_.GetGauge(MetricName("pending_node_deletions"), "")
      .Set(static_cast<double>(report.deleting));
  metrics_.GetGauge(MetricName("overflowing_controllers_count"), "")
      .Set(static_cast<double>(report.overflowing_controllers));
  SetAll("skipped_pods_count", "Pods that there was no time to look at", "requestor",
         {{"filter-out-pod-list-processor", static_cast<int>(report.unprocessed_pods)}});
  metrics_.GetCounter(MetricName("old_unregistered_nodes_removed_count"), "")
      .Add(report.unregistered_removed);
  if (report.groups_created > 0) {
    metrics_
        .GetCounter(MetricName("created_node_groups_total"), "Groups made", {{"group_type", ""}})
        .Add(report.groups_created);
  }
  if (report.groups_deleted > 0) {
    metrics_
        .GetCounter(MetricName("deleted_node_groups_total"), "Groups removed", {{"group_type", ""}})
        .Add(report.groups_deleted);
  }
  if (!report.status) return;
  metrics_.GetGauge(MetricName("cluster_safe_to_autoscale"), "")
      .Set(report.status->healthy ? 1 : 0);
  const report::NodeCounts& counts = report.status->counts;
  SetAll("nodes_count", "Nodes by state", "state",
         {{"ready", counts.ready},
          {"unready", counts.unready},
          {"notStarted", counts.not_started},
          {"suspended", counts.suspended},
          {"longUnregistered", counts.long_unregistered},
          {"unregistered", counts.unregistered}});
}

void AutoscalerMetrics::Groups(const report::ClusterStatus& status) {
  constexpr const char* kBackoff = "node_group_backoff_status";
  std::map<std::string, std::string> before = std::exchange(backoff_reasons_, {});
  for (const report::GroupStatus& group : status.groups) {
    const auto gauge = [&](const char* name, const char* help, double value) {
      metrics_.GetGauge(MetricName(name), help, {{"node_group", group.group}}).Set(value);
    };
    gauge("node_group_min_count", "Fewest nodes of the group", group.min);
    gauge("node_group_max_count", "Most nodes of the group", group.max);
    gauge("node_group_target_count", "Target size of the group", group.target);
    gauge("node_group_healthiness", "Whether the group is healthy", group.healthy ? 1 : 0);
    metrics_
        .GetGauge(MetricName(kBackoff), "Whether the group is backed off",
                  {{"node_group", group.group}, {"reason", group.backoff_code}})
        .Set(group.scale_up == "Backoff" ? 1 : 0);
    backoff_reasons_[group.group] = group.backoff_code;
  }
  for (const auto& [group, reason] : before) {
    const auto now = backoff_reasons_.find(group);
    if (now == backoff_reasons_.end()) {
      for (const char* name : {"node_group_min_count", "node_group_max_count",
                               "node_group_target_count", "node_group_healthiness"})
        metrics_.RemoveGauge(MetricName(name), {{"node_group", group}});
    }
    if (now == backoff_reasons_.end() || now->second != reason)
      metrics_.RemoveGauge(MetricName(kBackoff), {{"node_group", group}, {"reason", reason}});
  }
}

void AutoscalerMetrics::PassEnded(const report::PassReport& report, const Around& around,
                                  TimePoint began, TimePoint ended) {
  Function("main", ended - began);
  for (const report::Took& took : report.took) Function(took.part, took.time);
  const bool good = report.error.empty() || report.error_type == "transientError";
  if (good) {
    Activity("mainSuccessful", ended);
  } else {
    metrics_.GetCounter(MetricName("errors_total"), "", {{"type", report.error_type}}).Increment();
  }
  if (report.status) Activity("autoscaling", began);
  Clusterwide(report, around);
  for (const report::ScaleUp& round : report.earlier_rounds) ScaleUp(round, around, began);
  ScaleUp(report.scale_up, around, began);
  Failures(report, around);
  ScaleDown(report.scale_down, around, began);
  if (options_.per_group && report.status) Groups(*report.status);
}

void AutoscalerMetrics::Leads(bool leads) {
  metrics_.GetGauge("coppice_leader", "Whether this replica acts").Set(leads ? 1 : 0);
}

}  // namespace coppice::autoscale
