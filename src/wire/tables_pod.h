// Tables of core/v1 Pod. See fields.h.
#pragma once

#include "wire/tables_meta.h"

namespace coppice::wire {

template <>
struct Fields<model::ResourceClaimName> {
  using T = model::ResourceClaimName;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<2>("request", &T::request),
  };
};

template <>
struct Fields<model::ResourceRequirements> {
  using T = model::ResourceRequirements;
  static constexpr auto kTable = std::tuple{
      Field<1>("limits", &T::limits),
      Field<2>("requests", &T::requests),
      Field<3>("claims", &T::claims),
  };
};

template <>
struct Fields<model::ContainerPort> {
  using T = model::ContainerPort;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name),
      Field<2>("hostPort", &T::host_port),
      Field<3>("containerPort", &T::container_port, Empty::kWritten),
      Field<4>("protocol", &T::protocol),
      Field<5>("hostIP", &T::host_ip),
  };
};

template <>
struct Fields<model::ContainerRestartRule> {
  using T = model::ContainerRestartRule;
  static constexpr auto kTable = std::tuple{
      Field<1>("action", &T::action),
  };
};

template <>
struct Fields<model::Container> {
  using T = model::Container;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<2>("image", &T::image),
      Field<6>("ports", &T::ports),
      Overlooked<7>("env"),
      Field<8>("resources", &T::resources),
      Mounts<9>("volumeMounts"),
      Field<24>("restartPolicy", &T::restart_policy),
      Field<25>("restartPolicyRules", &T::restart_policy_rules),
  };
};

template <>
struct Fields<model::NodeSelectorRequirement> {
  using T = model::NodeSelectorRequirement;
  static constexpr auto kTable = std::tuple{
      Field<1>("key", &T::key, Empty::kWritten),
      Field<2>("operator", &T::operator_, Empty::kWritten),
      Field<3>("values", &T::values),
  };
};

template <>
struct Fields<model::NodeSelectorTerm> {
  using T = model::NodeSelectorTerm;
  static constexpr auto kTable = std::tuple{
      Field<1>("matchExpressions", &T::match_expressions),
      Field<2>("matchFields", &T::match_fields),
  };
};

template <>
struct Fields<model::NodeSelector> {
  using T = model::NodeSelector;
  static constexpr auto kTable = std::tuple{
      Field<1>("nodeSelectorTerms", &T::node_selector_terms),
  };
};

template <>
struct Fields<model::PreferredSchedulingTerm> {
  using T = model::PreferredSchedulingTerm;
  static constexpr auto kTable = std::tuple{
      Field<1>("weight", &T::weight, Empty::kWritten),
      Field<2>("preference", &T::preference),
  };
};

template <>
struct Fields<model::NodeAffinity> {
  using T = model::NodeAffinity;
  static constexpr auto kTable = std::tuple{
      Field<1>("requiredDuringSchedulingIgnoredDuringExecution", &T::required),
      Field<2>("preferredDuringSchedulingIgnoredDuringExecution", &T::preferred),
  };
};

template <>
struct Fields<model::PodAffinityTerm> {
  using T = model::PodAffinityTerm;
  static constexpr auto kTable = std::tuple{
      Field<1>("labelSelector", &T::label_selector),
      Field<2>("namespaces", &T::namespaces),
      Field<3>("topologyKey", &T::topology_key, Empty::kWritten),
      Field<4>("namespaceSelector", &T::namespace_selector),
      Field<5>("matchLabelKeys", &T::match_label_keys),
      Field<6>("mismatchLabelKeys", &T::mismatch_label_keys),
  };
};

template <>
struct Fields<model::WeightedPodAffinityTerm> {
  using T = model::WeightedPodAffinityTerm;
  static constexpr auto kTable = std::tuple{
      Field<1>("weight", &T::weight, Empty::kWritten),
      Field<2>("podAffinityTerm", &T::pod_affinity_term),
  };
};

template <>
struct Fields<model::PodAffinity> {
  using T = model::PodAffinity;
  static constexpr auto kTable = std::tuple{
      Field<1>("requiredDuringSchedulingIgnoredDuringExecution", &T::required),
      Field<2>("preferredDuringSchedulingIgnoredDuringExecution", &T::preferred),
  };
};

template <>
struct Fields<model::Affinity> {
  using T = model::Affinity;
  static constexpr auto kTable = std::tuple{
      Field<1>("nodeAffinity", &T::node_affinity),
      Field<2>("podAffinity", &T::pod_affinity),
      Field<3>("podAntiAffinity", &T::pod_anti_affinity),
  };
};

