// The batch scheduler's seat in a process: its kinds, its configuration, its controllers.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "batch/scheduler_flags.h"
#include "kube/kind_codec.h"
#include "seats/engine_seat.h"

namespace coppice::seats {

// `flags` outlive it. `sellers`: who sells machines to gangs, asked when it is opened; null: nobody
// will.
std::unique_ptr<EngineSeat> MakeBatchSeat(const batch::SchedulerFlags& flags,
                                          const ProcessParts& parts,
                                          std::function<std::vector<market::Seller*>()> sellers);

// How Volcano's jobs are read.
kube::KindCodec VolcanoJobCodec();

}  // namespace coppice::seats
