// What of a waiting job would find room on what exists, and what would have to be bought: asked of
// the session's own plug-ins, in a statement that is discarded.
//
// In an open session, after its actions; on its thread.

#pragma once

#include <vector>

#include "batch/session.h"
#include "batch/waiting_jobs.h"

namespace coppice::batch {

// Fills in Task::node and Task::needed of each job, and `blocked` of those that may not be bought
// for. Jobs that come first have the first pick of what is idle; those in SessionInput::refused
// come last, and before them those that their queues have not let in. At most `most` are looked at;
// the others stay as they are, with `tried` false.
void TryWaiting(Session& session, std::vector<WaitingJob>& waiting, size_t most);

}  // namespace coppice::batch
