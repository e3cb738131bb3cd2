#include "autoscale/flag_parts.h"

#include <map>

namespace coppice::autoscale {

void AddUnsupportedFlags(FlagSet& t) {
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
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"aws-use-static-instance-list", "false"},
                                          {"bulk-mig-instances-listing-enabled", "false"},
                                          {"clusterapi-cloud-config-authoritative", "false"},
                                          {"gce-concurrent-refreshes", "1"},
                                          {"gce-mig-instances-min-refresh-wait-time", "5s"}}) {
    t.Refuse(name, value,
             "it belongs to a provider of upstream's own build; give it to the externalgrpc "
             "provider that drives that cloud");
  }
}

}  // namespace coppice::autoscale
