// The seat of node pools: its kinds, its provider behind the gate, its engine, what is told of it.

#pragma once

#include <memory>

#include "app/engine_seat.h"
#include "provision/settings.h"

namespace coppice::app {

std::unique_ptr<EngineSeat> MakePoolsSeat(const ProcessParts& parts,
                                          const provision::Settings& settings);

}  // namespace coppice::app