template <>
struct Fields<model::Toleration> {
  using T = model::Toleration;
  static constexpr auto kTable = std::tuple{
      Field<1>("key", &T::key),
      Field<2>("operator", &T::operator_),
      Field<3>("value", &T::value),
      Field<4>("effect", &T::effect),
      Field<5>("tolerationSeconds", &T::toleration_seconds),
  };
};

template <>
struct Fields<model::TopologySpreadConstraint> {
  using T = model::TopologySpreadConstraint;
  static constexpr auto kTable = std::tuple{
      Field<1>("maxSkew", &T::max_skew, Empty::kWritten),
      Field<2>("topologyKey", &T::topology_key, Empty::kWritten),
      Field<3>("whenUnsatisfiable", &T::when_unsatisfiable, Empty::kWritten),
      Field<4>("labelSelector", &T::label_selector),
      Field<5>("minDomains", &T::min_domains),
      Field<6>("nodeAffinityPolicy", &T::node_affinity_policy),
      Field<7>("nodeTaintsPolicy", &T::node_taints_policy),
      Field<8>("matchLabelKeys", &T::match_label_keys),
  };
};

template <>
struct Fields<model::GcePersistentDisk> {
  using T = model::GcePersistentDisk;
  static constexpr auto kTable = std::tuple{
      Field<1>("pdName", &T::pd_name, Empty::kWritten),
      Field<4>("readOnly", &T::read_only),
  };
};

template <>
struct Fields<model::AwsElasticBlockStore> {
  using T = model::AwsElasticBlockStore;
  static constexpr auto kTable = std::tuple{
      Field<1>("volumeID", &T::volume_id, Empty::kWritten),
      Field<4>("readOnly", &T::read_only),
  };
};

template <>
struct Fields<model::IscsiVolume> {
  using T = model::IscsiVolume;
  static constexpr auto kTable = std::tuple{
      Field<1>("targetPortal", &T::target_portal, Empty::kWritten),
      Field<2>("iqn", &T::iqn, Empty::kWritten),
      Field<3>("lun", &T::lun, Empty::kWritten),
      Field<6>("readOnly", &T::read_only),
  };
};

template <>
struct Fields<model::RbdVolume> {
  using T = model::RbdVolume;
  static constexpr auto kTable = std::tuple{
      Field<1>("monitors", &T::monitors),
      Field<2>("image", &T::image, Empty::kWritten),
      Field<4>("pool", &T::pool),
      Field<8>("readOnly", &T::read_only),
  };
};

template <>
struct Fields<model::AzureDisk> {
  using T = model::AzureDisk;
  static constexpr auto kTable = std::tuple{
      Field<1>("diskName", &T::disk_name, Empty::kWritten),
      Field<2>("diskURI", &T::disk_uri, Empty::kWritten),
      Field<6>("kind", &T::kind),
  };
};

template <>
struct Fields<model::CinderVolume> {
  using T = model::CinderVolume;
  static constexpr auto kTable = std::tuple{
      Field<1>("volumeID", &T::volume_id, Empty::kWritten),
      Field<3>("readOnly", &T::read_only),
  };
};

template <>
struct Fields<model::PortworxVolume> {
  using T = model::PortworxVolume;
  static constexpr auto kTable = std::tuple{
      Field<1>("volumeID", &T::volume_id, Empty::kWritten),
      Field<3>("readOnly", &T::read_only),
  };
};

template <>
struct Fields<model::CsiInlineVolume> {
  using T = model::CsiInlineVolume;
  static constexpr auto kTable = std::tuple{
      Field<1>("driver", &T::driver, Empty::kWritten),
  };
};

template <>
struct Fields<model::EmptyDir> {
  using T = model::EmptyDir;
  static constexpr auto kTable = std::tuple{
      Field<1>("medium", &T::medium),
      Field<2>("sizeLimit", &T::size_limit),
  };
};

template <>
struct Fields<model::Volume> {
  using T = model::Volume;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Inline<2>(LedGroup<1>("hostPath", Field<1>("path", &T::host_path)),
                Field<2>("emptyDir", &T::empty_dir),
                Field<3>("gcePersistentDisk", &T::gce_persistent_disk),
                Field<4>("awsElasticBlockStore", &T::aws_elastic_block_store),
                Field<8>("iscsi", &T::iscsi),
                LedGroup<10>("persistentVolumeClaim", Field<1>("claimName", &T::claim_name),
                             Field<2>("readOnly", &T::claim_read_only)),
                Field<11>("rbd", &T::rbd), Field<13>("cinder", &T::cinder),
                Field<22>("azureDisk", &T::azure_disk),
                Field<24>("portworxVolume", &T::portworx_volume),
                UnhashedPresence<26>("projected", &T::projected), Field<28>("csi", &T::csi),
                Presence<29>("ephemeral", &T::ephemeral)),
  };
};

