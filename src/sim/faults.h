// Faults: what goes wrong in a model, drawn from one seed: the cloud refuses, loses answers, runs
// out of stock or is away; machines boot slowly, never or into failure, or get lost; nodes stop
// being ready; evictions and node updates are refused; the engine's view falls behind; the engine
// dies in mid-flight.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/rng.h"
#include "sim/model.h"

namespace coppice::sim {

// Chances are per call or per machine, rates per day.
struct FaultRates {
  double lost_answer = 0.02;
  double failed_boot = 0.02;
  double refused_delete = 0.03;
  double slow_join = 0.05;  // 5 to 25 minutes
  double no_join = 0.01;
  double refused_eviction = 0.05;
  double hanging_eviction = 0.005;
  double refused_change = 0.01;  // of nodes and of objects written as JSON
  double stock_outs = 3;         // of one group, or flavor where there are none, 5 to 60 minutes
  double outages = 2;            // of the cloud's API, 10 seconds to 5 minutes
  double lost_machines = 2;
  double unready_nodes = 2;  // 1 to 30 minutes
  double stale_views = 2;    // 10 seconds to 6 minutes
  double restarts = 3;
};

class Faults {
 public:
  Faults(Model& model, FaultRates rates, uint64_t seed);

  // Set before Start. What only the owner of the engine's process can do.
  std::function<void()> restart;
  std::function<void(bool stale)> set_stale;
  std::function<void(const std::string& what)> tell;  // of each fault, for people

  void Start();
  void Stop();  // everything works from now on, also what was broken

  size_t count() const { return count_; }

 private:
  void Tell(const std::string& what);
  void Plan(double per_day, std::function<void()> strike);
  Duration Between(Duration least, Duration most);
  void StockOut();
  void Outage();
  void LoseMachine();
  void UnreadyNode();
  void StaleView();

  Model& model_;
  const FaultRates rates_;
  SeededRng rng_;
  bool on_ = false;
  bool away_ = false;
  std::map<std::string, TimePoint> sold_out_;  // group or flavor: until
  size_t count_ = 0;
};

}  // namespace coppice::sim
