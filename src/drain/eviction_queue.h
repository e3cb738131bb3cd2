// EvictionQueue: pods that somebody wants gone, each asked for again and again, with a back-off of
// its own, until it is gone or nobody wants it any more.
//
// Unlike Evictor, which empties one node and gives up after a while, it never gives up: who wants a
// pod gone says so again every now and then. Up to a pod's deadline budgets are asked; from then on
// the pod is deleted with whatever grace is left. A deadline may only come nearer.
//
// Decision thread.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/executor.h"
#include "cluster/world.h"
#include "cluster/writer.h"

namespace coppice::drain {

class EvictionQueue {
 public:
  struct Hooks {
    // Runs a coroutine; what it touches outlives it.
    std::function<void(Task<void>)> spawn;
    // How an eviction was answered.
    std::function<void(const model::Pod&, const Status&)> answered;
    // A pod is deleted without asking its budgets.
    std::function<void(const model::Pod&, TimePoint deadline)> forced;
    // How that was answered.
    std::function<void(const model::Pod&, const Status&)> deleted = nullptr;
  };
  EvictionQueue(cluster::PodWriter& writer, const Clock& clock, Hooks hooks)
      : writer_(writer), clock_(clock), hooks_(std::move(hooks)) {}

  struct Wanted {
    cluster::PodPtr pod;
    // When the machine goes, whatever is on it.
    std::optional<TimePoint> deadline;
    bool may_evict = true;  // false: only the deadline counts
  };
  // Asks for it if it is time to. When it should be wanted again at the latest.
  TimePoint Want(const Wanted& wanted);

  // Whether a pod has to be deleted now for its machine to go at the deadline.
  static bool IsForced(const model::Pod& pod, TimePoint deadline, TimePoint now);

  // Forgets pods that nobody has wanted for a while.
  void ForgetOld();
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    bool busy = false;
    int refusals = 0;
    bool evicted = false;
    bool deleted = false;
    TimePoint next = TimePoint::min();
    TimePoint wanted_at;
    std::optional<TimePoint> deadline;
  };
  Task<void> Evict(cluster::PodPtr pod);
  Task<void> Delete(cluster::PodPtr pod, TimePoint deadline);
  void Refused(Entry& entry);

  cluster::PodWriter& writer_;
  const Clock& clock_;
  const Hooks hooks_;
  std::map<std::string, Entry> entries_;  // by uid
};

}  // namespace coppice::drain
