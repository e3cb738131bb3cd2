#include "autoscale/flag_table.h"

#include "base/strings.h"

namespace coppice::autoscale {

namespace {

// priority:seconds,priority:seconds
Status DrainPriorities(Options& options, std::string_view text) {
  options.drain_priority_config.clear();
  if (text.empty()) return Status::Ok();
  for (const std::string& part : Split(text, ',')) {
    const auto pair = Split(part, ':');
    if (pair.size() != 2) return BadFlagValue(part, "priority:seconds");
    drain::PriorityTier tier;
    tier.priority = TRY(FlagNumber<int32_t>(pair[0], "a priority"));
    tier.shutdown_grace_period_seconds = TRY(FlagNumber<int64_t>(pair[1], "a number of seconds"));
    options.drain_priority_config.push_back(tier);
  }
  return Status::Ok();
}

// What is handed to drain (drain_options.h).
void AddDrainFlags(FlagTable& t) {
  t.AddNumber("max-graceful-termination-sec", &Options::max_graceful_termination_sec,
              "Most seconds that a pod gets to end.");
  t.Add("drain-priority-config", "list", "",
        "Grace period by priority: priority:seconds,priority:seconds.",
        [](FlagValues& v, std::string_view text) { return DrainPriorities(v.options, text); });
  t.AddDuration("max-pod-eviction-time", &Options::max_pod_eviction_time,
                "How long a refused eviction is tried again.");
  t.AddBool("skip-nodes-with-system-pods", &Options::skip_nodes_with_system_pods,
            "Nodes with kube-system pods stay.");
  t.AddBool("skip-nodes-with-local-storage", &Options::skip_nodes_with_local_storage,
            "Nodes with pods that use local storage stay.");
  t.AddBool("skip-nodes-with-custom-controller-pods",
            &Options::skip_nodes_with_custom_controller_pods,
            "Nodes with pods of unknown controllers stay.");
  t.AddNumber("min-replica-count", &Options::min_replica_count,
              "Pods of controllers with fewer replicas keep their node.");
  t.AddDuration("blocking-system-pod-distruption-timeout",
                &Options::blocking_system_pod_distruption_timeout,
                "A kube-system pod without budget keeps its node this long.");
  t.AddBool("daemonset-eviction-for-empty-nodes", &Options::daemonset_eviction_for_empty_nodes,
            "Evict DaemonSet pods of empty nodes.");
  t.AddBool("daemonset-eviction-for-occupied-nodes",
            &Options::daemonset_eviction_for_occupied_nodes,
            "Evict DaemonSet pods of drained nodes.");
}

}  // namespace

void AddScaleDownFlags(FlagTable& t) {
  t.Group("Scale-down");
  t.AddBool("scale-down-enabled", &Options::scale_down_enabled, "Remove nodes that nobody needs.");
  t.AddDuration("scale-down-delay-after-add", &Options::scale_down_delay_after_add,
                "Wait after a scale-up.");
  t.AddDuration("scale-down-delay-after-delete", &Options::scale_down_delay_after_delete,
                "Wait after a removal.");
  t.AddDuration("scale-down-delay-after-failure", &Options::scale_down_delay_after_failure,
                "Wait after a failed removal.");
  t.AddBool("scale-down-delay-type-local", &Options::scale_down_delay_type_local,
            "The three waits apply per group.");
  t.AddDuration("scale-down-unneeded-time", &cloud::ScalingOptions::scale_down_unneeded_time,
                "How long a node must be unneeded.");
  t.AddDuration("scale-down-unready-time", &cloud::ScalingOptions::scale_down_unready_time,
                "The same for a node that is not ready.");
  t.AddBool("scale-down-unready-enabled", &Options::scale_down_unready_enabled,
            "Remove nodes that are not ready, too.");
  t.AddNumber<double>(
      "scale-down-utilization-threshold",
      [](FlagValues& v) -> double& {
        return v.options.group_defaults.scale_down_utilization_threshold;
      },
      "Nodes used more than this stay. A group may override it.");
  t.AddNumber<double>(
      "scale-down-gpu-utilization-threshold",
      [](FlagValues& v) -> double& {
        return v.options.group_defaults.scale_down_gpu_utilization_threshold;
      },
      "The same for GPU nodes. A group may override it.");
  t.AddBool(
      "ignore-daemonsets-utilization",
      [](FlagValues& v) -> bool& {
        return v.options.group_defaults.ignore_daemon_sets_utilization;
      },
      "DaemonSet pods do not count as use. A group may override it.");
  t.AddBool("ignore-mirror-pods-utilization", &Options::ignore_mirror_pods_utilization,
            "Mirror pods do not count as use.");
  t.AddDuration("scale-down-simulation-timeout", &Options::scale_down_simulation_timeout,
                "Most time for the simulation of a pass.");
  t.AddDuration("unremovable-node-recheck-timeout", &Options::unremovable_node_recheck_timeout,
                "How long a node that could not be emptied is left alone.");
  t.AddNumber("max-scale-down-parallelism", &Options::max_scale_down_parallelism,
              "Most nodes going at once.");
  t.AddNumber("max-drain-parallelism", &Options::max_drain_parallelism,
              "Most nodes being drained at once.");
  AddDrainFlags(t);
  t.AddBool("cordon-node-before-terminating", &Options::cordon_node_before_terminating,
            "Cordon a node before it goes.");
  t.AddDuration("node-delete-delay-after-taint", &Options::node_delete_delay_after_taint,
                "Wait between taint and removal.");
  t.AddBool("dynamic-node-delete-delay-after-taint-enabled",
            &Options::dynamic_node_delete_delay_after_taint_enabled,
            "Derive that wait from how fast the API server is.");
  t.AddDuration("node-deletion-delay-timeout", &Options::node_deletion_delay_timeout,
                "How long delay-deletion annotations are waited for.");
  t.AddDuration("node-deletion-batcher-interval", &Options::node_deletion_batcher_interval,
                "Gather removals of a group for this long.");
  t.AddDuration(
      "node-deletion-candidate-ttl", &Options::node_deletion_candidate_ttl,
      "Take over unneeded times from soft taints younger than this; needs --survive-restarts.");
  t.AddNumber("max-bulk-soft-taint-count", &Options::max_bulk_soft_taint_count,
              "Most soft taints set or removed in a pass; 0: none.");
  t.AddDuration("max-bulk-soft-taint-time", &Options::max_bulk_soft_taint_time,
                "Most time for them.");
  constexpr char kUnused[] = "upstream reads it and does nothing with it";
  t.Accept("scale-down-non-empty-candidates-count", "int", "30", kUnused);
  t.Accept("scale-down-candidates-pool-ratio", "float", "0.1", kUnused);
  t.Accept("scale-down-candidates-pool-min-count", "int", "50", kUnused);
}

}  // namespace coppice::autoscale
