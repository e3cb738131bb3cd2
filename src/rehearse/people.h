// People: what a recorded log says that they did, done to a model cluster: pods are created and deleted
// when they were, and what ends by itself ends after the time that it ran. A pod that is evicted or
// loses its node comes back at once, as its controller would make it.
//
// One thread, that of the model.

#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "rehearse/demand.h"
#include "rehearse/outcome.h"
#include "rehearse/recorded_budgets.h"
#include "sim/model.h"

namespace coppice::rehearse {

class People {
 public:
  // All of them outlive it, and it the model's run. Nodes that are to be there come first.
  People(sim::Model& model, const Demand& demand, Outcome& outcome);

  void Start();
  int wanted() const { return static_cast<int>(lives_.size()); }
  // Works out how long pods had to wait.
  void SumUp();

 private:
  void AddOwner(const PodShape& shape);
  bool Played(const PodLife& life) const;
  void CreateDue();
  void Create(size_t i, const std::string& name, const std::string& node);
  void End(size_t i);
  void Bound(const model::Pod& pod);
  void Left(const model::Pod& pod);

  sim::Model& model_;
  const Demand& demand_;
  Outcome& outcome_;
  RecordedBudgets budgets_;
  size_t next_ = 0;
  uint64_t moved_ = 0;
  std::set<std::string> owners_;
  std::unordered_map<std::string, size_t> lives_;  // pods that are wanted, by name
  std::unordered_map<size_t, std::string> names_;
  std::vector<bool> runs_;  // by life: the pod that it has now is on a node
  std::vector<bool> over_;  // by life: came to its end while there was no pod
  std::vector<Duration> waits_;
};

}  // namespace coppice::rehearse
