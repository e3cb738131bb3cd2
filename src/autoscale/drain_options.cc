#include "autoscale/drain_options.h"

namespace coppice::autoscale {

drain::RuleOptions RuleOptionsFrom(const DrainOptions& options) {
  return {.annotation_prefix = std::string(kAnnotationPrefix),
          .skip_nodes_with_system_pods = options.skip_nodes_with_system_pods,
          .skip_nodes_with_local_storage = options.skip_nodes_with_local_storage,
          .skip_nodes_with_custom_controller_pods = options.skip_nodes_with_custom_controller_pods,
          .min_replica_count = options.min_replica_count,
          .blocking_system_pod_timeout = options.blocking_system_pod_distruption_timeout};
}

drain::EvictionOptions EvictionOptionsFrom(const DrainOptions& options) {
  return {.annotation_prefix = std::string(kAnnotationPrefix),
          .max_graceful_termination_seconds = options.max_graceful_termination_sec,
          .tiers = options.drain_priority_config,
          .max_pod_eviction_time = options.max_pod_eviction_time,
          .daemon_sets_of_empty_nodes = options.daemonset_eviction_for_empty_nodes,
          .daemon_sets_of_occupied_nodes = options.daemonset_eviction_for_occupied_nodes,
          .evicting_reason = "ScaleDown",
          .evicting_text = "deleting pod for node scale down",
          .failed_reason = "ScaleDownFailed",
          .failed_text = "failed to delete pod for ScaleDown"};
}

Result<drain::PdbTracker> BudgetsOf(const Deviations& deviations, const cluster::World& world) {
  using Malformed = drain::PdbTracker::Malformed;
  return drain::PdbTracker::Create(
      world.objects<model::PodDisruptionBudget>().List(),
      deviations.malformed_budgets_guard ? Malformed::kGuardsItsNamespace : Malformed::kFails);
}

}  // namespace coppice::autoscale
