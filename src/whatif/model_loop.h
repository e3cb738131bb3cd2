// ModelLoop: when the process on a model cluster takes its passes: as on a real one (LoopTrigger),
// with the model's changes in the place of a watch.

#pragma once

#include <functional>
#include <memory>

#include "autoscale/loop_trigger.h"
#include "whatif/model_host.h"

namespace coppice::whatif {

class ModelLoop {
 public:
  ModelLoop(ModelHost& host, sim::Model& model, FakeClock& clock,
            const autoscale::FlagValues& flags);
  ~ModelLoop();

  // Lets the model go on until the next pass is due, and takes it. Null: `end` came first, or
  // `stop` said so.
  std::shared_ptr<const report::PassReport> Next(TimePoint end,
                                                 const std::function<bool()>& stop = nullptr);
  const autoscale::LoopTrigger& trigger() const { return trigger_; }

 private:
  bool Noticed();  // something that hastens the next pass

  ModelHost& host_;
  sim::Model& model_;
  FakeClock& clock_;
  autoscale::LoopTrigger trigger_;
  size_t pods_ = 0;
  uint64_t node_set_ = 0;
  size_t pending_ = 0;
  bool woken_ = false;
};

}  // namespace coppice::whatif
