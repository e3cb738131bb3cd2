#include "autoscale/flag_parts.h"

#include <limits>

#include "base/strings.h"

namespace coppice::autoscale {

namespace {

// min:max
Result<ResourceRange> Range(std::string_view text, int64_t unit) {
  const auto parts = Split(text, ':');
  if (parts.size() != 2) return BadFlagValue(text, "min:max");
  ResourceRange range;
  range.min = TRY(FlagNumber<int64_t>(parts[0], AnyNumber<int64_t>()));
  range.max = TRY(FlagNumber<int64_t>(parts[1], AnyNumber<int64_t>()));
  if (range.min < 0 || range.max < range.min)
    return BadFlagValue(text, "min:max with 0 <= min <= max");
  if (range.max > std::numeric_limits<int64_t>::max() / unit)
    return BadFlagValue(text, "a limit that can be counted");
  return ResourceRange{range.min * unit, range.max * unit};
}

// type:min:max
Status GpuTotal(Options& options, std::string_view text) {
  const auto parts = Split(text, ':');
  if (parts.size() != 3 || parts[0].empty()) return BadFlagValue(text, "type:min:max");
  options.gpu_total[parts[0]] = TRY(Range(parts[1] + ":" + parts[2], 1));
  return Status::Ok();
}

// How much, and how long it may take to find out.
void AddLimits(FlagSet& t, FlagValues& v) {
  t.AddNumber("max-nodes-total", v.options.max_nodes_total,
              "Limit on nodes of the cluster; 0: none.");
  t.Add("cores-total", "range", "0:320000", "Limits on cores of the cluster, min:max.",
        [&v](std::string_view text) -> Status {
          v.options.cores_total = TRY(Range(text, 1));
          return Status::Ok();
        });
  t.Add("memory-total", "range", "0:6400000", "Limits on memory of the cluster in GiB, min:max.",
        [&v](std::string_view text) -> Status {
          v.options.memory_total = TRY(Range(text, int64_t{1} << 30));
          return Status::Ok();
        });
  t.Add("gpu-total", "range", "",
        "Limits on GPUs of a type, type:min:max. May be given several times.",
        [&v](std::string_view text) { return GpuTotal(v.options, text); });
  t.AddNumber("max-nodes-per-scaleup", v.options.max_nodes_per_scaleup,
              "Most nodes that one estimate may add.");
  t.AddDuration("max-nodegroup-binpacking-duration", v.options.max_nodegroup_binpacking_duration,
                "Most time for one estimate.");
  t.AddDuration("max-binpacking-time", v.options.max_binpacking_time,
                "Most time for all estimates of a pass.");
  t.AddBool("fastpath-binpacking-enabled", v.options.fastpath_binpacking_enabled,
            "Approximate the last kind of pods.");
  t.AddBool("salvo-scale-up", v.options.salvo_scale_up, "Several scale-ups in one pass.");
  t.AddDuration("salvo-scale-up-budget", v.options.salvo_scale_up_budget, "Most time for them.");
  t.AddBool("parallel-scale-up", v.options.parallel_scale_up,
            "Resize the groups of a balanced scale-up at the same time.");
  t.AddBool("scaleup-simulation-for-skipped-node-groups-enabled",
            v.options.scaleup_simulation_for_skipped_node_groups_enabled,
            "Better reasons for groups that were not considered.");
}

}  // namespace

void AddScaleUpFlags(FlagSet& t, FlagValues& v) {
  t.Group("Scale-up");
  t.AddList(
      "expander", v.options.expander,
      "Expanders in order: random, most-pods, least-waste, least-nodes, price, priority, grpc.");
  t.AddString("grpc-expander-url", v.grpc_expander_url, "host:port of the gRPC expander.");
  t.AddString("grpc-expander-cert", v.grpc_expander_cert,
              "PEM file with the CA of the gRPC expander.");
  t.AddBool("grpc-expander-legacy-fields", v.grpc_expander_legacy_fields,
            "[ours] Send pods and nodes also in the fields that expanders of before 1.34.2 read.");
  t.Alias("expander-plugin-url", "grpc-expander-url");
  t.Alias("external-expander-cert", "grpc-expander-cert");
  t.Refuse("estimator", "binpacking", "binpacking is the only estimator");
  t.AddBool("balance-similar-node-groups", v.options.balance_similar_node_groups,
            "Spread new nodes over groups that differ only in their zone.");
  t.AddRepeated("balancing-ignore-label", v.options.balancing_ignore_label,
                "Label that does not make groups different.");
  t.AddRepeated("balancing-label", v.options.balancing_label,
                "Groups are similar if these labels are equal, whatever else differs.");
  t.AddNumber("memory-difference-ratio", v.options.memory_difference_ratio,
              "Memory capacity of similar groups may differ by this share.");
  t.AddNumber("max-free-difference-ratio", v.options.max_free_difference_ratio,
              "Free resources may differ by this share.");
  t.AddNumber("max-allocatable-difference-ratio", v.options.max_allocatable_difference_ratio,
              "Allocatable may differ by this share.");
  AddLimits(t, v);
  t.AddDuration("max-node-provision-time", v.options.group_defaults.max_node_provision_time,
                "How long a machine may take to register. A group may override it.");
  t.AddDuration("max-node-startup-time", v.options.group_defaults.max_node_startup_time,
                "How long a registered node may take to be ready. A group may override it.");
  t.AddDuration("initial-node-group-backoff-duration",
                v.options.initial_node_group_backoff_duration,
                "First wait after a failed scale-up.");
  t.AddDuration("max-node-group-backoff-duration", v.options.max_node_group_backoff_duration,
                "Longest wait.");
  t.AddDuration("node-group-backoff-reset-timeout", v.options.node_group_backoff_reset_timeout,
                "Failures older than this are forgotten.");
  t.AddDuration("new-pod-scale-up-delay", v.options.new_pod_scale_up_delay,
                "Pods younger than this do not cause a scale-up.");
  t.AddNumber("expendable-pods-priority-cutoff", v.options.expendable_pods_priority_cutoff,
              AnyNumber<int32_t>(), "Pods of lower priority count for nothing.");
  t.AddLists("bypassed-scheduler-names", v.options.bypassed_scheduler_names,
             "Schedulers whose pods count as unschedulable before they say so.");
  t.AddLists("allowed-scheduler-names", v.options.allowed_scheduler_names,
             "Only pods of these schedulers count.");
  t.AddBool("scale-up-from-zero", v.options.scale_up_from_zero,
            "Also in a cluster without ready nodes.");
  t.AddBool("enforce-node-group-min-size", v.options.enforce_node_group_min_size,
            "Grow groups that are below their minimum.");
  t.AddBool("force-ds", v.options.force_ds,
            "Reckon with DaemonSet pods that do not run on the example node.");
  t.AddBool("scale-from-unschedulable", v.options.scale_from_unschedulable,
            "A cordoned example node makes no cordoned template.");
  t.AddDuration("node-info-cache-expire-time", v.options.node_info_cache_expire_time,
                "How long the last good node of a group is remembered.");
  t.AddString("scheduler-config-file", v.scheduler_config_file,
              "KubeSchedulerConfiguration with one profile.");
  t.Add("predicate-parallelism", "int", "4", "No effect: the search runs on one thread.",
        [](std::string_view text) -> Status {
          return FlagNumber<int64_t>(text, {.least = 1}).status();
        });
  t.Accept("cluster-snapshot-parallelism", "int", "16", "the model is built on one thread");
  t.Accept("scheduler-verbosity", "int", "0", "the reasons of the filters are in the report");
  t.Accept("enable-inter-pod-affinity-hostname-fast-path", "bool", "false",
           "the search has no slow path to avoid");
}

}  // namespace coppice::autoscale
