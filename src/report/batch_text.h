// What is known of a gang that waits, as text: for /explain, for what-if, for accounts of a run.

#pragma once

#include <string>

#include "report/batch_report.h"

namespace coppice::report {

// "2 of pool, 1 of big, 0.42 an hour"; "" if nobody has offered anything.
std::string MachinesText(const WaitingGang& gang);

// One line per thing that is known: queue, tasks with and without room, what it would take or has
// taken, who refused, what all of it comes to.
std::string GangText(const WaitingGang& gang);

}  // namespace coppice::report
