// The seat of the autoscaler: its provider behind the gate, its engine, its status ConfigMap and
// what that leaves to the next process.

#pragma once

#include <memory>

#include "seats/autoscaler.h"
#include "seats/engine_seat.h"

namespace coppice::seats {

std::unique_ptr<EngineSeat> MakeAutoscaleSeat(const ProcessParts& parts);

}  // namespace coppice::seats
