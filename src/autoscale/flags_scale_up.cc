#include "autoscale/flag_table.h"

#include <limits>

#include "base/strings.h"

namespace coppice::autoscale {

namespace {

// min:max
Result<ResourceRange> Range(std::string_view text, int64_t unit) {
  const auto parts = Split(text, ':');
  if (parts.size() != 2) return BadFlagValue(text, "min:max");
  ResourceRange range;
  range.min = TRY(FlagNumber<int64_t>(parts[0], "a number"));
  range.max = TRY(FlagNumber<int64_t>(parts[1], "a number"));
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
void AddLimits(FlagTable& t) {
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
            "Resize the groups of a balanced scale-up at the same time.");
  t.AddBool("scaleup-simulation-for-skipped-node-groups-enabled",
            &Options::scaleup_simulation_for_skipped_node_groups_enabled,
            "Better reasons for groups that were not considered.");
}

}  // namespace

void AddScaleUpFlags(FlagTable& t) {
  t.Group("Scale-up");
  t.AddList(
      "expander", [](FlagValues& v) -> auto& { return v.options.expander; },
      "Expanders in order: random, most-pods, least-waste, least-nodes, price, priority, grpc.");
  t.AddString("grpc-expander-url", &FlagValues::grpc_expander_url,
              "host:port of the gRPC expander.");
  t.AddString("grpc-expander-cert", &FlagValues::grpc_expander_cert,
              "PEM file with the CA of the gRPC expander.");
  t.AddBool("grpc-expander-legacy-fields", &FlagValues::grpc_expander_legacy_fields,
            "[ours] Send pods and nodes also in the fields that expanders of before 1.34.2 read.");
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
  AddLimits(t);
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
  t.AddLists(
      "bypassed-scheduler-names",
      [](FlagValues& v) -> auto& { return v.options.bypassed_scheduler_names; },
      "Schedulers whose pods count as unschedulable before they say so.");
  t.AddLists(
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
  t.Add("predicate-parallelism", "int", "4", "No effect: the search runs on one thread.",
        [](FlagValues&, std::string_view text) -> Status {
          if (TRY(FlagNumber<int64_t>(text, "a number")) < 1)
            return BadFlagValue(text, "a number of at least 1");
          return Status::Ok();
        });
  t.Accept("cluster-snapshot-parallelism", "int", "16", "the model is built on one thread");
  t.Accept("scheduler-verbosity", "int", "0", "the reasons of the filters are in the report");
  t.Accept("enable-inter-pod-affinity-hostname-fast-path", "bool", "false",
           "the search has no slow path to avoid");
}

}  // namespace coppice::autoscale
