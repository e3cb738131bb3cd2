// RecordedBudgets: the PodDisruptionBudgets on a model cluster: how many pods of each may be disturbed
// right now, as the disruption controller works it out. Pods of one shape have the same labels, so that a
// budget is a matter of counting shapes.
//
// One thread, that of the model.

#pragma once

#include <cstdint>
#include <vector>

#include "rehearse/demand.h"
#include "sim/model.h"

namespace coppice::rehearse {

class RecordedBudgets {
 public:
  // Publishes them; `model` and `demand` outlive it.
  RecordedBudgets(sim::Model& model, const Demand& demand);

  // A pod of the shape is wanted from now on, or no more; runs, or does so no more.
  void Wanted(uint32_t shape, int more) { Count(shape, more, 0); }
  void Running(uint32_t shape, int more) { Count(shape, 0, more); }

 private:
  struct Budget {
    model::PodDisruptionBudget object;
    int wanted = 0;
    int running = 0;
    bool changed = true;
  };

  void Count(uint32_t shape, int wanted, int running);
  bool Publish();  // whether any has changed

  sim::Model& model_;
  std::vector<Budget> budgets_;
  std::vector<std::vector<uint32_t>> of_shape_;  // of budgets_
};

}  // namespace coppice::rehearse
