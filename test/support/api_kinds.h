// The fake API server knows a kind, and lists it, from the first object of it on; of any other it says
// 404, as for a custom resource that is not installed. Here one of each comes and goes.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "test/support/fake_api_server.h"

namespace coppice::test {

inline void KnowAllKinds(FakeApiServer& api) {
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"/apis/policy/v1/poddisruptionbudgets", "PodDisruptionBudget"},
      {"/apis/apps/v1/daemonsets", "DaemonSet"},
      {"/apis/apps/v1/replicasets", "ReplicaSet"},
      {"/apis/apps/v1/statefulsets", "StatefulSet"},
      {"/api/v1/replicationcontrollers", "ReplicationController"},
      {"/apis/batch/v1/jobs", "Job"},
      {"/api/v1/namespaces", "Namespace"},
      {"/api/v1/services", "Service"},
      {"/api/v1/persistentvolumeclaims", "PersistentVolumeClaim"},
      {"/api/v1/persistentvolumes", "PersistentVolume"},
      {"/apis/storage.k8s.io/v1/storageclasses", "StorageClass"},
      {"/apis/storage.k8s.io/v1/csinodes", "CSINode"},
      {"/apis/storage.k8s.io/v1/csidrivers", "CSIDriver"},
      {"/apis/storage.k8s.io/v1/csistoragecapacities", "CSIStorageCapacity"},
      {"/apis/storage.k8s.io/v1/volumeattachments", "VolumeAttachment"},
      {"/api/v1/configmaps", "ConfigMap"},
      {"/api/v1/nodes", "Node"},
      {"/api/v1/pods", "Pod"}};
  for (const auto& [path, kind] : kinds) {
    api.Put(path, kind, "first", FakeApiServer::Json::object(), "x");
    api.Delete(path, "first", "x");
  }
}

}  // namespace coppice::test
