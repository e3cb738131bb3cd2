// Every option of the autoscaler with its default, a struct for each part that reads them. Names and defaults are upstream's (the flag is
// the member's name with '-'); flags.cc has the table that reads them from a command line.
//
// What Coppice does differently by default is in `deviations`, one switch each, listed in
// docs/differences.md; --upstream-exact turns all of them off.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cloud/node_groups.h"
#include "drain/options.h"

namespace coppice::autoscale {

// How Coppice differs from upstream unless told otherwise.
struct Deviations {
  // Drop a remembered "cannot be removed" when the node's pods change, instead of keeping it five
  // minutes.
  bool unremovable_recheck_on_change = true;
  // Evaluate every candidate node in every pass: upstream caps the number because each costs
  // milliseconds.
  bool scan_all_candidates = true;
  // Act when no new pending pod has come for `new_pod_quiet`, at the latest `new_pod_wait` after
  // the first, instead of holding every pod for two seconds (thirty with a GPU).
  bool debounce_new_pods = true;
  Duration new_pod_quiet = std::chrono::milliseconds(100);
  Duration new_pod_wait = std::chrono::milliseconds(150);
  // A pod that its scheduler has not got to yet counts as pending with another of the same
  // controller and shape that it could not place: a Deployment of a hundred is one order, where the
  // scheduler takes the better part of a second to mark them all.
  bool unmarked_kin = true;
  // A pass says when it wants to be followed by another one, and pods that go, nodes that change
  // and deletions that end hasten the next one; the scan interval is only the fallback.
  bool wake_when_due = true;
  // How long a pass waits for the answer to an order, which then goes on by itself; 0: until it
  // comes.
  Duration order_patience = std::chrono::milliseconds(200);
  // Fuses: what the planner wants is not enough.
  bool fuses = true;
  double fuse_max_removed_share = 0.25;  // of the cluster's nodes
  Duration fuse_window = std::chrono::minutes(10);
  int fuse_min_nodes = 5;  // a share of a small cluster is less than one node
  // No view of a quiet cluster is so old while its API server answers: kube/reflector.h reckons.
  Duration fuse_max_view_age = std::chrono::minutes(3);
  // Read instance lists anew in every pass: they are look-ups here, not API calls.
  bool fresh_instances = true;
  // Machines that exist and may still become nodes count as upcoming, also when no order of this
  // process stands for them (a restart, somebody else's order) and when their group is backed off.
  bool count_machines_on_their_way = true;
  // While machines are on their way, pending pods are placed by decreasing size, the order in which
  // they were packed when those machines were bought. In any other order pods of several sizes may
  // need more nodes than were bought for them, and be bought for again.
  bool larger_pods_first = true;
  // Unneeded timers (from the soft taints) and back-offs (from the status ConfigMap) of a process
  // before this one go on, if it was alive a moment ago.
  bool survive_restarts = true;
  // What happens in the cluster while a stage waits for an answer is known to the next one, instead
  // of being held back from the first list of a pass to its last plan.
  bool news_between_stages = true;
  // A PodDisruptionBudget whose selector is malformed guards its whole namespace and lets nobody
  // go, instead of ending every pass.
  bool malformed_budgets_guard = true;

