#include "autoscale/flags.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/go_duration.h"
#include "base/strings.h"

namespace coppice::autoscale {

namespace {

template <class T>
using Member = std::function<T&(FlagValues&)>;

Status BadValue(std::string_view value, std::string_view wanted) {
  return InvalidArgument("'" + std::string(value) + "' is not " + std::string(wanted));
}

template <class T>
Result<T> Number(std::string_view text, std::string_view wanted) {
  T value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return BadValue(text, wanted);
  return value;
}

Result<bool> Bool(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE" || text == "t" || text == "T" ||
      text == "1")
    return true;
  if (text == "false" || text == "False" || text == "FALSE" || text == "f" || text == "F" ||
      text == "0")
    return false;
  return BadValue(text, "true or false");
}

// min:max
Result<ResourceRange> Range(std::string_view text, int64_t unit) {
  const auto parts = Split(text, ':');
  if (parts.size() != 2) return BadValue(text, "min:max");
  ResourceRange range;
  range.min = TRY(Number<int64_t>(parts[0], "a number"));
  range.max = TRY(Number<int64_t>(parts[1], "a number"));
  if (range.min < 0 || range.max < range.min) return BadValue(text, "min:max with 0 <= min <= max");
  return ResourceRange{range.min * unit, range.max * unit};
}

// type:min:max
Status GpuTotal(Options& options, std::string_view text) {
  const auto parts = Split(text, ':');
  if (parts.size() != 3 || parts[0].empty()) return BadValue(text, "type:min:max");
  options.gpu_total[parts[0]] = TRY(Range(parts[1] + ":" + parts[2], 1));
  return Status::Ok();
}

// priority:seconds,priority:seconds
Status DrainPriorities(Options& options, std::string_view text) {
  options.drain_priority_config.clear();
  if (text.empty()) return Status::Ok();
  for (const std::string& part : Split(text, ',')) {
    const auto pair = Split(part, ':');
    if (pair.size() != 2) return BadValue(part, "priority:seconds");
    DrainTier tier;
    tier.priority = TRY(Number<int32_t>(pair[0], "a priority"));
    tier.shutdown_grace_period_seconds = TRY(Number<int64_t>(pair[1], "a number of seconds"));
    options.drain_priority_config.push_back(tier);
  }
  return Status::Ok();
}

// Builds the table; one method per kind of value.
class Table {
 public:
  void Group(std::string heading) { group_ = std::move(heading); }

  void AddBool(std::string name, bool FlagValues::* member, std::string help) {
    AddBool(
        std::move(name), [member](FlagValues& v) -> bool& { return v.*member; }, std::move(help));
  }
  void AddBool(std::string name, bool Options::* member, std::string help) {
    AddBool(
        std::move(name), [member](FlagValues& v) -> bool& { return v.options.*member; },
        std::move(help));
  }
  void AddBool(std::string name, Member<bool> member, std::string help) {
    FlagValues defaults;
    Add(std::move(name), "bool", member(defaults) ? "true" : "false", std::move(help),
        [member](FlagValues& v, std::string_view text) -> Status {
          member(v) = TRY(Bool(text));
          return Status::Ok();
        });
    flags_.back().is_bool = true;
  }

  template <class T>
  void AddNumber(std::string name, Member<T> member, std::string help) {
    FlagValues defaults;
    std::string text = std::to_string(member(defaults));
    if constexpr (std::is_floating_point_v<T>) {  // 0.500000 reads as 0.5
      text.erase(text.find_last_not_of('0') + 1);
      if (text.ends_with('.')) text.pop_back();
    }
    Add(std::move(name), std::is_floating_point_v<T> ? "float" : "int", text, std::move(help),
        [member](FlagValues& v, std::string_view value) -> Status {
          member(v) = TRY(Number<T>(value, "a number"));
          return Status::Ok();
        });
  }
  template <class T>
  void AddNumber(std::string name, T Options::* member, std::string help) {
    AddNumber<T>(
        std::move(name), [member](FlagValues& v) -> T& { return v.options.*member; },
        std::move(help));
  }
  template <class T>
  void AddNumber(std::string name, T FlagValues::* member, std::string help) {
    AddNumber<T>(
        std::move(name), [member](FlagValues& v) -> T& { return v.*member; }, std::move(help));
  }

