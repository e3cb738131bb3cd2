// What is asked of the market for a waiting job. Pure.

#pragma once

#include "batch/waiting_jobs.h"
#include "cluster/world.h"
#include "market/want.h"

namespace coppice::batch {

// Its tasks that found no room, by class; those that have no pods yet from the templates of the Job
// that the group belongs to, else from minResources. Nothing to ask for: no classes.
market::Want WantOf(const WaitingJob& job, const cluster::World& world);

}  // namespace coppice::batch