  static Deviations None() {
    Deviations none;
    none.unremovable_recheck_on_change = false;
    none.scan_all_candidates = false;
    none.debounce_new_pods = false;
    none.unmarked_kin = false;
    none.wake_when_due = false;
    none.order_patience = Duration::zero();
    none.fuses = false;
    none.fresh_instances = false;
    none.count_machines_on_their_way = false;
    none.larger_pods_first = false;
    none.survive_restarts = false;
    none.news_between_stages = false;
    none.malformed_budgets_guard = false;
    return none;
  }
};

struct ResourceRange {
  int64_t min = 0;
  int64_t max = 0;
  friend bool operator==(const ResourceRange&, const ResourceRange&) = default;
};

// When a pass follows the one before.
struct LoopOptions {
  Duration scan_interval = std::chrono::seconds(10);
};

// What is told to the cluster, and where.
struct StatusOptions {
  std::string namespace_ = "kube-system";
  std::string status_config_map_name = "cluster-autoscaler-status";
  bool write_status_configmap = true;
  bool record_duplicated_events = false;
};

// How large the cluster may be, and must.
struct LimitOptions {
  int max_nodes_total = 0;                                        // 0: no limit
  ResourceRange cores_total{0, 320'000};                          // cores
  ResourceRange memory_total{0, int64_t{6'400'000} * (1 << 30)};  // bytes
  std::map<std::string, ResourceRange> gpu_total;                 // by value of the GPU label
};

// Which groups are alike.
struct SimilarityOptions {
  std::vector<std::string> balancing_ignore_label;
  std::vector<std::string> balancing_label;
  double memory_difference_ratio = 0.015;
  double max_free_difference_ratio = 0.05;
  double max_allocatable_difference_ratio = 0.05;
};

// Which pods count, and which are bought for.
struct PodOptions {
  int32_t expendable_pods_priority_cutoff = -10;
  std::vector<std::string> bypassed_scheduler_names;
  std::vector<std::string> allowed_scheduler_names;
  // Pods of these are bought for as whole gangs by another engine of this process: they take room
  // on nodes, but are nobody to buy for here. No flag: whoever runs both engines says it.
  std::vector<std::string> gang_scheduler_names;
};

// When a group is backed off, and when there is too much amiss.
struct GroupStateOptions {
  Duration initial_node_group_backoff_duration = std::chrono::minutes(5);
  Duration max_node_group_backoff_duration = std::chrono::minutes(30);
  Duration node_group_backoff_reset_timeout = std::chrono::hours(3);
  double max_total_unready_percentage = 45;
  int ok_total_unready_count = 3;
};

// What a new node of a group is taken to be.
struct TemplateOptions {
  bool force_ds = false;
  bool scale_from_unschedulable = false;
  Duration node_info_cache_expire_time = std::chrono::hours(87'600);
};

// Taints that come and go by themselves.
struct StartupTaintOptions {
  std::vector<std::string> startup_taint;  // and --ignore-taint
  std::vector<std::string> startup_taint_prefix;
  std::vector<std::string> status_taint;
};

// How long nothing is removed after something has happened.
struct CooldownOptions {
  Duration scale_down_delay_after_add = std::chrono::minutes(10);
  Duration scale_down_delay_after_delete = Duration::zero();
  Duration scale_down_delay_after_failure = std::chrono::minutes(3);
  bool scale_down_delay_type_local = false;
};

// How many nodes go at once.
struct DeletionLimitOptions {
  int max_scale_down_parallelism = 10;
  int max_drain_parallelism = 1;
};

// Which pods keep a node, and how the others leave it.
struct DrainOptions {
  int64_t max_graceful_termination_sec = 600;
  std::vector<drain::PriorityTier>
      drain_priority_config;  // empty: one tier of max_graceful_termination_sec
  Duration max_pod_eviction_time = std::chrono::minutes(2);
  bool skip_nodes_with_system_pods = true;
  bool skip_nodes_with_local_storage = true;
  bool skip_nodes_with_custom_controller_pods = true;
  int min_replica_count = 0;
  Duration blocking_system_pod_distruption_timeout = std::chrono::hours(1);  // upstream's spelling
  bool daemonset_eviction_for_empty_nodes = false;
  bool daemonset_eviction_for_occupied_nodes = true;
};

// How a node is marked and deleted.
struct DeletionOptions {
  bool cordon_node_before_terminating = true;
  Duration node_delete_delay_after_taint = std::chrono::seconds(5);
  bool dynamic_node_delete_delay_after_taint_enabled = false;
  Duration node_deletion_delay_timeout = std::chrono::minutes(2);
  Duration node_deletion_batcher_interval = Duration::zero();
  Duration node_deletion_candidate_ttl = Duration::zero();
  int max_bulk_soft_taint_count = 10;
  Duration max_bulk_soft_taint_time = std::chrono::seconds(3);
};

// What is looked at when nodes are to go.
struct ScaleDownOptions {
  bool scale_down_enabled = true;
  bool scale_down_unready_enabled = true;
  bool ignore_mirror_pods_utilization = false;
  Duration scale_down_simulation_timeout = std::chrono::seconds(30);
  Duration unremovable_node_recheck_timeout = std::chrono::minutes(5);
};

// How it is bought for those pods.
struct ScaleUpOptions {
  std::vector<std::string> expander = {"least-waste"};
  bool balance_similar_node_groups = false;
  int max_nodes_per_scaleup = 1000;
  Duration max_nodegroup_binpacking_duration = std::chrono::seconds(10);
  Duration max_binpacking_time = std::chrono::minutes(5);
  bool fastpath_binpacking_enabled = false;
  bool salvo_scale_up = false;
  Duration salvo_scale_up_budget = std::chrono::minutes(1);
  bool parallel_scale_up = false;
  bool scaleup_simulation_for_skipped_node_groups_enabled = false;
  Duration new_pod_scale_up_delay = Duration::zero();
  bool scale_up_from_zero = true;
  bool enforce_node_group_min_size = false;
};

// What is done about machines and groups that fail.
struct RepairOptions {
  bool force_delete_unregistered_nodes = false;
  bool force_delete_failed_nodes = false;
  bool enable_graceful_degradation = false;
  Duration pending_pods_batching_timeout = std::chrono::minutes(4);
};

// All of them, as the flags fill them and as only the engine holds them, and who makes processors for
// it: its parts take what they read, by the names of the structs above.
struct Options : LoopOptions,
                 StatusOptions,
                 LimitOptions,
                 SimilarityOptions,
                 PodOptions,
                 GroupStateOptions,
                 TemplateOptions,
                 StartupTaintOptions,
                 CooldownOptions,
                 DeletionLimitOptions,
                 DrainOptions,
                 DeletionOptions,
                 ScaleDownOptions,
                 ScaleUpOptions,
                 RepairOptions {
  // Per-group defaults; a group's own options replace them.
  cloud::ScalingOptions group_defaults;

  Deviations deviations;

  // How many questions to the filters a pass may spend on what would have helped the pods that
  // nothing helps. Below zero: as many as it takes, and everything else is told in full, too.
  int explain_checks = 200;
};

// What LoopTrigger reads.
struct TriggerOptions : LoopOptions {
  bool frequent_loops_enabled = true;
  std::vector<std::string> bypassed_scheduler_names;
  Deviations deviations;
};

// What AutoscalerMetrics shows, and by what it tells things apart.
struct MetricsOptions {
  LimitOptions limits;
  StartupTaintOptions taints;
  std::vector<std::string> bypassed_scheduler_names;
  bool per_group = false;
};

}  // namespace coppice::autoscale
