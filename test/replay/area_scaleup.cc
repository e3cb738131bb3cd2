#include "test/replay/loops.h"

namespace coppice::replay {

// Whole loops, chiefly of scale-up; with events of pods.
void scaleup(const Json& c, Report& report) { ReplayLoops(c, report); }

}  // namespace coppice::replay
