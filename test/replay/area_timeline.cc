#include "test/replay/loops.h"

namespace coppice::replay {

// Whole loops over minutes and hours: timers, drains, failures.
void timeline(const Json& c, Report& report) { ReplayLoops(c, report); }

}  // namespace coppice::replay
