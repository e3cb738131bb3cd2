// What an operator may say about node pools: Karpenter's own settings, and ours beside them. One
// small struct; flags and environment are the application's business.

#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"
#include "model/pod.h"
#include "provision/solver.h"

namespace coppice::provision {

struct FeatureGates {
  bool node_repair = false;
  bool reserved_capacity = true;
  bool spot_to_spot_consolidation = false;
  bool static_capacity = false;
  bool terminate_first_drift = false;
  bool terminate_first_repair = false;
  bool pod_deletion_cost_management = false;
};

struct EngineOptions {
  // The peer's rule where ours differs: its fixed batch window, its stall of everything while a
  // claim is not launched, no second opinion of kube-scheduler's filters, and the solver's quirks.
  bool upstream_exact = false;

  // Ours: a batch ends when no new pod has come for `batch_quiet`, at the latest `batch_wait` after
  // the first. The peer's: batch_idle_duration and batch_max_duration, used when `fixed_batches` or
  // upstream_exact.
  Duration batch_quiet = std::chrono::milliseconds(100);
  Duration batch_wait = std::chrono::milliseconds(150);
  bool fixed_batches = false;
  Duration batch_idle_duration = std::chrono::seconds(1);
  Duration batch_max_duration = std::chrono::seconds(10);

  PreferencePolicy preference_policy = PreferencePolicy::kRespect;
  MinValuesPolicy min_values_policy = MinValuesPolicy::kStrict;
  bool ignore_dra_requests = true;
  // Of pods that have none of their own, as the cluster's scheduler is configured.
  std::vector<model::TopologySpreadConstraint> default_spread = {};
  FeatureGates gates;

  // Sick nodes are deleted at once, as before Karpenter 1.15, instead of within budgets and after
  // their replacement (gate NodeRepair).
  bool legacy_node_repair = false;

  // Metrics about every node, pod and claim that there is.
  bool observe_cluster_state = true;

  // kube-scheduler's filters are asked before a machine is bought (not under upstream_exact).
  bool ask_filters = true;

  // Disruption.
  bool disruption = true;  // false: nothing is taken away but what others ask for
  Duration disruption_poll = std::chrono::seconds(10);
  Duration validation_delay = std::chrono::seconds(15);
  size_t spot_to_spot_least_types = 15;
  Duration pause_between_disruptions = Duration::zero();  // per pool; none

  // Cloud.
  size_t most_cloud_calls = 50;                      // at the same time
  Duration refresh_every = std::chrono::minutes(1);  // what types and drift are read from
  Duration refresh_timeout = std::chrono::seconds(30);
  Duration change_timeout = std::chrono::minutes(1);
  Duration garbage_every = std::chrono::minutes(2);

  // Above this age of the view nothing is bought and nothing is taken away.
  Duration max_view_age = std::chrono::minutes(3);  // as for node groups
  // For how many pods that cannot be placed near misses are worked out in a pass; the rest share
  // those of their like.
  size_t explain_pods = 50;
  // How many solves of one pod that may take in all. Each reads all pods that run: on a cluster of
  // 20,000 a few milliseconds.
  size_t explain_solves = 500;

  bool exact_batches() const { return upstream_exact || fixed_batches; }
  Duration nomination_window() const {
    const Duration twice = exact_batches() ? 2 * batch_max_duration : 2 * batch_wait;
    return twice > std::chrono::seconds(10) ? twice : Duration(std::chrono::seconds(10));
  }
};

}  // namespace coppice::provision
