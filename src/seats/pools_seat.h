// The seat of node pools: its kinds, its provider behind the gate, its engine, what is told of it.

#pragma once

#include <memory>

#include "provision/settings.h"
#include "seats/engine_seat.h"

namespace coppice::seats {

std::unique_ptr<EngineSeat> MakePoolsSeat(const ProcessParts& parts,
                                          const provision::Settings& settings);

}  // namespace coppice::seats
