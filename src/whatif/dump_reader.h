// Reads what `kubectl get ... -o json` and `-o yaml` print: lists of mixed kinds, lists of one
// kind, single objects, several documents in a file, several files, folders, standard input.
//
// JSON is the fast path (read in place, about a second per 50,000 pods); YAML goes through a tree.
// Kinds that no decision looks at are counted and left out. A complaint names file, line, column,
// object and field.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/batch.h"
#include "model/node_class.h"
#include "model/node_pool.h"
#include "model/objects.h"

namespace coppice::whatif {

template <class T>
using Listed = std::vector<std::shared_ptr<const T>>;

// What was in the files, in their order.
struct ClusterObjects {
  Listed<model::Node> nodes;
  Listed<model::Pod> pods;
  Listed<model::PodDisruptionBudget> budgets;
  Listed<model::DaemonSet> daemon_sets;
  Listed<model::Deployment> deployments;
  Listed<model::ReplicaSet> replica_sets;
  Listed<model::ReplicationController> replication_controllers;
  Listed<model::StatefulSet> stateful_sets;
  Listed<model::Job> jobs;
  Listed<model::CronJob> cron_jobs;
  Listed<model::ConfigMap> config_maps;
  Listed<model::Namespace> namespaces;
  Listed<model::Service> services;
  Listed<model::PriorityClass> priority_classes;
  Listed<model::PersistentVolume> volumes;
  Listed<model::PersistentVolumeClaim> claims;
  Listed<model::StorageClass> storage_classes;
  Listed<model::CsiNode> csi_nodes;
  Listed<model::CsiDriver> csi_drivers;
  Listed<model::CsiStorageCapacity> storage_capacities;
  Listed<model::VolumeAttachment> volume_attachments;
  Listed<model::NodePool> node_pools;
  Listed<model::NodeClaim> node_claims;
  Listed<model::NodeClass> node_classes;
  Listed<model::PodGroup> pod_groups;
  Listed<model::HyperNode> hyper_nodes;
  Listed<model::Queue> queues;
  Listed<model::ResourceQuota> quotas;
  std::map<std::string, int> ignored;  // by kind and version: how many were left out

  size_t size() const;  // of all that was kept
};

// Adds the objects of one text; `name` is for complaints. What came before a complaint stays.
Status ReadObjects(std::string_view text, const std::string& name, ClusterObjects& into);

// A file, a folder (its .json, .yaml and .yml files, and those of its folders, by name), or "-".
Status ReadObjectsFrom(const std::string& path, ClusterObjects& into);

}  // namespace coppice::whatif
