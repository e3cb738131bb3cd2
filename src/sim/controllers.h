// Controllers: what keeps pods alive in a model. A workload of many equal pods is a ReplicaSet (a
// Deployment's, for all that anybody sees) or a StatefulSet; a Job's pods end by themselves; a
// DaemonSet has one on every node; bare pods have nobody. Pods that were evicted or lost with their
// node come back, bare ones do not.
//
// Also keeps the status of PodDisruptionBudgets: how many pods may be disturbed right now.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/objects.h"
#include "sim/cluster.h"

namespace coppice::sim {

// "3" or "50%" of `all`, rounded up as the disruption controller does.
int ResolveAmount(const model::IntOrString& amount, int all);

struct WorkloadSpec {
  std::string name;
  std::string namespace_ = "default";
  // ReplicaSet, StatefulSet, ReplicationController, Job, DaemonSet; "": pods of nobody; anything
  // else: a controller that the autoscaler does not know.
  std::string kind = "ReplicaSet";
  model::Pod pod;  // what each is made from: labels, annotations, spec
  int replicas = 0;
  Duration runs_for{};                           // Job: how long each pod runs
  Duration ends_in = std::chrono::seconds(5);    // how long a pod takes to end when asked to
  std::optional<model::IntOrString> budget_min;  // a PodDisruptionBudget with minAvailable
  std::optional<model::IntOrString> budget_max;  // or with maxUnavailable
};

class Controllers {
 public:
  explicit Controllers(Cluster& cluster);

  void Add(WorkloadSpec spec);
  void Scale(const std::string& name, int replicas);
  // One pod more, on this node already; its name.
  std::string Place(const std::string& name, const std::string& node);
  void SetBudget(const std::string& name, std::optional<int> min, std::optional<int> max);
  // No more pods, and those that run end. Job: when its pods are through it goes by itself.
  void Delete(const std::string& name);
  bool Has(const std::string& name) const { return workloads_.contains(name); }
  int replicas(const std::string& name) const;
  std::vector<std::string> names() const;
  // Of the workload that the pod belongs to; null: none of ours.
  const WorkloadSpec* SpecOf(const model::Pod& pod) const;

  bool Reconcile();      // whether anything was changed
  bool UpdateBudgets();  // likewise

 private:
  struct Workload {
    WorkloadSpec spec;
    std::string uid;
    std::set<std::pair<uint64_t, std::string>> pods;  // by number, name: those that do not end
    bool dirty = true;
    bool budget_dirty = true;
    int completed = 0;
  };

  Workload* Owning(const model::Pod& pod);
  void Leaves(const model::Pod& pod);
  void Bound(const model::Pod& pod);
  void CreateOne(Workload& workload, const std::string& node);
  bool ReconcileDaemonSet(Workload& workload);
  bool ReconcileReplicas(Workload& workload);
  void PublishOwner(const Workload& workload);
  void PublishBudget(const Workload& workload, int allowed, int healthy);
  void Complete(const std::string& namespace_, const std::string& name, const std::string& uid);
  bool Matches(const Workload& workload, const model::Node& node) const;

  Cluster& cluster_;
  std::map<std::string, Workload> workloads_;
  uint64_t next_number_ = 0;
  std::map<std::string, std::pair<std::string, uint64_t>> number_of_;  // pod: workload, number
};

}  // namespace coppice::sim
