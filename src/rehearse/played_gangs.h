// PlayedGangs: what a batch scheduler goes by, as it was recorded, in a model cluster: queues and
// priorities from the start, groups of pods from when they came until they went. It counts how long a
// gang waits until as many of its pods have a node as it needs.
//
// One thread, that of the model.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "batch/scheduler_flags.h"
#include "rehearse/demand.h"
#include "rehearse/outcome.h"
#include "sim/model.h"

namespace coppice::rehearse {

class PlayedGangs {
 public:
  // All of them outlive it, and it the model's run.
  PlayedGangs(sim::Model& model, const Demand& demand, Outcome& outcome);

  Status Start();
  // Works out how long gangs had to wait.
  void SumUp();

 private:
  struct Gang {
    const GangLife* life = nullptr;
    TimePoint came;
    std::set<std::string> bound;  // its pods that have a node
    bool started = false;
  };

  void CreateDue();
  void Bound(const model::Pod& pod);
  void Left(const model::Pod& pod);
  Gang* Of(const model::Pod& pod);

  sim::Model& model_;
  const Demand& demand_;
  Outcome& outcome_;
  size_t next_ = 0;
  std::map<std::string, Gang> gangs_;  // that are there, by namespace/name
  std::vector<Duration> waits_;
};

}  // namespace coppice::rehearse
