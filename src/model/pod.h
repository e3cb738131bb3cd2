// core/v1 Pod, as far as a decision reads it. Conventions: meta.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/meta.h"
#include "model/quantity.h"
#include "model/rare.h"

namespace coppice::model {

using ResourceList = FlatMap<Quantity>;

struct ResourceClaimName {
  std::string name;
  std::string request;
  friend bool operator==(const ResourceClaimName&, const ResourceClaimName&) = default;
};

struct ResourceRequirements {
  ResourceList limits;
  ResourceList requests;
  std::vector<ResourceClaimName> claims;
  friend bool operator==(const ResourceRequirements&, const ResourceRequirements&) = default;
};

struct ContainerPort {
  std::string name;
  int32_t host_port = 0;
  int32_t container_port = 0;
  std::string protocol;
  std::string host_ip;
  friend bool operator==(const ContainerPort&, const ContainerPort&) = default;
};

struct ContainerRestartRule {
  std::string action;  // Restart, RestartAllContainers
  friend bool operator==(const ContainerRestartRule&, const ContainerRestartRule&) = default;
};

struct Container {
  std::string name;
  std::string image;
  std::vector<ContainerPort> ports;
  ResourceRequirements resources;
  std::optional<std::string> restart_policy;  // "Always" on an init container: a sidecar
  std::vector<ContainerRestartRule> restart_policy_rules;
  friend bool operator==(const Container&, const Container&) = default;
};

struct NodeSelectorRequirement {
  std::string key;
  std::string operator_;  // In, NotIn, Exists, DoesNotExist, Gt, Lt
  std::vector<std::string> values;
  friend bool operator==(const NodeSelectorRequirement&, const NodeSelectorRequirement&) = default;
};

struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> match_expressions;
  std::vector<NodeSelectorRequirement> match_fields;
  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

struct NodeSelector {
  std::vector<NodeSelectorTerm> node_selector_terms;
  friend bool operator==(const NodeSelector&, const NodeSelector&) = default;
};

struct PreferredSchedulingTerm {
  int32_t weight = 0;
  NodeSelectorTerm preference;
  friend bool operator==(const PreferredSchedulingTerm&, const PreferredSchedulingTerm&) = default;
};

struct NodeAffinity {
  std::optional<NodeSelector> required;  // requiredDuringSchedulingIgnoredDuringExecution
  std::vector<PreferredSchedulingTerm> preferred;
  friend bool operator==(const NodeAffinity&, const NodeAffinity&) = default;
};

struct PodAffinityTerm {
  std::optional<LabelSelector> label_selector;
  std::vector<std::string> namespaces;
  std::string topology_key;
  std::optional<LabelSelector> namespace_selector;
  std::vector<std::string> match_label_keys;
  std::vector<std::string> mismatch_label_keys;
  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};

struct WeightedPodAffinityTerm {
  int32_t weight = 0;
  PodAffinityTerm pod_affinity_term;
  friend bool operator==(const WeightedPodAffinityTerm&, const WeightedPodAffinityTerm&) = default;
};

struct PodAffinity {  // and PodAntiAffinity: the same shape
  std::vector<PodAffinityTerm> required;
  std::vector<WeightedPodAffinityTerm> preferred;
  friend bool operator==(const PodAffinity&, const PodAffinity&) = default;
};

struct Affinity {
  std::optional<NodeAffinity> node_affinity;
  std::optional<PodAffinity> pod_affinity;
  std::optional<PodAffinity> pod_anti_affinity;
  friend bool operator==(const Affinity&, const Affinity&) = default;
};

struct Toleration {
  std::string key;
  std::string operator_;  // "" and Equal, Exists, Lt, Gt
  std::string value;
  std::string effect;
  std::optional<int64_t> toleration_seconds;
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

struct TopologySpreadConstraint {
  int32_t max_skew = 0;
  std::string topology_key;
  std::string when_unsatisfiable;  // DoNotSchedule, ScheduleAnyway
  std::optional<LabelSelector> label_selector;
  std::optional<int32_t> min_domains;
  std::optional<std::string> node_affinity_policy;
  std::optional<std::string> node_taints_policy;
  std::vector<std::string> match_label_keys;
  friend bool operator==(const TopologySpreadConstraint&,
                         const TopologySpreadConstraint&) = default;
};

struct GcePersistentDisk {
  std::string pd_name;
  bool read_only = false;
  friend bool operator==(const GcePersistentDisk&, const GcePersistentDisk&) = default;
};
struct AwsElasticBlockStore {
  std::string volume_id;
  bool read_only = false;
  friend bool operator==(const AwsElasticBlockStore&, const AwsElasticBlockStore&) = default;
};
struct IscsiVolume {
  std::string target_portal;
  std::string iqn;
  int32_t lun = 0;
  bool read_only = false;
  friend bool operator==(const IscsiVolume&, const IscsiVolume&) = default;
};
struct RbdVolume {
  std::vector<std::string> monitors;
  std::string image;
  std::string pool;
  bool read_only = false;
  friend bool operator==(const RbdVolume&, const RbdVolume&) = default;
};
struct AzureDisk {
  std::string disk_name;
  std::string disk_uri;
  std::optional<std::string> kind;  // Managed, Dedicated, Shared
  friend bool operator==(const AzureDisk&, const AzureDisk&) = default;
};
struct CinderVolume {
  std::string volume_id;
  bool read_only = false;
  friend bool operator==(const CinderVolume&, const CinderVolume&) = default;
};
struct PortworxVolume {
  std::string volume_id;
  bool read_only = false;
  friend bool operator==(const PortworxVolume&, const PortworxVolume&) = default;
};
struct CsiInlineVolume {
  std::string driver;
  friend bool operator==(const CsiInlineVolume&, const CsiInlineVolume&) = default;
};

struct EmptyDir {
  std::string medium;
  std::optional<Quantity> size_limit;
  friend bool operator==(const EmptyDir&, const EmptyDir&) = default;
};

// Exactly the sources that a filter or a drain rule looks at; the others are only in unkept_hash.
struct Volume {
  std::string name;
  std::optional<std::string> claim_name;  // persistentVolumeClaim.claimName
  bool claim_read_only = false;
  bool ephemeral = false;  // generic ephemeral volume: claim "<pod>-<volume>"
  Rare<EmptyDir> empty_dir;
  std::optional<std::string> host_path;  // hostPath.path
  Rare<GcePersistentDisk> gce_persistent_disk;
  Rare<AwsElasticBlockStore> aws_elastic_block_store;
  Rare<IscsiVolume> iscsi;
  Rare<RbdVolume> rbd;
  Rare<CsiInlineVolume> csi;
  Rare<CinderVolume> cinder;
  Rare<AzureDisk> azure_disk;
  Rare<PortworxVolume> portworx_volume;
  bool projected = false;  // tokens and the like, named per pod: left out of equivalence
  friend bool operator==(const Volume&, const Volume&) = default;
};

struct PodResourceClaim {
  std::string name;
  std::optional<std::string> resource_claim_name;
  std::optional<std::string> resource_claim_template_name;
  friend bool operator==(const PodResourceClaim&, const PodResourceClaim&) = default;
};

struct PodSchedulingGate {
  std::string name;
  friend bool operator==(const PodSchedulingGate&, const PodSchedulingGate&) = default;
};

struct PodSpec {
  std::vector<Volume> volumes;
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  std::string restart_policy;
  std::optional<int64_t> termination_grace_period_seconds;
  Labels node_selector;
  std::string service_account_name;
  std::string node_name;
  bool host_network = false;
  Rare<Affinity> affinity;
  std::string scheduler_name;
  std::vector<Toleration> tolerations;
  std::string priority_class_name;
  std::optional<int32_t> priority;
  std::optional<std::string> preemption_policy;
  std::optional<std::string> runtime_class_name;
  std::vector<std::string> readiness_gates;  // condition types
  ResourceList overhead;
  std::vector<TopologySpreadConstraint> topology_spread_constraints;
  std::optional<std::string> os;  // os.name
  std::vector<PodSchedulingGate> scheduling_gates;
  std::vector<PodResourceClaim> resource_claims;
  Rare<ResourceRequirements> resources;  // pod-level
  std::optional<bool> host_users;        // false: a user namespace of its own
  // Hash of the parts of the spec that are not kept above (probes, mounts, security context, ...),
  // taken while decoding, for pod equivalence. What equivalence overlooks is not in it: projected
  // volumes and their mounts, the environment of containers, the hostname. So equivalent pods are
  // those whose kept fields are equal, volumes with `projected` aside, and whose hashes are. Only
  // comparable between specs that came in the same encoding. Not part of ==.
  uint64_t unkept_hash = 0;
  friend bool operator==(const PodSpec& a, const PodSpec& b);
};

struct PodCondition {
  std::string type;
  std::string status;
  std::optional<Time> last_probe_time;
  std::optional<Time> last_transition_time;
  std::string reason;
  std::string message;
  friend bool operator==(const PodCondition&, const PodCondition&) = default;
};

// status.containerStatuses: what in-place resize made of the requests.
struct ContainerStatus {
  std::string name;
  ResourceList allocated_resources;
  std::optional<ResourceRequirements> resources;
  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};

struct ExtendedResourceClaimStatus {
  std::string resource_claim_name;
  friend bool operator==(const ExtendedResourceClaimStatus&,
                         const ExtendedResourceClaimStatus&) = default;
};

struct PodResourceClaimStatus {
  std::string name;
  std::optional<std::string> resource_claim_name;
  friend bool operator==(const PodResourceClaimStatus&, const PodResourceClaimStatus&) = default;
};

struct PodStatus {
  std::string phase;
  std::vector<PodCondition> conditions;
  std::string reason;
  std::string nominated_node_name;
  std::optional<Time> start_time;
  std::string qos_class;
  std::string resize;
  std::vector<ContainerStatus> container_statuses;
  std::vector<ContainerStatus> init_container_statuses;
  std::vector<PodResourceClaimStatus> resource_claim_statuses;
  Rare<ExtendedResourceClaimStatus> extended_resource_claim_status;
  ResourceList allocated_resources;
  Rare<ResourceRequirements> resources;
  friend bool operator==(const PodStatus&, const PodStatus&) = default;
};

struct Pod {
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
  friend bool operator==(const Pod&, const Pod&) = default;
};

}  // namespace coppice::model
