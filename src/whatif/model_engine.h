// ModelEngine: an engine in a process on a model cluster, beside the autoscaler or instead of it.
// Each start of the process makes it anew, from what a new process would find.
//
// Decision thread.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/executor.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cluster/world.h"
#include "host/engine.h"
#include "market/seller.h"
#include "sim/model.h"

namespace coppice::whatif {

// What a process on a model has. Outlives the engine; the executor ends before.
struct ModelProcess {
  sim::Model& model;  // its api is the Writer, its cloud the cloud
  cluster::World& world;
  Clock& clock;
  Executor& executor;
  Workers& workers;
  Rng& rng;
  const Log& log;
  Metrics& metrics;
  std::function<void()> look_again;  // Turns::LookAgain
  // Of the engines that were made before this one: who sells machines to gangs.
  std::vector<market::Seller*> sellers = {};
};

class ModelEngine {
 public:
  virtual ~ModelEngine() = default;
  virtual host::Engine& engine() = 0;
  virtual market::Seller* seller() { return nullptr; }  // null: sells nothing to gangs
};

using MakeModelEngine = std::function<Result<std::unique_ptr<ModelEngine>>(const ModelProcess&)>;

}  // namespace coppice::whatif