  void AddDuration(std::string name, Member<Duration> member, std::string help) {
    FlagValues defaults;
    Add(std::move(name), "duration", FormatGoDuration(member(defaults)), std::move(help),
        [member](FlagValues& v, std::string_view text) -> Status {
          member(v) = TRY(ParseGoDuration(text));
          return Status::Ok();
        });
  }
  void AddDuration(std::string name, Duration Options::* member, std::string help) {
    AddDuration(
        std::move(name), [member](FlagValues& v) -> Duration& { return v.options.*member; },
        std::move(help));
  }
  void AddDuration(std::string name, Duration FlagValues::* member, std::string help) {
    AddDuration(
        std::move(name), [member](FlagValues& v) -> Duration& { return v.*member; },
        std::move(help));
  }
  void AddDuration(std::string name, Duration cloud::ScalingOptions::* member, std::string help) {
    AddDuration(
        std::move(name),
        [member](FlagValues& v) -> Duration& { return v.options.group_defaults.*member; },
        std::move(help) + " A group may override it.");
  }

  void AddString(std::string name, Member<std::string> member, std::string help) {
    FlagValues defaults;
    Add(std::move(name), "string", member(defaults), std::move(help),
        [member](FlagValues& v, std::string_view text) {
          member(v) = std::string(text);
          return Status::Ok();
        });
  }
  void AddString(std::string name, std::string FlagValues::* member, std::string help) {
    AddString(
        std::move(name), [member](FlagValues& v) -> std::string& { return v.*member; },
        std::move(help));
  }

  // Each occurrence adds one.
  void AddRepeated(std::string name, Member<std::vector<std::string>> member, std::string help) {
    Add(std::move(name), "list", "", std::move(help) + " May be given several times.",
        [member](FlagValues& v, std::string_view text) {
          member(v).emplace_back(text);
          return Status::Ok();
        });
  }
  // Comma separated; replaces what was there.
  void AddList(std::string name, Member<std::vector<std::string>> member, std::string help) {
    FlagValues defaults;
    Add(std::move(name), "list", Join(member(defaults), ","), std::move(help),
        [member](FlagValues& v, std::string_view text) {
          member(v) = text.empty() ? std::vector<std::string>{} : Split(text, ',');
          return Status::Ok();
        });
  }

  // Accepted at its default; otherwise refused with what to do instead.
  void Refuse(std::string name, std::string default_text, std::string instead) {
    const bool is_bool = default_text == "true" || default_text == "false";
    const std::string help = "Not supported: " + instead;
    Add(name, is_bool ? "bool" : "string", default_text, help,
        [default_text, instead](FlagValues&, std::string_view text) -> Status {
          if (text == default_text) return Status::Ok();
          return Unimplemented("is not supported here: " + instead);
        });
    flags_.back().is_bool = is_bool;
  }
  // Understood, and without effect by design: the sentence says why.
  void Accept(std::string name, std::string type, std::string default_text, std::string help) {
    const bool is_bool = type == "bool";
    Add(std::move(name), std::move(type), std::move(default_text), std::move(help),
        [](FlagValues&, std::string_view) { return Status::Ok(); });
    flags_.back().is_bool = is_bool;
  }
  void Alias(std::string name, std::string of) {
    const auto original = std::ranges::find(flags_, of, &Flag::name);
    Flag flag = *original;
    flag.name = std::move(name);
    flag.alias_of = of;
    flag.help = "Another name of --" + of + ".";
    flag.group = group_;
    flags_.push_back(std::move(flag));
  }

  void Add(std::string name, std::string type, std::string default_text, std::string help,
           std::function<Status(FlagValues&, std::string_view)> set) {
    flags_.push_back({std::move(name), group_, std::move(type), std::move(default_text),
                      std::move(help), false, "", std::move(set)});
  }

  std::vector<Flag> Take() { return std::move(flags_); }

