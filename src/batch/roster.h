// Roster: tasks, jobs and nodes as sessions work on them, kept from one session to the next, so that
// one costs what has changed and not what there is.
//
// It watches the pods of a World. Refresh() makes anew what has changed there and whatever the last
// session has moved about: a job with its tasks, a node with what is on it. A session borrows the
// rest as it is and says at its end what it has touched.
//
// One thread at a time: a session on a worker has it for itself.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "batch/job.h"
#include "batch/node.h"
#include "batch/task.h"
#include "cluster/world.h"

namespace coppice::batch {

class Roster {
 public:
  // Told of a pod of ours without a node as soon as the World has it, and never again.
  using Arrived = std::function<void(const cluster::PodPtr& pod)>;
  // The World outlives it.
  Roster(cluster::World& world, std::vector<std::string> scheduler_names,
         Arrived arrived = nullptr);
  ~Roster();
  Roster(const Roster&) = delete;
  Roster& operator=(const Roster&) = delete;

  // Between sessions. Pods that are `hidden` now are left out.
  void Refresh(const std::function<bool(const model::Pod&)>& hidden);

  // ---- For a session.
  const std::vector<NodeInfo*>& nodes() const { return node_list_; }  // in list order
  const std::map<std::string, Job*, std::less<>>& jobs() const { return jobs_; }
  const std::deque<Task>& tasks() const { return tasks_; }  // some without a pod: free places
  size_t waiting() const { return waiting_; }               // tasks without a node
  // Its queue does not exist: for this session its tasks belong to nobody.
  void PutAside(Job& job);
  void SessionEnded(const std::vector<uint32_t>& changed_nodes);

  // For tests: everything from scratch.
  void ForgetAll();

 private:
  struct NodeSlot {
    std::unique_ptr<NodeInfo> info;
    std::vector<Task*> members;  // whose pods are bound to it
    bool dirty = false;
    bool listed = false;
  };
  struct JobSlot {
    std::unique_ptr<Job> job;  // null: there is no group
    std::shared_ptr<const model::PodGroup> group;
    std::vector<Task*> members;
    bool dirty = false;
  };
  using NodeSlots = std::unordered_map<std::string, NodeSlot>;
  using JobSlots = std::map<std::string, JobSlot, std::less<>>;

  bool IsOurs(const model::Pod& pod) const;
  void RefreshNodes();
  void RefreshPods(const std::function<bool(const model::Pod&)>& hidden);
  void RefreshEnded();
  void RefreshGroups();
  void Put(const std::string& key, cluster::PodPtr pod, cluster::PodIndex index,
           std::unordered_map<std::string, Task*>& names);
  void Drop(const std::string& key, std::unordered_map<std::string, Task*>& names);
  void Leave(Task& task);  // its job and its node
  void Rebuild(JobSlot& slot, const std::string& id);
  void Rebuild(NodeSlot& slot);
  std::shared_ptr<const Resource> RequestOf(const model::Pod& pod);
  NodeSlot& NodeOf(std::string_view name) { return nodes_[std::string(name)]; }
  void Mark(NodeSlot& slot);
  void Mark(JobSlots::value_type& slot);

  cluster::World& world_;
  const std::vector<std::string> scheduler_names_;
  const Arrived arrived_;

  std::deque<Task> tasks_;
  std::vector<uint32_t> free_;
  std::unordered_map<std::string, Task*> live_;   // by "namespace/name"
  std::unordered_map<std::string, Task*> ended_;  // likewise, of EndedPods
  uint64_t ended_version_ = 0;
  uint64_t group_version_ = 0;

  NodeSlots nodes_;
  std::vector<NodeInfo*> node_list_;
  JobSlots job_slots_;
  std::map<std::string, Job*, std::less<>> jobs_;  // those with a group

  std::unordered_set<std::string> changed_pods_;  // by "namespace/name"
  std::unordered_set<std::string> hidden_;        // likewise: left out at the last look
  std::vector<NodeSlot*> dirty_nodes_;
  std::vector<JobSlots::value_type*> dirty_jobs_;
  size_t waiting_ = 0;

  using Amounts = std::tuple<double, double, std::vector<std::pair<ScalarKey, double>>>;
  std::map<Amounts, std::shared_ptr<const Resource>> requests_;
};

}  // namespace coppice::batch
