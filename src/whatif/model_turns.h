// ModelTurns: the turns of a process on a model cluster (host/turns.h), with the model's changes in
// the place of a watch. A pass takes a moment, for on a clock that only jumps one that is due again
// at once would never end.
//
// Decision thread.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/turns.h"
#include "sim/view.h"
#include "whatif/model_engine.h"

namespace coppice::whatif {

class ModelTurns {
 public:
  ModelTurns(Executor& executor, const cluster::World& world, const sim::View& view,
             const sim::Model& model);
  ~ModelTurns();

  void Add(std::unique_ptr<ModelEngine> engine);
  // Gives turns from now on, as long as the executor runs.
  void Start();
  void LookAgain() { turns_.LookAgain(); }
  // Tells the engines what has changed since the last time.
  void Notice();
  bool empty() const { return engines_.empty(); }

 private:
  class Paced;

  void NoticePending();

  Executor& executor_;
  const cluster::World& world_;
  const sim::View& view_;
  const sim::Model& model_;
  host::HealthCheck health_;
  host::Turns turns_;
  std::vector<std::unique_ptr<ModelEngine>> engines_;
  std::vector<std::unique_ptr<Paced>> paced_;
  uint64_t heard_ = 0;
  uint64_t objects_ = 0;
  uint64_t nodes_ = 0;
  size_t pods_ = 0;
  std::map<std::string, bool> pending_;  // uid: was marked unschedulable
};

}  // namespace coppice::whatif
