// WaitingJobs: who is told, after every session, which jobs found no place, and why. This is where
// somebody who can buy machines comes in: what a job lacks is in the value, whole.
//
// What is being made room for (a task that waits for pods that were told to go) is not among it.
// Decision thread.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/world.h"
#include "model/batch.h"

namespace coppice::batch {

struct WaitingJob {
  std::string id;  // "namespace/name"
  std::shared_ptr<const model::PodGroup> group;
  std::string queue;
  int32_t priority = 0;
  bool admitted = false;  // else its queue holds it back
  bool ready = false;     // has its minimum; what waits is beyond that
  int32_t min_available = 0;
  int32_t placed = 0;  // of its tasks, those that count towards the minimum already

  struct Task {
    cluster::PodPtr pod;
    std::string role;
    std::string node = {};  // that exists and has room for it, if it is needed to start
    bool needed = false;    // to start, and nothing that exists has room for it
  };
  std::vector<Task> tasks;  // without a place, by uid; not those with a scheduling gate
  // Of a job that may only be within a stretch of the network: which one `tasks` are told for, and, if
  // nobody sells to it there, where else it may be, and what has room there. The best first.
  struct Place {
    std::string name;                 // empty: anywhere
    std::string key;                  // nodes with this label are in it
    std::vector<std::string> values;  // if it has one of these
  };
  Place place = {};
  struct Elsewhere {
    Place place;
    std::vector<Task> tasks;
  };
  std::vector<Elsewhere> elsewhere = {};
  std::string why;        // what the session had against it, in one text
  int32_t uncreated = 0;  // tasks that it needs to start and that have no pods yet
  bool tried = false;     // `node`, `needed` and `blocked` are known (buying/trial.h)
  std::string blocked;    // why machines would not help it; empty: they would
};

struct SessionInput;

class WaitingJobs {
 public:
  virtual ~WaitingJobs() = default;
  // Before a session: what it is to reckon with beside the cluster.
  virtual void Prepare(SessionInput&) {}
  // Of how many jobs it is asked what of them would find room. 0: of none.
  virtual size_t MostTried() const { return 0; }
  // By id. Empty after a session in which everything found a place.
  virtual void SessionEnded(const std::vector<WaitingJob>& jobs, TimePoint now) = 0;
};

}  // namespace coppice::batch
