// The batch scheduler's seat in a process: its kinds, its configuration, its controllers.

#pragma once

#include <memory>

#include "app/engine_seat.h"
#include "batch/scheduler_flags.h"

namespace coppice::app {

// `flags` outlive it.
std::unique_ptr<EngineSeat> MakeBatchSeat(const batch::SchedulerFlags& flags,
                                          const ProcessParts& parts);

}  // namespace coppice::app
