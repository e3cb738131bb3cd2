// NodeInfo: a node as a session sees it, with what is idle, used, being released and promised.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "batch/resource.h"
#include "batch/task.h"
#include "cluster/shapes.h"
#include "model/node.h"
#include "model/resources.h"

namespace coppice::batch {

struct NodeInfo {
  uint32_t index = 0;  // dense within the session, in list order
  std::string_view name;
  std::shared_ptr<const model::Node> object;
  cluster::NodeIndex snapshot_index = cluster::kNone;

  Resource releasing;
  Resource pipelined;
  Resource idle;
  Resource used;
  Resource allocatable;
  Resource capacity;
  // What is idle without what this session has placed and not committed: binding checks it again.
  Resource unbound_idle;
  // As kube-scheduler's scores count what is on it from the start.
  model::NonZeroRequests scoring;

  bool oversubscription_node = false;
  bool offline_job_evicting = false;
  Resource oversubscription;
  std::string_view revocable_zone;
  std::string_view held_for;  // the value of the taint that keeps it for a gang; empty: anybody's

  std::vector<Task*> tasks;  // in no particular order
  // Of them: with wishes about other pods, and with rules that keep others off.
  int32_t with_pod_affinity = 0;
  int32_t keep_others_off = 0;
  std::vector<uint32_t>* changed = nullptr;  // its index is noted there after every change
  uint64_t version = 0;                      // another one after every change

  explicit NodeInfo(std::shared_ptr<const model::Node> node);

  // What it will have when all that is going has gone and all that is promised has come.
  Resource FutureIdle() const;
  // request <= FutureIdle(), without making one.
  bool FitsFuture(const Resource& request) const;
  bool FitsIdle(const Resource& request) const { return request.LessEqual(idle, Missing::kZero); }
  // The first dimension in which it does not: cpu, memory, then by name.
  std::string FirstShortage(const Resource& request) const;

  // Counts by the task's status and sets its node. Fails if it is on a node, or if it is Binding
  // and there is no room.
  Status Add(Task& task);
  // By the status under which it was added. A task that is not here is left alone.
  void Remove(Task& task);
  // Goes on counting it as it does, though the task leaves and may be put on other nodes; only
  // Remove() ends that.
  void LeaveBehind(Task& task);
  void Update(Task& task) {  // its status has changed
    Remove(task);
    (void)Add(task);
  }

  // By the task's scores; `sign` -1 takes it off.
  void CountScoring(const Task& task, int64_t sign);

  std::vector<Task*> SortedTasks() const;  // by namespace and name

 private:
  void GiveBack(const Resource& request, TaskStatus status);
  void TakeOff(Task& task);
  void NoteChange();
};

}  // namespace coppice::batch
