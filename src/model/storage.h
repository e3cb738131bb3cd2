// What the volume filters read: claims, volumes, classes and what each CSI driver can do on each
// node. Conventions: meta.h.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/meta.h"
#include "model/pod.h"

namespace coppice::model {

struct VolumeResourceRequirements {
  ResourceList limits;
  ResourceList requests;
  friend bool operator==(const VolumeResourceRequirements&,
                         const VolumeResourceRequirements&) = default;
};

struct TypedObjectReference {  // dataSource and dataSourceRef; the former has no namespace
  std::optional<std::string> api_group;
  std::string kind;
  std::string name;
  std::optional<std::string> namespace_;
  friend bool operator==(const TypedObjectReference&, const TypedObjectReference&) = default;
};

struct PersistentVolumeClaimSpec {
  std::vector<std::string> access_modes;
  std::optional<LabelSelector> selector;
  VolumeResourceRequirements resources;
  std::string volume_name;
  std::optional<std::string> storage_class_name;  // absent: the default class; "": none
  std::optional<std::string> volume_mode;
  std::optional<TypedObjectReference> data_source;
  std::optional<TypedObjectReference> data_source_ref;
  std::optional<std::string> volume_attributes_class_name;
  friend bool operator==(const PersistentVolumeClaimSpec&,
                         const PersistentVolumeClaimSpec&) = default;
};

struct PersistentVolumeClaimCondition {
  std::string type;
  std::string status;
  std::optional<Time> last_probe_time;
  std::optional<Time> last_transition_time;
  std::string reason;
  std::string message;
  friend bool operator==(const PersistentVolumeClaimCondition&,
                         const PersistentVolumeClaimCondition&) = default;
};

struct PersistentVolumeClaimStatus {
  std::string phase;  // Pending, Bound, Lost
  std::vector<std::string> access_modes;
  ResourceList capacity;
  std::vector<PersistentVolumeClaimCondition> conditions;
  friend bool operator==(const PersistentVolumeClaimStatus&,
                         const PersistentVolumeClaimStatus&) = default;
};

struct PersistentVolumeClaim {
  ObjectMeta metadata;
  PersistentVolumeClaimSpec spec;
  PersistentVolumeClaimStatus status;
  friend bool operator==(const PersistentVolumeClaim&, const PersistentVolumeClaim&) = default;
};

struct CsiPersistentVolume {
  std::string driver;
  std::string volume_handle;
  bool read_only = false;
  std::string fs_type;
  Labels volume_attributes;
  friend bool operator==(const CsiPersistentVolume&, const CsiPersistentVolume&) = default;
};

struct HostPath {
  std::string path;
  std::optional<std::string> type;
  friend bool operator==(const HostPath&, const HostPath&) = default;
};

struct LocalVolume {
  std::string path;
  std::optional<std::string> fs_type;
  friend bool operator==(const LocalVolume&, const LocalVolume&) = default;
};

struct NfsVolume {
  std::string server;
  std::string path;
  bool read_only = false;
  friend bool operator==(const NfsVolume&, const NfsVolume&) = default;
};

struct PersistentVolumeSpec {
  ResourceList capacity;
  std::optional<GcePersistentDisk> gce_persistent_disk;
  std::optional<AwsElasticBlockStore> aws_elastic_block_store;
  std::optional<HostPath> host_path;
  std::optional<NfsVolume> nfs;
  std::optional<RbdVolume> rbd;
  std::optional<IscsiVolume> iscsi;
  std::optional<CinderVolume> cinder;
  std::optional<AzureDisk> azure_disk;
  std::optional<PortworxVolume> portworx_volume;
  std::optional<LocalVolume> local;
  std::optional<CsiPersistentVolume> csi;
  std::vector<std::string> access_modes;
  std::optional<ObjectReference> claim_ref;
  std::string persistent_volume_reclaim_policy;
  std::string storage_class_name;
  std::vector<std::string> mount_options;
  std::optional<std::string> volume_mode;
  std::optional<NodeSelector> node_affinity;  // nodeAffinity.required
  std::optional<std::string> volume_attributes_class_name;
  friend bool operator==(const PersistentVolumeSpec&, const PersistentVolumeSpec&) = default;
};

struct PersistentVolumeStatus {
  std::string phase;  // Pending, Available, Bound, Released, Failed
  std::string message;
  std::string reason;
  std::optional<Time> last_phase_transition_time;
  friend bool operator==(const PersistentVolumeStatus&, const PersistentVolumeStatus&) = default;
};

struct PersistentVolume {
  ObjectMeta metadata;
  PersistentVolumeSpec spec;
  PersistentVolumeStatus status;
  friend bool operator==(const PersistentVolume&, const PersistentVolume&) = default;
};

struct TopologySelectorLabelRequirement {
  std::string key;
  std::vector<std::string> values;
  friend bool operator==(const TopologySelectorLabelRequirement&,
                         const TopologySelectorLabelRequirement&) = default;
};

struct TopologySelectorTerm {
  std::vector<TopologySelectorLabelRequirement> match_label_expressions;
  friend bool operator==(const TopologySelectorTerm&, const TopologySelectorTerm&) = default;
};

struct StorageClass {
  ObjectMeta metadata;
  std::string provisioner;
  Labels parameters;
  std::optional<std::string> reclaim_policy;
  std::vector<std::string> mount_options;
  std::optional<bool> allow_volume_expansion;
  std::optional<std::string> volume_binding_mode;  // Immediate, WaitForFirstConsumer
  std::vector<TopologySelectorTerm> allowed_topologies;
  friend bool operator==(const StorageClass&, const StorageClass&) = default;
};

struct VolumeNodeResources {
  std::optional<int32_t> count;  // absent: no limit known
  friend bool operator==(const VolumeNodeResources&, const VolumeNodeResources&) = default;
};

struct CsiNodeDriver {
  std::string name;
  std::string node_id;
  std::vector<std::string> topology_keys;
  std::optional<VolumeNodeResources> allocatable;
  friend bool operator==(const CsiNodeDriver&, const CsiNodeDriver&) = default;
};

struct CsiNodeSpec {
  std::vector<CsiNodeDriver> drivers;
  friend bool operator==(const CsiNodeSpec&, const CsiNodeSpec&) = default;
};

struct CsiNode {
  ObjectMeta metadata;
  CsiNodeSpec spec;
  friend bool operator==(const CsiNode&, const CsiNode&) = default;
};

struct CsiDriverSpec {
  std::optional<bool> attach_required;
  std::optional<bool> pod_info_on_mount;
  std::vector<std::string> volume_lifecycle_modes;
  std::optional<bool> storage_capacity;
  std::optional<std::string> fs_group_policy;
  std::optional<bool> requires_republish;
  std::optional<bool> se_linux_mount;
  std::optional<int64_t> node_allocatable_update_period_seconds;
  std::optional<bool> service_account_token_in_secrets;
  std::optional<bool> prevent_pod_scheduling_if_missing;
  friend bool operator==(const CsiDriverSpec&, const CsiDriverSpec&) = default;
};

struct CsiDriver {
  ObjectMeta metadata;
  CsiDriverSpec spec;
  friend bool operator==(const CsiDriver&, const CsiDriver&) = default;
};

struct CsiStorageCapacity {
  ObjectMeta metadata;
  std::optional<LabelSelector> node_topology;
  std::string storage_class_name;
  std::optional<Quantity> capacity;
  std::optional<Quantity> maximum_volume_size;
  friend bool operator==(const CsiStorageCapacity&, const CsiStorageCapacity&) = default;
};

struct VolumeAttachmentSource {
  std::optional<std::string> persistent_volume_name;
  std::optional<PersistentVolumeSpec> inline_volume_spec;
  friend bool operator==(const VolumeAttachmentSource&, const VolumeAttachmentSource&) = default;
};

struct VolumeAttachmentSpec {
  std::string attacher;
  VolumeAttachmentSource source;
  std::string node_name;
  friend bool operator==(const VolumeAttachmentSpec&, const VolumeAttachmentSpec&) = default;
};

struct VolumeAttachmentStatus {
  bool attached = false;
  Labels attachment_metadata;
  friend bool operator==(const VolumeAttachmentStatus&, const VolumeAttachmentStatus&) = default;
};

struct VolumeAttachment {
  ObjectMeta metadata;
  VolumeAttachmentSpec spec;
  VolumeAttachmentStatus status;
  friend bool operator==(const VolumeAttachment&, const VolumeAttachment&) = default;
};

}  // namespace coppice::model
