#include "autoscale/flag_parts.h"

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
    tier.priority = TRY(FlagNumber<int32_t>(pair[0], AnyNumber<int32_t>()).Context("priority"));
    tier.shutdown_grace_period_seconds = TRY(FlagNumber<int64_t>(pair[1]).Context("seconds"));
    options.drain_priority_config.push_back(tier);
  }
  return Status::Ok();
}

// What is handed to drain (drain_options.h).
void AddDrainFlags(FlagSet& t, FlagValues& v) {
  t.AddNumber("max-graceful-termination-sec", v.options.max_graceful_termination_sec,
              "Most seconds that a pod gets to end.");
  t.Add("drain-priority-config", "list", "",
        "Grace period by priority: priority:seconds,priority:seconds.",
        [&v](std::string_view text) { return DrainPriorities(v.options, text); });
  t.AddDuration("max-pod-eviction-time", v.options.max_pod_eviction_time,
                "How long a refused eviction is tried again.");
  t.AddBool("skip-nodes-with-system-pods", v.options.skip_nodes_with_system_pods,
            "Nodes with kube-system pods stay.");
  t.AddBool("skip-nodes-with-local-storage", v.options.skip_nodes_with_local_storage,
            "Nodes with pods that use local storage stay.");
  t.AddBool("skip-nodes-with-custom-controller-pods",
            v.options.skip_nodes_with_custom_controller_pods,
            "Nodes with pods of unknown controllers stay.");
  t.AddNumber("min-replica-count", v.options.min_replica_count,
              "Pods of controllers with fewer replicas keep their node.");
  t.AddDuration("blocking-system-pod-distruption-timeout",
                v.options.blocking_system_pod_distruption_timeout,
                "A kube-system pod without budget keeps its node this long.");
  t.AddBool("daemonset-eviction-for-empty-nodes", v.options.daemonset_eviction_for_empty_nodes,
            "Evict DaemonSet pods of empty nodes.");
  t.AddBool("daemonset-eviction-for-occupied-nodes",
            v.options.daemonset_eviction_for_occupied_nodes,
            "Evict DaemonSet pods of drained nodes.");
}

}  // namespace

void AddScaleDownFlags(FlagSet& t, FlagValues& v) {
  t.Group("Scale-down");
  t.AddBool("scale-down-enabled", v.options.scale_down_enabled, "Remove nodes that nobody needs.");
  t.AddDuration("scale-down-delay-after-add", v.options.scale_down_delay_after_add,
                "Wait after a scale-up.");
  t.AddDuration("scale-down-delay-after-delete", v.options.scale_down_delay_after_delete,
                "Wait after a removal.");
  t.AddDuration("scale-down-delay-after-failure", v.options.scale_down_delay_after_failure,
                "Wait after a failed removal.");
  t.AddBool("scale-down-delay-type-local", v.options.scale_down_delay_type_local,
            "The three waits apply per group.");
  t.AddDuration("scale-down-unneeded-time", v.options.group_defaults.scale_down_unneeded_time,
                "How long a node must be unneeded. A group may override it.");
  t.AddDuration("scale-down-unready-time", v.options.group_defaults.scale_down_unready_time,
                "The same for a node that is not ready. A group may override it.");
  t.AddBool("scale-down-unready-enabled", v.options.scale_down_unready_enabled,
            "Remove nodes that are not ready, too.");
  t.AddNumber("scale-down-utilization-threshold",
              v.options.group_defaults.scale_down_utilization_threshold, kShare,
              "Nodes used more than this stay. A group may override it.");
  t.AddNumber("scale-down-gpu-utilization-threshold",
              v.options.group_defaults.scale_down_gpu_utilization_threshold, kShare,
              "The same for GPU nodes. A group may override it.");
  t.AddBool("ignore-daemonsets-utilization",
            v.options.group_defaults.ignore_daemon_sets_utilization,
            "DaemonSet pods do not count as use. A group may override it.");
  t.AddBool("ignore-mirror-pods-utilization", v.options.ignore_mirror_pods_utilization,
            "Mirror pods do not count as use.");
  t.AddDuration("scale-down-simulation-timeout", v.options.scale_down_simulation_timeout,
                "Most time for the simulation of a pass.");
  t.AddDuration("unremovable-node-recheck-timeout", v.options.unremovable_node_recheck_timeout,
                "How long a node that could not be emptied is left alone.");
  t.AddNumber("max-scale-down-parallelism", v.options.max_scale_down_parallelism,
              "Most nodes going at once.");
  t.AddNumber("max-drain-parallelism", v.options.max_drain_parallelism,
              "Most nodes being drained at once.");
  AddDrainFlags(t, v);
  t.AddBool("cordon-node-before-terminating", v.options.cordon_node_before_terminating,
            "Cordon a node before it goes.");
  t.AddDuration("node-delete-delay-after-taint", v.options.node_delete_delay_after_taint,
                "Wait between taint and removal.");
  t.AddBool("dynamic-node-delete-delay-after-taint-enabled",
            v.options.dynamic_node_delete_delay_after_taint_enabled,
            "Derive that wait from how fast the API server is.");
  t.AddDuration("node-deletion-delay-timeout", v.options.node_deletion_delay_timeout,
                "How long delay-deletion annotations are waited for.");
  t.AddDuration("node-deletion-batcher-interval", v.options.node_deletion_batcher_interval,
                "Gather removals of a group for this long.");
  t.AddDuration(
      "node-deletion-candidate-ttl", v.options.node_deletion_candidate_ttl,
      "Take over unneeded times from soft taints younger than this; needs --survive-restarts.");
  t.AddNumber("max-bulk-soft-taint-count", v.options.max_bulk_soft_taint_count,
              "Most soft taints set or removed in a pass; 0: none.");
  t.AddDuration("max-bulk-soft-taint-time", v.options.max_bulk_soft_taint_time,
                "Most time for them.");
  constexpr char kUnused[] = "upstream reads it and does nothing with it";
  t.Accept("scale-down-non-empty-candidates-count", "int", "30", kUnused);
  t.Accept("scale-down-candidates-pool-ratio", "float", "0.1", kUnused);
  t.Accept("scale-down-candidates-pool-min-count", "int", "50", kUnused);
}

}  // namespace coppice::autoscale