 private:
  std::string group_;
  std::vector<Flag> flags_;
};

void AddClusterFlags(Table& t) {
  t.Group("Cluster and cloud");
  t.AddString("cloud-provider", &FlagValues::cloud_provider,
              "Which provider drives the machines: a registered name, or externalgrpc.");
  t.AddString("cloud-config", &FlagValues::cloud_config, "Configuration file of the provider.");
  t.AddRepeated(
      "nodes", [](FlagValues& v) -> auto& { return v.nodes; }, "Node group as min:max:name.");
  t.AddRepeated(
      "node-group-auto-discovery",
      [](FlagValues& v) -> auto& { return v.node_group_auto_discovery; },
      "Provider-specific discovery of node groups.");
  t.AddString("cluster-name", &FlagValues::cluster_name, "Name of the cluster.");
  t.AddString(
      "namespace", [](FlagValues& v) -> std::string& { return v.options.namespace_; },
      "Namespace of the status ConfigMap, the lease and the priority expander's ConfigMap.");
  t.AddString("address", &FlagValues::address, "Where metrics and health are served.");
  t.AddString("kubernetes", &FlagValues::kubernetes,
              "URL of the API server; empty: in-cluster or kubeconfig.");
  t.AddString("kubeconfig", &FlagValues::kubeconfig, "kubeconfig file.");
  t.AddString("kube-api-content-type", &FlagValues::kube_api_content_type,
              "Encoding of built-in objects.");
  t.AddNumber("kube-client-qps", &FlagValues::kube_client_qps,
              "Requests per second to the API server.");
  t.AddNumber("kube-client-burst", &FlagValues::kube_client_burst,
              "Requests to the API server at once.");
  t.AddString("user-agent", &FlagValues::user_agent, "User agent of calls to the provider.");
  t.AddBool("leader-elect", &FlagValues::leader_elect, "Only the holder of the lease acts.");
  t.AddDuration("leader-elect-lease-duration", &FlagValues::leader_elect_lease_duration,
                "How long a lease is valid.");
  t.AddDuration("leader-elect-renew-deadline", &FlagValues::leader_elect_renew_deadline,
                "How long renewal is tried.");
  t.AddDuration("leader-elect-retry-period", &FlagValues::leader_elect_retry_period,
                "How often it is tried.");
  t.AddString("leader-elect-resource-name", &FlagValues::leader_elect_resource_name,
              "Name of the lease.");
  t.Accept("leader-elect-resource-namespace", "string", "", "The lease lives in --namespace.");
  t.Refuse("leader-elect-resource-lock", "leases", "only leases are left in Kubernetes");
  t.AddDuration("scan-interval", &Options::scan_interval, "A pass at least this often.");
  t.AddBool("frequent-loops-enabled", &FlagValues::frequent_loops_enabled,
            "Passes follow each other at once while there is work, and pending pods start one.");
  t.AddDuration("max-inactivity", &FlagValues::max_inactivity,
                "Unhealthy after so long without a pass.");
  t.AddDuration("max-failing-time", &FlagValues::max_failing_time,
                "Unhealthy after so long without a successful pass.");
  t.AddDuration("max-startup-time", &FlagValues::max_startup_time,
                "Both limits until the first successful pass.");
  t.AddBool("write-status-configmap", &Options::write_status_configmap,
            "Write the status ConfigMap and the events on it.");
  t.AddString(
      "status-config-map-name",
      [](FlagValues& v) -> std::string& { return v.options.status_config_map_name; }, "Its name.");
  t.AddBool("record-duplicated-events", &Options::record_duplicated_events,
            "Emit equal events again within five minutes.");
  t.AddBool("debugging-snapshot-enabled", &FlagValues::debugging_snapshot_enabled,
            "Serve a dump of the next pass at /snapshotz.");
  t.AddBool("profiling", &FlagValues::profiling, "Serve profiles under /debug.");
  t.AddBool("emit-per-nodegroup-metrics", &FlagValues::emit_per_nodegroup_metrics,
            "Metrics per node group.");
  t.AddBool("regional", &FlagValues::regional, "Hint for providers.");
  t.AddBool("dry-run", &FlagValues::dry_run,
            "[ours] Decide and say, write nothing and order nothing.");
  t.AddBool(
      "upstream-exact", &FlagValues::upstream_exact,
      "[ours] Behave as upstream where Coppice would do better; docs/differences.md has the list.");
}

void AddScaleUpFlags(Table& t) {
  t.Group("Scale-up");
  t.AddList(
      "expander", [](FlagValues& v) -> auto& { return v.options.expander; },
      "Expanders in order: random, most-pods, least-waste, least-nodes, price, priority, grpc.");
  t.AddString("grpc-expander-url", &FlagValues::grpc_expander_url,
              "host:port of the gRPC expander.");
  t.AddString("grpc-expander-cert", &FlagValues::grpc_expander_cert,
              "PEM file with the CA of the gRPC expander.");
  t.Alias("expander-plugin-url", "grpc-expander-url");
  t.Alias("external-expander-cert", "grpc-expander-cert");
  t.Refuse("estimator", "binpacking", "binpacking is the only estimator");
  t.AddBool("balance-similar-node-groups", &Options::balance_similar_node_groups,
            "Spread new nodes over groups that differ only in their zone.");
  t.AddRepeated(
      "balancing-ignore-label",
      [](FlagValues& v) -> auto& { return v.options.balancing_ignore_label; },
      "Label that does not make groups different.");
  t.AddRepeated(
      "balancing-label", [](FlagValues& v) -> auto& { return v.options.balancing_label; },
      "Groups are similar if these labels are equal, whatever else differs.");
  t.AddNumber("memory-difference-ratio", &Options::memory_difference_ratio,
              "Memory capacity of similar groups may differ by this share.");
  t.AddNumber("max-free-difference-ratio", &Options::max_free_difference_ratio,
              "Free resources may differ by this share.");
  t.AddNumber("max-allocatable-difference-ratio", &Options::max_allocatable_difference_ratio,
              "Allocatable may differ by this share.");
  t.AddNumber("max-nodes-total", &Options::max_nodes_total,
              "Limit on nodes of the cluster; 0: none.");
  t.Add("cores-total", "range", "0:320000", "Limits on cores of the cluster, min:max.",
        [](FlagValues& v, std::string_view text) -> Status {
          v.options.cores_total = TRY(Range(text, 1));
          return Status::Ok();
        });
  t.Add("memory-total", "range", "0:6400000", "Limits on memory of the cluster in GiB, min:max.",
        [](FlagValues& v, std::string_view text) -> Status {
          v.options.memory_total = TRY(Range(text, int64_t{1} << 30));
          return Status::Ok();
        });
  t.Add("gpu-total", "range", "",
        "Limits on GPUs of a type, type:min:max. May be given several times.",
        [](FlagValues& v, std::string_view text) { return GpuTotal(v.options, text); });
  t.AddNumber("max-nodes-per-scaleup", &Options::max_nodes_per_scaleup,
              "Most nodes that one estimate may add.");
  t.AddDuration("max-nodegroup-binpacking-duration", &Options::max_nodegroup_binpacking_duration,
                "Most time for one estimate.");
  t.AddDuration("max-binpacking-time", &Options::max_binpacking_time,
                "Most time for all estimates of a pass.");
  t.AddBool("fastpath-binpacking-enabled", &Options::fastpath_binpacking_enabled,
            "Approximate the last kind of pods.");
  t.AddBool("salvo-scale-up", &Options::salvo_scale_up, "Several scale-ups in one pass.");
  t.AddDuration("salvo-scale-up-budget", &Options::salvo_scale_up_budget, "Most time for them.");
  t.AddBool("parallel-scale-up", &Options::parallel_scale_up,
            "Go on with other groups when one cannot be resized.");
  t.AddBool("scaleup-simulation-for-skipped-node-groups-enabled",
            &Options::scaleup_simulation_for_skipped_node_groups_enabled,
            "Better reasons for groups that were not considered.");
  t.AddDuration("max-node-provision-time", &cloud::ScalingOptions::max_node_provision_time,
                "How long a machine may take to register.");
  t.AddDuration("max-node-startup-time", &cloud::ScalingOptions::max_node_startup_time,
                "How long a registered node may take to be ready.");
  t.AddDuration("initial-node-group-backoff-duration",
                &Options::initial_node_group_backoff_duration,
                "First wait after a failed scale-up.");
  t.AddDuration("max-node-group-backoff-duration", &Options::max_node_group_backoff_duration,
                "Longest wait.");
  t.AddDuration("node-group-backoff-reset-timeout", &Options::node_group_backoff_reset_timeout,
                "Failures older than this are forgotten.");
  t.AddDuration("new-pod-scale-up-delay", &Options::new_pod_scale_up_delay,
                "Pods younger than this do not cause a scale-up.");
  t.AddNumber("expendable-pods-priority-cutoff", &Options::expendable_pods_priority_cutoff,
              "Pods of lower priority count for nothing.");
  t.AddList(
      "bypassed-scheduler-names",
      [](FlagValues& v) -> auto& { return v.options.bypassed_scheduler_names; },
      "Schedulers whose pods count as unschedulable before they say so.");
  t.AddList(
      "allowed-scheduler-names",
      [](FlagValues& v) -> auto& { return v.options.allowed_scheduler_names; },
      "Only pods of these schedulers count.");
  t.AddBool("scale-up-from-zero", &Options::scale_up_from_zero,
            "Also in a cluster without ready nodes.");
  t.AddBool("enforce-node-group-min-size", &Options::enforce_node_group_min_size,
            "Grow groups that are below their minimum.");
  t.AddBool("force-ds", &Options::force_ds,
            "Reckon with DaemonSet pods that do not run on the example node.");
  t.AddBool("scale-from-unschedulable", &Options::scale_from_unschedulable,
            "A cordoned example node makes no cordoned template.");
  t.AddDuration("node-info-cache-expire-time", &Options::node_info_cache_expire_time,
                "How long the last good node of a group is remembered.");
  t.AddString("scheduler-config-file", &FlagValues::scheduler_config_file,
              "KubeSchedulerConfiguration with one profile.");
  t.AddNumber("predicate-parallelism", &FlagValues::predicate_parallelism,
              "Accepted for compatibility: the search runs on one thread.");
  t.Accept("scheduler-verbosity", "int", "0",
           "Accepted for compatibility: reasons are in the report.");
  t.Accept("enable-inter-pod-affinity-hostname-fast-path", "bool", "false",
           "Accepted for compatibility: every path is fast.");
}

void AddScaleDownFlags(Table& t) {
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
  t.AddDuration("node-deletion-candidate-ttl", &Options::node_deletion_candidate_ttl,
                "Take over unneeded times from soft taints younger than this.");
  t.AddNumber("max-bulk-soft-taint-count", &Options::max_bulk_soft_taint_count,
              "Most soft taints set or removed in a pass; 0: none.");
  t.AddDuration("max-bulk-soft-taint-time", &Options::max_bulk_soft_taint_time,
                "Most time for them.");
  for (const auto* name :
       {"scale-down-non-empty-candidates-count", "scale-down-candidates-pool-ratio",
        "scale-down-candidates-pool-min-count"}) {
    t.Accept(name, "string", "",
             "Accepted for compatibility: upstream reads it and does nothing with it.");
  }
}

void AddHealthFlags(Table& t) {
  t.Group("Health and taints");
  t.AddBool("force-delete-unregistered-nodes", &Options::force_delete_unregistered_nodes,
            "Remove machines that never registered, also below the minimum.");
  t.AddBool("force-delete-failed-nodes", &Options::force_delete_failed_nodes,
            "Remove machines that failed to come up, also below the minimum.");
  t.AddNumber("max-total-unready-percentage", &Options::max_total_unready_percentage,
              "More unready nodes than this: do nothing.");
  t.AddNumber("ok-total-unready-count", &Options::ok_total_unready_count,
              "So many unready nodes are always all right.");
  t.AddRepeated(
      "startup-taint", [](FlagValues& v) -> auto& { return v.options.startup_taint; },
      "A node with this taint is still starting.");
  t.AddRepeated(
      "startup-taint-prefix", [](FlagValues& v) -> auto& { return v.options.startup_taint_prefix; },
      "The same for all taints that begin with it.");
  t.AddRepeated(
      "status-taint", [](FlagValues& v) -> auto& { return v.options.status_taint; },
      "A taint that says something about one machine only.");
  t.Alias("ignore-taint", "startup-taint");
  t.AddBool("enable-graceful-degradation", &Options::enable_graceful_degradation,
            "Under too much load, alternate between the directions.");
  t.AddDuration("pending-pods-batching-timeout", &Options::pending_pods_batching_timeout,
                "Most time for placing pending pods then.");

  t.Group("Where Coppice differs from upstream by default");
  const auto deviation = [&t](std::string name, bool Deviations::* member, std::string help) {
    t.AddBool(
        std::move(name), [member](FlagValues& v) -> bool& { return v.options.deviations.*member; },
        std::move(help));
  };
  deviation("unremovable-recheck-on-change", &Deviations::unremovable_recheck_on_change,
            "[ours] Look again at a node that could not be emptied as soon as its pods change.");
  deviation("scan-all-candidates", &Deviations::scan_all_candidates,
            "[ours] Evaluate every node in every pass.");
  deviation("debounce-new-pods", &Deviations::debounce_new_pods,
            "[ours] Act when no new pod has come for --new-pod-quiet instead of holding pods for "
            "two seconds.");
  t.AddDuration(
      "new-pod-quiet",
      [](FlagValues& v) -> Duration& { return v.options.deviations.new_pod_quiet; },
      "[ours] See --debounce-new-pods.");
  t.AddDuration(
      "new-pod-wait", [](FlagValues& v) -> Duration& { return v.options.deviations.new_pod_wait; },
      "[ours] At the latest so long after the first.");
  deviation("fuses", &Deviations::fuses,
            "[ours] Never remove more than --fuse-max-removed-share of the nodes in --fuse-window, "
            "and nothing on a stale view.");
  t.AddNumber<double>(
      "fuse-max-removed-share",
      [](FlagValues& v) -> double& { return v.options.deviations.fuse_max_removed_share; },
      "[ours] See --fuses.");
  t.AddDuration(
      "fuse-window", [](FlagValues& v) -> Duration& { return v.options.deviations.fuse_window; },
      "[ours] See --fuses.");
  t.AddNumber<int>(
      "fuse-min-nodes", [](FlagValues& v) -> int& { return v.options.deviations.fuse_min_nodes; },
      "[ours] So many may always go.");
  t.AddDuration(
      "fuse-max-view-age",
      [](FlagValues& v) -> Duration& { return v.options.deviations.fuse_max_view_age; },
      "[ours] Older than this, the view is stale.");
  deviation("fresh-instances", &Deviations::fresh_instances,
            "[ours] Read the list of machines in every pass instead of every two minutes.");
}

void AddOtherFlags(Table& t) {
  t.Group("Not supported");
  t.Refuse(
      "enable-provisioning-requests", "false",
      "ProvisioningRequests are not there yet; pods of a gang can be annotated and scaled as pods");
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"provisioning-request-initial-backoff-time", "1m0s"},
           {"provisioning-request-max-backoff-time", "10m0s"},
           {"provisioning-request-max-backoff-cache-size", "1000"},
           {"check-capacity-batch-processing", "false"},
           {"check-capacity-provisioning-request-max-batch-size", "10"},
           {"check-capacity-provisioning-request-batch-timebox", "10s"},
           {"check-capacity-processor-instance", ""}}) {
    t.Refuse(name, value, "it belongs to ProvisioningRequests, which are not there yet");
  }
  t.Refuse("enable-proactive-scaleup", "false",
           "only pods that exist are scaled for; run a few low-priority pause pods to keep room");
  t.Refuse("pod-injection-limit", "5000",
           "it belongs to proactive scale-up, which is not there yet");
  t.Refuse("capacity-buffer-controller-enabled", "false",
           "CapacityBuffers are not there yet; run low-priority pause pods instead");
  t.Refuse("capacity-buffer-pod-injection-enabled", "false",
           "CapacityBuffers are not there yet; run low-priority pause pods instead");
  t.Refuse("capacity-buffer-pod-dry-run-enabled", "true", "CapacityBuffers are not there yet");
  t.Refuse("capacity-quotas-enabled", "false", "use --cores-total, --memory-total and --gpu-total");
  t.Refuse("async-node-groups", "false", "groups are made by the provider, not by the autoscaler");
  t.Refuse("node-autoprovisioning-enabled", "false",
           "groups are made by the provider, not by the autoscaler");
  t.Refuse("max-autoprovisioned-node-group-count", "15",
           "groups are made by the provider, not by the autoscaler");
  t.Refuse("enable-dynamic-resource-allocation", "true",
           "pods with resource claims are refused with that reason until it is there");
  t.Refuse("enable-csi-node-aware-scheduling", "false",
           "volume limits of template nodes are not simulated yet");
  t.Refuse("node-removal-latency-tracking-enabled", "false",
           "the report of each pass has the times");
  t.Refuse("max-node-skip-eval-time-tracker-enabled", "false", "no node is skipped here");

  t.Group("Logging");
  t.AddNumber("v", &FlagValues::verbosity,
              "Log level as klog counts it: 4 and more shows debug lines.");
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"logtostderr", "true"},
                                          {"alsologtostderr", "false"},
                                          {"one_output", "false"},
                                          {"skip_headers", "false"},
                                          {"skip_log_headers", "false"},
                                          {"add_dir_header", "false"}}) {
    t.Accept(name, "bool", value, "klog's; logs always go to standard error.");
  }
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"stderrthreshold", "2"},
                                          {"vmodule", ""},
                                          {"log_dir", ""},
                                          {"log_file", ""},
                                          {"log_file_max_size", "1800"},
                                          {"log_backtrace_at", ":0"},
                                          {"logging-format", "text"},
                                          {"log-flush-frequency", "5s"},
                                          {"feature-gates", ""},
                                          {"log-json-info-buffer-size", "0"},
                                          {"log-json-split-stream", "false"},
                                          {"log-text-info-buffer-size", "0"},
                                          {"log-text-split-stream", "false"}}) {
    t.Accept(name, "string", value, "klog's; understood and without effect.");
  }
}

