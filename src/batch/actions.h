// Actions: what a session does, one after the other, as the configuration orders them.
//
// Each is a function of the session. Upstream's actions are objects that live as long as the
// process, and an argument that was given once stays when it is taken out of the file; ours read
// the configuration of the session.

#pragma once

#include <string_view>

#include "batch/session.h"

namespace coppice::batch {

void Enqueue(Session& session);      // admits groups to their queues
void Allocate(Session& session);     // places what asks for something, gangs as a whole
void Backfill(Session& session);     // places what asks for nothing
void Preempt(Session& session);      // inside of a queue
void Reclaim(Session& session);      // from other queues
void GangPreempt(Session& session);  // likewise, for a job as a whole
void GangReclaim(Session& session);
void Shuffle(Session& session);  // moves what plug-ins want moved

// By its name in the configuration; an unknown one does nothing, for ParseConf refuses it.
void RunAction(std::string_view name, Session& session);

}  // namespace coppice::batch
