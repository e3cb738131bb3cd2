// Tables of claims, volumes and storage.k8s.io/v1. See fields.h.
#pragma once

#include "wire/tables_pod.h"

namespace coppice::wire {

template <>
struct Fields<model::VolumeResourceRequirements> {
  using T = model::VolumeResourceRequirements;
  static constexpr auto kTable = std::tuple{
      Field<1>("limits", &T::limits),
      Field<2>("requests", &T::requests),
  };
};

template <>
struct Fields<model::TypedObjectReference> {
  using T = model::TypedObjectReference;
  static constexpr auto kTable = std::tuple{
      Field<1>("apiGroup", &T::api_group),
      Field<2>("kind", &T::kind, Empty::kWritten),
      Field<3>("name", &T::name, Empty::kWritten),
      Field<4>("namespace", &T::namespace_),
  };
};

template <>
struct Fields<model::PersistentVolumeClaimSpec> {
  using T = model::PersistentVolumeClaimSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("accessModes", &T::access_modes),
      Field<2>("resources", &T::resources),
      Field<3>("volumeName", &T::volume_name),
      Field<4>("selector", &T::selector),
      Field<5>("storageClassName", &T::storage_class_name),
      Field<6>("volumeMode", &T::volume_mode),
      Field<7>("dataSource", &T::data_source),
      Field<8>("dataSourceRef", &T::data_source_ref),
      Field<9>("volumeAttributesClassName", &T::volume_attributes_class_name),
  };
};

template <>
struct Fields<model::PersistentVolumeClaimCondition> {
  using T = model::PersistentVolumeClaimCondition;
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
struct Fields<model::PersistentVolumeClaimStatus> {
  using T = model::PersistentVolumeClaimStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("phase", &T::phase),
      Field<2>("accessModes", &T::access_modes),
      Field<3>("capacity", &T::capacity),
      Field<4>("conditions", &T::conditions),
  };
};

template <>
struct Fields<model::PersistentVolumeClaim> {
  using T = model::PersistentVolumeClaim;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::CsiPersistentVolume> {
  using T = model::CsiPersistentVolume;
  static constexpr auto kTable = std::tuple{
      Field<1>("driver", &T::driver, Empty::kWritten),
      Field<2>("volumeHandle", &T::volume_handle, Empty::kWritten),
      Field<3>("readOnly", &T::read_only),
      Field<4>("fsType", &T::fs_type),
      Field<5>("volumeAttributes", &T::volume_attributes),
  };
};

template <>
struct Fields<model::HostPath> {
  using T = model::HostPath;
  static constexpr auto kTable = std::tuple{
      Field<1>("path", &T::path, Empty::kWritten),
      Field<2>("type", &T::type),
  };
};

template <>
struct Fields<model::LocalVolume> {
  using T = model::LocalVolume;
  static constexpr auto kTable = std::tuple{
      Field<1>("path", &T::path, Empty::kWritten),
      Field<2>("fsType", &T::fs_type),
  };
};

template <>
struct Fields<model::NfsVolume> {
  using T = model::NfsVolume;
  static constexpr auto kTable = std::tuple{
      Field<1>("server", &T::server, Empty::kWritten),
      Field<2>("path", &T::path, Empty::kWritten),
      Field<3>("readOnly", &T::read_only),
  };
};

template <>
struct Fields<model::PersistentVolumeSpec> {
  using T = model::PersistentVolumeSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("capacity", &T::capacity),
      Inline<2>(Field<1>("gcePersistentDisk", &T::gce_persistent_disk),
                Field<2>("awsElasticBlockStore", &T::aws_elastic_block_store),
                Field<3>("hostPath", &T::host_path), Field<5>("nfs", &T::nfs),
                Field<6>("rbd", &T::rbd), Field<7>("iscsi", &T::iscsi),
                Field<8>("cinder", &T::cinder), Field<16>("azureDisk", &T::azure_disk),
                Field<18>("portworxVolume", &T::portworx_volume), Field<20>("local", &T::local),
                Field<22>("csi", &T::csi)),
      Field<3>("accessModes", &T::access_modes),
      Field<4>("claimRef", &T::claim_ref),
      Field<5>("persistentVolumeReclaimPolicy", &T::persistent_volume_reclaim_policy),
      Field<6>("storageClassName", &T::storage_class_name),
      Field<7>("mountOptions", &T::mount_options),
      Field<8>("volumeMode", &T::volume_mode),
      Group<9>("nodeAffinity", Field<1>("required", &T::node_affinity)),
      Field<10>("volumeAttributesClassName", &T::volume_attributes_class_name),
  };
};

template <>
struct Fields<model::PersistentVolumeStatus> {
  using T = model::PersistentVolumeStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("phase", &T::phase),
      Field<2>("message", &T::message),
      Field<3>("reason", &T::reason),
      Field<4>("lastPhaseTransitionTime", &T::last_phase_transition_time),
  };
};

