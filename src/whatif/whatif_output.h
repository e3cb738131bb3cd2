// A what-if plan for people and for programs.

#pragma once

#include <string>

#include "whatif/whatif.h"

namespace coppice::whatif {

// Tables and sentences. `whole`: every node that stays, every reason of every group; otherwise what
// repeats itself is summed up.
std::string AsText(const WhatIfPlan& plan, bool whole);

// One JSON object; docs/simulate.md names its keys.
std::string AsJson(const WhatIfPlan& plan);

}  // namespace coppice::whatif
