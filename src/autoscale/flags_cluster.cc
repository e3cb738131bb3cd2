#include "autoscale/flag_parts.h"
#include "cloud/group_limits.h"

namespace coppice::autoscale {

void AddClusterFlags(FlagSet& t, FlagValues& v) {
  t.Group("Cluster and cloud");
  t.AddString("cloud-provider", v.cloud_provider,
              "Which provider drives the machines: a registered name, or several with commas.");
  t.AddString("cloud-config", v.cloud_config,
              "Configuration file of the provider; with several: NAME=FILE,NAME=FILE.");
  t.AddRepeated("nodes", v.nodes, "Node group as min:max:name.",
                [](std::string_view text) { return cloud::ParseGroupLimits(text).status(); });
  t.AddRepeated("node-group-auto-discovery", v.node_group_auto_discovery,
                "Provider-specific discovery of node groups.");
  t.Accept("cluster-name", "string", "",
           "upstream hands it to providers; here a provider's file names the cluster");
  t.AddString(
      "namespace", v.options.namespace_,
      "Namespace of the status ConfigMap, the lease and the priority expander's ConfigMap.");
  t.AddString("address", v.address, "Where metrics and health are served.");
  t.AddString("kubernetes", v.kubernetes,
              "URL of the API server; empty: in-cluster or kubeconfig.");
  t.AddString("kubeconfig", v.kubeconfig, "kubeconfig file.");
  t.Accept("kube-api-content-type", "string", "application/vnd.kubernetes.protobuf",
           "built-in objects travel as protobuf, custom resources as JSON");
  t.AddNumber("kube-client-qps", v.kube_client_qps, AnyNumber<double>(),
              "Requests per second to the API server.");
  t.AddNumber("kube-client-burst", v.kube_client_burst, "Requests to the API server at once.");
  t.Accept("user-agent", "string", "cluster-autoscaler",
           "upstream hands it to providers; ours name themselves");
  t.AddBool("leader-elect", v.leader_elect, "Only the holder of the lease acts.");
  t.AddDuration("leader-elect-lease-duration", v.leader_elect_lease_duration,
                "How long a lease is valid.");
  t.AddDuration("leader-elect-renew-deadline", v.leader_elect_renew_deadline,
                "How long renewal is tried.");
  t.AddDuration("leader-elect-retry-period", v.leader_elect_retry_period, "How often it is tried.");
  t.AddString("leader-elect-resource-name", v.leader_elect_resource_name, "Name of the lease.");
  t.Accept("leader-elect-resource-namespace", "string", "", "the lease lives in --namespace");
  t.Refuse("leader-elect-resource-lock", "leases", "only leases are left in Kubernetes");
  t.AddDuration("scan-interval", v.options.scan_interval, {.least = std::chrono::milliseconds(1)},
                "A pass at least this often.");
  t.AddBool("frequent-loops-enabled", v.frequent_loops_enabled,
            "Passes follow each other at once while there is work, and pending pods start one.");
  t.AddDuration("max-inactivity", v.max_inactivity, "Unhealthy after so long without a pass.");
  t.AddDuration("max-failing-time", v.max_failing_time,
                "Unhealthy after so long without a successful pass.");
  t.AddDuration("max-startup-time", v.max_startup_time,
                "Both limits until the first successful pass.");
  t.AddBool("write-status-configmap", v.options.write_status_configmap,
            "Write the status ConfigMap and the events on it.");
  t.AddString("status-config-map-name", v.options.status_config_map_name, "Its name.");
  t.AddBool("record-duplicated-events", v.options.record_duplicated_events,
            "Emit equal events again within five minutes.");
  t.AddBool("debugging-snapshot-enabled", v.debugging_snapshot_enabled,
            "Serve a dump of the next pass at /snapshotz.");
  t.Refuse("profiling", "false",
           "Go's profiles do not exist here; perf record on the process shows where time goes");
  t.AddBool("emit-per-nodegroup-metrics", v.emit_per_nodegroup_metrics, "Metrics per node group.");
  t.Accept("regional", "bool", "false", "a hint that only upstream's GCE provider reads");
  t.AddRepeated("processor", v.processors,
                "[ours] SLOT=NAME: use the processor registered under NAME in that slot; "
                "docs/extending/processor.md has the slots.");
  t.AddBool("dry-run", v.dry_run, "[ours] Decide and say, write nothing and order nothing.");
  t.Add(
      "upstream-exact", "bool", "false",
      "[ours] Behave as upstream where Coppice would do better; docs/differences.md has the list.",
      [&v](std::string_view text) -> Status {
        v.upstream_exact = TRY(FlagBool(text));
        if (v.upstream_exact) v.options.deviations = Deviations::None();
        return Status::Ok();
      });
  t.First("upstream-exact");  // single deviations may be switched on again behind it
}

}  // namespace coppice::autoscale
