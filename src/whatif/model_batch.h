// ModelBatch: the batch scheduler in a process on a model cluster. Machines for gangs are bought from
// whichever engines of that process sell some: the autoscaler, those made before it.
//
// What its controllers and its sessions read beside pods and nodes has to be in the model's Objects:
// KeepBatchKinds.
//
// Decision thread.

#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "batch/scheduler.h"
#include "sim/model.h"
#include "whatif/model_engine.h"

namespace coppice::whatif {

struct ModelBatchOptions {
  batch::SchedulerFlags flags;
  std::optional<batch::Conf> conf = std::nullopt;  // instead of the file of the flags
  bool upstream_exact = false;
  const batch::PluginRegistry* plugins = nullptr;
  const fit::FilterRegistry* filters = nullptr;
  std::function<void(const report::SessionReport&)> passed = nullptr;
  // The scheduler of the process that runs now, for who wants to look; null between two.
  std::function<void(batch::Scheduler*)> scheduler_is = nullptr;
};

MakeModelEngine ModelBatch(ModelBatchOptions options);

// Volcano's Jobs are shown to whoever watches the model; groups and queues are anyway.
void KeepBatchKinds(sim::Objects& objects);

}  // namespace coppice::whatif