const Flag* FindFlag(std::string_view name) {
  const auto& flags = AllFlags();
  const auto it = std::ranges::find(flags, name, &Flag::name);
  return it == flags.end() ? nullptr : &*it;
}

}  // namespace

const std::vector<Flag>& AllFlags() {
  static const std::vector<Flag> kFlags = [] {
    Table table;
    AddClusterFlags(table);
    AddScaleUpFlags(table);
    AddScaleDownFlags(table);
    AddHealthFlags(table);
    AddOtherFlags(table);
    return table.Take();
  }();
  return kFlags;
}

Result<FlagValues> ParseFlags(const std::vector<std::string>& args) {
  FlagValues values;
  // First, so that single deviations may be switched on again behind it.
  for (const std::string& arg : args) {
    if (arg == "--upstream-exact" || arg == "--upstream-exact=true") {
      values.options.deviations = Deviations::None();
    }
  }
  for (size_t i = 0; i < args.size(); ++i) {
    std::string_view arg = args[i];
    if (!arg.starts_with('-') || arg == "-" || arg == "--") {
      return InvalidArgument("'" + std::string(arg) + "' is no flag; flags begin with --");
    }
    arg.remove_prefix(arg.starts_with("--") ? 2 : 1);
    const size_t equals = arg.find('=');
    const std::string name(arg.substr(0, equals));
    const Flag* flag = FindFlag(name);
    if (flag == nullptr) {
      std::vector<std::string> names;
      for (const Flag& known : AllFlags()) names.push_back(known.name);
      const std::string nearest = Nearest(name, names);
      return InvalidArgument(
          "there is no flag --" + name +
          (nearest.empty() ? "; --help lists them" : "; did you mean --" + nearest + "?"));
    }
    std::string value;
    if (equals != std::string_view::npos) {
      value = arg.substr(equals + 1);
    } else if (flag->is_bool) {
      value = "true";
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return InvalidArgument("--" + name + " needs a value");
    }
    const Status set = flag->set(values, value);
    if (!set.ok()) return set.Context("--" + name + "=" + value);
  }
  for (std::string& name : values.options.expander) {
    if (name == "externalgrpc") name = "grpc";  // the proposal's name
  }
  return values;
}

std::string FlagsAsMarkdown() {
  std::string text =
      "# Flags\n\nGenerated from the table in src/autoscale/flags.cc. Names, "
      "defaults and meanings are those of "
      "Cluster Autoscaler; what is marked [ours] is not.\n";
  std::string group;
  for (const Flag& flag : AllFlags()) {
    if (flag.group != group) {
      group = flag.group;
      text += "\n## " + group + "\n\n| Flag | Type | Default | Meaning |\n|---|---|---|---|\n";
    }
    text += "| `--" + flag.name + "` | " + flag.type + " | " +
            (flag.default_text.empty() ? "" : "`" + flag.default_text + "`") + " | " + flag.help +
            " |\n";
  }
  return text;
}

std::string FlagsAsHelp() {
  std::string text;
  std::string group;
  for (const Flag& flag : AllFlags()) {
    if (flag.group != group) {
      group = flag.group;
      text += "\n" + group + ":\n";
    }
    text += "  --" + flag.name + " " + flag.type;
    if (!flag.default_text.empty()) text += " (" + flag.default_text + ")";
    text += "\n      " + flag.help + "\n";
  }
  return text;
}

}  // namespace coppice::autoscale