template <>
struct Fields<model::PodResourceClaim> {
  using T = model::PodResourceClaim;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<3>("resourceClaimName", &T::resource_claim_name),
      Field<4>("resourceClaimTemplateName", &T::resource_claim_template_name),
  };
};

template <>
struct Fields<model::PodSchedulingGate> {
  using T = model::PodSchedulingGate;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
  };
};

template <>
struct Fields<model::PodSpec> {
  using T = model::PodSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("volumes", &T::volumes),
      Field<2>("containers", &T::containers),
      Field<3>("restartPolicy", &T::restart_policy),
      Field<4>("terminationGracePeriodSeconds", &T::termination_grace_period_seconds),
      Field<7>("nodeSelector", &T::node_selector),
      Field<8>("serviceAccountName", &T::service_account_name),
      Field<10>("nodeName", &T::node_name),
      Field<11>("hostNetwork", &T::host_network),
      Overlooked<16>("hostname"),
      Field<18>("affinity", &T::affinity),
      Field<19>("schedulerName", &T::scheduler_name),
      Field<20>("initContainers", &T::init_containers),
      Field<22>("tolerations", &T::tolerations),
      Field<24>("priorityClassName", &T::priority_class_name),
      Field<25>("priority", &T::priority),
      Texts<28, 1>("readinessGates", "conditionType", &T::readiness_gates),
      Field<29>("runtimeClassName", &T::runtime_class_name),
      Field<31>("preemptionPolicy", &T::preemption_policy),
      Field<32>("overhead", &T::overhead),
      Field<33>("topologySpreadConstraints", &T::topology_spread_constraints),
      LedGroup<36>("os", Field<1>("name", &T::os)),
      Field<37>("hostUsers", &T::host_users),
      Field<38>("schedulingGates", &T::scheduling_gates),
      Field<39>("resourceClaims", &T::resource_claims),
      Field<40>("resources", &T::resources),
  };
};

template <>
struct Fields<model::PodCondition> {
  using T = model::PodCondition;
  static constexpr auto kTable = std::tuple{
      Field<1>("type", &T::type, Empty::kWritten),
      Field<2>("status", &T::status, Empty::kWritten),
      Field<3>("lastProbeTime", &T::last_probe_time),
      Field<4>("lastTransitionTime", &T::last_transition_time),
      Field<5>("reason", &T::reason),
      Field<6>("message", &T::message),
  };
};

template <>
struct Fields<model::ContainerStatus> {
  using T = model::ContainerStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<10>("allocatedResources", &T::allocated_resources),
      Field<11>("resources", &T::resources),
  };
};

template <>
struct Fields<model::ExtendedResourceClaimStatus> {
  using T = model::ExtendedResourceClaimStatus;
  static constexpr auto kTable = std::tuple{
      Field<2>("resourceClaimName", &T::resource_claim_name, Empty::kWritten),
  };
};

template <>
struct Fields<model::PodResourceClaimStatus> {
  using T = model::PodResourceClaimStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<2>("resourceClaimName", &T::resource_claim_name),
  };
};

template <>
struct Fields<model::PodStatus> {
  using T = model::PodStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("phase", &T::phase),
      Field<2>("conditions", &T::conditions),
      Field<4>("reason", &T::reason),
      Field<7>("startTime", &T::start_time),
      Field<8>("containerStatuses", &T::container_statuses),
      Field<9>("qosClass", &T::qos_class),
      Field<10>("initContainerStatuses", &T::init_container_statuses),
      Field<11>("nominatedNodeName", &T::nominated_node_name),
      Field<14>("resize", &T::resize),
      Field<15>("resourceClaimStatuses", &T::resource_claim_statuses),
      Field<18>("extendedResourceClaimStatus", &T::extended_resource_claim_status),
      Field<19>("allocatedResources", &T::allocated_resources),
      Field<20>("resources", &T::resources),
  };
};

template <>
struct Fields<model::Pod> {
  using T = model::Pod;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

}  // namespace coppice::wire
