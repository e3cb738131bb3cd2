// Whole loops of the autoscaler on a virtual clock: the areas scaleup and timeline share this.

#pragma once

#include "test/replay/replay.h"

namespace coppice::replay {

void ReplayLoops(const Json& c, Report& report);

}  // namespace coppice::replay
