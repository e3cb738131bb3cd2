// The seat of the autoscaler: its provider behind the gate, its engine, its status ConfigMap and
// what that leaves to the next process.

#pragma once

#include <memory>

#include "app/autoscaler.h"
#include "app/engine_seat.h"

namespace coppice::app {

std::unique_ptr<EngineSeat> MakeAutoscaleSeat(const ProcessParts& parts);

}  // namespace coppice::app