template <>
struct Fields<model::PersistentVolume> {
  using T = model::PersistentVolume;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

template <>
struct Fields<model::TopologySelectorLabelRequirement> {
  using T = model::TopologySelectorLabelRequirement;
  static constexpr auto kTable = std::tuple{
      Field<1>("key", &T::key, Empty::kWritten),
      Field<2>("values", &T::values),
  };
};

template <>
struct Fields<model::TopologySelectorTerm> {
  using T = model::TopologySelectorTerm;
  static constexpr auto kTable = std::tuple{
      Field<1>("matchLabelExpressions", &T::match_label_expressions),
  };
};

template <>
struct Fields<model::StorageClass> {
  using T = model::StorageClass;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("provisioner", &T::provisioner, Empty::kWritten),
      Field<3>("parameters", &T::parameters),
      Field<4>("reclaimPolicy", &T::reclaim_policy),
      Field<5>("mountOptions", &T::mount_options),
      Field<6>("allowVolumeExpansion", &T::allow_volume_expansion),
      Field<7>("volumeBindingMode", &T::volume_binding_mode),
      Field<8>("allowedTopologies", &T::allowed_topologies),
  };
};

template <>
struct Fields<model::VolumeNodeResources> {
  using T = model::VolumeNodeResources;
  static constexpr auto kTable = std::tuple{
      Field<1>("count", &T::count),
  };
};

template <>
struct Fields<model::CsiNodeDriver> {
  using T = model::CsiNodeDriver;
  static constexpr auto kTable = std::tuple{
      Field<1>("name", &T::name, Empty::kWritten),
      Field<2>("nodeID", &T::node_id, Empty::kWritten),
      Field<3>("topologyKeys", &T::topology_keys),
      Field<4>("allocatable", &T::allocatable),
  };
};

template <>
struct Fields<model::CsiNodeSpec> {
  using T = model::CsiNodeSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("drivers", &T::drivers),
  };
};

template <>
struct Fields<model::CsiNode> {
  using T = model::CsiNode;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::CsiDriverSpec> {
  using T = model::CsiDriverSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("attachRequired", &T::attach_required),
      Field<2>("podInfoOnMount", &T::pod_info_on_mount),
      Field<3>("volumeLifecycleModes", &T::volume_lifecycle_modes),
      Field<4>("storageCapacity", &T::storage_capacity),
      Field<5>("fsGroupPolicy", &T::fs_group_policy),
      Field<7>("requiresRepublish", &T::requires_republish),
      Field<8>("seLinuxMount", &T::se_linux_mount),
      Field<9>("nodeAllocatableUpdatePeriodSeconds", &T::node_allocatable_update_period_seconds),
      Field<10>("serviceAccountTokenInSecrets", &T::service_account_token_in_secrets),
      Field<11>("preventPodSchedulingIfMissing", &T::prevent_pod_scheduling_if_missing),
  };
};

template <>
struct Fields<model::CsiDriver> {
  using T = model::CsiDriver;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
  };
};

template <>
struct Fields<model::CsiStorageCapacity> {
  using T = model::CsiStorageCapacity;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("nodeTopology", &T::node_topology),
      Field<3>("storageClassName", &T::storage_class_name, Empty::kWritten),
      Field<4>("capacity", &T::capacity),
      Field<5>("maximumVolumeSize", &T::maximum_volume_size),
  };
};

template <>
struct Fields<model::VolumeAttachmentSource> {
  using T = model::VolumeAttachmentSource;
  static constexpr auto kTable = std::tuple{
      Field<1>("persistentVolumeName", &T::persistent_volume_name),
      Field<2>("inlineVolumeSpec", &T::inline_volume_spec),
  };
};

template <>
struct Fields<model::VolumeAttachmentSpec> {
  using T = model::VolumeAttachmentSpec;
  static constexpr auto kTable = std::tuple{
      Field<1>("attacher", &T::attacher, Empty::kWritten),
      Field<2>("source", &T::source),
      Field<3>("nodeName", &T::node_name, Empty::kWritten),
  };
};

template <>
struct Fields<model::VolumeAttachmentStatus> {
  using T = model::VolumeAttachmentStatus;
  static constexpr auto kTable = std::tuple{
      Field<1>("attached", &T::attached, Empty::kWritten),
      Field<2>("attachmentMetadata", &T::attachment_metadata),
  };
};

template <>
struct Fields<model::VolumeAttachment> {
  using T = model::VolumeAttachment;
  static constexpr auto kTable = std::tuple{
      Field<1>("metadata", &T::metadata),
      Field<2>("spec", &T::spec),
      Field<3>("status", &T::status),
  };
};

}  // namespace coppice::wire
