// What a type is called in the API: its group and version, its kind, its resource (as in paths) and
// whether it lives in a namespace. kKind<Pod>.resource is "pods".

#pragma once

#include <string_view>

#include "model/objects.h"

namespace coppice::model {

struct Kind {
  std::string_view api_version;
  std::string_view kind;
  std::string_view resource;
  bool namespaced = true;
};

template <class T>
inline constexpr Kind kKind = {};

template <>
inline constexpr Kind kKind<Pod> = {"v1", "Pod", "pods"};
template <>
inline constexpr Kind kKind<Node> = {"v1", "Node", "nodes", false};
template <>
inline constexpr Kind kKind<Namespace> = {"v1", "Namespace", "namespaces", false};
template <>
inline constexpr Kind kKind<ConfigMap> = {"v1", "ConfigMap", "configmaps"};
template <>
inline constexpr Kind kKind<Service> = {"v1", "Service", "services"};
template <>
inline constexpr Kind kKind<Event> = {"v1", "Event", "events"};
template <>
inline constexpr Kind kKind<PersistentVolume> = {"v1", "PersistentVolume", "persistentvolumes",
                                                 false};
template <>
inline constexpr Kind kKind<PersistentVolumeClaim> = {"v1", "PersistentVolumeClaim",
                                                      "persistentvolumeclaims"};
template <>
inline constexpr Kind kKind<ReplicationController> = {"v1", "ReplicationController",
                                                      "replicationcontrollers"};
template <>
inline constexpr Kind kKind<Deployment> = {"apps/v1", "Deployment", "deployments"};
template <>
inline constexpr Kind kKind<ReplicaSet> = {"apps/v1", "ReplicaSet", "replicasets"};
template <>
inline constexpr Kind kKind<DaemonSet> = {"apps/v1", "DaemonSet", "daemonsets"};
template <>
inline constexpr Kind kKind<StatefulSet> = {"apps/v1", "StatefulSet", "statefulsets"};
template <>
inline constexpr Kind kKind<Job> = {"batch/v1", "Job", "jobs"};
template <>
inline constexpr Kind kKind<CronJob> = {"batch/v1", "CronJob", "cronjobs"};
template <>
inline constexpr Kind kKind<PodDisruptionBudget> = {"policy/v1", "PodDisruptionBudget",
                                                    "poddisruptionbudgets"};
template <>
inline constexpr Kind kKind<StorageClass> = {"storage.k8s.io/v1", "StorageClass", "storageclasses",
                                             false};
template <>
inline constexpr Kind kKind<CsiNode> = {"storage.k8s.io/v1", "CSINode", "csinodes", false};
template <>
inline constexpr Kind kKind<CsiDriver> = {"storage.k8s.io/v1", "CSIDriver", "csidrivers", false};
template <>
inline constexpr Kind kKind<CsiStorageCapacity> = {"storage.k8s.io/v1", "CSIStorageCapacity",
                                                   "csistoragecapacities"};
template <>
inline constexpr Kind kKind<VolumeAttachment> = {"storage.k8s.io/v1", "VolumeAttachment",
                                                 "volumeattachments", false};
template <>
inline constexpr Kind kKind<PriorityClass> = {"scheduling.k8s.io/v1", "PriorityClass",
                                              "priorityclasses", false};
template <>
inline constexpr Kind kKind<RuntimeClass> = {"node.k8s.io/v1", "RuntimeClass", "runtimeclasses",
                                             false};
template <>
inline constexpr Kind kKind<Lease> = {"coordination.k8s.io/v1", "Lease", "leases"};
template <>
inline constexpr Kind kKind<EventsEvent> = {"events.k8s.io/v1", "Event", "events"};
template <>
inline constexpr Kind kKind<ResourceClaim> = {"resource.k8s.io/v1", "ResourceClaim",
                                              "resourceclaims"};
template <>
inline constexpr Kind kKind<ResourceClaimTemplate> = {"resource.k8s.io/v1", "ResourceClaimTemplate",
                                                      "resourceclaimtemplates"};
template <>
inline constexpr Kind kKind<ResourceSlice> = {"resource.k8s.io/v1", "ResourceSlice",
                                              "resourceslices", false};
template <>
inline constexpr Kind kKind<DeviceClass> = {"resource.k8s.io/v1", "DeviceClass", "deviceclasses",
                                            false};
template <>
inline constexpr Kind kKind<ApiStatus> = {"v1", "Status", "", false};
template <>
inline constexpr Kind kKind<PartialObjectMetadata> = {"meta.k8s.io/v1", "PartialObjectMetadata", "",
                                                      false};

template <class... T>
struct KindList {
  // f.template operator()<T>() for each, until one answers true; whether one did.
  template <class F>
  static bool Any(F f) {
    return (f.template operator()<T>() || ...);
  }
};

// Everything that lists hold.
using AllKinds = KindList<Pod, Node, Namespace, ConfigMap, Service, Event, PersistentVolume,
                          PersistentVolumeClaim, ReplicationController, Deployment, ReplicaSet,
                          DaemonSet, StatefulSet, Job, CronJob, PodDisruptionBudget, StorageClass,
                          CsiNode, CsiDriver, CsiStorageCapacity, VolumeAttachment, PriorityClass,
                          RuntimeClass, Lease, EventsEvent, ResourceClaim, ResourceClaimTemplate,
                          ResourceSlice, DeviceClass, PartialObjectMetadata>;

}  // namespace coppice::model
